import { ipamError } from '../errors/index.js'

/**
 * Which of the numbers 0 to size - 1 are taken. Inside an allocator every address is such a number. Mutable, synchronous.
 */
export interface Slots {
  readonly size: number
  /** How many are taken. */
  readonly used: number
  has(index: number): boolean
  /** Takes a number. False, and nothing changes, if it was taken already. */
  take(index: number): boolean
  /** Frees a number. False, and nothing changes, if it was free already. */
  release(index: number): boolean
  /** The lowest free number that is at least `from`, or -1. */
  nextFree(from: number): number
}

/** @throws IpamError `INDEX_OUT_OF_RANGE` unless `index` is a whole number from 0 to size - 1 */
export function assertIndex(index: number, size: number): void {
  if (!Number.isInteger(index) || index < 0 || index >= size) {
    throw ipamError('INDEX_OUT_OF_RANGE', { index: String(index), size: String(size) })
  }
}
