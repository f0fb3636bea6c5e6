import * as cidr from 'ipam-kit/cidr'
import { writeAnswers } from './write.js'

writeAnswers(cidr)
