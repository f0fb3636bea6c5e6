import type { UnitRange } from './grid.js'
import type { BlockEntry, ParsedBlock } from './parsed-block.js'

/** Which units of a block are wanted. */
export interface UnitQuery {
  /** What of the block may be given, in order. */
  readonly units: readonly UnitRange[]
  /** How many in a row. */
  readonly count: number
  /**
   * Whether the first of them has to lie at a multiple of `count`: for a prefix of several units.
   */
  readonly isAligned: boolean
  readonly order: 'lowest' | 'next' | 'leastRecentlyReleased'
  readonly nowMs: number
  /** Whether somebody has a unit that is free by its block. */
  readonly isHeld?: ((unit: number) => boolean) | undefined
  /** Whether a row that keeps units from others keeps them for the one that asks. */
  readonly isKept?: ((entry: BlockEntry) => boolean) | undefined
}

/** The first of the units that are to be given, if the block has such. O(units of the block). */
export function chooseUnit(parsed: ParsedBlock | undefined, query: UnitQuery): number | undefined {
  const { isHeld } = query
  if (parsed === undefined) return lowest((unit) => isHeld?.(unit) !== true, query, 0)
  if (!parsed.isOpen) return undefined
  const { order, count } = query
  const isFree = (unit: number) => isFreeUnit(parsed, unit, query) && isHeld?.(unit) !== true
  if (order === 'next') {
    const from = (parsed.object.spec.last ?? -1) + 1
    return lowest(isFree, query, from) ?? lowest(isFree, query, 0)
  }
  if (order === 'leastRecentlyReleased' && count === 1) {
    const fresh = lowest((unit) => parsed.at(unit) === undefined && isHeld?.(unit) !== true, query, 0)
    return fresh ?? longestFree(parsed, query)
  }
  return lowest(isFree, query, 0)
}

/** Whether the one that asks may have a unit now. */
function isFreeUnit(parsed: ParsedBlock, unit: number, { nowMs, isKept }: UnitQuery): boolean {
  const entry = parsed.at(unit)
  return entry === undefined || entry.untilMs <= nowMs || isKept?.(entry) === true
}

function longestFree(parsed: ParsedBlock, { units, nowMs, isHeld }: UnitQuery): number | undefined {
  let best: { readonly unit: number; readonly released: string } | undefined
  for (const { unit, count, row, untilMs } of parsed.entries) {
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
  { units, count, isAligned }: UnitQuery,
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
