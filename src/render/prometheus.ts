import { check } from '../errors/check.js'
import { refuseIn } from '../errors/refuse.js'

/** One value of a metric. */
export interface MetricSample {
  readonly labels?: { readonly [name: string]: string } | undefined
  /** A count as it is: `pool.counts().free` is a bigint. */
  readonly value: number | bigint
}

/** A metric as Prometheus scrapes it. */
export type Metric = { readonly name: string; readonly help: string } & (
  | { readonly type: 'counter' | 'gauge'; readonly samples: readonly MetricSample[] }
  | { readonly type: 'histogram'; readonly samples: readonly HistogramSample[] }
)

/**
 * Observations by upper bounds: the number of observations up to each bound, cumulative.
 */
export interface HistogramSample {
  readonly labels?: { readonly [name: string]: string } | undefined
  /**
   * Rising bounds, each with the number of observations up to it. `count` is the number of all
   * observations.
   */
  readonly buckets: readonly { readonly atMost: number; readonly count: number | bigint }[]
  readonly sum: number | bigint
  readonly count: number | bigint
}

/**
 * Metrics in the text format of Prometheus (version 0.0.4), to be served as
 * `text/plain; version=0.0.4`. O(samples).
 *
 * @throws IpamError `INVALID_ARGUMENT` for a value that is not a number, an invalid name, a name
 *   that occurs twice, or a histogram with the label `le`
 * @example
 * prometheusText([{ type: 'gauge', name: 'ipam_free', help: 'Free addresses', samples: [{ labels: { pool: 'lab' }, value: 3 }] }])
 * // '# HELP ipam_free Free addresses\n# TYPE ipam_free gauge\nipam_free{pool="lab"} 3\n'
 */
export function prometheusText(metrics: readonly Metric[]): string {
  assertMetrics('prometheusText', metrics)
  let text = ''
  for (const metric of metrics) {
    const { name, help, type } = metric
    text += `# HELP ${name} ${help.replace(/\\/g, '\\\\').replace(/\n/g, '\\n')}\n# TYPE ${name} ${type}\n`
    if (metric.type === 'histogram') for (const sample of metric.samples) text += histogramLines(name, sample)
    else for (const { labels, value } of metric.samples) text += line(name, labels, value)
  }
  return text
}

const TYPES: readonly Metric['type'][] = ['counter', 'gauge', 'histogram']
const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/
const LABEL = /^[a-zA-Z_][a-zA-Z0-9_]*$/

/**
 * What Prometheus would not read. O(samples).
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function assertMetrics(of: string, metrics: readonly Metric[]): void {
  check(of, 'metrics', metrics, ['list', 'object'])
  const names = new Set<string>()
  for (const metric of metrics) {
    const { name, help, type } = metric
    assertName(of, 'name', name, NAME)
    check(of, 'help', help, 'text')
    if (!TYPES.includes(type)) refuseIn(of, 'type', TYPES.join(', '), type)
    check(of, 'samples', metric.samples, ['list', 'object'])
    const isHistogram = metric.type === 'histogram'
    for (const each of isHistogram ? ['', '_bucket', '_sum', '_count'].map((part) => name + part) : [name]) {
      if (names.has(each)) refuseIn(of, 'name', 'each once', each)
      names.add(each)
    }
    for (const { labels } of metric.samples) assertLabels(of, labels, isHistogram)
    if (isHistogram) for (const sample of metric.samples) assertHistogram(of, name, sample)
    else for (const { value } of metric.samples) assertValue(of, 'value', name, value)
  }
}

function assertLabels(of: string, labels: unknown = {}, isHistogram: boolean): void {
  check(of, 'labels', labels, 'object')
  for (const [label, text] of Object.entries(labels as object)) {
    assertName(of, 'label', label, LABEL)
    // the label of the bounds of its buckets
    if (isHistogram && label === 'le') refuseIn(of, 'label', 'another name in a histogram', label)
    check(of, `labels.${label}`, text, 'text')
  }
}

function assertHistogram(of: string, name: string, { buckets, sum, count }: HistogramSample): void {
  check(of, 'buckets', buckets, ['list', 'object'])
  for (const bucket of buckets) {
    check(of, 'buckets[].atMost', bucket.atMost, 'number')
    assertValue(of, 'buckets[].count', name, bucket.count)
  }
  assertValue(of, 'sum', name, sum)
  assertValue(of, 'count', name, count)
}

function assertValue(of: string, argument: string, metric: string, value: unknown): void {
  if (typeof value !== 'number' && typeof value !== 'bigint') {
    refuseIn(of, argument, `a number or a bigint in metric ${metric}`, value)
  }
}

function assertName(of: string, argument: string, name: unknown, form: RegExp): void {
  if (typeof name !== 'string' || !form.test(name)) refuseIn(of, argument, String(form), name)
}

function histogramLines(name: string, { labels, buckets, sum, count }: HistogramSample): string {
  const bucketLines = buckets.map((bucket) =>
    line(`${name}_bucket`, { ...labels, le: number(bucket.atMost) }, bucket.count),
  )
  const all = line(`${name}_bucket`, { ...labels, le: '+Inf' }, count)
  return `${bucketLines.join('')}${all}${line(`${name}_sum`, labels, sum)}${line(`${name}_count`, labels, count)}`
}

function line(name: string, labels: { readonly [name: string]: string } = {}, value: number | bigint): string {
  const parts = Object.entries(labels).map(
    ([label, text]) => `${label}="${text.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n')}"`,
  )
  return `${name}${parts.length === 0 ? '' : `{${parts.join(',')}}`} ${number(value)}\n`
}

/** A number as Go reads it. */
function number(value: number | bigint): string {
  if (typeof value === 'bigint') return String(value)
  if (Number.isNaN(value)) return 'NaN'
  if (Number.isFinite(value)) return String(value)
  return value > 0 ? '+Inf' : '-Inf'
}
