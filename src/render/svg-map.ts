import { check, type KindOf } from '../errors/check.js'
import { type Grid, type GridOptions, gridsOf, isShade, type MapLabel, type PoolMap } from './grid.js'
import { clipped, descriptionOf, gridPart, gridWidth, INK, PAD, type Part, summaryOf } from './svg-grid.js'
import { drawnStates, looks, theme } from './svg-theme.js'
import { escapeXml, oneLine } from './xml.js'

export interface SvgMapOptions extends GridOptions {
  /** The title of the map. One line of at most 80 code points. Default `Address map`. */
  readonly title?: string | undefined
  /** Labels of holders. A label is drawn if it fits, and is always in the tooltip. Default none. */
  readonly labels?: readonly MapLabel[] | undefined
}

const SVG_MAP_OPTIONS: KindOf<SvgMapOptions> = {
  title: 'text?',
  labels: ['list?', ['open', { range: ['open', { first: 'object', last: 'object' }], text: 'text' }]],
  columns: 'number?',
  maxRows: 'number?',
}

/**
 * Draws a pool as an SVG document that can also be part of an HTML page. Cells and rows are those
 * of `asciiMap`. Equal neighbours are one rectangle, whose tooltip names their state, addresses and
 * labels. The picture has a title and a description for screen readers, and can be read without
 * colour. It follows the light or dark mode of the reader, and has no script. Labels are escaped
 * and cut.
 *
 * It takes about 150 bytes for each rectangle, and has at most rows times columns of them. Equal
 * input gives equal text.
 *
 * @throws IpamError `INVALID_ARGUMENT` for columns that are not a power of two from 8 to 256, or
 *   for less than one row
 * @example
 * const addresses = RangeSet.parse(['10.0.0.0/28'])
 * const inUse = RangeSet.parse(['10.0.0.4/30'])
 * const labels = [{ range: Range.parse('10.0.0.4-10.0.0.7'), text: 'node <1>' }]
 * const svg = svgMap({ addresses, available: addresses, inUse }, { title: 'Lab', columns: 16, labels })
 * svg.includes('<desc>IPv4: 16 addresses, 4 in use, 12 free.</desc>') // true
 * svg.includes('<title>in use: 10.0.0.4 to 10.0.0.7&#10;node &lt;1&gt;</title>') // true
 */
export function svgMap(map: PoolMap, options: SvgMapOptions = {}): string {
  check('svgMap', 'map', map, ['open', { addresses: 'object', available: 'object', inUse: 'object' }])
  check('svgMap', 'options', options, SVG_MAP_OPTIONS)

  const grids = gridsOf('svgMap', map, options)
  const summaries = grids.map((grid) => summaryOf(grid, map))
  const title = escapeXml(oneLine(options.title ?? '', MAX_TITLE).trim() || 'Address map')
  const width = 2 * PAD + Math.max(MIN_WIDTH, ...grids.map((grid, index) => gridWidth(grid, summaries[index]!)))
  const head = headPart(title, grids, width)
  const parts: Part[] = [head]
  let height = head.height
  for (const [index, grid] of grids.entries()) {
    const part = gridPart(grid, map, options.labels ?? [], { top: height, summary: summaries[index]! })
    parts.push(part)
    height += part.height
  }
  height += PAD
  const size = `viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"`
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" class="ipam-map" role="img" aria-label="${title}" ${size}>`,
    `<title>${title}</title>`,
    `<desc>${descriptionOf(grids, map)}</desc>`,
    ...theme,
    `<rect class="paper" width="${width}" height="${height}" fill="#ffffff"/>`,
    ...parts.flatMap((part) => part.lines),
    '</svg>',
    '',
  ].join('\n')
}

const MAX_TITLE = 80
const MIN_WIDTH = 480
const LEGEND_ROW = 22

/** The title and the legend. */
function headPart(title: string, grids: readonly Grid[], width: number): Part {
  const text = `<text ${INK} y="17" font-size="16" font-weight="600">${title}</text>`
  const lines = [clipped({ x: PAD, y: PAD, width: width - 2 * PAD, height: 24 }, text), '<g font-size="12">']
  let x = PAD
  let y = PAD + 36
  const coarse = grids.some((grid) => grid.addressesPerCell > 1n)
  for (const state of drawnStates) {
    if (isShade(state) && !coarse) continue
    const { words, attributes } = looks[state]
    const room = 26 + words.length * 7
    if (x + room > width - PAD) {
      x = PAD
      y += LEGEND_ROW
    }
    lines.push(`<rect ${attributes} x="${x}" y="${y}" width="18" height="14"/>`)
    lines.push(`<text ${INK} x="${x + 25}" y="${y + 11}">${words}</text>`)
    x += room + 12
  }
  return { lines: [...lines, '</g>'], height: y + LEGEND_ROW }
}
