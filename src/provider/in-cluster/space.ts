import type { Owner } from '../../allocator/index.js'
import { Pool } from '../../allocator/pool.js'
import { PrefixAllocator } from '../../allocator/prefix-allocator.js'
import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import { DEFAULT_ALLOCATION_PREFIX_LENGTH } from '../../crd/in-cluster/names.js'
import { type InClusterPool, isPrefixPool, isPrefixPoolKind } from '../../crd/in-cluster/pools.js'
import { addressSpace, isAllocatablePrefix, prefixOf, prefixSpace } from '../../crd/in-cluster/space.js'
import type { Offer, Place } from '../claims/definition.js'
import { type Random, randomAddress, randomPrefix } from './draw.js'

type Address = Address.Address
type Prefix = Prefix.Prefix
type RangeSet = RangeSet.RangeSet

/** An address or prefix in use, in or out of range. */
export interface LedgerEntry {
  readonly address: Address
  /** The length of the subnet, or of the prefix itself. */
  readonly prefix: number
  /** `namespace/name` of the IPAddress objects that hold it: more than one if somebody wrote a duplicate. */
  readonly holders: readonly string[]
}

/** The allocator under a ledger. Owners are names of whoever holds something. */
export interface Space {
  readonly available: RangeSet
  /** @returns who else holds it, or a part of it */
  occupy(place: Place, owner: string): readonly string[]
  /** What is held from outside of the pool: of any length. */
  occupyPrefix(prefix: Prefix, owner: string): void
  release(owner: string): void
  /** The lowest that is free. */
  next(): Offer | undefined
  /** One of those that are free, each as likely as any other. */
  draw(random: Random): Offer | undefined
  /** What a text of a person means here; `undefined` if it is no address, or no prefix of the length that the pool gives. */
  offerOf(text: string): Offer | undefined
  /** Whether the pool may give this, in use or not. */
  has(offer: Offer): boolean
  /** All that an object holds: of an address, itself. */
  extentOf(place: Place): Prefix | undefined
  /** The owners of a prefix, of what is around it, and of each part of it. */
  holders(prefix: Prefix): string[]
  counts(objects: readonly { readonly spec: Place }[]): SpaceCounts
  entries(): LedgerEntry[]
}

export interface SpaceCounts {
  readonly total: bigint
  readonly free: bigint
  readonly outOfRange: number
}

type SpaceResult =
  | { readonly ok: true; readonly value: Space }
  | { readonly ok: false; readonly problems: readonly string[] }

/** What a pool gives, or why it can give nothing. */
export function spaceOf(pool: InClusterPool): SpaceResult {
  if (isPrefixPool(pool)) {
    const space = prefixSpace(pool.spec)
    if (!space.ok) return { ok: false, problems: space.failure.context.problems }
    const { parents, excluded, childLength, available } = space.value
    const allocator = new PrefixAllocator({ parents, exclude: excluded, childLength })
    return { ok: true, value: prefixes(allocator, available, (prefix) => isAllocatablePrefix(space.value, prefix)) }
  }
  const space = addressSpace(pool.spec)
  if (!space.ok) return { ok: false, problems: space.failure.context.problems }
  return { ok: true, value: addresses(new Pool({ ranges: space.value.available }), pool.spec.prefix) }
}

/** Nothing to give away, for a pool that is missing or can not be used: what is in use is still known. */
export function emptySpace(poolKind: string): Space {
  if (!isPrefixPoolKind(poolKind)) return addresses(new Pool({ ranges: RangeSet.empty }), 0)
  const childLength = DEFAULT_ALLOCATION_PREFIX_LENGTH
  const allocator = new PrefixAllocator({ parents: RangeSet.empty, family: 6, childLength })
  return prefixes(allocator, RangeSet.empty, () => false)
}

function addresses(pool: Pool, prefix: number): Space {
  const { available } = pool
  const fences = new Fences()
  const addressOf = (place: Place) => {
    // a text that is no address can collide with none: it counts as used, and that is all
    const address = Address.safeParse(place.address, { zone: 'drop' })
    return address.ok ? address.value : undefined
  }
  const counts = () => {
    const { total, free, outOfRange } = pool.counts()
    if (fences.isEmpty) return { total, free, outOfRange: Number(outOfRange) }
    const open = RangeSet.subtract(RangeSet.subtract(available, fences.set), pool.inUse())
    return { total, free: RangeSet.size(open), outOfRange: Number(outOfRange) }
  }
  return {
    available,
    occupy(place, owner) {
      const address = addressOf(place)
      return address === undefined ? [] : pool.occupy(address, { uid: owner }).others.map(({ uid }) => uid)
    },
    occupyPrefix(held, owner) {
      if (held.length === Address.bitsOf(held.address.family)) pool.occupy(held.address, { uid: owner })
      else fences.add(held, owner)
    },
    release(owner) {
      pool.releaseOwner(owner)
      fences.delete(owner)
    },
    next() {
      let address = pool.lowestFree()
      for (let fence = address && fences.around(address); fence !== undefined; ) {
        const behind = Address.next(fence.last)
        address = behind && pool.lowestFree({ from: behind })
        fence = address && fences.around(address)
      }
      return address && { address, prefix }
    },
    draw(random) {
      const { free, total } = counts()
      const isFree = (address: Address) => pool.ownersOf(address).length === 0 && fences.around(address) === undefined
      const inUse = () => RangeSet.union(pool.inUse(), fences.set)
      const address = randomAddress(available, { free, total, isFree, inUse, random })
      return address && { address, prefix }
    },
    offerOf(text) {
      const address = Address.safeParse(text)
      return address.ok ? { address: address.value, prefix } : undefined
    },
    has: (offer) => pool.hasAddress(offer.address),
    extentOf(place) {
      const address = addressOf(place)
      return address && Prefix.of(address, Address.bitsOf(address.family))
    },
    holders: ({ address }) => [...holdersOf(pool.ownersOf(address)), ...fences.ownersAround(address)],
    counts,
    entries: () => pool.entries().map(({ address, owners }) => ({ address, prefix, holders: holdersOf(owners) })),
  }
}

