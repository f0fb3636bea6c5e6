import { AddressPool, type Owner, PrefixAllocator } from '../../allocator/index.js'
import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import { DEFAULT_ALLOCATION_PREFIX_LENGTH } from '../../crd/in-cluster/names.js'
import type { InClusterPool, InClusterPoolCounts } from '../../crd/in-cluster/pools.js'
import { isPrefixPool, isPrefixPoolKind } from '../../crd/in-cluster/pools.js'
import { addressSpace, clampCount, isAllocatablePrefix, prefixOf, prefixSpace } from '../../crd/in-cluster/space.js'
import { formatRef, refOf } from '../../crd/meta/object.js'
import type { Ledger, Offer } from '../claims/definition.js'

type Address = Address.Address
type Prefix = Prefix.Prefix

/** An address or prefix in use, in or out of range. */
export interface LedgerEntry {
  readonly address: Address
  /** The length of the subnet, or of the prefix itself. */
  readonly prefix: number
  /** `namespace/name` of the IPAddress objects that hold it: more than one if somebody wrote a duplicate. */
  readonly holders: readonly string[]
}

/**
 * The ledger of a pool: which of its addresses are in use, according to the IPAddress objects that refer to it.
 *
 * Kept up to date by {@link observe} and {@link forget}, so that the next free address costs the same at any fill. Several objects
 * with one address, with an address outside the pool or with a text that is none are all recorded: the first never leads to a
 * second hand-out, the last never stops the pool.
 *
 * One writer: two processes with a ledger each can give the same address away, because nothing in the API keeps two objects from
 * having it. Show the ledger every object that was just created before the next plan is made.
 *
 * @example
 * const spec = { addresses: ['10.0.0.5-10.0.0.9'], prefix: 24 }
 * const pool = { apiVersion: 'ipam.cluster.x-k8s.io/v1alpha2', kind: 'InClusterIPPool', metadata: { name: 'lab' }, spec }
 * PoolLedger.build(pool, []).next() // { address: { family: 4, value: 0x0a000005 }, prefix: 24 }
 */
export class PoolLedger implements Ledger<InClusterPool> {
  #pool: InClusterPool | undefined
  /** What is in use; `undefined` as long as nothing is, and there is no pool that can be used. */
  #space: Space | undefined
  /** Whether the space is that of the pool. If not, it is empty, and what is in use is out of its range. */
  #isUsable = false
  #problems: readonly string[] = []
  readonly #objects = new Map<string, IPAddress>()
  /** What is about to be written, by the owner that it has in the space. */
  readonly #reserved = new Map<string, IPAddress>()
  #reservations = 0

  /** A ledger of a pool (or of one that is missing yet) from the IPAddress objects that refer to it, in any order. */
  static build(pool: InClusterPool | undefined, addresses: Iterable<IPAddress>): PoolLedger {
    const ledger = new PoolLedger()
    ledger.setPool(pool)
    for (const address of addresses) ledger.observe(address)
    return ledger
  }

  /** Why the spec of the pool can not be used; empty if it can. */
  get problems(): readonly string[] {
    return this.#problems
  }

  /** How many IPAddress objects refer to the pool. */
  get size(): number {
    return this.#objects.size
  }

  /** How many are about to be written: {@link reserve}. */
  get reserved(): number {
    return this.#reserved.size
  }

