import type { Address, Family } from '../cidr/index.js'
import { check, type KindOf } from '../errors/check.js'
import { refuseIn } from '../errors/refuse.js'
import type { ReleasedAddress } from './pool/cooldown.js'

/**
 * The owner of an address. Two requests with the same uid and interface have the same owner.
 */
export interface Owner {
  /**
   * Identity: the uid of the Kubernetes object, or any text that is never used again for another
   * owner. 1 to 1,024 characters, no line breaks.
   */
  readonly uid: string
  /** Name of the owner in messages, such as `namespace/name`. Not part of its identity. */
  readonly key?: string | undefined
  /** Kind of the owner in messages, such as `IPAddressClaim`. Not part of its identity. */
  readonly kind?: string | undefined
  /**
   * The interface, if one owner holds addresses for several, such as `net1`. 1 to 1,024 characters,
   * no line breaks.
   */
  readonly interface?: string | undefined
}

/** The maximum length of a uid and of the name of an interface. */
const MOST_CHARACTERS = 1024

/**
 * The maximum of sequences and of times: 2^52. A `Date` can have each of these times.
 */
export const MOST_COUNTED = 2 ** 52

/**
 * Refuses owners without a uid: two of them would be the same owner, with the same address.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function assertOwner(of: string, owner: Pick<Owner, 'uid' | 'interface'>): void {
  check(of, 'owner', owner, 'object')
  if (!isName(owner.uid)) refuseName(of, 'owner.uid', owner?.uid)
  if (owner.interface !== undefined && !isName(owner.interface)) refuseName(of, 'owner.interface', owner.interface)
}

/** @throws IpamError `INVALID_ARGUMENT` */
export function assertKey(of: string, stickyKey: unknown): void {
  if (stickyKey !== undefined && typeof stickyKey !== 'string') refuseIn(of, 'stickyKey', 'a text', stickyKey)
}

/** Whether a value can be the uid or the interface of an owner. */
export function isName(value: unknown): boolean {
  return typeof value === 'string' && value.length > 0 && value.length <= MOST_CHARACTERS && !value.includes('\n')
}

function refuseName(of: string, argument: string, value: unknown): never {
  const length = typeof value === 'string' ? `, not ${value.length}` : ''
  refuseIn(of, argument, `a text of 1 to ${MOST_CHARACTERS} characters without line breaks${length}`, value)
}

/**
 * One text for one owner: its uid, then a line break, which neither part has, and its interface.
 */
export function ownerId(owner: Pick<Owner, 'uid' | 'interface'>): string {
  return owner.interface === undefined ? owner.uid : `${owner.uid}\n${owner.interface}`
}

/** The address that a request wants, or the number of addresses. */
export type Want =
  /** The next address of the strategy of the pool. */
  | { readonly kind: 'any' }
  /** This address or none. */
  | { readonly kind: 'address'; readonly address: Address }
  /** The first of these addresses that can be given. */
  | { readonly kind: 'oneOf'; readonly addresses: readonly Address[] }
  /** The lowest run of `count` adjacent free addresses. `count` is 1 to 65,536. */
  | { readonly kind: 'run'; readonly count: number }
  /** One IPv4 and one IPv6 address, or none. */
  | { readonly kind: 'dualStack' }
  /**
   * All addresses of the lowest free prefix of this length, in the family that the request names. A
   * prefix has at most 65,536 addresses.
   */
  | { readonly kind: 'prefix'; readonly length: number }

/** A request of an owner for addresses. */
export interface AllocationRequest {
  readonly owner: Owner
  /**
   * Only addresses of this family. Default: IPv4 before IPv6. Not with `dualStack`, which has both.
   */
  readonly family?: Family | undefined
  /** Default `any`. */
  readonly want?: Want | undefined
  /**
   * A stable identity beyond the uid of the owner, such as a MAC address or `namespace/name`. A
   * request with a key gets the address that is preallocated for the key, else the address that the
   * key released last, IPv4 before IPv6. For `holdSeconds`, the pool keeps a released address from
   * other owners. After that time, or without `holdSeconds`, it remembers the address for its key
   * until another owner gets it. It remembers the 65,536 addresses that were released last. With
   * the strategy `hashed`, a key usually gets the same address even if the pool remembers none.
   * `run` and `prefix` consist of addresses of the key, or of those and free addresses.
   */
  readonly stickyKey?: string | undefined
}

/** One owner's hold on an address. */
export interface Hold {
  readonly address: Address
  readonly owner: Owner
  /**
   * A new number for each allocation. A release with this number does not end a later hold of the
   * same owner.
   */
  readonly sequence: number
  readonly stickyKey?: string | undefined
}

/**
 * The change that a call has made: `holds` for storing it, and `undo` for taking it back with
 * `AddressPool.undo` on the same pool.
 */
export type AllocationDelta = Allocated | Released

/** The change of an allocation. */
export interface Allocated {
  readonly kind: 'allocate'
  readonly holds: readonly Hold[]
  readonly undo: { readonly strategy: StrategyState; readonly releases: readonly ReleasedAddress[] }
}

/**
 * The state of a strategy: the slot after the last given one, or the state of its random numbers.
 */
