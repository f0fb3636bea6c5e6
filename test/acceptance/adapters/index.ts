import type { Adapter } from '../answer.js'
import { capiPoolStatus } from './capi-pool-status.js'
import { capiPoolutil } from './capi-poolutil.js'

/** The adapters by the name of their case file. A file that is not among them is not covered yet. */
export const adapters: Readonly<Record<string, Adapter>> = {
  'capi-pool-status': capiPoolStatus,
  'capi-poolutil': capiPoolutil,
}
