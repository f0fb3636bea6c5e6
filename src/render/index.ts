export { type AsciiMapOptions, asciiMap, asciiMapLegend } from './ascii-map.js'
export type { MapLabel, PoolMap } from './grid.js'
export { type SvgMapOptions, svgMap } from './svg-map.js'
export { table } from './table.js'