  /**
   * Takes a new spec in: what is in use stays in use, also where it is out of range now. O(addresses in use).
   *
   * @param pool `undefined` if there is none, or one that can not be read: then `problems` says why
   */
  setPool(pool: InClusterPool | undefined, problems: readonly string[] = []): void {
    this.#pool = pool
    this.#problems = problems
    const space = pool && spaceOf(pool)
    if (space?.ok === false) this.#problems = space.problems
    this.#space = space?.ok === true ? space.value : undefined
    this.#isUsable = this.#space !== undefined
    for (const [key, address] of this.#objects) this.#occupy(address, key)
    for (const [owner, address] of this.#reserved) this.#occupy(address, owner)
  }

  /** Whether this is the ledger of that pool. */
  serves(pool: InClusterPool): boolean {
    const own = this.#pool
    return own?.kind === pool.kind && formatRef(refOf(own)) === formatRef(refOf(pool))
  }

  /** Records an IPAddress object that refers to the pool. Showing it again, or as it is now, is fine. */
  observe(address: IPAddress): void {
    const key = keyOf(address.metadata)
    const before = this.#objects.get(key)
    this.#objects.set(key, address)
    if (before !== undefined && sameText(before, address)) return
    if (before !== undefined) this.#space?.release(key)
    this.#occupy(address, key)
  }

  /** Removes an object that is gone. */
  forget(ref: { readonly namespace?: string | undefined; readonly name: string }): void {
    const key = keyOf(ref)
    if (this.#objects.delete(key)) this.#space?.release(key)
  }

  /**
   * Counts an IPAddress that is about to be written as in use: what it holds is offered to nobody. {@link counts} and {@link entries} leave it out.
   *
   * @returns ends that, and says whether it has made room: nobody holds it. A second call does nothing
   */
  reserve(address: IPAddress): () => boolean {
    const owner = `${keyOf(address.metadata)} ${++this.#reservations}`
    this.#reserved.set(owner, address)
    this.#occupy(address, owner)
    return () => {
      if (!this.#reserved.delete(owner)) return false
      this.#space?.release(owner)
      return this.#space?.holders(address).length === 0
    }
  }

  /** What the next claim would get: the lowest free address or prefix. `undefined` if there is none. Changes nothing. */
  next(): Offer | undefined {
    const found = this.#isUsable ? this.#space?.next() : undefined
    if (found === undefined) return undefined
    const gateway = this.#pool?.spec.gateway
    return gateway === undefined || gateway === '' ? found : { ...found, gateway }
  }

  /** The counts for the status of the pool; `undefined` while its spec can not be used. */
  counts(): InClusterPoolCounts | undefined {
    if (!this.#isUsable) return undefined
    return this.#withoutReserved((space) => {
      const { total, free, outOfRange } = space.counts([...this.#objects.values()])
      return { total: clampCount(total), free: clampCount(free), used: this.#objects.size, outOfRange }
    })
  }

  /** Which other IPAddress objects hold what this one holds, or a part of it, as `namespace/name`. O(log n), and the holders. */
  othersHolding(address: IPAddress): readonly string[] {
    const own = keyOf(address.metadata)
    const holders = (this.#space?.holders(address) ?? []).map((owner) => {
      const reserved = this.#reserved.get(owner)
      return reserved === undefined ? owner : keyOf(reserved.metadata)
    })
    return [...new Set(holders)].filter((holder) => holder !== own)
  }

  /**
   * What is in use, in and out of range, in order; empty while the spec of the pool can not be used. Objects whose text is no address are not among it.
   * O(n log n).
   */
  entries(): LedgerEntry[] {
    return this.#isUsable ? (this.#withoutReserved((space) => space.entries()) ?? []) : []
  }

  #withoutReserved<T>(read: (space: Space) => T): T | undefined {
    const space = this.#space
    if (space === undefined) return undefined
    for (const owner of this.#reserved.keys()) space.release(owner)
    const value = read(space)
    for (const [owner, address] of this.#reserved) space.occupy(address, owner)
    return value
  }

  #occupy(address: IPAddress, key: string): void {
    this.#space ??= emptySpace(address.spec.poolRef.kind)
    this.#space.occupy(address, key)
  }
}

/** The allocator under a ledger. Owners are `namespace/name` of IPAddress objects. */
interface Space {
  occupy(address: IPAddress, key: string): void
  release(key: string): void
  next(): Offer | undefined
  /** The owners of what an object holds, and of each part of it. */
  holders(address: IPAddress): string[]
  counts(objects: readonly IPAddress[]): { readonly total: bigint; readonly free: bigint; readonly outOfRange: number }
  entries(): LedgerEntry[]
}

type SpaceResult =
  | { readonly ok: true; readonly value: Space }
  | { readonly ok: false; readonly problems: readonly string[] }

function spaceOf(pool: InClusterPool): SpaceResult {
  if (isPrefixPool(pool)) {
    const space = prefixSpace(pool.spec)
    if (!space.ok) return { ok: false, problems: space.failure.context.problems }
    const { parents, excluded, childLength } = space.value
    const allocator = new PrefixAllocator({ parents, exclude: excluded, childLength })
    return { ok: true, value: prefixes(allocator, (prefix) => isAllocatablePrefix(space.value, prefix)) }
  }
  const space = addressSpace(pool.spec)
  if (!space.ok) return { ok: false, problems: space.failure.context.problems }
  return { ok: true, value: addresses(new AddressPool({ ranges: space.value.available }), pool.spec.prefix) }
}

/** Nothing to give away, for a pool that is missing or can not be used: what is in use is still known. */
function emptySpace(poolKind: string): Space {
  if (!isPrefixPoolKind(poolKind)) return addresses(new AddressPool({ ranges: RangeSet.empty }), 0)
  const childLength = DEFAULT_ALLOCATION_PREFIX_LENGTH
  return prefixes(new PrefixAllocator({ parents: RangeSet.empty, family: 6, childLength }), () => false)
}

function addresses(pool: AddressPool, prefix: number): Space {
  return {
    occupy(object, key) {
      // a text that is no address can collide with none: it counts as used, and that is all
      const address = Address.safeParse(object.spec.address, { zone: 'drop' })
      if (address.ok) pool.occupy(address.value, { uid: key })
    },
    release(key) {
      pool.releaseOwner(key)
    },
    next() {
      const address = pool.lowestFree()
      return address && { address, prefix }
    },
    holders(object) {
      const address = Address.safeParse(object.spec.address, { zone: 'drop' })
      return address.ok ? holdersOf(pool.ownersOf(address.value)) : []
    },
    counts() {
      const { total, free, outOfRange } = pool.counts()
      return { total, free, outOfRange: Number(outOfRange) }
    },
    entries: () => pool.entries().map(({ address, owners }) => ({ address, prefix, holders: holdersOf(owners) })),
  }
}

function prefixes(allocator: PrefixAllocator, isAllocatable: (prefix: Prefix) => boolean): Space {
  return {
    occupy(object, key) {
      const prefix = heldPrefix(object.spec, allocator.childLength)
      if (prefix !== undefined) allocator.occupy(prefix, { uid: key })
    },
    release(key) {
      allocator.releaseOwner(key)
    },
    next() {
      const prefix = allocator.lowestFree()
      return prefix && { address: prefix.address, prefix: prefix.length }
    },
    holders(object) {
      const prefix = heldPrefix(object.spec, allocator.childLength)
      return prefix === undefined ? [] : holdersOf(allocator.overlapping(prefix).map(({ owner }) => owner))
    },
    counts(objects) {
      const outOfRange = objects.filter((object) => {
        const prefix = prefixOf(object.spec)
        return prefix === undefined || !isAllocatable(prefix)
      }).length
      return { total: allocator.total, free: allocator.free(), outOfRange }
    },
    entries: () =>
      allocator.entries().map(({ prefix, owners }) => ({
        address: prefix.address,
        prefix: prefix.length,
        holders: holdersOf(owners),
      })),
  }
}

/**
 * What an object of a prefix pool holds. Where its length can not be used (it is missing, or 0, which is what an older API makes of a missing
 * one), at least the child around its address.
 */
function heldPrefix(spec: IPAddress['spec'], childLength: number): Prefix | undefined {
  const prefix = prefixOf(spec)
  if (prefix !== undefined && prefix.length > 0) return prefix
  const address = Address.safeParse(spec.address, { zone: 'drop' })
  return address.ok && childLength <= Address.bitsOf(address.value.family)
    ? Prefix.of(address.value, childLength)
    : undefined
}

function holdersOf(owners: readonly Owner[]): string[] {
  return owners.map((owner) => owner.uid).sort()
}

function sameText(left: IPAddress, right: IPAddress): boolean {
  return left.spec.address === right.spec.address && left.spec.prefix === right.spec.prefix
}

function keyOf(ref: { readonly namespace?: string | undefined; readonly name: string }): string {
  return `${ref.namespace ?? ''}/${ref.name}`
}
