import type { Family } from '../../cidr/index.js'
import { assertAddress, assertFamily, assertLength, assertPrefix, assertSet } from '../../cidr/internal.js'
import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import { check } from '../../errors/check.js'
import { FAMILY_MISMATCH } from '../../errors/definitions.js'
import { ipamError } from '../../errors/failure.js'
import { STRIDE } from './leaf-blocks.js'
import { PrefixBuddies } from './prefix-buddies.js'
import { PrefixWay } from './prefix-way.js'

type Address = Address.Address
type Prefix = Prefix.Prefix
type RangeSet = RangeSet.RangeSet

/**
 * The free space of a family, for prefixes of any length: a binary buddy tree. Mutable,
 * synchronous, deterministic. It has no owners.
 *
 *     10.0.0.0/8   |-------------------------------|      what is free of it when 10.64.0.0/12 is taken:
 *                  |---- /10 ----|####|-/12-|-/11---|     one /12, one /11, one /10, and the /9 behind
 *
 * Taken prefixes may overlap, as live objects that are read back may. A prefix is free when no
 * prefix in it or around it is taken. Prefixes outside of the ranges are never free; they can be
 * taken and released.
 *
 * Methods are O(length of the prefix), unless they say otherwise: one step for five bits after the
 * common bits of all ranges. Memory does not depend on the size of the space. A taken prefix needs
 * two to five bytes beside others of the child length, and up to 64 beside others of another
 * length. A prefix without neighbours needs 6 to 16 bytes for each bit. The memory of released
 * prefixes is reused, and not returned.
 *
 * @throws IpamError `FAMILY_MISMATCH` for ranges of both families, `INVALID_PREFIX_LENGTH`
 * @example
 * const tree = new PrefixTree(RangeSet.parse(['10.0.0.0/8']))
 * tree.take(Prefix.parse('10.0.0.0/12')) // true
 * const free = tree.nextFree(10)
 * free && Prefix.format(free) // '10.64.0.0/10'
 * tree.countFree(12) // 15n
 */
export class PrefixTree {
  /** The family of the ranges. */
  readonly family: Family
  /** 32 or 128. */
  readonly bits: number
  readonly #way: PrefixWay
  /** The root: the prefix that contains all ranges, or one that is up to four bits wider. */
  readonly #buddies: PrefixBuddies
  /** Taken prefixes that are not in the root, with the number of their holds. */
  readonly #beside = new Map<string, number>()
  /** The number of holds on prefixes that contain the root. */
  #timesAround = 0

  /**
   * @param options `family`: the family of a tree without ranges. Default 6. `childLength`: the
   * length of most prefixes that will be taken. It affects the speed only. Default: the length of
   * an address.
   */
  constructor(
    ranges: RangeSet,
    options: { readonly family?: Family | undefined; readonly childLength?: number | undefined } = {},
  ) {
    assertSet('PrefixTree', 'ranges', ranges)
    check('PrefixTree', 'options', options, 'object')
    if (options.family !== undefined) assertFamily('PrefixTree', options.family)
    const prefixes = RangeSet.prefixes(ranges)
    const first = prefixes[0]?.address
    const last = prefixes.at(-1)
    if (first !== undefined && last !== undefined && first.family !== last.address.family) {
      throw ipamError(FAMILY_MISMATCH, { left: Address.format(first), right: Address.format(last.address) })
    }
    this.family = first?.family ?? options.family ?? 6
    this.bits = Address.bitsOf(this.family)
    const { childLength = this.bits } = options
    this.#assertLength(childLength)
    const common = first === undefined || last === undefined ? 0 : commonLength(first, Prefix.last(last))
    this.#way = new PrefixWay(this.family, baseFor(common, childLength), first)
    this.#buddies = new PrefixBuddies(this.#way, this.bits)
    for (const prefix of prefixes) {
      this.#way.write(prefix.address)
      this.#way.follow(prefix.length)
      this.#buddies.include(prefix.length)
    }
  }

  /** Whether a prefix is completely in the space, and no prefix in it or around it is taken. */
  isFree(prefix: Prefix): boolean {
    assertPrefix('PrefixTree.isFree', 'prefix', prefix)
    return this.#findFree(prefix) >= 0
  }

  /** Takes a prefix that is free. False, and nothing changes, if it is not. */
  take(prefix: Prefix): boolean {
    assertPrefix('PrefixTree.take', 'prefix', prefix)
    const depth = this.#findFree(prefix)
    if (depth < 0) return false
    this.#buddies.occupyFrom(depth, prefix.length)
    return true
  }

