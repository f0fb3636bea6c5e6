import type { Address, Family } from '../cidr/index.js'
import { refuse, refuseIn, shown } from '../errors/refuse.js'
import type { ReleasedAddress } from './pool/cooldown.js'

/**
 * Who holds an address. Two requests with the same uid, for the same interface, are the same owner.
 */
export interface Owner {
  /**
   * Identity: the uid of the Kubernetes object, or any text that is never used again for another
   * owner. 1 to 1,024 characters, no line breaks.
   */
  readonly uid: string
  /** How people know the owner, such as `namespace/name`. Only repeated in answers. */
  readonly key?: string | undefined
  /** What the owner is, such as `IPAddressClaim`. Only repeated in answers. */
  readonly kind?: string | undefined
  /**
   * Tells apart what one owner holds for several interfaces, such as `net1`. 1 to 1,024 characters,
   * no line breaks.
   */
  readonly interface?: string | undefined
}

/** More is no name of anything. */
const MOST_CHARACTERS = 1024

/**
 * Sequences and times, so that there is room for more of them, and each time is one that a `Date`
 * can have.
 */
export const MOST_COUNTED = 2 ** 52

/**
 * Guards against owners without a uid: two of them would be one owner, and would be given one
 * address.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function assertOwner(owner: Pick<Owner, 'uid' | 'interface'>): void {
  if (!isName(owner?.uid)) refuseName('owner.uid', owner?.uid)
  if (owner.interface !== undefined && !isName(owner.interface)) refuseName('owner.interface', owner.interface)
}

/** @throws IpamError `INVALID_ARGUMENT` */
export function assertKey(of: string, stickyKey: unknown): void {
  if (stickyKey !== undefined && typeof stickyKey !== 'string') refuseIn(of, 'stickyKey', 'a text', stickyKey)
}

/** Whether a text can be what an owner is told apart by. */
export function isName(value: unknown): boolean {
  return typeof value === 'string' && value.length > 0 && value.length <= MOST_CHARACTERS && !value.includes('\n')
}

function refuseName(argument: string, value: unknown): never {
  refuse(
    argument,
    `a text of 1 to ${MOST_CHARACTERS} characters without line breaks`,
    typeof value === 'string' ? value.slice(0, 100) : shown(value),
  )
}

/** One text for one owner: its uid, and behind a line break, which neither has, its interface. */
export function ownerId(owner: Pick<Owner, 'uid' | 'interface'>): string {
  return owner.interface === undefined ? owner.uid : `${owner.uid}\n${owner.interface}`
}

/** Which address, or how many of them. */
export type Want =
  /** Whatever the strategy of the pool gives. */
  | { readonly kind: 'any' }
  /** This one or none. */
  | { readonly kind: 'address'; readonly address: Address }
  /** The first of these that can be given. */
  | { readonly kind: 'oneOf'; readonly addresses: readonly Address[] }
  /** So many, 1 to 65,536, one behind the other: the lowest that there are. */
  | { readonly kind: 'run'; readonly count: number }
  /** One IPv4 and one IPv6 address, or none at all. */
  | { readonly kind: 'dualStack' }
  /**
   * All addresses of a prefix of this length, at most 65,536, of the family that the request names:
   * the lowest that there is.
   */
  | { readonly kind: 'prefix'; readonly length: number }

/** What an owner asks for. */
export interface AllocationRequest {
  readonly owner: Owner
  /**
   * Only addresses of this family. Default: IPv4 before IPv6. Not with `dualStack`, which wants
   * both.
   */
  readonly family?: Family | undefined
  /** Default `any`. */
  readonly want?: Want | undefined
  /**
   * What the address belongs to beyond its owner, such as a MAC or `namespace/name`. The key gets
   * the address that was preallocated for it, else the one that it released last, IPv4 before IPv6.
   * The pool keeps a released address from other owners for `holdSeconds`. After that time, or
   * without `holdSeconds`, it remembers the address for its key until another owner is given it; it
   * remembers the 65,536 addresses that were released last. With the strategy `hashed` a key mostly
   * gets the same address also where the pool remembers nothing. `run` and `prefix` are made of
   * such addresses, or of them and of free ones.
   */
  readonly stickyKey?: string | undefined
}

/** One owner's hold on an address. */
export interface Hold {
  readonly address: Address
  readonly owner: Owner
  /**
   * Another number for each time that an address is given: a release that names it ends no later
   * hold of the same owner.
   */
  readonly sequence: number
  readonly stickyKey?: string | undefined
}

/**
 * What a call has changed: enough to persist it (`holds`), or to take it back with `undo` on the
 * same pool (`undo`).
 */
export type AllocationDelta = Allocated | Released

