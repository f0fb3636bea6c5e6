import type { Address } from '../../../cidr/nouns/address.js'
import type { Prefix } from '../../../cidr/nouns/prefix.js'

/** An address in the answer of an ADD, with the length of the configured range. */
export interface AddedAddress {
  readonly prefix: Prefix
  readonly gateway?: Address | undefined
}

/**
 * The outcome of an `add`. Each kind but `allocated` leaves no row and no reservation of its own.
 * The row of a claim that it took over has no Pod then, or the source of the migration as before. A
 * sticky row is left for its DEL.
 */
export type AddOutcome =
  /** Every range has a row, and a reservation where the configuration wants one. */
  | {
      readonly kind: 'allocated'
      readonly message: string
      /** In the order of the ranges, then the static ones. */
      readonly addresses: readonly AddedAddress[]
    }
  /** A range has no free address. */
  | { readonly kind: 'exhausted'; readonly message: string }
  /** The configuration cannot be served, whatever the objects are. */
  | { readonly kind: 'refused'; readonly message: string }
  /** Another interface has the address that is asked for. */
  | { readonly kind: 'taken'; readonly message: string }
  /** The Node has no slice of the range yet. */
  | { readonly kind: 'noSlice'; readonly message: string }
  /** A pool cannot be used: it is being deleted, or its range is another one. */
  | { readonly kind: 'poolNotReady'; readonly message: string }
  /** The claim does not exist, or is being deleted. */
  | { readonly kind: 'noClaim'; readonly message: string }
  /** The claim is of another network: its `spec.network` is not the `name` of the configuration. */
  | { readonly kind: 'otherNetwork'; readonly message: string }
  /**
   * The Pod is gone, and a later one of its name has the row. On blocks: the Pod does not exist.
   */
  | { readonly kind: 'noPod'; readonly message: string }
  /** Another Pod uses the claim. */
  | { readonly kind: 'claimInUse'; readonly message: string }
  /** The store refuses a write: a missing permission, a quota, a webhook, or its size. */
  | { readonly kind: 'denied'; readonly message: string; readonly code: string }
  /** Other writers were faster in each of the attempts. */
  | { readonly kind: 'contended'; readonly message: string }

/** The outcome of a `del`. */
export type DelOutcome =
  | { readonly kind: 'released'; readonly message: string; readonly addresses: readonly Address[] }
  /** The rows stay for the claim that holds them. */
  | { readonly kind: 'kept'; readonly message: string; readonly addresses: readonly Address[] }
  /** There was nothing to release. */
  | { readonly kind: 'nothing'; readonly message: string }
  /** A pool whose rows cannot be read. */
  | { readonly kind: 'poolNotReady'; readonly message: string }

/** The outcome of a `check`. */
export type CheckOutcome =
  | { readonly kind: 'present'; readonly message: string }
  /** A row or a reservation is missing, or is of another interface. */
  | { readonly kind: 'missing'; readonly message: string }

/** The outcome of a `gc`. */
export type WhereaboutsGcOutcome =
  | { readonly kind: 'collected'; readonly message: string; readonly addresses: readonly Address[] }
  /** The configuration switches GC off, or the runtime sends no list of attachments. */
  | { readonly kind: 'off'; readonly message: string }

/** The outcome of a `status`. */
export type StatusOutcome =
  | { readonly kind: 'ready'; readonly message: string }
  /** An ADD would not be served now. */
  | { readonly kind: 'notReady'; readonly message: string }
