export { asciiMap, asciiMapLegend } from './ascii-map.js'
export { type Metric, prometheusText } from './prometheus.js'
export { svgMap } from './svg-map.js'
export { table } from './table.js'
