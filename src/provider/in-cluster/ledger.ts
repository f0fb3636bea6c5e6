import { AddressPool, type Owner, PrefixAllocator } from '../../allocator/index.js'
import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import type { InClusterPool, InClusterPoolCounts } from '../../crd/in-cluster/pools.js'
import { isPrefixPool } from '../../crd/in-cluster/pools.js'
import { addressSpace, clampCount, isAllocatablePrefix, prefixOf, prefixSpace } from '../../crd/in-cluster/space.js'
import { formatRef, refOf } from '../../crd/meta/object.js'

type Address = Address.Address
type Prefix = Prefix.Prefix

/** What a pool can give to the next claim. */
export interface Offer {
  /** The address, or the base address of the prefix. */
  readonly address: Address
  /** The length of the subnet, or of the prefix itself. */
  readonly prefix: number
  readonly gateway?: string | undefined
}

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
export class PoolLedger {
  #pool: InClusterPool | undefined
  #space: Space | undefined
  #problems: readonly string[] = []
  readonly #objects = new Map<string, IPAddress>()

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

  /**
   * Takes a new spec in: what is in use stays in use, also where it is out of range now. O(addresses in use).
   *
   * @param pool `undefined` if there is none, or one that can not be read: then `problems` says why
   */
  setPool(pool: InClusterPool | undefined, problems: readonly string[] = []): void {
    this.#pool = pool
    this.#problems = problems
    this.#space = undefined
    if (pool === undefined) return
    const space = spaceOf(pool)
    if (!space.ok) {
      this.#problems = space.problems
      return
    }
    this.#space = space.value
    for (const [key, address] of this.#objects) this.#space.occupy(address, key)
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
    this.#space?.occupy(address, key)
  }

  /** Removes an object that is gone. */
  forget(ref: { readonly namespace?: string | undefined; readonly name: string }): void {
    const key = keyOf(ref)
    if (this.#objects.delete(key)) this.#space?.release(key)
  }

  /** What the next claim would get: the lowest free address or prefix. `undefined` if there is none. Changes nothing. */
  next(): Offer | undefined {
    const found = this.#space?.next()
    if (found === undefined) return undefined
    const gateway = this.#pool?.spec.gateway
    return gateway === undefined || gateway === '' ? found : { ...found, gateway }
  }

  /** The counts for the status of the pool; `undefined` while its spec can not be used. */
  counts(): InClusterPoolCounts | undefined {
    if (this.#space === undefined) return undefined
    const { total, free, outOfRange } = this.#space.counts([...this.#objects.values()])
    return {
      total: clampCount(total),
      free: clampCount(free),
      used: this.#objects.size,
      outOfRange,
    }
  }

  /** Which other IPAddress objects hold what this one holds, or a part of it, as `namespace/name`. O(log n), and the holders. */
  othersWith(address: IPAddress): readonly string[] {
    const key = keyOf(address.metadata)
    return (this.#space?.holders(address) ?? []).filter((holder) => holder !== key)
  }

  /** What is in use, in and out of range, in order. Objects whose text is no address are not among it. O(n log n). */
  entries(): LedgerEntry[] {
    return this.#space?.entries() ?? []
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
