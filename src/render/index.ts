/**
 * Text and pictures from data: tables, maps of pools as ASCII or SVG, and metrics in the text
 * format of Prometheus.
 *
 * @module ipam-kit/render
 */
export { type AsciiMapOptions, asciiMap, asciiMapLegend } from './ascii-map.js'
export type { MapLabel, PoolMap } from './grid.js'
export { type HistogramSample, type Metric, type MetricSample, prometheusText } from './prometheus.js'
export { type SvgMapOptions, svgMap } from './svg-map.js'
export { table } from './table.js'
