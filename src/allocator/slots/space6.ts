import type { Address6, Range } from '../../cidr/index.js'
import * as Address from '../../cidr/nouns/address.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import { lastAtMost } from '../util/search.js'
import { createSlots } from './create-slots.js'
import type { Slots } from './slots.js'
import { freeRunIn, OUTSIDE, type RangeStarts, rendezvous, type SlotId, type Space } from './space.js'

type RangeSet = RangeSet.RangeSet

/** The number of slots. No memory has records for more taken addresses than this. */
const MAX_SLOTS = 2 ** 52

/**
 * The IPv6 part of a pool. Its first 2^52 addresses are numbered through over all ranges, as in
 * `Space4`; the addresses behind those are too many ever to be reached from below, so of them only
 * the taken ones are remembered.
 *
 *     ::/0    |0 ........ 2^52-1|---------------- beyond: a set of keys ----------------|
 */
export class Space6 implements Space<Address6> {
  readonly family = 6
  readonly total: bigint
  readonly #ranges: readonly Range[]
  /** Slot of the first address of each range; MAX_SLOTS and more for ranges that lie beyond. */
  readonly #starts: Float64Array
  readonly slots: Slots
  readonly #rangeStarts: RangeStarts
  readonly #beyond = new Set<string>()

  constructor(ranges: RangeSet) {
    const set: RangeSet = { v4: RangeSet.empty.v4, v6: ranges.v6 }
    this.#ranges = RangeSet.ranges(set)
    this.#starts = new Float64Array(this.#ranges.length)
    let count = 0n
    for (let i = 0; i < this.#ranges.length; i++) {
      this.#starts[i] = count < MAX_SLOTS ? Number(count) : MAX_SLOTS
      count += Address.distance(this.#ranges[i]!.first, this.#ranges[i]!.last) + 1n
    }
    this.total = count
    this.slots = createSlots(count < MAX_SLOTS ? Number(count) : MAX_SLOTS)
    this.#rangeStarts = {
      starts: this.#starts,
      size: this.slots.size,
      keyOf: (range) => keyOf(this.#ranges[range]!.first as Address6),
      lowBitsOf: (range) => (this.#ranges[range]!.first as Address6).w3 % 65_536,
    }
  }

  get used(): number {
    return this.slots.used + this.#beyond.size
  }

  contains(address: Address6): boolean {
    const range = this.#rangeBelow(address)
    return range >= 0 && Address.compare(address, this.#ranges[range]!.last) <= 0
  }

  slotIdOf(address: Address6): SlotId {
    const range = this.#rangeBelow(address)
    if (range < 0 || Address.compare(address, this.#ranges[range]!.last) > 0) return OUTSIDE + keyOf(address)
    const slot = this.#slotOf(address, range)
    return slot < MAX_SLOTS ? slot : keyOf(address)
  }

  take(slotId: SlotId): void {
    if (typeof slotId === 'number') this.slots.take(slotId)
    else this.#beyond.add(slotId)
  }

  release(slotId: SlotId): void {
    if (typeof slotId === 'number') this.slots.release(slotId)
    else this.#beyond.delete(slotId)
  }

  lowestFree(from?: Address6): Address6 | undefined {
    const start = from === undefined ? this.#firstOf(0) : this.#atOrAfter(from)
    if (start === undefined) return undefined
    const slot = this.#slotOf(start, this.#rangeBelow(start))
    if (slot >= MAX_SLOTS) return this.#lowestFreeBeyond(start)
    const free = this.slots.nextFree(slot)
    if (free >= 0) return this.addressAt(free)
    return this.#lowestFreeBeyond(this.#firstBeyond())
  }

  slotFrom(address: Address6): number {
    const found = this.#atOrAfter(address)
    return found === undefined
      ? this.slots.size
      : Math.min(this.slots.size, this.#slotOf(found, this.#rangeBelow(found)))
  }

  slotFor(key: string): number {
    return rendezvous(key, this.#rangeStarts)
  }

  freeRun(count: number, alignment: number): number {
    return freeRunIn(this.slots, this.#rangeStarts, count, alignment)
  }

  #lowestFreeBeyond(start: Address6 | undefined): Address6 | undefined {
    let address = start
    while (address !== undefined && this.#beyond.has(keyOf(address))) {
      const next = Address.next(address) as Address6 | undefined
      address = next && this.#atOrAfter(next)
    }
    return address
  }

  /** The lowest contained address that is at least `address`. */
  #atOrAfter(address: Address6): Address6 | undefined {
    const range = this.#rangeBelow(address)
    if (range >= 0 && Address.compare(address, this.#ranges[range]!.last) <= 0) return address
    return this.#firstOf(range + 1)
  }

  #firstOf(range: number): Address6 | undefined {
    return this.#ranges[range]?.first as Address6 | undefined
  }

  /** Index of the last range that begins at `address` or below it, or -1. */
  #rangeBelow(address: Address6): number {
    let low = 0
    let high = this.#ranges.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (Address.compare(this.#ranges[middle]!.first, address) <= 0) low = middle + 1
      else high = middle
    }
    return low - 1
  }

  /** The slot of an address in a range; MAX_SLOTS for all that lie beyond. */
  #slotOf(address: Address6, range: number): number {
    const slot = this.#starts[range]! + distanceUpTo(this.#ranges[range]!.first as Address6, address, MAX_SLOTS)
    return slot < MAX_SLOTS ? slot : MAX_SLOTS
  }

  addressAt(slot: number): Address6 {
    const range = lastAtMost(this.#starts, slot)
    return plus(this.#ranges[range]!.first as Address6, slot - this.#starts[range]!)
  }

  /**
   * The first address that has no slot: it lies in the range where the slots end, or is the first
   * of the next one.
   */
  #firstBeyond(): Address6 | undefined {
    let range = this.#starts.length - 1
    while (this.#starts[range]! >= MAX_SLOTS) range--
    const { first, last } = this.#ranges[range]!
    const left = MAX_SLOTS - this.#starts[range]!
    if (distanceUpTo(first as Address6, last as Address6, left) < left) return this.#firstOf(range + 1)
    return plus(first as Address6, left)
  }
}

function keyOf(address: Address6): string {
  return Address.format(address)
}

/** `to - from` as a number, or `limit` if it is larger. */
function distanceUpTo(from: Address6, to: Address6, limit: number): number {
  // schoolbook subtraction, word by word from the right
  let borrow = 0
  const d3 = to.w3 - from.w3
  borrow = d3 < 0 ? 1 : 0
  const d2 = to.w2 - from.w2 - borrow
  borrow = d2 < 0 ? 1 : 0
  const d1 = to.w1 - from.w1 - borrow
  borrow = d1 < 0 ? 1 : 0
  const d0 = to.w0 - from.w0 - borrow
  if (d0 !== 0 || (d1 !== 0 && d1 !== -0x100000000)) return limit
  const distance = (d2 >>> 0) * 0x100000000 + (d3 >>> 0)
  return distance < limit ? distance : limit
}

/** `address + offset` for an offset of at most 2^52 that stays in the address space. */
function plus(address: Address6, offset: number): Address6 {
  const s3 = address.w3 + (offset % 0x100000000)
  const s2 = address.w2 + Math.floor(offset / 0x100000000) + (s3 > 0xffffffff ? 1 : 0)
  const s1 = address.w1 + (s2 > 0xffffffff ? 1 : 0)
  const s0 = address.w0 + (s1 > 0xffffffff ? 1 : 0)
  return { family: 6, w0: s0, w1: s1 >>> 0, w2: s2 >>> 0, w3: s3 >>> 0 }
}
