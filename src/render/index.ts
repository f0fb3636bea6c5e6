export { type AsciiMapOptions, asciiMap, asciiMapLegend, type PoolMap } from './ascii-map.js'
export { table } from './table.js'
