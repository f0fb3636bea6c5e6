import { refuse } from '../../errors/refuse.js'
import { tagOf } from '../text/checks.js'
import { format4 } from '../text/text4.js'
import { sortPairs } from './sort-pairs.js'

/** Ranges between two sums, as a power of two. */
export const SUM_SHIFT = 6

/** What has not been built yet. */
export const UNBUILT: Uint32Array = /* @__PURE__ */ new Uint32Array(0)

/** A directory for fewer ranges than this does not pay. */
const FEW = 32
const MAX_SLOT_BITS = 16

/**
 * Sorted, disjoint, non-adjacent IPv4 ranges: `firsts[i]..lasts[i]`, both included. The inside of a
 * `RangeSet`; IPv4 and IPv6 have separate code so that each stays monomorphic.
 *
 * What makes them fast to search and to count is built when it is asked for: most sets are steps on
 * the way to another and are never asked. It is private, so that it is no part of what `toEqual`
 * compares, `Object.freeze` does not stop it, and a copy made by `structuredClone`, which leaves it
 * behind, is searched without.
 */
export class Ranges4 {
  readonly firsts: Uint32Array
  readonly lasts: Uint32Array
  /**
   * A directory: the space from the first range to the last in slots of 2^`#slotBits` addresses,
   * and for each slot the index of the first range that begins in it or behind.
   */
  #slots = UNBUILT
  #slotBits = 0
  /** The number of addresses in front of every 64th range. */
  #sums = UNBUILT

  /** Of ranges that are sorted, disjoint and non-adjacent already. O(1). */
  constructor(firsts: Uint32Array, lasts: Uint32Array) {
    this.firsts = firsts
    this.lasts = lasts
  }

  /** Whether this is what the class has made, or a structured clone of it. O(1). */
  static is(given: unknown): given is Ranges4 {
    if (typeof given !== 'object' || given === null) return false
    return #slots in given || areRanges((given as Ranges4).firsts, (given as Ranges4).lasts)
  }

