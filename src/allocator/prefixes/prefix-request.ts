import type { Address, Prefix } from '../../cidr/index.js'
import type { Owner } from '../request.js'

/** What an owner asks for. */
export interface PrefixRequest {
  readonly owner: Owner
  /**
   * The length of the prefix. Default: that of a child, or of `prefix`, beside which it may say
   * nothing else.
   */
  readonly length?: number | undefined
  /** This prefix or none, host bits cleared. */
  readonly prefix?: Prefix | undefined
}

/** One owner's hold on a prefix. */
export interface PrefixHold {
  readonly prefix: Prefix
  readonly owner: Owner
  /**
   * Another number for each time that a prefix is given: a release that names it ends no later hold
   * of the same owner.
   */
  readonly sequence: number
}

/** What a call has changed: enough to persist it, or to take it back with `undo`. */
export interface PrefixDelta {
  readonly kind: 'allocate' | 'release'
  readonly holds: readonly PrefixHold[]
  /** For `undo` on the same allocator. */
  readonly undo: {
    readonly cursor: Address | undefined
    readonly sequence: number
    /** Of a release: who went on holding what overlaps it. */
    readonly others: readonly PrefixHold[]
  }
}

/** The answer to a request. Only `allocated` has changed anything. */
export type PrefixOutcome =
  | { readonly kind: 'allocated'; readonly prefix: Prefix; readonly delta: PrefixDelta }
  /** The owner holds this one of that length already; asking again gives the same. */
  | { readonly kind: 'already'; readonly prefix: Prefix }
  /** No prefix of the length is free. */
  | { readonly kind: 'exhausted' }
  /** Somebody holds the wanted prefix, a part of it, or one around it. */
  | { readonly kind: 'taken'; readonly prefix: Prefix; readonly by: Owner; readonly held: Prefix }
  /** Not all of the wanted prefix is in the space. */
  | { readonly kind: 'outOfPool'; readonly prefix: Prefix }
  /** The owner holds another prefix of that length. */
  | { readonly kind: 'refused'; readonly reason: 'OwnerHoldsAnother'; readonly prefix: Prefix }

/** What a release has done. Only `released` has changed anything. */
export type PrefixReleaseOutcome =
  | { readonly kind: 'released'; readonly delta: PrefixDelta }
  | { readonly kind: 'notHeld' }
  /** The owner holds the prefix, but has been given it anew since. */
  | { readonly kind: 'otherSequence'; readonly sequence: number }

/** Of children where nothing else is said. */
export interface PrefixCounts {
  /** Children that the allocator may hand out, in use or not. */
  readonly total: bigint
  /** Of those, without one that overlaps what is in use. */
  readonly free: bigint
  /** Prefixes in use, of whatever length. */
  readonly held: number
  /** Of those, not or no longer wholly in the space. */
  readonly outOfRange: number
}
