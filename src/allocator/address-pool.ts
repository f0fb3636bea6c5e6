import type { Family } from '../cidr/index.js'
import * as Address from '../cidr/nouns/address.js'
import * as RangeSet from '../cidr/nouns/range-set.js'
import { MultiMap } from './multi-map.js'
import {
  type AllocationDelta,
  type AllocationOutcome,
  type AllocationRequest,
  assertOwner,
  type Occupation,
  type Owner,
  type PoolCounts,
} from './request.js'
import { createSpaces, type Spaces, spaceOf } from './spaces.js'

type Address = Address.Address
type RangeSet = RangeSet.RangeSet

export interface AddressPoolSpec {
  /** The addresses of the pool. */
  readonly ranges: RangeSet
  /** Addresses never to hand out: exclusions, reserved addresses, the gateway. */
  readonly exclude?: RangeSet | undefined
}

/** An address in use, and who holds it: more than one owner only where observed facts contradict each other. */
export interface PoolEntry {
  readonly address: Address
  readonly owners: readonly Owner[]
}

/** Narrows {@link AddressPool.lowestFree}. */
export interface LowestFreeOptions {
  readonly family?: Family | undefined
  /** Not below this address. Implies its family. */
  readonly from?: Address | undefined
}

/**
 * Which address next? Hands out the addresses of `ranges` minus `exclude`, lowest free first, each to one owner.
 *
 * Deterministic, synchronous, in memory; mutable, so one pool belongs to one caller. What is observed to be in use, also outside
 * the pool or twice, is recorded by {@link occupy} and never handed out; an address is free again when nobody holds it.
 *
 * Cost of an allocation: O(log n) at any size and fill for ranges up to 2^24 addresses; for larger ones O(log r) with r free
 * ranges. Memory: one bit an address up to 2^24 addresses, plus a record for each address in use.
 *
 * @example
 * const pool = new AddressPool({ ranges: RangeSet.parse(['10.0.0.0/29']), exclude: RangeSet.parse(['10.0.0.0']) })
 * const outcome = pool.allocate({ owner: { uid: 'a' } })
 * outcome.kind === 'allocated' && Address.format(outcome.address) // '10.0.0.1'
 */
export class AddressPool {
  #available: RangeSet
  #spaces: Spaces
  /** Who holds an address, by its key. */
  readonly #owners = new MultiMap<number | string, string, Owner>((owner) => owner.uid)
  /** What an owner holds, by its uid. */
  readonly #addresses = new MultiMap<string, number | string, Address>(Address.key)
  #outOfRange = 0

  constructor(spec: AddressPoolSpec) {
    this.#available = availableOf(spec)
    this.#spaces = createSpaces(this.#available)
  }

  /** What the pool may hand out, in use or not. */
  get available(): RangeSet {
    return this.#available
  }