  /**
   * Takes a prefix, even if prefixes in it or around it are taken. It is free again after the same
   * number of releases. O(length + taken prefixes in it).
   */
  occupy(prefix: Prefix): void {
    assertPrefix('PrefixTree.occupy', 'prefix', prefix)
    if (this.#way.isFound(prefix)) this.#buddies.occupyFrom(this.#way.depth, prefix.length)
    else if (this.#aimAt(prefix)) this.#buddies.occupy(prefix.length)
    else this.#holdBeside(prefix, 1)
  }

  /**
   * Ends one hold of exactly this prefix. False, and nothing changes, if it is not taken. O(length
   * + taken prefixes in it).
   */
  release(prefix: Prefix): boolean {
    assertPrefix('PrefixTree.release', 'prefix', prefix)
    return this.#aimAt(prefix) ? this.#buddies.release(prefix.length) : this.#holdBeside(prefix, -1)
  }

  /**
   * The lowest free prefix of a length, from an address on if one is given, or `undefined`. Changes
   * nothing.
   *
   * @throws IpamError `INVALID_PREFIX_LENGTH`, `FAMILY_MISMATCH`
   */
  nextFree(length: number, from?: Address): Prefix | undefined {
    if (from !== undefined) assertAddress('PrefixTree.nextFree', 'from', from)
    this.#assertLength(length)
    const order = from === undefined ? -1 : this.#aimUp(from, length)
    if (order > 0 || this.#timesAround > 0 || this.#buddies.shortest > length) return undefined
    const depth = order < 0 ? this.#buddies.first(length) : this.#buddies.next(length)
    return depth < 0 ? undefined : this.#way.found(depth, length)
  }

  /**
   * As {@link nextFree}, and then from the lowest address: the order of a cursor that wraps around.
   */
  nextFreeAround(length: number, from: Address): Prefix | undefined {
    assertAddress('PrefixTree.nextFreeAround', 'from', from)
    return this.nextFree(length, from) ?? this.nextFree(length)
  }

  /**
   * The number of free prefixes of a length. O(length).
   *
   * @throws IpamError `INVALID_PREFIX_LENGTH`
   */
  countFree(length: number): bigint {
    this.#assertLength(length)
    return this.#timesAround > 0 ? 0n : this.#buddies.countFree(length)
  }

  /** The free space as the fewest prefixes, in order. O(taken prefixes). */
  freePrefixes(): Prefix[] {
    const found: Prefix[] = []
    if (this.#timesAround > 0) return found
    this.#buddies.forEachFree((length) => found.push({ address: this.#way.addressOf(length), length }))
    return found
  }

  /**
   * How deep the last node is on the way to a prefix, which is written, or -1 if it is not free.
   */
  #findFree(prefix: Prefix): number {
    if (this.#way.isFound(prefix)) return this.#way.depth
    return this.#aimAt(prefix) && this.#timesAround === 0 ? this.#buddies.findFree(prefix.length) : -1
  }

  /** Begins or ends a hold of a prefix that is not in the root. False if it is not held. */
  #holdBeside(prefix: Prefix, change: 1 | -1): boolean {
    const text = Prefix.format(Prefix.masked(prefix))
    const holds = (this.#beside.get(text) ?? 0) + change
    if (holds < 0) return false
    if (holds === 0) this.#beside.delete(text)
    else this.#beside.set(text, holds)
    const { length } = prefix
    if (length < this.#way.base && this.#way.compare(length) === 0) this.#timesAround += change
    return true
  }

  /** Writes the way to a prefix, if that is in the root. False if it is not. */
  #aimAt(prefix: Prefix): boolean {
    const length = prefix?.length
    if (prefix?.address?.family !== this.family || !Number.isInteger(length) || length < 0 || length > this.bits) {
      this.#refuse(Prefix.masked(prefix).address)
    }
    this.#way.write(prefix.address)
    if (length < this.#way.base || this.#way.compare(this.#way.base) !== 0) return false
    this.#way.follow(length)
    return true
  }

  /**
   * Writes the way to the lowest address that is at least `from` and begins a prefix of the length.
   * Returns whether the root lies behind it (below 0), has it (0) or does not reach so far.
   */
  #aimUp(from: Address, length: number): number {
    if (from.family !== this.family) this.#refuse(from)
    this.#way.write(Prefix.of(from, length).address)
    if (!this.#way.alignUp(length)) return 1
    const order = this.#way.compare(this.#way.base)
    if (order === 0) this.#way.follow(length)
    return order
  }

  #refuse(address: Address): never {
    throw ipamError(FAMILY_MISMATCH, { left: `a tree of IPv${this.family}`, right: Address.format(address) })
  }

  #assertLength(length: number): void {
    assertLength('PrefixTree', this.family, length)
  }
}

/** How many bits two addresses of a family have in common. */
function commonLength(left: Address, right: Address): number {
  if (left.family === 4) return right.family === 4 ? Math.clz32(left.value ^ right.value) : 0
  if (right.family === 4) return 0
  let length = Math.clz32(left.w0 ^ right.w0)
  if (length === 32) length += Math.clz32(left.w1 ^ right.w1)
  if (length === 64) length += Math.clz32(left.w2 ^ right.w2)
  if (length === 96) length += Math.clz32(left.w3 ^ right.w3)
  return length
}

/**
 * Where nodes begin of which the uppermost is no longer than `length`: such that a child is a pair
 * of leaves, and needs no node below.
 */
function baseFor(length: number, childLength: number): number {
  const pair = childLength - STRIDE + 1
  return length - ((length - pair + 26 * STRIDE) % STRIDE)
}
