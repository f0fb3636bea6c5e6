import { ipamError } from '../errors/index.js'
import { assertIndex, type Slots } from './slots.js'

/** Arithmetic on offsets stays exact up to here. */
const MAX_SIZE = 2 ** 52

/**
 * The free ranges of a space that is too large for a bitmap, such as an IPv6 /64, as two sorted arrays of ends.
 *
 *     firsts   0      17           |####|=====|##|=================|     # taken   = free
 *     lasts    9      2^52-1
 *
 * 16 bytes a free range. O(log r) to look up, O(r) to change with r free ranges: r is 1 while a pool fills from below.
 *
 * @throws IpamError `INVALID_ARGUMENT` for a size that is not a whole number from 0 to 2^52; `INDEX_OUT_OF_RANGE`
 */
export class FreeRanges implements Slots {
  readonly size: number
  #firsts = new Float64Array(8)
  #lasts = new Float64Array(8)
  #count = 0
  #used = 0

  constructor(size: number) {
    if (!Number.isInteger(size) || size < 0 || size > MAX_SIZE) {
      throw ipamError('INVALID_ARGUMENT', {
        argument: 'size',
        expected: 'a whole number from 0 to 2^52',
        got: String(size),
      })
    }
    this.size = size
    if (size > 0) this.#insert(0, 0, size - 1)
  }

  /** How many slots are taken. O(1). */
  get used(): number {
    return this.#used
  }

  /** Whether a slot is taken. O(log r). */
  has(index: number): boolean {
    assertIndex(index, this.size)
    return !this.#isFree(this.#above(index) - 1, index)
  }

  /** Takes a slot. False if it was taken already. */
  take(index: number): boolean {
    assertIndex(index, this.size)
    const at = this.#above(index) - 1
    if (!this.#isFree(at, index)) return false
    const first = this.#firsts[at]!
    const last = this.#lasts[at]!
    if (first === last) this.#remove(at)
    else if (index === first) this.#firsts[at] = index + 1
    else if (index === last) this.#lasts[at] = index - 1
    else {
      this.#lasts[at] = index - 1
      this.#insert(at + 1, index + 1, last)
    }
    this.#used++
    return true
  }

  /** Frees a slot and merges it with what is free beside it. False if it was free already. */
  release(index: number): boolean {
    assertIndex(index, this.size)
    const above = this.#above(index)
    const below = above - 1
    if (this.#isFree(below, index)) return false
    const touchesBelow = below >= 0 && this.#lasts[below] === index - 1
    const touchesAbove = above < this.#count && this.#firsts[above] === index + 1
    if (touchesBelow && touchesAbove) {
      this.#lasts[below] = this.#lasts[above]!
      this.#remove(above)
    } else if (touchesBelow) this.#lasts[below] = index
    else if (touchesAbove) this.#firsts[above] = index
    else this.#insert(above, index, index)
    this.#used--
    return true
  }

  /** The lowest free slot that is at least `from`, or -1. O(log r). */
  nextFree(from: number): number {
    if (from === this.size) return -1
    assertIndex(from, this.size)
    const above = this.#above(from)
    if (this.#isFree(above - 1, from)) return from
    return above < this.#count ? this.#firsts[above]! : -1
  }

  #isFree(at: number, index: number): boolean {
    return at >= 0 && index <= this.#lasts[at]!
  }

  /** How many free ranges begin at `index` or below it: the position of the first one above. */
  #above(index: number): number {
    let low = 0
    let high = this.#count
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#firsts[middle]! <= index) low = middle + 1
      else high = middle
    }
    return low
  }

  #insert(at: number, first: number, last: number): void {
    if (this.#count === this.#firsts.length) {
      this.#firsts = grown(this.#firsts)
      this.#lasts = grown(this.#lasts)
    }
    this.#firsts.copyWithin(at + 1, at, this.#count)
    this.#lasts.copyWithin(at + 1, at, this.#count)
    this.#firsts[at] = first
    this.#lasts[at] = last
    this.#count++
  }

  #remove(at: number): void {
    this.#firsts.copyWithin(at, at + 1, this.#count)
    this.#lasts.copyWithin(at, at + 1, this.#count)
    this.#count--
  }
}

function grown(values: Float64Array): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(values.length * 2)
  larger.set(values)
  return larger
}
