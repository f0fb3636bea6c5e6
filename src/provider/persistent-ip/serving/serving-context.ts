import type { ObjectRef } from '../../../crd/meta/object.js'
import type { SentEvents } from '../../../plan/index.js'
import type { PodAttachmentOptions } from '../pod/attachments.js'
import type { ClaimChecks, OpenRecord } from './address-record.js'
import type { ServingCache } from './watches.js'

export interface ServingOptions extends Omit<PodAttachmentOptions, 'primary'> {
  readonly terminatingClaim?: 'refuse' | 'serve' | undefined
  readonly stretched?: readonly string[] | undefined
}

/** What the plans of the network side read. */
export interface ServingContext {
  readonly cache: ServingCache
  readonly options: ServingOptions
  readonly open: OpenRecord
  readonly checks: ClaimChecks
  readonly sent: SentEvents
  isUnchanged(ref: ObjectRef): boolean
  /** The plan waits for an address of a network. */
  wait(network: string): void
}

/** Whether a plan that is refused can succeed when an address is free. */
export function waitsForAddress(reason: string | undefined): boolean {
  return reason === 'SubnetExhausted' || reason === 'IPAddressConflict'
}
