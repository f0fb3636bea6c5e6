import { popCount } from '../util/bits.js'
import { STRIDE, wholeParts } from './leaf-blocks.js'

/** The number of free prefixes of each length that are not part of another free prefix. */
export class PrefixCounts {
  readonly #counts: Float64Array

  /** @param bits the length of the longest prefix */
  constructor(bits: number) {
    // the leaves of the lowest nodes may be longer than an address; only pairs of them are counted
    this.#counts = new Float64Array(bits + STRIDE + 1)
  }

  add(length: number, count: number): void {
    this.#counts[length]! += count
  }

  /**
   * Counts a part of a node that is wholly free in or out, and with it what it is the missing half
   * of.
   *
   * @param free the leaves of the node that are free, with those of the part
   */
  addPart(free: number, base: number, level: number, leaf: number, sign: 1 | -1): void {
    const counts = this.#counts
    for (; level > 0; level--) {
      const size = 32 >>> level
      const half = (-1 >>> (32 - size)) << ((leaf ^ size) & -size)
      if ((free & half) !== half) break
      counts[base + level]! -= sign
    }
    counts[base + level]! += sign
  }

  /** Counts all free leaves of a node in or out. */
  addLeaves(free: number, base: number, sign: 1 | -1): void {
    let larger = 0
    for (let level = 0; level <= STRIDE; level++) {
      const parts = popCount(wholeParts(free, level))
      if (parts > 0) this.#counts[base + level]! += sign * (parts - 2 * larger)
      larger = parts
    }
  }

  /** How many prefixes of a length there are. O(length). */
  total(length: number): bigint {
    let total = 0n
    for (let shorter = 0; shorter <= length; shorter++) total = total * 2n + BigInt(this.#counts[shorter]!)
    return total
  }
}
