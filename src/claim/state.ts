import { check, type KindOf } from '../errors/check.js'

/**
 * The phase of a claim, the same for every IPAM system. No API has a field for it: it is derived.
 *
 * - `Bound`: the claim has its address (`status.addressRef` is set)
 * - `Error`: no address could be allocated; the reason says why. Not final: the provider tries
 *   again
 * - `Pending`: everything else, also while the claim, its pool or its cluster is paused
 */
export type Phase = 'Pending' | 'Bound' | 'Error'

/**
 * The reason of a false `Ready` condition, as Cluster API names them.
 *
 * - `PoolNotReady`: the pool is missing, invalid or being deleted
 * - `PoolExhausted`: every address of the pool is in use
 * - `AllocationFailed`: any other cause; the message names it
 *
 * This library adds two reasons, for pools whose addresses are in an external system:
 *
 * - `BackendExhausted`: the external system has reached a quota or a limit
 * - `BackendDenied`: a permission in the external system is missing
 */
export type NotReadyReason =
  | 'PoolNotReady'
  | 'PoolExhausted'
  | 'AllocationFailed'
  | 'BackendExhausted'
  | 'BackendDenied'

/**
 * The reason of a true `Ready` condition. Cluster API defines none. This one is common among
 * providers.
 */
export type ReadyReason = 'AddressAllocated'

/** The state of a claim. */
export type ClaimState =
  | { readonly phase: 'Pending'; readonly reason?: 'PoolNotReady' | undefined }
  | { readonly phase: 'Bound' }
  | { readonly phase: 'Error'; readonly reason: Exclude<NotReadyReason, 'PoolNotReady'> }

/** The events of a claim. Pausing is not an event: a paused claim does not change. */
export type ClaimEvent =
  /** An address is reserved for the claim in the ledger. */
  | 'AddressAllocated'
  /** The address of the claim does not exist any more. */
  | 'AddressLost'
  /** The pool is missing, invalid or being deleted. */
  | 'PoolUnavailable'
  /** The pool has no free address. */
  | 'PoolExhausted'
  /** The pool was exhausted, and has a free address again. */
  | 'PoolHasRoom'
  /** The allocation failed for another reason. */
  | 'AllocationFailed'
  /** An external system has reached its quota or another limit. */
  | 'BackendExhausted'
  /** A permission in the external system is missing. */
  | 'BackendDenied'

/** What has to be done after a transition. A planner turns it into writes. */
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

/** The part of a claim from which its phase is derived: a claim of one of these APIs. */
export interface ClaimStatusLike {
  /** Left out: the claim is read as an IPAddressClaim. */
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

export type ConditionLike = { readonly type: string; readonly status: string; readonly reason?: string | undefined }
type Status = NonNullable<ClaimStatusLike['status']>

const STATUS_LIKE: KindOf<ClaimStatusLike> = ['open', { status: ['open?', { conditions: ['list?', 'object'] }] }]

/** How the status of one kind of claim maps to a state. */
interface KindOfClaim {
  /** The field of a Bound claim: a text that is not empty. */
  readonly has: (status: Status) => string | undefined
  /** The reason of a claim without an address, as its API names it. */
  readonly reason: (status: Status) => string | undefined
  /** The meaning of these reasons. */
  readonly meaning: { readonly [word: string]: NotReadyReason }
  /** The meaning of all other reasons. Left out: none. */
  readonly otherwise?: NotReadyReason
}

/**
 * A claim is Bound by its address and not by a condition: some providers never write one (the
 * in-cluster provider up to v1.1, Nutanix), and an error may be outdated.
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
 * The state of a claim from its status: that of an IPAddressClaim (Cluster API), an IPClaim
 * (metal3), or an IPAMClaim (KubeVirt).
 *
 * @example
 * stateOf({ status: { addressRef: { name: 'web-0' } } }).phase // 'Bound'
 */
export function stateOf(claim: ClaimStatusLike): ClaimState {
  check('stateOf', 'claim', claim, STATUS_LIKE)
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
