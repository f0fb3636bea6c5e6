import type { Allocation } from './request.js'

/** The outcome of an `AllocationRequest`. */
export type AllocationOutcome =
  /** The owner has got the addresses. */
  | { readonly kind: 'allocated'; readonly message: string; readonly allocations: readonly Allocation[] }
  /** The owner had the addresses already: nothing was written. */
  | { readonly kind: 'already'; readonly message: string; readonly allocations: readonly Allocation[] }
  /** No pool has a free address of this family. */
  | {
      readonly kind: 'exhausted'
      readonly message: string
      readonly family: 4 | 6
      /**
       * When an address that was released becomes free again, in milliseconds since 1970, if known.
       */
      readonly freeAtMs?: number | undefined
    }
  /** Another owner has the requested address. */
  | { readonly kind: 'taken'; readonly message: string; readonly by: string; readonly freeAtMs?: number | undefined }
  /** No pool gives the requested address. */
  | { readonly kind: 'outOfPool'; readonly message: string }
  /** The owner has another address than the requested one. */
  | { readonly kind: 'different'; readonly message: string; readonly allocations: readonly Allocation[] }
  /** No pool can be used: `message` says why for each. Try again when a pool changes. */
  | { readonly kind: 'notReady'; readonly message: string }
  /**
   * The store takes no row in any block with free units: a webhook denies it, or the object is too
   * large.
   */
  | { readonly kind: 'denied'; readonly message: string }
  /** The pools do not serve this owner, or can never give what it requests. */
  | { readonly kind: 'refused'; readonly message: string }
