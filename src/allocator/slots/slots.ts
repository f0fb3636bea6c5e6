import { check, type KindOf } from '../../errors/check.js'
import { INDEX_OUT_OF_RANGE } from '../../errors/definitions.js'
import { ipamError } from '../../errors/failure.js'
import { refuse, shown } from '../../errors/refuse.js'

/** Slots next to each other, both ends included. */
export interface SlotRange {
  readonly first: number
  readonly last: number
}

/** Narrows {@link Slots.nextFreeRun}. */
export interface FreeRunOptions {
  /** Not below this slot. Default 0. */
  readonly from?: number | undefined
  /** The first slot of the run plus `offset` is a multiple of this. Default 1. */
  readonly alignment?: number | undefined
  /** Default 0. */
  readonly offset?: number | undefined
}

const FREE_RUN_OPTIONS: KindOf<FreeRunOptions> = { from: 'number?', alignment: 'number?', offset: 'number?' }

/**
 * The set of the taken slots. Slots are the numbers 0 to size - 1: an allocator maps each address
 * to a slot. Mutable, synchronous, deterministic.
 *
 * Every method throws `INDEX_OUT_OF_RANGE` for a slot that is not a whole number from 0 to size -
 * 1, unless it says otherwise.
 */
export interface Slots {
  /** The number of slots. */
  readonly size: number
  /** The number of taken slots. O(1). */
  readonly used: number
  /** Whether a slot is taken. */
  has(index: number): boolean
  /** Takes a slot. False, and nothing changes, if it was taken already. */
  take(index: number): boolean
  /** Frees a slot. False, and nothing changes, if it was free already. */
  release(index: number): boolean
  /** Takes all slots from `first` to `last`, and returns how many of them were free. */
  takeRange(first: number, last: number): number
  /** Frees all slots from `first` to `last`, and returns how many of them were taken. */
  releaseRange(first: number, last: number): number
  /** The lowest free slot that is at least `from`, or -1. `from` may be the size itself. */
  nextFree(from: number): number
  /** As {@link nextFree}, and then from 0: the order of a cursor that wraps around. */
  nextFreeAround(from: number): number
  /** The lowest taken slot that is at least `from`, or -1. `from` may be the size itself. */
  nextUsed(from: number): number
  /**
   * The first slot of the lowest run of `length` free ones, or -1.
   *
   * @throws IpamError `INVALID_ARGUMENT` for a length or an alignment that is not a whole number of
   * at least 1, or an offset below 0; both go up to 2^52
   */
  nextFreeRun(length: number, options?: FreeRunOptions): number
  /** The number of taken slots from `first` to `last`. */
  countUsed(first: number, last: number): number
  /** The free slot that has `rank` free slots below it, or -1 if there are fewer. */
  freeAt(rank: number): number
  /**
   * The free slots in order, as ranges that do not touch. After a change during the iteration, the
   * following ranges are unspecified.
   */
  freeRanges(): IterableIterator<SlotRange>
  /** As {@link freeRanges}, of the taken slots. */
  usedRanges(): IterableIterator<SlotRange>
  /** An independent copy. */
  fork(): Slots
}

/** @throws IpamError `INDEX_OUT_OF_RANGE` unless `index` is a whole number from 0 to size - 1 */
export function assertIndex(index: number, size: number): void {
  if (!Number.isInteger(index) || index < 0 || index >= size) {
    throw ipamError(INDEX_OUT_OF_RANGE, { index: shown(index), size: String(size) })
  }
}

/**
 * @throws IpamError `INDEX_OUT_OF_RANGE`, and `INVALID_ARGUMENT` if the first slot lies above the
 * last
 */
export function assertRange(of: string, first: number, last: number, size: number): void {
  assertIndex(first, size)
  assertIndex(last, size)
  if (first > last) refuse(of, 'last', `at least ${first}`, last)
}

/** @throws IpamError `INVALID_ARGUMENT` unless `value` is a whole number from `min` to `max` */
export function assertWithin(of: string, argument: string, value: number, min: number, max: number): void {
  if (!Number.isInteger(value) || value < min || value > max) {
    refuse(of, argument, `a whole number from ${min} to ${shownLimit(max)}`, value)
  }
}

/** The lowest number from `from` on that is with `offset` a multiple of `alignment`. */
export function alignedFrom(from: number, alignment: number, offset: number): number {
  const rest = (from + offset) % alignment
  return rest === 0 ? from : from + alignment - rest
}

/** The options of a search for a run. */
export function checkedRun(of: string, length: number, options: FreeRunOptions, size: number) {
  check(of, 'options', options, FREE_RUN_OPTIONS)
  const { from = 0, alignment = 1, offset = 0 } = options
  assertWithin(of, 'length', length, 1, Number.MAX_SAFE_INTEGER)
  assertWithin(of, 'alignment', alignment, 1, MOST_SLOTS)
  assertWithin(of, 'offset', offset, 0, MOST_SLOTS)
  if (from !== size) assertIndex(from, size)
  return { from, alignment, offset }
}

/** Arithmetic on slots stays exact up to here. */
export const MOST_SLOTS = 2 ** 52

/** Powers of two are written as such. */
function shownLimit(limit: number): string {
  if (limit === Number.MAX_SAFE_INTEGER) return '2^53 - 1'
  const exponent = Math.log2(limit)
  return limit > 1024 && Number.isInteger(exponent) ? `2^${exponent}` : String(limit)
}

/** The free slots in order, one search for each end of a range. */
export function* freeRangesOf(slots: Slots): IterableIterator<SlotRange> {
  let first = slots.nextFree(0)
  while (first >= 0) {
    const used = slots.nextUsed(first)
    const behind = used < 0 ? slots.size : used
    yield { first, last: behind - 1 }
    first = slots.nextFree(behind)
  }
}

/** As {@link freeRangesOf}, of the taken slots. */
export function* usedRangesOf(slots: Slots): IterableIterator<SlotRange> {
  let first = slots.nextUsed(0)
  while (first >= 0) {
    const free = slots.nextFree(first)
    const behind = free < 0 ? slots.size : free
    yield { first, last: behind - 1 }
    first = slots.nextUsed(behind)
  }
}
