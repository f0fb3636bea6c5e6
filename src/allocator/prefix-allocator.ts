import type { Address6 } from '../cidr/index.js'
import * as Address from '../cidr/nouns/address.js'
import * as Prefix from '../cidr/nouns/prefix.js'
import * as Range from '../cidr/nouns/range.js'
import * as RangeSet from '../cidr/nouns/range-set.js'
import { ipamError } from '../errors/index.js'
import { AddressPool } from './address-pool.js'
import { assertOwner, type Owner } from './request.js'

type Address = Address.Address
type Prefix = Prefix.Prefix
type Range = Range.Range
type RangeSet = RangeSet.RangeSet

export interface PrefixAllocatorSpec {
  /** The address space to carve, of one family. Overlapping and adjacent parts are one. */
  readonly parents: RangeSet
  /** Space that no child may touch: a child that overlaps it is lost as a whole. */
  readonly exclude?: RangeSet | undefined
  /** Prefix length of every child: 0 to 32 or 0 to 128. */
  readonly childLength: number
}

/** A prefix in use, and who holds it. */
export interface PrefixEntry {
  readonly prefix: Prefix
  readonly owners: readonly Owner[]
}

/**
 * Which child prefix next? Carves prefixes of one length from a space, lowest free first.
 *
 * A child is what remains of its address when the host bits are shifted out, so the children are the addresses of an
 * {@link AddressPool}:
 *
 *     fd00:0:0:1::/64, fd00:0:0:2::/64   >> 64 =   ::fd00:0:0:1, ::fd00:0:0:2
 *
 * Nothing of the size 2^n is ever built: a /64 of ::/0 costs what a /64 of a /48 costs.
 *
 * @throws IpamError `FAMILY_MISMATCH` if the parents are of both families, `INVALID_PREFIX_LENGTH`
 * @example
 * const allocator = new PrefixAllocator({ parents: RangeSet.parse(['fd00::/62']), childLength: 64 })
 * allocator.occupy(Prefix.parse('fd00::/64'), { uid: 'a' })
 * const child = allocator.lowestFree()
 * child && Prefix.format(child) // 'fd00:0:0:1::/64'
 */
export class PrefixAllocator {
  readonly childLength: number
  readonly #family: 4 | 6
  readonly #shift: number
  /** Parents without exclusions. */
  readonly #space: RangeSet
  /** The children, host bits shifted out. */
  readonly #pool: AddressPool
  /** Prefixes in use that are shorter than a child, and so cover many, by their text. */
  readonly #wide = new Map<string, { readonly prefix: Prefix; readonly owners: Owner[] }>()

