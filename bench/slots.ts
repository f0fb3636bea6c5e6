// What is done with bitmaps, beside peers of every language. The loops take a bitmap and nothing else: V8 learns for each place in the
// source what is called there.
import { Bitmap } from 'ipam-kit/allocator'
import { Address, type Address4 } from 'ipam-kit/cidr'
import { Draws, once } from './corpora.js'

/** Slots of a /16, of a /12, and what is meant by a million. */
export const SLOTS_64K = 65_536
export const SLOTS_12 = 2 ** 20
export const MILLION = 1_000_000

/** Takes the lowest free slot until there is none. Returns how many there were, and leaves them in `slots`, in order. */
export function fillLowest(bitmap: Bitmap, slots: Int32Array): number {
  let count = 0
  for (let slot = bitmap.nextFree(0); slot >= 0; slot = bitmap.nextFree(0)) {
    bitmap.take(slot)
    slots[count++] = slot
  }
  return count
}

/** Takes the next free slot behind the last one until there is none. Returns the sum of them. */
export function fillNext(bitmap: Bitmap): number {
  let sum = 0
  for (let slot = bitmap.nextFree(0); slot >= 0; slot = bitmap.nextFree(slot + 1)) {
    bitmap.take(slot)
    sum += slot
  }
  return sum
}

/** Takes the next free slot from a random one on until so many are taken. */
export function fillRandom(bitmap: Bitmap, used: number, draws: Draws): void {
  while (bitmap.used < used) bitmap.take(bitmap.nextFreeAround(draws.below(bitmap.size)))
}

/** Frees one of the slots that are held, drawn at random, and takes the lowest free one instead, again and again. */
export function churnLowest(bitmap: Bitmap, held: Int32Array, draws: Draws, operations: number): void {
  for (let operation = 0; operation < operations; operation++) {
    const at = draws.below(held.length)
    bitmap.release(held[at]!)
    const slot = bitmap.nextFree(0)
    bitmap.take(slot)
    held[at] = slot
  }
}

/** As `churnLowest`, with the next free one from a random one on. */
export function churnRandom(bitmap: Bitmap, held: Int32Array, draws: Draws, operations: number): void {
  for (let operation = 0; operation < operations; operation++) {
    const at = draws.below(held.length)
    bitmap.release(held[at]!)
    const slot = bitmap.nextFreeAround(draws.below(bitmap.size))
    bitmap.take(slot)
    held[at] = slot
  }
}

/** Finds, takes and releases the only free slot, again and again. Returns the sum of what was found. */
export function lastFree(bitmap: Bitmap, operations: number): number {
  let sum = 0
  for (let operation = 0; operation < operations; operation++) {
    const slot = bitmap.nextFree(0)
    bitmap.take(slot)
    bitmap.release(slot)
    sum += slot
  }
  return sum
}

/** All slots taken but for the last one. */
export function allButLast(size: number): Bitmap {
  const bitmap = new Bitmap(size)
  bitmap.takeRange(0, size - 2)
  return bitmap
}

/** So many slots taken, each drawn from all. */
export function takenAtRandom(size: number, used: number, draws: Draws): Bitmap {
  const bitmap = new Bitmap(size)
  while (bitmap.used < used) bitmap.take(draws.below(size))
  return bitmap
}

/** The taken slots, in order. */
export function slotsOf(bitmap: Bitmap): Int32Array {
  const slots = new Int32Array(bitmap.used)
  let count = 0
  for (const { first, last } of bitmap.usedRanges()) {
    for (let slot = first; slot <= last; slot++) slots[count++] = slot
  }
  return slots
}

/** What a restart has to read back: a million addresses in use of the 1,048,576 of a /12. */
export const stored = once(() => takenAtRandom(SLOTS_12, MILLION, new Draws(12)))

/** The first address of every pool. */
export const FIRST = 0x0a000000

/** What is stored, as texts: each one piece of memory. */
export const storedTexts = once((): readonly string[] =>
  JSON.parse(JSON.stringify(Array.from(slotsOf(stored()), (slot) => Address.format(Address.from4(FIRST + slot))))),
)

export function fromTexts(texts: readonly string[]): Bitmap {
  const bitmap = new Bitmap(SLOTS_12)
  for (const text of texts) bitmap.take((Address.parse(text) as Address4).value - FIRST)
  return bitmap
}

/** A number that stands for which slots are taken: how many, and how many of the first 65,536. */
export function fillOf(bitmap: Bitmap): number {
  return bitmap.used * SLOTS_64K + bitmap.countUsed(0, SLOTS_64K - 1)
}