  /**
   * Guards what works on all ranges of a set. A structured clone has lost what is private, and what
   * went through JSON its arrays.
   *
   * @returns the argument, or ranges with the arrays of a structured clone
   * @throws IpamError `INVALID_ARGUMENT` for what are no ranges
   */
  static own(ranges: Ranges4): Ranges4 {
    const { firsts, lasts } = ranges
    if (#slots in ranges) return ranges
    assertRanges(firsts, lasts)
    return new Ranges4(firsts, lasts)
  }

  /**
   * Index of the last range that begins at or before `value`, or -1. A directory and a few steps,
   * O(log n) at worst.
   */
  static floor(ranges: Ranges4, value: number): number {
    const { firsts, lasts } = ranges
    let low = 0
    let high = firsts.length
    if (!(#slots in ranges)) assertRanges(firsts, lasts)
    else if (high >= FEW) {
      const offset = value - firsts[0]!
      if (offset < 0) return -1
      if (ranges.#slots.length === 0) ranges.#buildSlots()
      const slots = ranges.#slots
      const slot = offset >>> ranges.#slotBits
      if (slot >= slots.length - 1) return high - 1
      low = slots[slot]!
      high = slots[slot + 1]!
      if (high - low <= 2 && low + 1 < firsts.length) {
        // what lies behind the slot begins behind the value: counted without a branch, which no
        // processor would foretell
        return low + 1 - isBelow(value, firsts[low]!) - isBelow(value, firsts[low + 1]!)
      }
      if (high - low <= 8) {
        while (low < high && firsts[low]! <= value) low++
        return low - 1
      }
    }
    while (low < high) {
      const middle = (low + high) >>> 1
      if (firsts[middle]! <= value) low = middle + 1
      else high = middle
    }
    return low - 1
  }

  /**
   * Each range as `first-last`, so that a set is readable in the JSON of what has it. O(n).
   *
   * @example
   * JSON.stringify(RangeSet.parse(['10.0.0.0/24'])) // '{"v4":["10.0.0.0-10.0.0.255"],"v6":[]}'
   */
  toJSON(): string[] {
    return Array.from(this.firsts, (first, index) => `${format4(first)}-${format4(this.lasts[index]!)}`)
  }

  static sums(ranges: Ranges4): Uint32Array {
    const { firsts, lasts } = ranges
    if (!(#sums in ranges)) return sumsOf(firsts, lasts)
    if (ranges.#sums === UNBUILT) ranges.#sums = sumsOf(firsts, lasts)
    return ranges.#sums
  }

  #buildSlots(): void {
    const { firsts } = this
    const count = firsts.length
    const base = firsts[0]!
    const span = firsts[count - 1]! - base
    const bits = Math.min(MAX_SLOT_BITS, 32 - Math.clz32(count))
    const slotBits = Math.max(0, 32 - Math.clz32(span) - bits)
    const slots = new Uint32Array((span >>> slotBits) + 2)
    let slot = 0
    for (let i = 0; i < count; i++) {
      const own = (firsts[i]! - base) >>> slotBits
      while (slot <= own) slots[slot++] = i
    }
    slots[slot] = count
    this.#slots = slots
    this.#slotBits = slotBits
  }
}

/**
 * @throws IpamError `INVALID_ARGUMENT` for what are no ranges. Public functions have looked at
 * their sets before, so that this is for what has changed since.
 */
export function assertRanges(firsts: unknown, lasts: unknown): void {
  if (!areRanges(firsts, lasts)) refuse('RangeSet', 'set', A_SET, firsts)
}

export const A_SET = 'a set that RangeSet made, or a structured clone of one; JSON has its ranges as text'

/** Whether these are the arrays of a structured clone. */
export function areRanges(firsts: unknown, lasts: unknown): boolean {
  const areWords = tagOf(firsts) === WORDS && tagOf(lasts) === WORDS
  return areWords && (firsts as Uint32Array).length === (lasts as Uint32Array).length
}

const WORDS = '[object Uint32Array]'

export const none4: Ranges4 = /* @__PURE__ */ Object.freeze(/* @__PURE__ */ new Ranges4(UNBUILT, UNBUILT)) as Ranges4

/** Index of the range that has `value`, or -1. */
export function find4(ranges: Ranges4, value: number): number {
  const index = Ranges4.floor(ranges, value)
  return index >= 0 && value <= ranges.lasts[index]! ? index : -1
}

/** How many addresses lie in the ranges in front of `index`. */
export function sumBefore4(ranges: Ranges4, index: number): number {
  const { firsts, lasts } = ranges
  if (index === 0) return 0
  const block = (index - 1) >>> SUM_SHIFT
  let sum = Ranges4.sums(ranges)[block]!
  for (let i = block << SUM_SHIFT; i < index; i++) sum += lasts[i]! - firsts[i]! + 1
  return sum
}

/**
 * The address with `rank` addresses of the ranges before it: the caller knows that there is one.
 * O(log n).
 */
export function at4(ranges: Ranges4, rank: number): number {
  const { firsts, lasts } = ranges
  const sums = Ranges4.sums(ranges)
  let low = 0
  let high = sums.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (sums[middle]! <= rank) low = middle + 1
    else high = middle
  }
  let i = (low - 1) << SUM_SHIFT
  let left = rank - sums[low - 1]!
  for (;;) {
    const size = lasts[i]! - firsts[i]! + 1
    if (left < size) return firsts[i]! + left
    left -= size
    i++
  }
}

/**
 * Sorts and merges ranges given in any order, overlapping or not; the arrays are used up: the
 * result may have them. O(n).
 */
export function normalise4(firsts: Uint32Array, lasts: Uint32Array): Ranges4 {
  sortPairs(firsts, lasts)
  // written over what has been read: there are never more ranges than there were
  let count = 0
  let end = -2
  for (let i = 0; i < firsts.length; i++) {
    const first = firsts[i]!
    const last = lasts[i]!
    if (first - 1 > end) {
      firsts[count] = first
      lasts[count] = last
      count++
      end = last
    } else if (last > end) {
      lasts[count - 1] = last
      end = last
    }
  }
  if (count === firsts.length) return new Ranges4(firsts, lasts)
  return new Ranges4(firsts.slice(0, count), lasts.slice(0, count))
}

/** All of `a` and `b`. One sweep over both, O(a + b). */
export function union4(left: Ranges4, right: Ranges4): Ranges4 {
  const a = Ranges4.own(left)
  const b = Ranges4.own(right)
  const countA = a.firsts.length
  const countB = b.firsts.length
  if (countA === 0) return b
  if (countB === 0) return a
  const out = new Output(countA + countB)
  let i = 0
  let j = 0
  while (i < countA || j < countB) {
    if (j === countB || (i < countA && a.firsts[i]! <= b.firsts[j]!)) out.merge(a.firsts[i]!, a.lasts[i++]!)
    else out.merge(b.firsts[j]!, b.lasts[j++]!)
  }
  return out.done()
}

/** `a` without `b`. One sweep over both, O(a + b). */
export function subtract4(left: Ranges4, right: Ranges4): Ranges4 {
  const a = Ranges4.own(left)
  const b = Ranges4.own(right)
  const { firsts: aFirsts, lasts: aLasts } = a
  const { firsts: bFirsts, lasts: bLasts } = b
  const countA = aFirsts.length
  const countB = bFirsts.length
  if (countA === 0 || countB === 0) return a
  const firsts = new Uint32Array(countA + countB)
  const lasts = new Uint32Array(countA + countB)
  let count = 0
  let j = 0
  for (let i = 0; i < countA; i++) {
    let first = aFirsts[i]!
    const last = aLasts[i]!
    while (j < countB && bLasts[j]! < first) j++
    // a:      |----------------|
    // b:   |----|   |--|    |------|
    // out:       |-|    |--|
    let open = true
    while (j < countB && bFirsts[j]! <= last) {
      if (bFirsts[j]! > first) {
        firsts[count] = first
        lasts[count] = bFirsts[j]! - 1
        count++
      }
      if (bLasts[j]! >= last) {
        open = false
        break
      }
      first = bLasts[j]! + 1
      j++
    }
    if (open) {
      firsts[count] = first
      lasts[count] = last
      count++
    }
  }
  return new Ranges4(firsts.slice(0, count), lasts.slice(0, count))
}

/**
 * What `a` and `b` have in common. One sweep over the parts of both that may meet: O(a + b) at
 * most, and O(log n) where one is a short range.
 */
export function intersect4(left: Ranges4, right: Ranges4): Ranges4 {
  const a = Ranges4.own(left)
  const b = Ranges4.own(right)
  const countA = a.firsts.length
  const countB = b.firsts.length
  if (countA === 0) return a
  if (countB === 0) return b
  const endA = Ranges4.floor(a, b.lasts[countB - 1]!) + 1
  const endB = Ranges4.floor(b, a.lasts[countA - 1]!) + 1
  let i = Math.max(0, Ranges4.floor(a, b.firsts[0]!))
  let j = Math.max(0, Ranges4.floor(b, a.firsts[0]!))
  if (i >= endA || j >= endB) return none4
  const out = new Output(endA - i + endB - j)
  while (i < endA && j < endB) {
    const first = a.firsts[i]! >= b.firsts[j]! ? a.firsts[i]! : b.firsts[j]!
    const last = a.lasts[i]! <= b.lasts[j]! ? a.lasts[i]! : b.lasts[j]!
    if (first <= last) out.push(first, last)
    if (a.lasts[i]! < b.lasts[j]!) i++
    else j++
  }
  return out.done()
}

/** Whether `a` and `b` have an address in common. Stops at the first, O(a + b) at worst. */
export function overlaps4(left: Ranges4, right: Ranges4): boolean {
  const a = Ranges4.own(left)
  const b = Ranges4.own(right)
  const countA = a.firsts.length
  const countB = b.firsts.length
  let i = 0
  let j = 0
  while (i < countA && j < countB) {
    if (a.lasts[i]! < b.firsts[j]!) i++
    else if (b.lasts[j]! < a.firsts[i]!) j++
    else return true
  }
  return false
}

/** Ranges being written, in order. */
class Output {
  readonly #firsts: Uint32Array
  readonly #lasts: Uint32Array
  #length = 0

  constructor(capacity: number) {
    this.#firsts = new Uint32Array(capacity)
    this.#lasts = new Uint32Array(capacity)
  }

  /** Adds a range that neither overlaps nor touches one before it. */
  push(first: number, last: number): void {
    this.#firsts[this.#length] = first
    this.#lasts[this.#length] = last
    this.#length++
  }

  /**
   * Adds a range that begins no earlier than all before it: to the last one, if it overlaps or
   * touches it.
   *
   *     |---a---|
   *         |---b---|   or   |--b--| right behind
   */
  merge(first: number, last: number): void {
    const previous = this.#length - 1
    if (previous < 0 || first - 1 > this.#lasts[previous]!) this.push(first, last)
    else if (last > this.#lasts[previous]!) this.#lasts[previous] = last
  }

  done(): Ranges4 {
    return new Ranges4(this.#firsts.slice(0, this.#length), this.#lasts.slice(0, this.#length))
  }
}

/** 1 if `left` is less than `right`, both unsigned, else 0: the borrow of their difference. */
function isBelow(left: number, right: number): number {
  return ((~left & right) | (~(left ^ right) & (left - right))) >>> 31
}

function sumsOf(firsts: Uint32Array, lasts: Uint32Array): Uint32Array {
  const sums = new Uint32Array((firsts.length + 63) >>> SUM_SHIFT)
  let sum = 0
  for (let i = 0; i < firsts.length; i++) {
    if ((i & 63) === 0) sums[i >>> SUM_SHIFT] = sum
    sum += lasts[i]! - firsts[i]! + 1
  }
  return sums
}
