import type { Family } from '../cidr/index.js'
import * as Address from '../cidr/nouns/address.js'
import * as Range from '../cidr/nouns/range.js'
import * as RangeSet from '../cidr/nouns/range-set.js'
import { refuse } from '../errors/refuse.js'
import { oneLine } from './xml.js'

type Range = Range.Range
type RangeSet = RangeSet.RangeSet

/** The addresses of a pool, for a map. */
export interface PoolMap {
  /** All addresses of the pool, including those that it keeps back. */
  readonly addresses: RangeSet
  /** Addresses that the pool may allocate. */
  readonly available: RangeSet
  /** Addresses in use, in range and out of range. */
  readonly inUse: RangeSet
}

export interface GridOptions {
  /** Cells in a row: a power of two from 8 to 256. Default 64. */
  readonly columns?: number | undefined
  /** The largest number of rows. A larger pool gets several addresses in a cell. Default 16. */
  readonly maxRows?: number | undefined
}

/**
 * How much of a cell is in use that has free addresses too: up to a quarter, half, three quarters,
 * or more of what the pool may allocate there.
 */
export const shades = ['few', 'some', 'many', 'most'] as const

export type Shade = (typeof shades)[number]

/**
 * The state of a cell. `stray`: it has an address that is in use out of range. `outside`: it has no
 * address of the pool.
 */
export type CellState = 'outside' | 'kept' | 'free' | Shade | 'used' | 'stray'

export function isShade(state: CellState): state is Shade {
  return (shades as readonly string[]).includes(state)
}

export type DrawnState = Exclude<CellState, 'outside'>

/** The addresses of one family as rows of cells. */
export interface Grid {
  readonly family: Family
  readonly columns: number
  /** A power of two. */
  readonly addressesPerCell: bigint
  /** Rows with addresses of the pool, ascending. */
  readonly rows: readonly GridRow[]
}

export interface GridRow {
  /** The numeric value of its first address: a multiple of the addresses in a row. */
  readonly start: bigint
  /** One for each cell. Fewer than `columns` only at the end of the address space. */
  readonly cells: readonly CellState[]
}

/** A text about some addresses of a map: an owner, a node, a rule. Any text is allowed. */
export interface MapLabel {
  readonly range: Range
  /** Shown as one line of at most 64 code points. */
  readonly text: string
}

/** Neighbouring cells of a row with the same state and the same labels. */
export interface Run {
  readonly state: DrawnState
  /** The index of its first cell in the row. */
  readonly at: number
  readonly length: number
  /** The texts of its labels, each once. */
  readonly texts: ReadonlySet<string>
}

/**
 * The grids of a pool, one for each family of its addresses, IPv4 first. Rows begin at a multiple
 * of their length.
 *
 * @throws IpamError `INVALID_ARGUMENT` for columns that are no power of two from 8 to 256, or for
 * less than one row
 */
export function gridsOf(of: string, map: PoolMap, options: GridOptions): Grid[] {
  const columns = options.columns ?? 64
  const maxRows = options.maxRows ?? 16
  if (!Number.isInteger(Math.log2(columns)) || columns < 8 || columns > 256) {
    refuse(of, 'columns', 'a power of two from 8 to 256', columns)
  }
  if (!Number.isInteger(maxRows) || maxRows < 1) refuse(of, 'maxRows', 'a whole number from 1', maxRows)
  const everything = RangeSet.ranges(RangeSet.union(map.addresses, map.inUse))
  return ([4, 6] as const).flatMap((family) => {
    const bounds = everything
      .filter((range) => range.first.family === family)
      .map((range) => [Address.toBigInt(range.first), Address.toBigInt(range.last)] as const)
    return bounds.length === 0 ? [] : [gridOf(family, map, bounds, columns, maxRows)]
  })
}

/**
 * The runs of each row of a grid. Cells without addresses of the pool are left out. O(cells +
 * labels * cells of each label).
 */
export function runsOf(grid: Grid, labels: readonly MapLabel[]): Run[][] {
  const texts = textsOf(grid, labels)
  return grid.rows.map(({ cells }, rowIndex) => {
    const runs: Run[] = []
    let at = 0
    while (at < cells.length) {
      const state = cells[at]!
      const said = texts.get(rowIndex * grid.columns + at) ?? silent
      const isAlike = (cell: number) =>
        cells[cell] === state && sameTexts(said, texts.get(rowIndex * grid.columns + cell) ?? silent)
      let end = at + 1
      while (end < cells.length && isAlike(end)) end++
      if (state !== 'outside') runs.push({ state, at, length: end - at, texts: said })
      at = end
    }
    return runs
  })
}

