import type { Address, Family } from '../../cidr/index.js'
import { hashText, jump } from '../util/hashing.js'
import { lastAtMost } from '../util/search.js'
import { alignedFrom, type Slots } from './slots.js'

/**
 * The key of an address in a space: the number of its slot; a text if it is in the space and has no
 * slot; a number below 0, or a text that begins with OUTSIDE, if it is not in the space.
 */
export type SlotId = number | string

export const OUTSIDE = '!'

/** Whether the address of a key is in the space. */
export function isInside(slotId: SlotId): boolean {
  return typeof slotId === 'number' ? slotId >= 0 : !slotId.startsWith(OUTSIDE)
}

/** The addresses of one family that a pool can give out, and the taken ones. Mutable. */
export interface Space<A extends Address = Address> {
  readonly family: Family
  /** How many addresses there are, taken or not. */
  readonly total: bigint
  /** How many are taken. */
  readonly used: number
  /** The addresses as numbers, in their order. */
  readonly slots: Slots
  contains(address: A): boolean
  slotIdOf(address: A): SlotId
  /** Takes an address. The caller knows that it is of the space. */
  take(slotId: SlotId): void
  /** Frees an address. The caller knows that it is of the space. */
  release(slotId: SlotId): void
  /**
   * The lowest free address, from `from` on if it is given (which itself need not be contained).
   */
  lowestFree(from?: A): A | undefined
  /** The address of a slot. */
  addressAt(slot: number): A
  /**
   * The slot of the lowest address that is at least `address`; the number of slots if there is
   * none.
   */
  slotFrom(address: A): number
  /**
   * The slot that a key tends to, also when there are other ranges beside the one that it lies in.
   */
  slotFor(key: string): number
  /**
   * The first slot of the lowest run of free addresses one behind the other, which begins at a
   * multiple of `alignment`; or -1.
   */
  freeRun(count: number, alignment: number): number
}

/** Where the ranges of a space begin, as slots; and the number of slots. */
export interface RangeStarts {
  readonly starts: Float64Array
  readonly size: number
  /** What tells a range apart from others, also in another space: its first address. */
  keyOf(range: number): string
  /** The first address of a range, modulo 65,536. */
  lowBitsOf(range: number): number
}

/**
 * Rendezvous hashing over the ranges, by their sizes, and jump hashing within: only keys that go to
 * what is new go elsewhere when a range is added or one becomes longer. O(ranges).
 */
export function rendezvous(key: string, ranges: RangeStarts): number {
  const { starts, size } = ranges
  if (size === 0) return 0
  let best = 0
  let most = Number.NEGATIVE_INFINITY
  for (let range = 0; range < starts.length && starts[range]! < size; range++) {
    const length = lengthOf(range, ranges)
    // the highest of ln(u) / weight, where u is a number between 0 and 1 for the key and the range
    const score = Math.log(((hashText(`${key}\n${ranges.keyOf(range)}`) >>> 0) + 0.5) / 2 ** 32) / length
    if (score <= most) continue
    most = score
    best = range
  }
  return starts[best]! + jump(hashText(key), lengthOf(best, ranges))
}

/**
 * The first slot of the lowest run of free addresses, or -1. Slots follow each other over all
 * ranges; addresses do so only within one:
 *
 *     ranges    |--------||---||-----------------|
 *     free      ####|-----------------|####|-----|    each free range is looked at once, and in it the part of each range
 *
 * O(size / 32 + ranges + free ranges).
 */
export function freeRunIn(slots: Slots, ranges: RangeStarts, count: number, alignment: number): number {
  let first = slots.nextFreeRun(count)
  while (first >= 0) {
    const used = slots.nextUsed(first)
    const end = used < 0 ? ranges.size : used
    const found = runBetween(first, end, ranges, count, alignment)
    if (found >= 0) return found
    first = slots.nextFreeRun(count, { from: end })
  }
  return -1
}

/** The same among slots that are all free, from `first` to below `end`. */
function runBetween(first: number, end: number, ranges: RangeStarts, count: number, alignment: number): number {
  const { starts } = ranges
  for (let range = lastAtMost(starts, first), from = first; from < end; range++) {
    const start = starts[range]!
    const behind = start + lengthOf(range, ranges)
    // the first slot at a multiple of the alignment, then each one after `alignment` slots
    const offset = (ranges.lowBitsOf(range) + alignment - (start % alignment)) % alignment
    const found = alignedFrom(from, alignment, offset)
    if (found + count <= Math.min(behind, end)) return found
    from = behind
  }
  return -1
}

function lengthOf(range: number, { starts, size }: RangeStarts): number {
  return Math.min(size, range + 1 < starts.length ? starts[range + 1]! : size) - starts[range]!
}
