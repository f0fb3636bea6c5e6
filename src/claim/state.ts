import { assertObject } from '../errors/checks.js'

/**
 * The phase of a claim, the same for every IPAM system. No API has a field for it: it is derived.
 *
 * - `Bound`: the claim has its address (`status.addressRef` is set)
 * - `Error`: it was tried and could not be given one; the reason says why. Not final: the provider
 *   tries again
 * - `Pending`: everything else, also while the claim, its pool or its cluster is paused
 */
export type Phase = 'Pending' | 'Bound' | 'Error'

/**
 * The reason of a false `Ready` condition, as Cluster API names them.
 *
 * - `PoolNotReady`: the pool is missing, invalid or on its way out
 * - `PoolExhausted`: every address of the pool is in use
 * - `AllocationFailed`: anything else; the message says what
 *
 * Two more are of this library, for pools whose addresses are in an external system:
 *
 * - `BackendExhausted`: that system has reached a quota or a limit of its own
 * - `BackendDenied`: it has refused for want of permission
 */
export type NotReadyReason =
  | 'PoolNotReady'
  | 'PoolExhausted'
  | 'AllocationFailed'
  | 'BackendExhausted'
  | 'BackendDenied'

/** The reason of a true `Ready` condition. Cluster API defines none; this is what providers use. */
export type ReadyReason = 'AddressAllocated'

/** Where a claim stands. */
export type ClaimState =
  | { readonly phase: 'Pending'; readonly reason?: 'PoolNotReady' | undefined }
  | { readonly phase: 'Bound' }
  | { readonly phase: 'Error'; readonly reason: Exclude<NotReadyReason, 'PoolNotReady'> }

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
  /** An external system has reached its quota or another limit. */
  | 'BackendExhausted'
  /** An external system has refused for want of permission. */
  | 'BackendDenied'

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

/** What a phase is derived from: a claim of one of these APIs. */
export interface ClaimStatusLike {
  /** Left out: it is read as an IPAddressClaim. */
  readonly kind?: string | undefined
  readonly status?:
    | {
        readonly conditions?: readonly ConditionLike[] | undefined
        /** Of an IPAddressClaim. */
        readonly addressRef?: { readonly name?: string | undefined } | undefined
        /** Of an IPClaim (metal3). */
        readonly address?: { readonly name?: string | undefined } | undefined
        readonly errorMessage?: string | undefined
        /** Of an IPAMClaim (k8s.cni.cncf.io). */
        readonly ips?: readonly string[] | undefined
      }
    | undefined
}

type ConditionLike = { readonly type: string; readonly status: string; readonly reason?: string | undefined }
type Status = NonNullable<ClaimStatusLike['status']>

/** How the status of one kind of claim says where the claim stands. */
interface KindOfClaim {
  /** What a claim that is Bound has: a text that is not empty. */
  readonly has: (status: Status) => string | undefined
  /** Why it has none, in the words of its API. */
  readonly reason: (status: Status) => string | undefined
  /** What these words mean. */
  readonly meaning: { readonly [word: string]: NotReadyReason }
  /** What all other words mean. Left out: nothing. */
  readonly otherwise?: NotReadyReason
}

/**
 * Bound is decided by the address and not by a condition: providers exist that never write one (the
 * in-cluster provider up to v1.1, Nutanix), and an error may be an earlier one.
 */
const KINDS: ReadonlyMap<string | undefined, KindOfClaim> = new Map([
  [
    'IPClaim',
    {
      has: ({ address }: Status) => address?.name,
      reason: ({ errorMessage }: Status) => errorMessage || undefined,
      meaning: { 'Exhausted IP Pools': 'PoolExhausted' },
      otherwise: 'AllocationFailed',
    },
  ],
  [
    'IPAMClaim',
    {
      has: ({ ips }: Status) => ips?.[0],
      reason: falseReason('IPsAllocated'),
      meaning: { SubnetExhausted: 'PoolExhausted' },
      otherwise: 'AllocationFailed',
    },
  ],
] satisfies [string, KindOfClaim][])

const IP_ADDRESS_CLAIM: KindOfClaim = {
  has: ({ addressRef }) => addressRef?.name,
  reason: falseReason('Ready'),
  meaning: {
    PoolNotReady: 'PoolNotReady',
    PoolExhausted: 'PoolExhausted',
    AllocationFailed: 'AllocationFailed',
    BackendExhausted: 'BackendExhausted',
    BackendDenied: 'BackendDenied',
  },
}

function falseReason(type: string): KindOfClaim['reason'] {
  return ({ conditions }) => {
    const found = conditions?.find((condition) => condition.type === type)
    return found?.status === 'False' ? (found.reason ?? '') : undefined
  }
}

/**
 * Where a claim stands, from its status alone: that of an IPAddressClaim (Cluster API), an IPClaim
 * (metal3), or an IPAMClaim (KubeVirt).
 *
 * @example
 * stateOf({ status: { addressRef: { name: 'web-0' } } }).phase // 'Bound'
 */
export function stateOf(claim: ClaimStatusLike): ClaimState {
  assertObject('stateOf', 'claim', claim)
  const { kind, status = {} } = claim

  const { has, reason, meaning, otherwise } = KINDS.get(kind) ?? IP_ADDRESS_CLAIM
  if (has(status)) return { phase: 'Bound' }
  const word = reason(status)
  if (word === undefined) return { phase: 'Pending' }
  const why = Object.hasOwn(meaning, word) ? meaning[word] : otherwise
  if (why === undefined) return { phase: 'Pending' }
  return why === 'PoolNotReady' ? { phase: 'Pending', reason: why } : { phase: 'Error', reason: why }
}

/** The phase of a claim: see {@link stateOf}. */
export function phaseOf(claim: ClaimStatusLike): Phase {
  return stateOf(claim).phase
}
