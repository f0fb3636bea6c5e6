import type { Family } from '../cidr/index.js'
import * as Address from '../cidr/nouns/address.js'
import * as RangeSet from '../cidr/nouns/range-set.js'
import { type DrawnState, type Grid, isShade, type MapLabel, type PoolMap, type Run, runsOf, windowOf } from './grid.js'
import { drawnStates, looks } from './svg-theme.js'
import { cutTo, escapeXml } from './xml.js'

type RangeSet = RangeSet.RangeSet

/** A piece of a picture, and how much of its height it takes. */
export interface Part {
  readonly lines: readonly string[]
  readonly height: number
}

interface Box {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

/** Around the whole picture. */
export const PAD = 16
export const INK = 'class="ink" fill="#1f2328"'
const SOFT = 'class="soft" fill="#59636e"'

const CELL_HEIGHT = 18
/** From row to row, and what is added where rows are left out. */
const PITCH = 22
const GAP = 10
/**
 * How wide a monospaced character of 12 pixels is, rounded up so that nothing overlaps; and one of
 * 11 pixels.
 */
const CHARACTER = 8
const SMALL_CHARACTER = 7
/** The shortest text in the map, in characters. */
const MIN_CHARACTERS = 4
/** The number of labels in a tooltip, at most. */
const MAX_TEXTS = 8

/** Row labels and cells, or the line above them. */
export function gridWidth(grid: Grid, summary: string): number {
  return Math.max(labelWidth(grid) + grid.columns * cellWidth(grid), summary.length * SMALL_CHARACTER)
}

/** One family of a map, from `place.top` down. */
export function gridPart(
  grid: Grid,
  map: PoolMap,
  labels: readonly MapLabel[],
  place: { readonly top: number; readonly summary: string },
): Part {
  const top = place.top + 34
  const left = PAD + labelWidth(grid)
  const cell = cellWidth(grid)
  const tops = topsOf(grid, top)
  const bottom = tops.at(-1)! + CELL_HEIGHT

  const rects = new Map<DrawnState, string[]>(drawnStates.map((state) => [state, []]))
  const shown: string[] = []
  for (const [row, runs] of runsOf(grid, labels).entries()) {
    for (const run of runs) {
      const box = { x: left + run.at * cell, y: tops[row]!, width: run.length * cell - 1, height: CELL_HEIGHT }
      const tooltip = escapeXml(tooltipOf(grid, row, run, map))
      rects.get(run.state)!.push(`<rect ${attributesOf(box)}><title>${tooltip}</title></rect>`)
      shown.push(...labelsOf(run, box))
    }
  }
  const lines = [
    `<text ${SOFT} x="${PAD}" y="${top - 12}" font-size="12">${place.summary}</text>`,
    ...rowLabels(grid, tops),
    ...gapLines(grid, tops, left),
    ...drawnStates.flatMap((state) => group(looks[state].attributes, rects.get(state)!)),
    cellLines(grid, { x: left, y: top, width: cell, height: bottom - top }),
    ...group('class="mono" font-size="11" pointer-events="none"', shown),
  ]
  return { lines, height: bottom - place.top + 12 }
}

/** The line above a grid. Large counts are shortened. */
export function summaryOf(grid: Grid, map: PoolMap): string {
  const cell = grid.addressesPerCell
  const words = [countWords(grid.family, map, shortCount), ...(cell > 1n ? [`${shortCount(cell)} in each cell`] : [])]
  return words.join(', ')
}

/** A sentence for each family with all counts in full, for readers that do not see the picture. */
export function descriptionOf(grids: readonly Grid[], map: PoolMap): string {
  if (grids.length === 0) return 'No addresses.'
  return grids.map(({ family }) => `${countWords(family, map, String)}.`).join(' ')
}

/** What does not fit into the box is not drawn, whatever a font makes of the text. */
export function clipped(box: Box, content: string): string {
  return `<svg ${attributesOf(box)}>${content}</svg>`
}

function labelWidth(grid: Grid): number {
  return 12 + CHARACTER * grid.rows.reduce((longest, { start }) => Math.max(longest, rowLabel(grid, start).length), 0)
}

/** 24 in short rows, 4 in long ones: between them a row is 768 wide. */
function cellWidth({ columns }: Grid): number {
  return Math.min(24, Math.max(4, 768 / columns))
}

/** Where each row begins. */
function topsOf(grid: Grid, top: number): number[] {
  let y = top
  return grid.rows.map((_, row) => {
    if (row > 0) y += PITCH + (followsOn(grid, row) ? 0 : GAP)
    return y
  })
}

function followsOn({ rows, columns, addressesPerCell }: Grid, row: number): boolean {
  return rows[row]!.start === rows[row - 1]!.start + BigInt(columns) * addressesPerCell
}

function rowLabel({ family }: Grid, start: bigint): string {
  return Address.format(Address.fromBigInt(family, start))
}

function rowLabels(grid: Grid, tops: readonly number[]): string[] {
  const x = PAD + labelWidth(grid) - 12
  const label = (start: bigint, row: number) => `<text x="${x}" y="${tops[row]! + 13}">${rowLabel(grid, start)}</text>`
  const labels = grid.rows.map(({ start }, row) => label(start, row))
  return group('class="soft mono" fill="#59636e" font-size="12" text-anchor="end"', labels)
}

/** A dotted line where rows are left out. */
function gapLines(grid: Grid, tops: readonly number[], left: number): string[] {
  const width = grid.columns * cellWidth(grid) - 1
  const moves = tops.flatMap((y, row) => (row === 0 || followsOn(grid, row) ? [] : [`M${left} ${y - 7}h${width}`]))
  const attributes = 'class="gaps" fill="none" stroke="#9aa3ad" stroke-width="2" stroke-dasharray="2 6"'
  return moves.length === 0 ? [] : [`<path ${attributes} d="${moves.join('')}"/>`]
}

function group(attributes: string, elements: readonly string[]): string[] {
  return elements.length === 0 ? [] : [`<g ${attributes}>`, ...elements, '</g>']
}

/**
 * Faint lines in the colour of the paper, so that the cells of a run can be counted. Tooltips are
 * below them.
 */
function cellLines({ columns }: Grid, { x, y, width, height }: Box): string {
  let moves = ''
  for (let column = 1; column < columns; column++) moves += `M${x + column * width - 1} ${y}v${height}`
  const attributes = 'fill="none" stroke="#ffffff" stroke-opacity="0.5" pointer-events="none"'
  return `<path class="lines" transform="translate(0.5)" ${attributes} d="${moves}"/>`
}

/**
 * The text of the one label of a run, if there is room for it. It never covers a pattern from end
 * to end.
 */
function labelsOf({ texts, state }: Run, box: Box): string[] {
  const [text] = texts
  const solid = state === 'used' || state === 'free'
  const fit = Math.floor((box.width - (solid ? 9 : 33)) / SMALL_CHARACTER)
  if (text === undefined || texts.size > 1 || fit < MIN_CHARACTERS) return []
  const { cut, width } = cutTo(text, fit)
  const { below, label } = looks[state]
  const area = { x: box.x + 1, y: box.y + 1, width: width * SMALL_CHARACTER + 7, height: box.height - 2 }
  const content = `<rect ${below} width="100%" height="100%"/><text ${label} x="4" y="12">${escapeXml(cut)}</text>`
  return [clipped(area, content)]
}

function attributesOf({ x, y, width, height }: Box): string {
  return `x="${x}" y="${y}" width="${width}" height="${height}"`
}

/** The state of a run, its addresses and, each on a line of its own, the texts of its labels. */
function tooltipOf(grid: Grid, row: number, run: Run, map: PoolMap): string {
  const start = grid.rows[row]!.start + BigInt(run.at) * grid.addressesPerCell
  const range = windowOf(grid.family, start, start + BigInt(run.length) * grid.addressesPerCell - 1n)
  const [first, last] = [Address.format(range.first), Address.format(range.last)]
  const counts = isShade(run.state) ? `, ${partWords(RangeSet.fromRanges([range]), map)}` : ''
  const texts = [...run.texts]
  const more = texts.length > MAX_TEXTS ? [`and ${texts.length - MAX_TEXTS} more`] : []
  return [
    `${looks[run.state].words}${counts}: ${first === last ? first : `${first} to ${last}`}`,
    ...texts.slice(0, MAX_TEXTS),
    ...more,
  ].join('\n')
}

function partWords(window: RangeSet, { inUse, available }: PoolMap): string {
  const [some, all] = [inUse, available].map((set) => RangeSet.size(RangeSet.intersect(set, window)))
  return `${some} of ${all}`
}

function countWords(family: Family, map: PoolMap, format: (count: bigint) => string): string {
  const space = RangeSet.fromRanges([windowOf(family, 0n, 1n << 128n)])
  const count = (set: RangeSet) => RangeSet.size(RangeSet.intersect(set, space))
  const { addresses, available, inUse } = map
  const used = count(RangeSet.intersect(inUse, available))
  const free = count(available) - used
  const kept = count(RangeSet.subtract(RangeSet.subtract(addresses, available), inUse))
  const stray = count(inUse) - used
  const all = used + free + kept + stray
  const also = ([count, words]: readonly [bigint, string]) => (count > 0n ? `, ${format(count)} ${words}` : '')
  const more = `${also([kept, 'kept back'])}${also([stray, 'in use out of range'])}`
  const noun = all === 1n ? 'address' : 'addresses'
  return `IPv${family}: ${format(all)} ${noun}, ${format(used)} in use, ${format(free)} free${more}`
}

/** In full up to fifteen digits, then as a power of two or by its first digits. */
function shortCount(count: bigint): string {
  const digits = String(count)
  if (digits.length <= 15) return digits
  const bits = count.toString(2).length - 1
  if (count === 1n << BigInt(bits)) return `2^${bits}`
  return `about ${digits[0]}.${digits.slice(1, 3)}e${digits.length - 1}`
}
