import type { BlockBook, BlockEntry } from './book.js'
import type { UnitRange } from './grid.js'

/** Which units of a block are wanted. */
export interface UnitWish {
  /** What of the block may be given, in order. */
  readonly units: readonly UnitRange[]
  /** How many in a row. */
  readonly count: number
  /** Whether the first of them has to lie at a multiple of `count`: for a prefix of several units. */
  readonly isAligned: boolean
  readonly order: 'lowest' | 'next' | 'leastRecentlyReleased'
  readonly nowMs: number
  /** Whether somebody has a unit that is free by its block. */
  readonly isHeld?: ((unit: number) => boolean) | undefined
  /** Whether a row that keeps units from others keeps them for the one that asks. */
  readonly isKept?: ((entry: BlockEntry) => boolean) | undefined
}

/** The first of the units that are to be given, if the block has such. O(units of the block). */
export function chooseUnit(book: BlockBook | undefined, wish: UnitWish): number | undefined {
  const { isHeld } = wish
  if (book === undefined) return lowest((unit) => isHeld?.(unit) !== true, wish, 0)
  if (!book.isOpen) return undefined
  const { order, count } = wish
  const isFree = (unit: number) => isFreeUnit(book, unit, wish) && isHeld?.(unit) !== true
  if (order === 'next') {
    const from = (book.object.spec.last ?? -1) + 1
    return lowest(isFree, wish, from) ?? lowest(isFree, wish, 0)
  }
  if (order === 'leastRecentlyReleased' && count === 1) {
    const fresh = lowest((unit) => book.at(unit) === undefined && isHeld?.(unit) !== true, wish, 0)
    return fresh ?? longestFree(book, wish)
  }
  return lowest(isFree, wish, 0)
}

/** Whether the one that asks may have a unit now. */
function isFreeUnit(book: BlockBook, unit: number, { nowMs, isKept }: UnitWish): boolean {
  const entry = book.at(unit)
  return entry === undefined || entry.untilMs <= nowMs || isKept?.(entry) === true
}

function longestFree(book: BlockBook, { units, nowMs, isHeld }: UnitWish): number | undefined {
  let best: { readonly unit: number; readonly released: string } | undefined
  for (const { unit, count, row, untilMs } of book.entries) {
    if (untilMs > nowMs) continue
    const released = row.released ?? ''
    if (best !== undefined && released >= best.released) continue
    const given = unitIn(units, unit, unit + count - 1)
    if (given !== undefined && isHeld?.(given) !== true) best = { unit: given, released }
  }
  return best?.unit
}

/** The lowest unit between two that is one of those that are given. */
function unitIn(units: readonly UnitRange[], from: number, to: number): number | undefined {
  const range = units.find(({ first, last }) => last >= from && first <= to)
  return range === undefined ? undefined : Math.max(range.first, from)
}

function lowest(
  isFree: (unit: number) => boolean,
  { units, count, isAligned }: UnitWish,
  from: number,
): number | undefined {
  const step = isAligned ? count : 1
  for (const { first, last } of units) {
    let start = Math.max(first, from)
    start = Math.ceil(start / step) * step
    while (start + count - 1 <= last) {
      let at = start + count - 1
      while (at >= start && isFree(at)) at--
      if (at < start) return start
      // nothing that has the unit that is taken
      start = Math.ceil((at + 1) / step) * step
    }
  }
  return undefined
}