  constructor(spec: PrefixAllocatorSpec) {
    const { parents, childLength } = spec
    const lowest = RangeSet.first(parents)
    if (lowest?.family === 4 && parents.v6.firsts.length > 0) {
      const highest = RangeSet.first({ v4: RangeSet.empty.v4, v6: parents.v6 }) as Address
      throw ipamError('FAMILY_MISMATCH', { left: Address.format(lowest), right: Address.format(highest) })
    }
    this.#family = lowest?.family ?? 6
    const max = Address.bitsOf(this.#family)
    if (!Number.isInteger(childLength) || childLength < 0 || childLength > max) {
      throw ipamError('INVALID_PREFIX_LENGTH', { length: childLength, max })
    }
    this.childLength = childLength
    this.#shift = max - childLength
    this.#space = spec.exclude === undefined ? parents : RangeSet.subtract(parents, spec.exclude)
    this.#pool = new AddressPool({ ranges: childrenOf(this.#space, this.#shift) })
  }

  /** Whether this is a child that the allocator may hand out, in use or not. */
  isAllocatable(prefix: Prefix): boolean {
    return (
      prefix.length === this.childLength &&
      prefix.address.family === this.#family &&
      RangeSet.contains(this.#pool.available, this.#childOf(prefix))
    )
  }

  /**
   * Records that an owner holds a prefix. One that is longer than a child takes the child around it, one that is shorter takes
   * all children in it; one outside the space is remembered too.
   */
  occupy(prefix: Prefix, owner: Owner): void {
    assertOwner(owner)
    if (prefix.address.family !== this.#family) return
    if (prefix.length < this.childLength) this.#occupyWide(Prefix.masked(prefix), owner)
    else this.#pool.occupy(this.#childOf(prefix), owner)
  }

  /** Ends all holds of an owner. */
  releaseOwner(uid: string): void {
    for (const [text, { owners }] of this.#wide) {
      const index = owners.findIndex((owner) => owner.uid === uid)
      if (index >= 0) owners.splice(index, 1)
      if (owners.length === 0) this.#wide.delete(text)
    }
    this.#pool.releaseOwner(uid)
  }

  /** The lowest child that nothing in use overlaps, or `undefined`. Changes nothing. */
  lowestFree(): Prefix | undefined {
    let child = this.#pool.lowestFree()
    while (child !== undefined) {
      const prefix: Prefix = { address: shiftLeft(child, this.#shift), length: this.childLength }
      const cover = this.#widestOver(prefix)
      if (cover === undefined) return prefix
      // behind the last child of the cover:  |------ cover ------|
      //                                       ^ child             ^ search goes on
      const behind = Address.next(shiftRight(Prefix.last(cover), this.#shift))
      child = behind === undefined ? undefined : this.#pool.lowestFree({ from: behind })
    }
    return undefined
  }

  /** How many children the allocator may hand out, in use or not. O(1). */
  get total(): bigint {
    return this.#pool.counts().total
  }

  /** How many of those nothing in use overlaps. O(n log n). */
  free(): bigint {
    const inUse = RangeSet.fromRanges(this.entries().map((entry) => Range.fromPrefix(entry.prefix)))
    return RangeSet.size(childrenOf(RangeSet.subtract(this.#space, inUse), this.#shift))
  }

  /** Every prefix in use with its owners, in order, wide before narrow; of longer ones the child around them. O(n log n). */
  entries(): PrefixEntry[] {
    const found: PrefixEntry[] = this.#pool.entries().map(({ address, owners }) => ({
      prefix: { address: shiftLeft(address, this.#shift), length: this.childLength },
      owners,
    }))
    for (const { prefix, owners } of this.#wide.values()) found.push({ prefix, owners: [...owners] })
    return found.sort(
      (a, b) => Address.compare(a.prefix.address, b.prefix.address) || a.prefix.length - b.prefix.length,
    )
  }

  #occupyWide(prefix: Prefix, owner: Owner): void {
    const text = Prefix.format(prefix)
    const held = this.#wide.get(text)
    if (held === undefined) this.#wide.set(text, { prefix, owners: [owner] })
    else if (!held.owners.some((other) => other.uid === owner.uid)) held.owners.push(owner)
  }

  #childOf(prefix: Prefix): Address {
    return shiftRight(prefix.address, this.#shift)
  }

  #widestOver(child: Prefix): Prefix | undefined {
    let widest: Prefix | undefined
    for (const { prefix } of this.#wide.values()) {
      if (Prefix.contains(prefix, child) && prefix.length < (widest?.length ?? 129)) widest = prefix
    }
    return widest
  }
}

/** The children that lie wholly in a space, as shifted addresses. */
function childrenOf(space: RangeSet, shift: number): RangeSet {
  const children: Range[] = []
  for (const range of RangeSet.ranges(space)) {
    const whole = wholeChildren(range, shift)
    if (whole !== undefined) children.push(whole)
  }
  return RangeSet.fromRanges(children)
}

/**
 * The children that lie wholly in a range, as shifted addresses.
 *
 *     range         |---------------------------|
 *     children   |------|------|------|------|------|
 *     whole             |-----------------|
 */
function wholeChildren(range: Range, shift: number): Range | undefined {
  let first: Address | undefined = shiftRight(range.first, shift)
  if (!Address.equals(shiftLeft(first, shift), range.first)) first = Address.next(first)
  let last: Address | undefined = shiftRight(range.last, shift)
  const end = Prefix.last({ address: range.last, length: Address.bitsOf(range.last.family) - shift })
  if (!Address.equals(end, range.last)) last = Address.previous(last)
  if (first === undefined || last === undefined || Address.compare(first, last) > 0) return undefined
  return { first, last }
}

/** The value of an address shifted right by 0 to 128 bits. */
function shiftRight(address: Address, bits: number): Address {
  if (address.family === 4) return { family: 4, value: bits === 32 ? 0 : address.value >>> bits }
  let { w0, w1, w2, w3 } = address
  let left = bits
  for (; left >= 32; left -= 32) {
    w3 = w2
    w2 = w1
    w1 = w0
    w0 = 0
  }
  if (left > 0) {
    w3 = ((w3 >>> left) | (w2 << (32 - left))) >>> 0
    w2 = ((w2 >>> left) | (w1 << (32 - left))) >>> 0
    w1 = ((w1 >>> left) | (w0 << (32 - left))) >>> 0
    w0 >>>= left
  }
  return { family: 6, w0, w1, w2, w3 } satisfies Address6
}

/** The value of an address shifted left by 0 to 128 bits; what leaves on the left is lost. */
function shiftLeft(address: Address, bits: number): Address {
  if (address.family === 4) return { family: 4, value: bits === 32 ? 0 : (address.value << bits) >>> 0 }
  let { w0, w1, w2, w3 } = address
  let left = bits
  for (; left >= 32; left -= 32) {
    w0 = w1
    w1 = w2
    w2 = w3
    w3 = 0
  }
  if (left > 0) {
    w0 = ((w0 << left) | (w1 >>> (32 - left))) >>> 0
    w1 = ((w1 << left) | (w2 >>> (32 - left))) >>> 0
    w2 = ((w2 << left) | (w3 >>> (32 - left))) >>> 0
    w3 = (w3 << left) >>> 0
  }
  return { family: 6, w0, w1, w2, w3 } satisfies Address6
}
