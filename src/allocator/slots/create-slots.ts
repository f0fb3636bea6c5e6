import { Bitmap } from './bitmap.js'
import { RangeTree } from './range-tree.js'
import type { Slots } from './slots.js'

/** Up to this size a bitmap is used: 2^24 slots are 2 MiB, whatever the fill. */
const MAX_DENSE = 2 ** 24

/**
 * Slots of the structure that fits the size: a bitmap while it is small, free ranges for a huge
 * space.
 */
export function createSlots(size: number): Slots {
  return size <= MAX_DENSE ? new Bitmap(size) : new RangeTree(size)
}
