import type { Address4, RangeSet } from '../../cidr/index.js'
import { lastAtMost } from '../util/search.js'
import { createSlots } from './create-slots.js'
import type { Slots } from './slots.js'
import { freeRunIn, type RangeStarts, rendezvous, type Space } from './space.js'

/**
 * The IPv4 part of a pool. Its addresses are numbered through over all ranges:
 *
 *     ranges    10.0.0.10-10.0.0.19   10.0.0.200-10.0.0.204
 *     slots     0 ............... 9   10 .............. 14
 */
export class Space4 implements Space<Address4> {
  readonly family = 4
  readonly total: bigint
  readonly #firsts: Uint32Array
  readonly #lasts: Uint32Array
  /** Slot of the first address of each range. */
  readonly #starts: Float64Array
  readonly slots: Slots
  readonly #ranges: RangeStarts

  constructor(ranges: RangeSet) {
    this.#firsts = ranges.v4.firsts
    this.#lasts = ranges.v4.lasts
    this.#starts = new Float64Array(this.#firsts.length)
    let count = 0
    for (let i = 0; i < this.#firsts.length; i++) {
      this.#starts[i] = count
      count += this.#lasts[i]! - this.#firsts[i]! + 1
    }
    this.total = BigInt(count)
    this.slots = createSlots(count)
    this.#ranges = {
      starts: this.#starts,
      size: count,
      keyOf: (range) => String(this.#firsts[range]),
      lowBitsOf: (range) => this.#firsts[range]! % 65_536,
    }
  }

  get used(): number {
    return this.slots.used
  }

  contains(address: Address4): boolean {
    return this.slotIdOf(address) >= 0
  }

  slotIdOf({ value }: Address4): number {
    const range = this.#rangeBelow(value)
    if (range < 0 || value > this.#lasts[range]!) return -1 - value
    return this.#starts[range]! + value - this.#firsts[range]!
  }

  take(slotId: number): void {
    this.slots.take(slotId)
  }

  release(slotId: number): void {
    this.slots.release(slotId)
  }

  lowestFree(from?: Address4): Address4 | undefined {
    const slot = this.slots.nextFree(from === undefined ? 0 : this.slotFrom(from))
    return slot < 0 ? undefined : this.addressAt(slot)
  }

  /** Index of the last range that begins at `value` or below it, or -1. */
  #rangeBelow(value: number): number {
    let low = 0
    let high = this.#firsts.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#firsts[middle]! <= value) low = middle + 1
      else high = middle
    }
    return low - 1
  }

  slotFrom({ value }: Address4): number {
    const range = this.#rangeBelow(value)
    if (range >= 0 && value <= this.#lasts[range]!) return this.#starts[range]! + value - this.#firsts[range]!
    return range + 1 < this.#starts.length ? this.#starts[range + 1]! : this.slots.size
  }

  addressAt(slot: number): Address4 {
    const range = lastAtMost(this.#starts, slot)
    return { family: 4, value: this.#firsts[range]! + slot - this.#starts[range]! }
  }

  slotFor(key: string): number {
    return rendezvous(key, this.#ranges)
  }

  freeRun(count: number, alignment: number): number {
    return freeRunIn(this.slots, this.#ranges, count, alignment)
  }
}
