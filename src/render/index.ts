/**
 * Text and pictures from data: tables, maps of pools as ASCII or SVG, and metrics of a controller
 * in the text format of Prometheus.
 *
 * @module ipam-kit/render
 */
export { asciiMap, asciiMapLegend } from './ascii-map.js'
export { ControllerMetrics } from './controller-metrics.js'
export { Histogram } from './histogram.js'
export { registerMetrics } from './prom-client.js'
export { type Metric, prometheusText } from './prometheus.js'
export { svgMap } from './svg-map.js'
export { table } from './table.js'