/** The addresses of a family between two numbers, cut off at the end of the address space. */
export function windowOf(family: Family, first: bigint, last: bigint): Range {
  const max = lastOf(family)
  return Range.of(Address.fromBigInt(family, first), Address.fromBigInt(family, last < max ? last : max))
}

type Bounds = readonly [first: bigint, last: bigint]

const MAX_TEXT = 64
const silent: ReadonlySet<string> = /* @__PURE__ */ new Set<string>([])

function gridOf(family: Family, map: PoolMap, bounds: readonly Bounds[], columns: number, maxRows: number): Grid {
  let cellBits = 0n
  while (rowsOf(bounds, cellBits, columns, maxRows + 1).length > maxRows) cellBits++
  const cell = 1n << cellBits
  const row = cell * BigInt(columns)
  const max = lastOf(family)
  const rows = rowsOf(bounds, cellBits, columns, maxRows).map((index) => {
    const start = index * row
    const part = within(map, windowOf(family, start, start + row - 1n))
    const cells: CellState[] = []
    for (let at = start; at < start + row && at <= max; at += cell) {
      cells.push(stateOf(within(part, windowOf(family, at, at + cell - 1n))))
    }
    return { start, cells }
  })
  return { family, columns, addressesPerCell: cell, rows }
}

/** The numbers of the rows of the ranges, ascending, up to `limit`. */
function rowsOf(bounds: readonly Bounds[], cellBits: bigint, columns: number, limit: number): bigint[] {
  const row = (1n << cellBits) * BigInt(columns)
  const rows: bigint[] = []
  for (const [first, last] of bounds) {
    if (rows.length >= limit) break
    for (let index = first / row; index <= last / row && rows.length < limit; index++) {
      if (rows.at(-1) !== index) rows.push(index)
    }
  }
  return rows
}

function within(map: PoolMap, range: Range): PoolMap {
  const window = RangeSet.fromRanges([range])
  return {
    addresses: RangeSet.intersect(map.addresses, window),
    available: RangeSet.intersect(map.available, window),
    inUse: RangeSet.intersect(map.inUse, window),
  }
}

function stateOf({ addresses, available, inUse }: PoolMap): CellState {
  if (!RangeSet.isEmpty(RangeSet.subtract(inUse, available))) return 'stray'
  if (RangeSet.isEmpty(available)) return RangeSet.isEmpty(addresses) ? 'outside' : 'kept'
  if (RangeSet.isEmpty(inUse)) return 'free'
  const [used, all] = [RangeSet.size(inUse), RangeSet.size(available)]
  return used === all ? 'used' : shades[Number((used * 4n - 1n) / all)]!
}

function lastOf(family: Family): bigint {
  return (1n << BigInt(Address.bitsOf(family))) - 1n
}

/** The labels of each cell, by row index * columns + cell index. */
function textsOf(grid: Grid, labels: readonly MapLabel[]): Map<number, Set<string>> {
  const found = new Map<number, Set<string>>()
  const perRow = grid.addressesPerCell * BigInt(grid.columns)
  for (const { range, text } of labels) {
    const shown = oneLine(text, MAX_TEXT)
    if (range.first.family !== grid.family || shown === '') continue
    const first = Address.toBigInt(range.first)
    const last = Address.toBigInt(range.last)
    for (let row = rowFrom(grid.rows, first - perRow + 1n); row < grid.rows.length; row++) {
      const { start, cells } = grid.rows[row]!
      if (start > last) break
      const from = start >= first ? 0 : Number((first - start) / grid.addressesPerCell)
      const to = last - start >= perRow ? cells.length - 1 : Number((last - start) / grid.addressesPerCell)
      for (let cell = from; cell <= to; cell++) {
        const key = row * grid.columns + cell
        found.set(key, (found.get(key) ?? new Set()).add(shown))
      }
    }
  }
  return found
}

/** The index of the first row that starts at `value` or after it. */
function rowFrom(rows: readonly GridRow[], value: bigint): number {
  let low = 0
  let high = rows.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (rows[middle]!.start < value) low = middle + 1
    else high = middle
  }
  return low
}

function sameTexts(left: ReadonlySet<string>, right: ReadonlySet<string>): boolean {
  return left.size === right.size && [...left].every((text) => right.has(text))
}
