import type { Address6 } from '../nouns/types.js'
import { format6 } from '../text/text6.js'
import { areRanges, assertRanges, SUM_SHIFT, UNBUILT } from './ranges4.js'
import { ascending6 } from './sort6.js'
import {
  addressAt6,
  bigAt6,
  compareAt,
  compareTo,
  copyAt,
  decrementAt,
  differenceAt6,
  incrementAt,
  isNext,
  sizeAt6,
  windowAt6,
} from './words6.js'

/** A directory for fewer ranges than this does not pay. */
const FEW = 32
const MAX_SLOT_BITS = 16

/**
 * Sorted, disjoint, non-adjacent IPv6 ranges. Four words an end: range `i` is `firsts[4i..4i+3]` to
 * `lasts[4i..4i+3]`, both included, most significant word first. What is built when it is asked for
 * is as in `Ranges4`.
 */
export class Ranges6 {
  readonly firsts: Uint32Array
  readonly lasts: Uint32Array
  /**
   * A directory over the 32 bits from `#slotAt` on, in front of which all ranges agree: for every
   * 2^`#slotBits` of their values the index of the first range that begins there or behind.
   */
  #slots = UNBUILT
  #slotAt = 0
  #slotBits = 0
  /** The number of addresses in front of every 64th range, four words each. */
  #sums = UNBUILT

  /** Of ranges that are sorted, disjoint and non-adjacent already. O(1). */
  constructor(firsts: Uint32Array, lasts: Uint32Array) {
    this.firsts = firsts
    this.lasts = lasts
  }

  /** Whether this is what the class has made, or a structured clone of it. O(1). */
  static is(given: unknown): given is Ranges6 {
    if (typeof given !== 'object' || given === null) return false
    return #slots in given || areRanges((given as Ranges6).firsts, (given as Ranges6).lasts)
  }

