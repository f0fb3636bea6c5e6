/**
 * The phase of a claim, the same for every IPAM system. No API has a field for it: it is derived.
 *
 * - `Bound`: the claim has its address (`status.addressRef` is set)
 * - `Error`: it was tried and could not be given one; the reason says why. Not final: the provider tries again
 * - `Pending`: everything else, also while the claim, its pool or its cluster is paused
 */
export type Phase = 'Pending' | 'Bound' | 'Error'

/**
 * The reason of a false `Ready` condition, as Cluster API names them.
 *
 * - `PoolNotReady`: the pool is missing, invalid or on its way out
 * - `PoolExhausted`: every address of the pool is in use
 * - `AllocationFailed`: anything else; the message says what
 */
export type NotReadyReason = 'PoolNotReady' | 'PoolExhausted' | 'AllocationFailed'

/** The reason of a true `Ready` condition. Cluster API defines none; this is what providers use. */
export type ReadyReason = 'AddressAllocated'

/** Where a claim stands. */
export type ClaimState =
  | { readonly phase: 'Pending'; readonly reason?: 'PoolNotReady' | undefined }
  | { readonly phase: 'Bound' }
  | { readonly phase: 'Error'; readonly reason: 'PoolExhausted' | 'AllocationFailed' }

/** What can happen to a claim. Pausing is not among them: a paused claim stays as it is. */
export type ClaimEvent =
  /** An address is reserved for the claim in the ledger. */
  | 'AddressAllocated'
  /** The address that the claim had is no longer there. */
  | 'AddressLost'
  /** The pool is missing, invalid or being deleted. */
  | 'PoolUnavailable'
  /** The pool has no free address. */
  | 'PoolExhausted'
  /** The pool, which was exhausted, has room again. */
  | 'PoolHasRoom'
  /** The allocation failed for another reason. */
  | 'AllocationFailed'

/** What has to be done about a transition. A planner turns these into writes. */
export type ClaimEffect =
  /** Write the reference to the address into the status. */
  | 'setAddressRef'
  /** Remove it. */
  | 'clearAddressRef'
  /** Set the condition Ready to True. */
  | 'setReady'
  /** Set the condition Ready to False with the reason of the new state. */
  | 'setNotReady'
  /** Try again when the pool or its addresses change. */
  | 'retryOnPoolChange'
  /** Try again later, with back-off. */
  | 'retryLater'

/** What a phase is derived from: a claim of any API that has an address reference and conditions. */
export interface ClaimStatusLike {
  readonly status?:
    | {
        readonly addressRef?: { readonly name?: string | undefined } | undefined
        readonly conditions?:
          | readonly { readonly type: string; readonly status: string; readonly reason?: string | undefined }[]
          | undefined
      }
    | undefined
}

/**
 * Where a claim stands, from its status alone.
 *
 * Bound is decided by the address reference and not by the condition: providers exist that never write one (the in-cluster
 * provider up to v1.1, Nutanix).
 *
 * @example
 * stateOf({ status: { addressRef: { name: 'web-0' } } }).phase // 'Bound'
 */
export function stateOf(claim: ClaimStatusLike): ClaimState {
  const name = claim.status?.addressRef?.name
  if (name !== undefined && name !== '') return { phase: 'Bound' }
  const ready = claim.status?.conditions?.find((condition) => condition.type === 'Ready')
  if (ready?.status !== 'False') return { phase: 'Pending' }
  if (ready.reason === 'PoolExhausted' || ready.reason === 'AllocationFailed')
    return { phase: 'Error', reason: ready.reason }
  return ready.reason === 'PoolNotReady' ? { phase: 'Pending', reason: 'PoolNotReady' } : { phase: 'Pending' }
}

/** The phase of a claim: see {@link stateOf}. */
export function phaseOf(claim: ClaimStatusLike): Phase {
  return stateOf(claim).phase
}
