import { Address, type Family, RangeSet } from '../cidr/index.js'
import type { AllocationDelta, AllocationOutcome, AllocationRequest, Occupation, Owner, PoolCounts } from './request.js'
import { ReusableMap } from './reusable-map.js'
import { createSpaces, type Spaces, spaceOf } from './spaces.js'

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
  readonly #holdings = new ReusableMap<number | string, Holding>()
  readonly #byOwner = new ReusableMap<string, Holding[]>()
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
   * Gives an owner an address. An owner that holds one (of the wanted family) gets the same again.
   *
   * Never throws: whatever can not be given is said in the outcome.
   */
  allocate(request: AllocationRequest): AllocationOutcome {
    const want = request.want ?? { kind: 'any' }
    const held = this.#heldBy(request.owner.uid, want.kind === 'address' ? want.address.family : request.family)
    if (want.kind === 'address') {
      const { address } = want
      const holding = this.#holdings.get(Address.key(address))
      if (holding !== undefined && holds(holding, request.owner.uid)) return { kind: 'already', address }
      if (held !== undefined) return { kind: 'refused', reason: 'OwnerHoldsAnother', address: held.address }
      if (!this.#contains(address)) return { kind: 'outOfPool', address }
      if (holding !== undefined) return { kind: 'taken', address, by: holding.owners[0]! }
      return this.#give(address, request.owner)
    }
    if (held !== undefined) return { kind: 'already', address: held.address }
    const address = this.lowestFree({ family: request.family })
    return address === undefined ? { kind: 'exhausted' } : this.#give(address, request.owner)
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
   */
  occupy(address: Address, owner: Owner): Occupation {
    const key = Address.key(address)
    const existing = this.#holdings.get(key)
    const inPool = this.#contains(address)
    if (existing !== undefined) {
      const others = existing.owners.filter((other) => other.uid !== owner.uid)
      if (others.length < existing.owners.length) return { kind: inPool ? 'already' : 'outOfPool', others }
      existing.owners.push(owner)
      this.#remember(owner.uid, existing)
      return { kind: inPool ? 'occupied' : 'outOfPool', others }
    }
    this.#hold(address, key, owner)
    return { kind: inPool ? 'occupied' : 'outOfPool', others: [] }
  }

  /**
   * Ends one owner's hold on an address. The address is free when no other owner is left.
   *
   * @returns false, and nothing changes, if this owner does not hold it
   */
  release(address: Address, owner: Pick<Owner, 'uid'>): boolean {
    const key = Address.key(address)
    const holding = this.#holdings.get(key)
    if (holding === undefined || !holds(holding, owner.uid)) return false
    holding.owners.splice(
      holding.owners.findIndex((other) => other.uid === owner.uid),
      1,
    )
    this.#forget(owner.uid, holding)
    if (holding.owners.length > 0) return true
    this.#holdings.delete(key)
    if (this.#contains(address)) spaceOf(this.#spaces, address).release(address)
    else this.#outOfRange--
    return true
  }

  /** Ends all holds of an owner. Returns the addresses that it held, in the order in which it got them. */
  releaseOwner(uid: string): Address[] {
    const held = (this.#byOwner.get(uid) ?? []).map((holding) => holding.address)
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
    for (const { address } of this.#holdings.values()) this.#mark(address)
  }

  /** The owners of an address; none if it is free or unknown. */
  ownersOf(address: Address): readonly Owner[] {
    return [...(this.#holdings.get(Address.key(address))?.owners ?? [])]
  }

  /** The addresses that an owner holds, in the order in which it got them. */
  addressesOf(uid: string): Address[] {
    return (this.#byOwner.get(uid) ?? []).map((holding) => holding.address)
  }

  /** Every address in use with its owners, in order. O(n log n). */
  entries(): PoolEntry[] {
    return [...this.#holdings.values()]
      .map(({ address, owners }) => ({ address, owners: [...owners] }))
      .sort((a, b) => Address.compare(a.address, b.address))
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
    this.#hold(address, Address.key(address), owner)
    return { kind: 'allocated', address, delta: { kind: 'allocate', address, owner } }
  }

  #hold(address: Address, key: number | string, owner: Owner): void {
    const holding: Holding = { address, owners: [owner] }
    this.#holdings.set(key, holding)
    this.#remember(owner.uid, holding)
    this.#mark(address)
  }

  #mark(address: Address): void {
    if (this.#contains(address)) spaceOf(this.#spaces, address).take(address)
    else this.#outOfRange++
  }

  #heldBy(uid: string, family: Family | undefined): Holding | undefined {
    return this.#byOwner.get(uid)?.find((holding) => family === undefined || holding.address.family === family)
  }

  #remember(uid: string, holding: Holding): void {
    const held = this.#byOwner.get(uid)
    if (held === undefined) this.#byOwner.set(uid, [holding])
    else held.push(holding)
  }

  #forget(uid: string, holding: Holding): void {
    const held = this.#byOwner.get(uid) as Holding[]
    if (held.length === 1) this.#byOwner.delete(uid)
    else held.splice(held.indexOf(holding), 1)
  }
}

interface Holding {
  readonly address: Address
  readonly owners: Owner[]
}

function holds(holding: Holding, uid: string): boolean {
  return holding.owners.some((owner) => owner.uid === uid)
}

function availableOf(spec: AddressPoolSpec): RangeSet {
  return spec.exclude === undefined ? spec.ranges : RangeSet.subtract(spec.ranges, spec.exclude)
}
