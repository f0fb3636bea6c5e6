import type { Row } from './harness.js'
import { allocator } from './rows/allocator.js'
import { cidrSets } from './rows/cidr-sets.js'
import { cidrText } from './rows/cidr-text.js'
import { provider } from './rows/provider.js'

export const rows: readonly Row[] = [...cidrText, ...cidrSets, ...allocator, ...provider]