export interface StrategyState {
  readonly v4: number
  readonly v6: number
  /**
   * The address after which next-fit continues, if it has no slot: the pool no longer contains it,
   * or 2^52 addresses are below it.
   */
  readonly moved?: { readonly v4: Address | undefined; readonly v6: Address | undefined }
}

/** The change of a release. Without holds, nothing has changed. */
export interface Released {
  readonly kind: 'release'
  readonly holds: readonly Hold[]
  /** The last sequence before the release, and the holds of other owners on the same addresses. */
  readonly undo: { readonly sequence: number; readonly others: readonly Hold[] }
}

/** The answer to a request. Only `allocated` has changed the pool. */
export type AllocationOutcome =
  | {
      readonly kind: 'allocated'
      /** The first of the addresses. */
      readonly address: Address
      readonly addresses: readonly Address[]
      readonly delta: Allocated
    }
  /** The owner holds these addresses already. A repeated request has the same outcome. */
  | { readonly kind: 'already'; readonly address: Address; readonly addresses: readonly Address[] }
  /**
   * No suitable address is free. `freeAtMs`: when the next cooldown in the family ends, if there is
   * one. A run may need more addresses than that one.
   */
  | { readonly kind: 'exhausted'; readonly freeAtMs?: number | undefined }
  /** Another owner holds the wanted address; of several wanted addresses, the first one. */
  | { readonly kind: 'taken'; readonly address: Address; readonly by: Owner }
  /** The wanted address was released, and is kept from other owners until `freeAtMs`. */
  | { readonly kind: 'cooldown'; readonly address: Address; readonly freeAtMs: number }
  /**
   * The pool does not give out the wanted address. `Outside`: it is in none of the ranges.
   * `Reserved`: it is excluded, reserved or the gateway.
   */
  | { readonly kind: 'outOfPool'; readonly address: Address; readonly reason: 'Outside' | 'Reserved' }
  | {
      readonly kind: 'refused'
      /**
       * `OwnerHoldsAnother`: the owner holds another address than the wanted one. `Preallocated`:
       * another address is preallocated for its key. `PreallocatedForAnother`: the wanted address
       * is preallocated for another key.
       */
      readonly reason: 'OwnerHoldsAnother' | 'Preallocated' | 'PreallocatedForAnother'
      readonly address: Address
    }

/** The outcome of a release. Only `released` has changed the pool. */
export type ReleaseOutcome =
  | { readonly kind: 'released'; readonly delta: Released }
  /** This owner does not hold the address. */
  | { readonly kind: 'notHeld' }
  /** The owner has released the address and got it again since: its hold has this sequence. */
  | { readonly kind: 'otherSequence'; readonly sequence: number }

/** The outcome of {@link AddressPool.occupy}. The address is in use in every case. */
export interface Occupation {
  /** `outOfPool`: recorded and counted as out of range, never given out. */
  readonly kind: 'occupied' | 'already' | 'outOfPool'
  /** Other owners of the same address: a duplicate. */
  readonly others: readonly Owner[]
}

/** Numbers of distinct addresses. `total = used + cooldown + preallocated + free`. */
export interface PoolCounts {
  /** Addresses that the pool can give out, in use or not. */
  readonly total: bigint
  /** Addresses of `total` that are in use. */
  readonly used: bigint
  /** Addresses of `total` that were released and are in their cooldown or hold time. */
  readonly cooldown: bigint
  /** Addresses of `total` that are preallocated for a key, and neither in use nor in cooldown. */
  readonly preallocated: bigint
  readonly free: bigint
  /** Addresses of the ranges that are not given out: excluded, reserved, the gateway. */
  readonly reserved: bigint
  /** Addresses in use that are not, or no longer, in the pool. */
  readonly outOfRange: bigint
}

/**
 * An address in use, with its owners. There is more than one owner only if observed objects
 * contradict each other.
 */
export interface PoolEntry {
  readonly address: Address
  readonly owners: readonly Owner[]
  readonly holds: readonly Hold[]
}

/** Narrows {@link AddressPool.lowestFree}. */
export interface LowestFreeOptions {
  readonly family?: Family | undefined
  /** The lowest address of the search. It decides the family. */
  readonly from?: Address | undefined
}

export const LOWEST_FREE_OPTIONS: KindOf<LowestFreeOptions> = { family: ['one?', { '4': 1, '6': 1 }], from: 'object?' }

/** The time of a call. */
export interface AtTime {
  /**
   * Milliseconds since 1970. Required if the pool has a cooldown or a hold time. The clock may step
   * back: a cooldown ends when the clock shows its end, even if the clock has shown it before.
   */
  readonly nowMs?: number | undefined
}

/** Narrows {@link AddressPool.release}. */
export interface ReleaseOptions extends AtTime {
  /** Only the hold with this sequence, not a later one of the same owner. */
  readonly sequence?: number | undefined
}

export const RELEASE_OPTIONS: KindOf<ReleaseOptions> = { sequence: 'number?', nowMs: 'number?' }

/** Facts about a hold that is read back. */
export interface OccupyOptions extends AtTime {
  readonly sequence?: number | undefined
  readonly stickyKey?: string | undefined
}

export const OCCUPY_OPTIONS: KindOf<OccupyOptions> = { sequence: 'number?', stickyKey: 'text?', nowMs: 'number?' }