  /**
   * Guards what works on all ranges of a set. A structured clone has lost what is private, and what
   * went through JSON its arrays.
   *
   * @returns the argument, or ranges with the arrays of a structured clone
   * @throws IpamError `INVALID_ARGUMENT` for what are no ranges
   */
  static own(ranges: Ranges6): Ranges6 {
    const { firsts, lasts } = ranges
    if (#slots in ranges) return ranges
    assertRanges(firsts, lasts)
    return new Ranges6(firsts, lasts)
  }

  /**
   * Index of the last range that begins at or before the address, or -1. A directory and a few
   * steps, O(log n) at worst.
   */
  static floor(ranges: Ranges6, address: Address6): number {
    const { firsts, lasts } = ranges
    let low = 0
    let high = firsts.length >>> 2
    if (!(#slots in ranges)) assertRanges(firsts, lasts)
    else if (high >= FEW) {
      if (compareTo(firsts, 0, address) > 0) return -1
      if (compareTo(firsts, high - 1, address) <= 0) return high - 1
      if (ranges.#slots.length === 0) ranges.#buildSlots()
      const slots = ranges.#slots
      // between the first and the last range, so that it agrees with them in the bits in front of
      // the window
      const slotAt = ranges.#slotAt
      const slot = (windowOf(address, slotAt) - windowAt6(firsts, 0, slotAt)) >>> ranges.#slotBits
      low = slots[slot]!
      high = slots[slot + 1]!
    }
    while (low < high) {
      const middle = (low + high) >>> 1
      if (compareTo(firsts, middle, address) <= 0) low = middle + 1
      else high = middle
    }
    return low - 1
  }

  /**
   * Each range as `first-last`, as `Ranges4` has it. O(n).
   *
   * @example
   * JSON.stringify(RangeSet.parse(['fd00::/126'])) // '{"v4":[],"v6":["fd00::-fd00::3"]}'
   */
  toJSON(): string[] {
    const textAt = (words: Uint32Array, index: number) => format6(addressAt6(words, index))
    return Array.from({ length: this.firsts.length / 4 }, (_, index) => {
      return `${textAt(this.firsts, index)}-${textAt(this.lasts, index)}`
    })
  }

  static sums(ranges: Ranges6): Uint32Array {
    const { firsts, lasts } = ranges
    if (!(#sums in ranges)) return sumsOf(firsts, lasts)
    if (ranges.#sums === UNBUILT) ranges.#sums = sumsOf(firsts, lasts)
    return ranges.#sums
  }

  #buildSlots(): void {
    const { firsts } = this
    const count = firsts.length >>> 2
    const slotAt = differenceAt6(firsts, 0, firsts, count - 1)
    const base = windowAt6(firsts, 0, slotAt)
    const span = windowAt6(firsts, count - 1, slotAt) - base
    const bits = Math.min(MAX_SLOT_BITS, 32 - Math.clz32(count))
    const slotBits = Math.max(0, 32 - Math.clz32(span) - bits)
    const slots = new Uint32Array((span >>> slotBits) + 2)
    let slot = 0
    for (let i = 0; i < count; i++) {
      const own = (windowAt6(firsts, i, slotAt) - base) >>> slotBits
      while (slot <= own) slots[slot++] = i
    }
    slots[slot] = count
    this.#slots = slots
    this.#slotAt = slotAt
    this.#slotBits = slotBits
  }
}

export const none6: Ranges6 = /* @__PURE__ */ Object.freeze(/* @__PURE__ */ new Ranges6(UNBUILT, UNBUILT)) as Ranges6

/** Index of the range that has the address, or -1. */
export function find6(ranges: Ranges6, address: Address6): number {
  const index = Ranges6.floor(ranges, address)
  return index >= 0 && compareTo(ranges.lasts, index, address) >= 0 ? index : -1
}

export function count6(ranges: Ranges6): number {
  return ranges.firsts.length >>> 2
}

/** How many addresses lie in the ranges in front of `index`. */
export function sumBefore6(ranges: Ranges6, index: number): bigint {
  if (index === 0) return 0n
  const block = (index - 1) >>> SUM_SHIFT
  let sum = bigAt6(Ranges6.sums(ranges), block)
  for (let i = block << SUM_SHIFT; i < index; i++) sum += sizeAt6(ranges.firsts, ranges.lasts, i)
  return sum
}

/**
 * The value of the address with `rank` addresses of the ranges before it: the caller knows that
 * there is one. O(log n).
 */
export function at6(ranges: Ranges6, rank: bigint): bigint {
  const { firsts, lasts } = ranges
  const sums = Ranges6.sums(ranges)
  let low = 0
  let high = sums.length >>> 2
  while (low < high) {
    const middle = (low + high) >>> 1
    if (bigAt6(sums, middle) <= rank) low = middle + 1
    else high = middle
  }
  let left = rank - bigAt6(sums, low - 1)
  for (let i = (low - 1) << SUM_SHIFT; ; i++) {
    const size = sizeAt6(firsts, lasts, i)
    if (left < size) return bigAt6(firsts, i) + left
    left -= size
  }
}

/**
 * Sorts and merges ranges given in any order, overlapping or not; the arrays are used up: the
 * result may have them. O(n) for each 32 bits in which they differ.
 */
export function normalise6(firsts: Uint32Array, lasts: Uint32Array): Ranges6 {
  const count = firsts.length >>> 2
  if (count === 1) return new Ranges6(firsts, lasts)
  const order = ascending6(firsts, count)
  const out = new Output(count)
  for (let i = 0; i < count; i++) out.merge(firsts, lasts, order[i]!)
  return out.done()
}

/** All of `a` and `b`. One sweep over both, O(a + b). */
export function union6(left: Ranges6, right: Ranges6): Ranges6 {
  const a = Ranges6.own(left)
  const b = Ranges6.own(right)
  const countA = count6(a)
  const countB = count6(b)
  if (countA === 0) return b
  if (countB === 0) return a
  const out = new Output(countA + countB)
  let i = 0
  let j = 0
  while (i < countA || j < countB) {
    if (j === countB || (i < countA && compareAt(a.firsts, i, b.firsts, j) <= 0)) out.merge(a.firsts, a.lasts, i++)
    else out.merge(b.firsts, b.lasts, j++)
  }
  return out.done()
}

/** `a` without `b`. One sweep over both, O(a + b). See `subtract4` for the picture. */
export function subtract6(left: Ranges6, right: Ranges6): Ranges6 {
  const a = Ranges6.own(left)
  const b = Ranges6.own(right)
  const countA = count6(a)
  const countB = count6(b)
  if (countA === 0 || countB === 0) return a
  const out = new Output(countA + countB)
  const first = new Uint32Array(4)
  let j = 0
  for (let i = 0; i < countA; i++) {
    copyAt(a.firsts, i, first, 0)
    while (j < countB && compareAt(b.lasts, j, first, 0) < 0) j++
    let open = true
    while (j < countB && compareAt(b.firsts, j, a.lasts, i) <= 0) {
      if (compareAt(b.firsts, j, first, 0) > 0) {
        copyAt(first, 0, out.firsts, out.length)
        copyAt(b.firsts, j, out.lasts, out.length)
        decrementAt(out.lasts, out.length)
        out.length++
      }
      if (compareAt(b.lasts, j, a.lasts, i) >= 0) {
        open = false
        break
      }
      copyAt(b.lasts, j, first, 0)
      incrementAt(first, 0)
      j++
    }
    if (open) {
      copyAt(first, 0, out.firsts, out.length)
      copyAt(a.lasts, i, out.lasts, out.length)
      out.length++
    }
  }
  return out.done()
}

/**
 * What `a` and `b` have in common. One sweep over the parts of both that may meet: O(a + b) at
 * most, and O(log n) where one is a short range.
 */
export function intersect6(left: Ranges6, right: Ranges6): Ranges6 {
  const a = Ranges6.own(left)
  const b = Ranges6.own(right)
  const countA = count6(a)
  const countB = count6(b)
  if (countA === 0) return a
  if (countB === 0) return b
  const endA = Ranges6.floor(a, addressAt6(b.lasts, countB - 1)) + 1
  const endB = Ranges6.floor(b, addressAt6(a.lasts, countA - 1)) + 1
  let i = Math.max(0, Ranges6.floor(a, addressAt6(b.firsts, 0)))
  let j = Math.max(0, Ranges6.floor(b, addressAt6(a.firsts, 0)))
  if (i >= endA || j >= endB) return none6
  const out = new Output(endA - i + endB - j)
  while (i < endA && j < endB) {
    const firstIsA = compareAt(a.firsts, i, b.firsts, j) >= 0
    const lastIsA = compareAt(a.lasts, i, b.lasts, j) <= 0
    copyAt(firstIsA ? a.firsts : b.firsts, firstIsA ? i : j, out.firsts, out.length)
    copyAt(lastIsA ? a.lasts : b.lasts, lastIsA ? i : j, out.lasts, out.length)
    if (compareAt(out.firsts, out.length, out.lasts, out.length) <= 0) out.length++
    if (compareAt(a.lasts, i, b.lasts, j) < 0) i++
    else j++
  }
  return out.done()
}

/** Whether `a` and `b` have an address in common. Stops at the first, O(a + b) at worst. */
export function overlaps6(left: Ranges6, right: Ranges6): boolean {
  const a = Ranges6.own(left)
  const b = Ranges6.own(right)
  const countA = count6(a)
  const countB = count6(b)
  let i = 0
  let j = 0
  while (i < countA && j < countB) {
    if (compareAt(a.lasts, i, b.firsts, j) < 0) i++
    else if (compareAt(b.lasts, j, a.firsts, i) < 0) j++
    else return true
  }
  return false
}

/**
 * Ranges being written; one more slot than asked for, so that a candidate can be written before it
 * is known to count.
 */
class Output {
  readonly firsts: Uint32Array
  readonly lasts: Uint32Array
  length = 0

  constructor(capacity: number) {
    this.firsts = new Uint32Array((capacity + 1) * 4)
    this.lasts = new Uint32Array((capacity + 1) * 4)
  }

  /**
   * Adds a range that begins no earlier than all before it: to the last one, if it overlaps or
   * touches it.
   */
  merge(firsts: Uint32Array, lasts: Uint32Array, index: number): void {
    const previous = this.length - 1
    if (
      previous >= 0 &&
      // nearly always the first words say that they do not touch
      firsts[index << 2]! - this.lasts[previous << 2]! <= 1 &&
      (compareAt(firsts, index, this.lasts, previous) <= 0 || isNext(firsts, index, this.lasts, previous))
    ) {
      if (compareAt(lasts, index, this.lasts, previous) > 0) copyAt(lasts, index, this.lasts, previous)
      return
    }
    copyAt(firsts, index, this.firsts, this.length)
    copyAt(lasts, index, this.lasts, this.length)
    this.length++
  }

  done(): Ranges6 {
    return new Ranges6(used(this.firsts, this.length * 4), used(this.lasts, this.length * 4))
  }
}

/**
 * The first `length` words. Copied, unless nearly all are: a copy takes as long as all the rest.
 */
function used(words: Uint32Array, length: number): Uint32Array {
  return length * 32 >= words.length * 31 ? words.subarray(0, length) : words.slice(0, length)
}

/** As {@link windowAt6}, of an address. */
function windowOf(address: Address6, bit: number): number {
  const { w0, w1, w2, w3 } = address
  const shift = bit & 31
  const word = bit >> 5
  const high = word === 0 ? w0 : word === 1 ? w1 : word === 2 ? w2 : w3
  if (shift === 0 || word === 3) return (high << shift) >>> 0
  const low = word === 0 ? w1 : word === 1 ? w2 : w3
  return ((high << shift) | (low >>> (32 - shift))) >>> 0
}

function sumsOf(firsts: Uint32Array, lasts: Uint32Array): Uint32Array {
  const count = firsts.length >>> 2
  const sums = new Uint32Array(((count + 63) >>> SUM_SHIFT) << 2)
  // a number for each word: 64 differences and carries of 32 bits are exact in it
  let s0 = 0
  let s1 = 0
  let s2 = 0
  let s3 = 0
  for (let i = 0; i < count; i++) {
    const at = i << 2
    if ((i & 63) === 0) {
      let carry = Math.floor(s3 / WORDS)
      s3 -= carry * WORDS
      s2 += carry
      carry = Math.floor(s2 / WORDS)
      s2 -= carry * WORDS
      s1 += carry
      carry = Math.floor(s1 / WORDS)
      s1 -= carry * WORDS
      s0 += carry
      const to = (i >>> SUM_SHIFT) << 2
      sums[to] = s0
      sums[to + 1] = s1
      sums[to + 2] = s2
      sums[to + 3] = s3
    }
    s0 += lasts[at]! - firsts[at]!
    s1 += lasts[at + 1]! - firsts[at + 1]!
    s2 += lasts[at + 2]! - firsts[at + 2]!
    s3 += lasts[at + 3]! - firsts[at + 3]! + 1
  }
  return sums
}

const WORDS = 2 ** 32
