import * as Address from '../cidr/nouns/address.js'
import { check, type KindOf } from '../errors/check.js'
import { type CellState, type Grid, type GridOptions, gridsOf, type PoolMap } from './grid.js'

export interface AsciiMapOptions extends GridOptions {}

const ASCII_MAP_OPTIONS: KindOf<AsciiMapOptions> = { columns: 'number?', maxRows: 'number?' }

/** What the characters of a map mean. */
export const asciiMapLegend =
  '# in use  . free  : + * % in use up to 1/4, 1/2, 3/4, more  - kept back  ! in use, out of range'

/**
 * Draws a pool as rows of characters, each for one address or, in a large pool, for a block of 2^k
 * addresses. Rows begin at a multiple of their length. Rows without addresses of the pool are left
 * out. A ruler above them counts characters: from 0, in hexadecimal for IPv6.
 *
 *                0   4   8   12
 *     10.0.0.0   -##.......------
 *     10.0.0.16  ................
 *
 * @returns lines without a legend. If a cell has more than one address, the first line says so. No
 *   lines for an empty pool
 * @throws IpamError `INVALID_ARGUMENT` for columns that are not a power of two from 8 to 256, or
 *   for less than one row
 * @example
 * const addresses = RangeSet.parse(['10.0.0.0/29'])
 * const available = RangeSet.parse(['10.0.0.1-10.0.0.6'])
 * asciiMap({ addresses, available, inUse: RangeSet.parse(['10.0.0.1']) }) // ['          0   4', '10.0.0.0  -#.....-']
 */
export function asciiMap(map: PoolMap, options: AsciiMapOptions = {}): string[] {
  check('asciiMap', 'map', map, ['open', { addresses: 'object', available: 'object', inUse: 'object' }])
  check('asciiMap', 'options', options, ASCII_MAP_OPTIONS)

  return gridsOf('asciiMap', map, options).flatMap(linesOf)
}

const characters: Readonly<Record<CellState, string>> = {
  outside: ' ',
  kept: '-',
  free: '.',
  few: ':',
  some: '+',
  many: '*',
  most: '%',
  used: '#',
  stray: '!',
}

function linesOf({ family, addressesPerCell, rows }: Grid): string[] {
  const labels = rows.map(({ start }) => Address.format(Address.fromBigInt(family, start)))
  const width = labels.reduce((longest, label) => Math.max(longest, label.length), 0)
  const texts = rows.map(({ cells }) =>
    cells
      .map((cell) => characters[cell])
      .join('')
      .trimEnd(),
  )
  const longest = texts.reduce((most, text) => Math.max(most, text.length), 0)
  const lines = texts.map((text, index) => `${labels[index]!.padEnd(width)}  ${text}`)
  const step = longest > 16 ? 8 : 4
  const ruled = [`${' '.repeat(width)}  ${rulerOf(longest, step, family === 4 ? 10 : 16)}`, ...lines]
  if (addressesPerCell === 1n) return ruled
  const bits = addressesPerCell.toString(2).length - 1
  return [`each character is ${bits > 20 ? `2^${bits}` : addressesPerCell} addresses`, ...ruled]
}

/** The number of each character at a multiple of `step`. */
function rulerOf(length: number, step: number, radix: number): string {
  const marks = Array.from({ length: Math.ceil(length / step) }, (_, nth) => (nth * step).toString(radix).padEnd(step))
  return marks.join('').trimEnd()
}
