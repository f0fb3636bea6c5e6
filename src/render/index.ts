/**
 * Text and pictures from data: tables, maps of pools as ASCII or SVG, and metrics of a controller
 * in the text format of Prometheus.
 *
 * @module ipam-kit/render
 */

export type { LedgerUsage } from '../allocator/index.js'
export type { Outcome, PoolUsage } from '../plan/index.js'
export type { ControllerProblem, ControllerResult } from '../run/index.js'
export { type AsciiMapOptions, asciiMap, asciiMapLegend } from './ascii-map.js'
export { ControllerMetrics, type RunningController } from './controller-metrics.js'
export type { GridOptions, MapLabel, PoolMap } from './grid.js'
export { Histogram } from './histogram.js'
export { poolMetrics, type UsageReporter } from './pool-metrics.js'
export { type PromRegistry, registerMetrics } from './prom-client.js'
export { type HistogramSample, type Metric, type MetricSample, prometheusText } from './prometheus.js'
export { type SvgMapOptions, svgMap } from './svg-map.js'
export { table } from './table.js'
