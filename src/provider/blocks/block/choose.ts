import type { UnitRange } from './grid.js'
import type { BlockEntry, ParsedBlock } from './parsed-block.js'

/** The units of a block that a request can use. */
export interface UnitQuery {
  /** The units of the block that may be given, in order. */
  readonly units: readonly UnitRange[]
  /** How many consecutive units. */
  readonly count: number
  /**
   * Whether the first of them has to lie at a multiple of `count`: for a prefix of several units.
   */
  readonly isAligned: boolean
  readonly order: 'lowest' | 'next' | 'leastRecentlyReleased'
  readonly nowMs: number
  /** Whether a unit without a row is held all the same. */
  readonly isHeld?: ((unit: number) => boolean) | undefined
  /** Whether a row that keeps units keeps them for the owner of the request. */
  readonly isKept?: ((entry: BlockEntry) => boolean) | undefined
}

/**
 * The first free unit that fits the query; `undefined` if the block has none. O(units of the
 * block).
 */
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

/** Whether the request may have a unit now. */
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

/** The lowest unit between two bounds that may be given. */
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
      // continue behind the entry that has the unit
      start = Math.ceil((at + 1) / step) * step
    }
  }
  return undefined
}
