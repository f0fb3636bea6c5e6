import type { Address, Prefix } from '../../cidr/index.js'
import type { Owner } from '../request.js'

/** A request of an owner for a prefix. */
export interface PrefixRequest {
  readonly owner: Owner
  /**
   * The length of the prefix. Default: the length of `prefix`, or of a child. With `prefix`, it
   * must be the same.
   */
  readonly length?: number | undefined
  /** This prefix or none. Host bits are cleared. */
  readonly prefix?: Prefix | undefined
}

/** The hold of one owner on a prefix. */
export interface PrefixHold {
  readonly prefix: Prefix
  readonly owner: Owner
  /**
   * A new number for each allocation. A release with this number does not end a later hold of the
   * same owner.
   */
  readonly sequence: number
}

/**
 * The change that a call has made: for storing it, or for taking it back with
 * `PrefixAllocator.undo`.
 */
export interface PrefixDelta {
  readonly kind: 'allocate' | 'release'
  readonly holds: readonly PrefixHold[]
  /** The state that `PrefixAllocator.undo` restores, on the same allocator. */
  readonly undo: {
    readonly cursor: Address | undefined
    readonly sequence: number
    /** After a release, the holds of other owners that overlap it. */
    readonly others: readonly PrefixHold[]
  }
}

/** The outcome of a request. Only `allocated` has changed the allocator. */
export type PrefixOutcome =
  | { readonly kind: 'allocated'; readonly prefix: Prefix; readonly delta: PrefixDelta }
  /** The owner holds this prefix of the length already. A repeated request has the same outcome. */
  | { readonly kind: 'already'; readonly prefix: Prefix }
  /** No prefix of the length is free. */
  | { readonly kind: 'exhausted' }
  /** Another owner holds the wanted prefix, a part of it, or a prefix around it. */
  | { readonly kind: 'taken'; readonly prefix: Prefix; readonly by: Owner; readonly held: Prefix }
  /** The wanted prefix is not completely in the space. */
  | { readonly kind: 'outOfPool'; readonly prefix: Prefix }
  /** The owner holds another prefix of that length. */
  | { readonly kind: 'refused'; readonly reason: 'OwnerHoldsAnother'; readonly prefix: Prefix }

/** The outcome of a release. Only `released` has changed the allocator. */
export type PrefixReleaseOutcome =
  | { readonly kind: 'released'; readonly delta: PrefixDelta }
  | { readonly kind: 'notHeld' }
  /** The owner has released the prefix and got it again since: its hold has this sequence. */
  | { readonly kind: 'otherSequence'; readonly sequence: number }

/** Numbers of children, and of prefixes in use. */
export interface PrefixCounts {
  /** Children that the allocator can give out, in use or not. */
  readonly total: bigint
  /** Children that overlap no prefix in use. */
  readonly free: bigint
  /** Prefixes in use, of any length. */
  readonly held: number
  /** Prefixes in use that are not, or no longer, completely in the space. */
  readonly outOfRange: number
}