/** What has been given. */
export interface Allocated {
  readonly kind: 'allocate'
  readonly holds: readonly Hold[]
  readonly undo: { readonly strategy: StrategyState; readonly releases: readonly ReleasedAddress[] }
}

/** What a strategy goes by: the slot behind the last one given, or what draws follow from. */
export interface StrategyState {
  readonly v4: number
  readonly v6: number
  /**
   * Behind which address next-fit continues where that has no slot: the pool does not have it any
   * more, or 2^52 addresses lie below it.
   */
  readonly moved?: { readonly v4: Address | undefined; readonly v6: Address | undefined }
}

/** What has been released: nothing, where there are no holds. */
export interface Released {
  readonly kind: 'release'
  readonly holds: readonly Hold[]
  /** The last number that had been given, and who went on holding what was released. */
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
  /** The owner holds this already; asking again gives the same. */
  | { readonly kind: 'already'; readonly address: Address; readonly addresses: readonly Address[] }
  /**
   * Nothing that would do is free. `freeAtMs`: when the next address of the family has cooled down,
   * where one is cooling; a run may need more.
   */
  | { readonly kind: 'exhausted'; readonly freeAtMs?: number | undefined }
  /** The wanted address is held by somebody else; where several were wanted, the first of them. */
  | { readonly kind: 'taken'; readonly address: Address; readonly by: Owner }
  /** The wanted address was released a while ago, and is given to nobody else before this time. */
  | { readonly kind: 'cooling'; readonly address: Address; readonly freeAtMs: number }
  /**
   * The wanted address is not one that this pool hands out. `Outside`: it is in none of the ranges.
   * `Reserved`: it is kept back, as excluded, reserved or the gateway.
   */
  | { readonly kind: 'outOfPool'; readonly address: Address; readonly reason: 'Outside' | 'Reserved' }
  | {
      readonly kind: 'refused'
      /**
       * `OwnerHoldsAnother`: the owner holds another address than it now asks for. `Preallocated`:
       * another address is preallocated for its key. `PreallocatedForAnother`: the wanted address
       * is preallocated for another key.
       */
      readonly reason: 'OwnerHoldsAnother' | 'Preallocated' | 'PreallocatedForAnother'
      readonly address: Address
    }

/** What a release has done. Only `released` has changed the pool. */
export type ReleaseOutcome =
  | { readonly kind: 'released'; readonly delta: Released }
  /** This owner does not hold the address. */
  | { readonly kind: 'notHeld' }
  /** The owner holds the address, but has been given it anew since. */
  | { readonly kind: 'otherSequence'; readonly sequence: number }

/** What {@link AddressPool.occupy} found. The address is in use in every case. */
export interface Occupation {
  /** `outOfPool`: remembered and counted apart, never handed out. */
  readonly kind: 'occupied' | 'already' | 'outOfPool'
  /** Who else holds the same address: a duplicate that exists outside of this pool's control. */
  readonly others: readonly Owner[]
}

/** Distinct addresses, by what they are. `total = used + cooling + preallocated + free`. */
export interface PoolCounts {
  /** Addresses that the pool may hand out, in use or not. */
  readonly total: bigint
  /** Of those, in use. */
  readonly used: bigint
  /** Of those, released and held back for a while. */
  readonly cooling: bigint
  /** Of those, kept for a key, and neither in use nor cooling. */
  readonly preallocated: bigint
  readonly free: bigint
  /** Addresses of the ranges that are not handed out: excluded, reserved, the gateway. */
  readonly reserved: bigint
  /** In use, but not or no longer an address of the pool. */
  readonly outOfRange: bigint
}

/**
 * An address in use, and who holds it: more than one owner only where observed facts contradict
 * each other.
 */
export interface PoolEntry {
  readonly address: Address
  readonly owners: readonly Owner[]
  readonly holds: readonly Hold[]
}

/** Narrows {@link AddressPool.lowestFree}. */
export interface LowestFreeOptions {
  readonly family?: Family | undefined
  /** Not below this address. Implies its family. */
  readonly from?: Address | undefined
}

/** When something happens. */
export interface AtTime {
  /**
   * Milliseconds since 1970. Needed where the pool has a cooldown or a hold time. It may step
   * back: an address cools down until the clock shows the end of its cooldown, also if it did so
   * before.
   */
  readonly nowMs?: number | undefined
}

/** Narrows {@link AddressPool.release}. */
export interface ReleaseOptions extends AtTime {
  /** Only the hold with this number, not a later one of the same owner. */
  readonly sequence?: number | undefined
}

/** What is known of a hold that is read back. */
export interface OccupyOptions extends AtTime {
  readonly sequence?: number | undefined
  readonly stickyKey?: string | undefined
}
