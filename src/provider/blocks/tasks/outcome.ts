import type { Allocation } from './request.js'

/** What has become of an {@link AllocationRequest}. */
export type AllocationOutcome =
  /** It has them now. */
  | { readonly kind: 'allocated'; readonly message: string; readonly allocations: readonly Allocation[] }
  /** It had them: nothing was written. */
  | { readonly kind: 'already'; readonly message: string; readonly allocations: readonly Allocation[] }
  /** No pool has room for this family. */
  | {
      readonly kind: 'exhausted'
      readonly message: string
      readonly family: 4 | 6
      /**
       * When something that was given back is free again, in milliseconds since 1970, if that is
       * known.
       */
      readonly freeAtMs?: number | undefined
    }
  /** Somebody else has the address that was asked for. */
  | { readonly kind: 'taken'; readonly message: string; readonly by: string; readonly freeAtMs?: number | undefined }
  /** No pool gives the address that was asked for. */
  | { readonly kind: 'outOfPool'; readonly message: string }
  /** The owner has another address than the one that is asked for now. */
  | { readonly kind: 'different'; readonly message: string; readonly allocations: readonly Allocation[] }
  /** No pool can be used: each says why. Again when a pool changes. */
  | { readonly kind: 'notReady'; readonly message: string }
  /**
   * The store takes no row in any block that has room: a webhook denies it, or the object is too
   * large.
   */
  | { readonly kind: 'denied'; readonly message: string }
  /** Pools are not for this owner, or cannot give what is asked for at all. */
  | { readonly kind: 'refused'; readonly message: string }