/** Prefixes that others hold, over a pool of addresses: none of their addresses is given, and none of them is an address in use. */
class Fences {
  readonly #prefixes = new Map<string, Prefix>()
  #set: RangeSet | undefined

  get isEmpty(): boolean {
    return this.#prefixes.size === 0
  }

  get set(): RangeSet {
    this.#set ??= RangeSet.fromPrefixes(this.#prefixes.values())
    return this.#set
  }

  add(prefix: Prefix, owner: string): void {
    this.#prefixes.set(owner, prefix)
    this.#set = undefined
  }

  delete(owner: string): void {
    if (this.#prefixes.delete(owner)) this.#set = undefined
  }

  /** The prefix that an address lies in. O(prefixes). */
  around(address: Address): { readonly last: Address } | undefined {
    for (const prefix of this.#prefixes.values()) {
      if (Prefix.contains(prefix, address)) return { last: Prefix.last(prefix) }
    }
    return undefined
  }

  ownersAround(address: Address): string[] {
    return [...this.#prefixes].filter(([, prefix]) => Prefix.contains(prefix, address)).map(([owner]) => owner)
  }
}

function prefixes(allocator: PrefixAllocator, available: RangeSet, isAllocatable: (prefix: Prefix) => boolean): Space {
  const { childLength } = allocator
  const holdersOn = (prefix: Prefix) => holdersOf(allocator.overlapping(prefix).map(({ owner }) => owner))
  return {
    available,
    occupy(place, owner) {
      const prefix = heldPrefix(place, childLength)
      return prefix === undefined ? [] : allocator.occupy(prefix, { uid: owner }).map((hold) => hold.owner.uid)
    },
    occupyPrefix(prefix, owner) {
      allocator.occupy(prefix, { uid: owner })
    },
    release(owner) {
      allocator.releaseOwner(owner)
    },
    next() {
      const prefix = allocator.lowestFree()
      return prefix && offerOfPrefix(prefix)
    },
    draw(random) {
      const prefix = randomPrefix(available, childLength, {
        free: allocator.free(),
        total: allocator.total,
        isFree: (one) => allocator.overlapping(one).length === 0,
        inUse: () => RangeSet.fromPrefixes(allocator.entries().map((entry) => entry.prefix)),
        random,
      })
      return prefix && offerOfPrefix(prefix)
    },
    offerOf(text) {
      const prefix = wantedPrefix(text, childLength)
      return prefix && offerOfPrefix(prefix)
    },
    has: ({ address, prefix }) => isAllocatable(Prefix.of(address, prefix)),
    extentOf: (place) => heldPrefix(place, childLength),
    holders: holdersOn,
    counts(objects) {
      const outOfRange = objects.filter((object) => {
        const prefix = prefixOf(object.spec)
        return prefix === undefined || !isAllocatable(prefix)
      }).length
      return { total: allocator.total, free: allocator.free(), outOfRange }
    },
    entries: () =>
      allocator.entries().map(({ prefix, owners }) => ({ ...offerOfPrefix(prefix), holders: holdersOf(owners) })),
  }
}

function offerOfPrefix(prefix: Prefix): { readonly address: Address; readonly prefix: number } {
  return { address: prefix.address, prefix: prefix.length }
}

/** `10.0.0.16/28`, or `10.0.0.16` for the child of that base address. */
function wantedPrefix(text: string, childLength: number): Prefix | undefined {
  const read = text.includes('/') ? Prefix.safeParse(text) : Address.safeParse(text)
  if (!read.ok) return undefined
  const { value } = read
  const address = 'address' in value ? value.address : value
  if (childLength > Address.bitsOf(address.family) || ('address' in value && value.length !== childLength))
    return undefined
  const prefix = Prefix.of(address, childLength)
  return Prefix.masked(prefix) === prefix ? prefix : undefined
}

/**
 * What an object of a prefix pool holds. Where its length can not be used (it is missing, or 0, which is what an older API makes of a missing
 * one), at least the child around its address.
 */
function heldPrefix(spec: Place, childLength: number): Prefix | undefined {
  const prefix = prefixOf(spec)
  if (prefix !== undefined && prefix.length > 0) return prefix
  const address = Address.safeParse(spec.address, { zone: 'drop' })
  return address.ok && childLength <= Address.bitsOf(address.value.family)
    ? Prefix.masked(Prefix.of(address.value, childLength))
    : undefined
}

function holdersOf(owners: readonly Owner[]): string[] {
  return owners.map((owner) => owner.uid).sort()
}