  /**
   * Gives an owner an address. An owner that holds one (of the wanted family) gets the same again, also one that is out of range.
   *
   * Whatever can not be given is said in the outcome.
   *
   * @throws IpamError `INVALID_ARGUMENT` for an owner without a uid
   */
  allocate(request: AllocationRequest): AllocationOutcome {
    const { owner, want = { kind: 'any' } } = request
    assertOwner(owner)
    if (want.kind === 'address' && this.#owners.has(Address.key(want.address), owner.uid)) {
      return { kind: 'already', address: want.address }
    }
    const family = want.kind === 'address' ? want.address.family : request.family
    const held = this.addressesOf(owner.uid).find((address) => family === undefined || address.family === family)
    if (want.kind === 'any') {
      if (held !== undefined) return { kind: 'already', address: held }
      const address = this.lowestFree({ family })
      return address === undefined ? { kind: 'exhausted' } : this.#give(address, owner)
    }
    const { address } = want
    if (held !== undefined) return { kind: 'refused', reason: 'OwnerHoldsAnother', address: held }
    if (!this.#contains(address)) return { kind: 'outOfPool', address }
    const [by] = this.ownersOf(address)
    return by === undefined ? this.#give(address, owner) : { kind: 'taken', address, by }
  }

  /** The address that {@link allocate} would give next, or `undefined`. Changes nothing. */
  lowestFree(options: LowestFreeOptions = {}): Address | undefined {
    const { from } = options
    const family = from?.family ?? options.family
    if (from?.family === 4) return this.#spaces.v4.lowestFree(from)
    if (from?.family === 6) return this.#spaces.v6.lowestFree(from)
    return (
      (family !== 6 ? this.#spaces.v4.lowestFree() : undefined) ??
      (family !== 4 ? this.#spaces.v6.lowestFree() : undefined)
    )
  }

  /**
   * Records that an owner holds an address, whatever the pool thinks of it: how live objects are read back after a restart. The
   * order of calls does not matter.
   *
   * @throws IpamError `INVALID_ARGUMENT` for an owner without a uid
   */
  occupy(address: Address, owner: Owner): Occupation {
    assertOwner(owner)
    const inPool = this.#contains(address)
    const isNew = !this.#owners.has(Address.key(address), owner.uid)
    const others = this.ownersOf(address).filter((other) => other.uid !== owner.uid)
    if (isNew) this.#hold(address, owner)
    if (!inPool) return { kind: 'outOfPool', others }
    return { kind: isNew ? 'occupied' : 'already', others }
  }

  /**
   * Ends one owner's hold on an address. The address is free when no other owner is left.
   *
   * @returns false, and nothing changes, if this owner does not hold it
   */
  release(address: Address, owner: Pick<Owner, 'uid'>): boolean {
    const key = Address.key(address)
    if (!this.#owners.delete(key, owner.uid)) return false
    this.#addresses.delete(owner.uid, key)
    if (this.#owners.hasAny(key)) return true
    if (this.#contains(address)) spaceOf(this.#spaces, address).release(address)
    else this.#outOfRange--
    return true
  }

  /** Ends all holds of an owner. Returns the addresses that it held, in the order in which it got them. */
  releaseOwner(uid: string): Address[] {
    const held = this.addressesOf(uid)
    for (const address of held) this.release(address, { uid })
    return held
  }

  /** Takes an allocation back. Returns false if the owner no longer holds the address. */
  undo(delta: AllocationDelta): boolean {
    return this.release(delta.address, delta.owner)
  }

  /**
   * Changes ranges and exclusions under live holds. What falls outside stays known as out of range; what comes back inside counts
   * as in use again. O(addresses in use).
   */
  resize(spec: AddressPoolSpec): void {
    this.#available = availableOf(spec)
    this.#spaces = createSpaces(this.#available)
    this.#outOfRange = 0
    for (const { address } of this.entries()) this.#mark(address)
  }

  /** The owners of an address; none if it is free or unknown. */
  ownersOf(address: Address): Owner[] {
    return this.#owners.get(Address.key(address))
  }

  /** The addresses that an owner holds, in the order in which it got them. */
  addressesOf(uid: string): Address[] {
    return this.#addresses.get(uid)
  }

  /** Every address in use with its owners, in order. O(n log n). */
  entries(): PoolEntry[] {
    const found = new Map<number | string, PoolEntry>()
    for (const address of this.#addresses.values()) {
      const key = Address.key(address)
      if (!found.has(key)) found.set(key, { address, owners: this.#owners.get(key) })
    }
    return [...found.values()].sort((a, b) => Address.compare(a.address, b.address))
  }

  /** O(1). */
  counts(): PoolCounts {
    const total = this.#spaces.v4.total + this.#spaces.v6.total
    const used = BigInt(this.#spaces.v4.used + this.#spaces.v6.used)
    return { total, used, free: total - used, outOfRange: BigInt(this.#outOfRange) }
  }

  #contains(address: Address): boolean {
    return spaceOf(this.#spaces, address).contains(address)
  }

  #give(address: Address, owner: Owner): AllocationOutcome {
    this.#hold(address, owner)
    return { kind: 'allocated', address, delta: { kind: 'allocate', address, owner } }
  }

  #hold(address: Address, owner: Owner): void {
    const key = Address.key(address)
    const isFirst = !this.#owners.hasAny(key)
    this.#owners.add(key, owner)
    this.#addresses.add(owner.uid, address)
    if (isFirst) this.#mark(address)
  }

  #mark(address: Address): void {
    if (this.#contains(address)) spaceOf(this.#spaces, address).take(address)
    else this.#outOfRange++
  }
}

function availableOf(spec: AddressPoolSpec): RangeSet {
  return spec.exclude === undefined ? spec.ranges : RangeSet.subtract(spec.ranges, spec.exclude)
}
