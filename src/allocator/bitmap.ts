import { ipamError } from '../errors/index.js'
import { assertIndex, type Slots } from './slots.js'

/** 2^30 slots are 128 MiB: a larger space is not dense and wants another structure. */
const MAX_SIZE = 2 ** 30

/**
 * A hierarchical bitmap: level 0 has a bit a slot, and each bit above says that a whole word of 32 bits below is full.
 *
 *     level 1   1 1 0 ...               the first two words below are full
 *     level 0   ffffffff ffffffff 0000000f
 *
 * Finding the lowest free slot descends one word a level: O(log32 n) at any fill, 4 levels for a /12. Memory is
 * n / 8 bytes and a thirty-first of that.
 *
 * @throws IpamError `INVALID_ARGUMENT` for a size that is not a whole number from 0 to 2^30; `INDEX_OUT_OF_RANGE`
 * @example
 * const bitmap = new Bitmap(100)
 * bitmap.take(0)
 * bitmap.nextFree(0) // 1
 */
export class Bitmap implements Slots {
  readonly size: number
  readonly #levels: Int32Array[]
  #used = 0

  constructor(size: number) {
    if (!Number.isInteger(size) || size < 0 || size > MAX_SIZE) {
      throw ipamError('INVALID_ARGUMENT', {
        argument: 'size',
        expected: 'a whole number from 0 to 2^30',
        got: String(size),
      })
    }
    this.size = size
    this.#levels = []
    let bits = size
    do {
      const words = new Int32Array(Math.max(1, Math.ceil(bits / 32)))
      // what lies behind the end counts as full, so that no search needs to know where the end is
      const rest = words.length * 32 - bits
      if (rest > 0) words[words.length - 1] = rest === 32 ? -1 : -1 << (32 - rest)
      this.#levels.push(words)
      bits = words.length
    } while (bits > 1)
  }

  /** How many slots are taken. O(1). */
  get used(): number {
    return this.#used
  }

  /** Whether a slot is taken. O(1). */
  has(index: number): boolean {
    assertIndex(index, this.size)
    return (this.#levels[0]![index >>> 5]! & (1 << (index & 31))) !== 0
  }

  /** Takes a slot. False if it was taken already. O(log32 n). */
  take(index: number): boolean {
    assertIndex(index, this.size)
    let position = index
    for (let level = 0; level < this.#levels.length; level++) {
      const words = this.#levels[level]!
      const word = position >>> 5
      const bit = 1 << (position & 31)
      const before = words[word]!
      if (level === 0 && (before & bit) !== 0) return false
      words[word] = before | bit
      if (words[word] !== -1) break
      position = word
    }
    this.#used++
    return true
  }

  /** Frees a slot. False if it was free already. O(log32 n). */
  release(index: number): boolean {
    assertIndex(index, this.size)
    let position = index
    for (let level = 0; level < this.#levels.length; level++) {
      const words = this.#levels[level]!
      const word = position >>> 5
      const bit = 1 << (position & 31)
      const before = words[word]!
      if (level === 0 && (before & bit) === 0) return false
      words[word] = before & ~bit
      if (before !== -1) break
      position = word
    }
    this.#used--
    return true
  }

  /** The lowest free slot that is at least `from`, or -1. `from` may be the size itself. O(log32 n). */
  nextFree(from: number): number {
    if (from === this.size) return -1
    assertIndex(from, this.size)
    let position = from
    for (let level = 0; level < this.#levels.length; level++) {
      const words = this.#levels[level]!
      const word = position >>> 5
      if (word >= words.length) return -1
      const free = ~words[word]! & (-1 << (position & 31))
      if (free !== 0) return this.#descend(level, word * 32 + lowestBit(free))
      position = word + 1
    }
    return -1
  }

  /** The lowest free slot under a bit that says "not full", some levels up. */
  #descend(level: number, position: number): number {
    let found = position
    for (let below = level - 1; below >= 0; below--) {
      found = found * 32 + lowestBit(~this.#levels[below]![found]!)
    }
    return found
  }
}

function lowestBit(bits: number): number {
  return 31 - Math.clz32(bits & -bits)
}
