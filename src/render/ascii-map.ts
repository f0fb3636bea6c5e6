import { Address, type Family, Range, RangeSet } from '../cidr/index.js'
import { ipamError } from '../errors/index.js'

/** What a map of a pool shows. */
export interface PoolMap {
  /** All addresses of the pool, also those that it keeps back. */
  readonly addresses: RangeSet
  /** Those that it may hand out. */
  readonly available: RangeSet
  /** Those in use, in and out of range. */
  readonly inUse: RangeSet
}

export interface AsciiMapOptions {
  /** Cells in a row: a power of two from 8 to 256. Default 64. */
  readonly columns?: number | undefined
  /** Rows at most; a pool with more gets several addresses in a cell. Default 16. */
  readonly maxRows?: number | undefined
}

/** What the characters of a map mean. */
export const asciiMapLegend =
  '# in use  + partly  . free  - kept back (excluded, reserved, gateway)  ! in use, out of range'

/**
 * A pool as rows of characters, one for an address or, in a large pool, for a block of 2^k of them. Rows begin at a multiple of their
 * length, and rows that hold nothing of the pool are left out.
 *
 *     10.0.0.0   -##.......------
 *     10.0.0.16  ................
 *
 * @returns lines without a legend; the first says what a cell is if it is more than one address. No lines for an empty pool
 * @throws IpamError `INVALID_ARGUMENT` for columns that are no power of two from 8 to 256, or for less than one row
 */
export function asciiMap(map: PoolMap, options: AsciiMapOptions = {}): string[] {
  const columns = options.columns ?? 64
  const maxRows = options.maxRows ?? 16
  if (!Number.isInteger(Math.log2(columns)) || columns < 8 || columns > 256) {
    throw ipamError('INVALID_ARGUMENT', {
      argument: 'columns',
      expected: 'a power of two from 8 to 256',
      got: String(columns),
    })
  }
  if (!Number.isInteger(maxRows) || maxRows < 1) {
    throw ipamError('INVALID_ARGUMENT', {
      argument: 'maxRows',
      expected: 'a whole number from 1',
      got: String(maxRows),
    })
  }
  const everything = RangeSet.union(map.addresses, map.inUse)
  return ([4, 6] as const).flatMap((family) => mapOfFamily(family, map, RangeSet.ranges(everything), columns, maxRows))
}

function mapOfFamily(
  family: Family,
  map: PoolMap,
  ranges: readonly Range[],
  columns: number,
  maxRows: number,
): string[] {
  const bounds = ranges
    .filter((range) => range.first.family === family)
    .map((range) => [Address.toBigInt(range.first), Address.toBigInt(range.last)] as const)
  if (bounds.length === 0) return []
  let cellBits = 0n
  while (rowsOf(bounds, cellBits, columns, maxRows + 1).length > maxRows) cellBits++
  const cell = 1n << cellBits
  const row = cell * BigInt(columns)
  const max = (1n << BigInt(Address.bitsOf(family))) - 1n
  const rows = rowsOf(bounds, cellBits, columns, maxRows).map((index) => {
    const start = index * row
    const first = Address.fromBigInt(family, start)
    const last = Address.fromBigInt(family, start + row - 1n < max ? start + row - 1n : max)
    const window = RangeSet.fromRanges([Range.of(first, last)])
    const part: PoolMap = {
      addresses: RangeSet.intersect(map.addresses, window),
      available: RangeSet.intersect(map.available, window),
      inUse: RangeSet.intersect(map.inUse, window),
    }
    let text = ''
    for (let at = start; at < start + row && at <= max; at += cell) text += cellOf(family, part, at, at + cell - 1n)
    return { label: Address.format(first), text: text.trimEnd() }
  })
  const width = Math.max(...rows.map((each) => each.label.length))
  const lines = rows.map(({ label, text }) => `${label.padEnd(width)}  ${text}`)
  return cellBits === 0n ? lines : [`each character is ${cellBits > 20n ? `2^${cellBits}` : cell} addresses`, ...lines]
}

/** The numbers of the rows that the ranges touch, ascending: at most `limit` of them. */
function rowsOf(
  bounds: readonly (readonly [bigint, bigint])[],
  cellBits: bigint,
  columns: number,
  limit: number,
): bigint[] {
  const row = (1n << cellBits) * BigInt(columns)
  const rows: bigint[] = []
  for (const [first, last] of bounds) {
    for (let index = first / row; index <= last / row && rows.length < limit; index++) {
      if (rows.at(-1) !== index) rows.push(index)
    }
  }
  return rows
}

function cellOf(family: Family, map: PoolMap, first: bigint, last: bigint): string {
  const window = RangeSet.fromRanges([
    { first: Address.fromBigInt(family, first), last: Address.fromBigInt(family, last) },
  ])
  const inUse = RangeSet.intersect(map.inUse, window)
  const available = RangeSet.intersect(map.available, window)
  if (!RangeSet.isEmpty(RangeSet.subtract(inUse, available))) return '!'
  if (RangeSet.isEmpty(available)) return RangeSet.isEmpty(RangeSet.intersect(map.addresses, window)) ? ' ' : '-'
  if (RangeSet.isEmpty(inUse)) return '.'
  return RangeSet.equals(inUse, available) ? '#' : '+'
}
