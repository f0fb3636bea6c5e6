import type { Entry } from './samples.js'
import { writeAnswers } from './write.js'

writeAnswers((globalThis as unknown as { ipamKitCidr: Entry }).ipamKitCidr)
