import { assertObject, assertObjects, assertString } from '../errors/checks.js'
import { refuse, refuseIn } from '../errors/refuse.js'

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
 * @throws IpamError `INVALID_ARGUMENT` for a value that is not a number, an invalid name, or a name
 *   that occurs twice
 * @example
 * prometheusText([{ type: 'gauge', name: 'ipam_free', help: 'Free addresses', samples: [{ labels: { pool: 'lab' }, value: 3 }] }])
 * // '# HELP ipam_free Free addresses\n# TYPE ipam_free gauge\nipam_free{pool="lab"} 3\n'
 */
export function prometheusText(metrics: readonly Metric[]): string {
  assertObjects(OF, 'metrics', metrics)
  const names = new Set<string>()
  let text = ''
  for (const metric of metrics) {
    const { name, help, type } = metric
    assertString(OF, 'help', help)
    if (!TYPES.includes(type)) refuseIn(OF, 'type', TYPES.join(', '), type)
    assertObjects(OF, 'samples', metric.samples)
    assertName('name', name, /^[a-zA-Z_:][a-zA-Z0-9_:]*$/)
    if (names.has(name)) refuse('name', 'each once', name)
    names.add(name)
    text += `# HELP ${name} ${help.replace(/\\/g, '\\\\').replace(/\n/g, '\\n')}\n# TYPE ${name} ${type}\n`
    if (metric.type === 'histogram') for (const sample of metric.samples) text += histogramLines(name, sample)
    else for (const { labels, value } of metric.samples) text += line(name, labels, value)
  }
  return text
}

const OF = 'prometheusText'
const TYPES: readonly Metric['type'][] = ['counter', 'gauge', 'histogram']

function histogramLines(name: string, { labels, buckets, sum, count }: HistogramSample): string {
  assertObjects(OF, 'buckets', buckets)
  const bucketLines = buckets.map((bucket) =>
    line(`${name}_bucket`, { ...labels, le: number(bucket.atMost) }, bucket.count),
  )
  const all = line(`${name}_bucket`, { ...labels, le: '+Inf' }, count)
  return `${bucketLines.join('')}${all}${line(`${name}_sum`, labels, sum)}${line(`${name}_count`, labels, count)}`
}

function line(name: string, labels: { readonly [name: string]: string } = {}, value: number | bigint): string {
  assertObject(OF, 'labels', labels)
  const parts = Object.entries(labels).map(([label, text]) => {
    assertName('label', label, /^[a-zA-Z_][a-zA-Z0-9_]*$/)
    assertString(OF, `labels.${label}`, text)
    return `${label}="${text.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n')}"`
  })
  return `${name}${parts.length === 0 ? '' : `{${parts.join(',')}}`} ${number(value)}\n`
}

/** A number as Go reads it. */
function number(value: number | bigint): string {
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'number') refuseIn(OF, 'value', 'a number or a bigint', value)
  if (Number.isNaN(value)) return 'NaN'
  if (Number.isFinite(value)) return String(value)
  return value > 0 ? '+Inf' : '-Inf'
}

function assertName(argument: string, name: string, form: RegExp): void {
  if (typeof name !== 'string' || !form.test(name)) refuse(argument, String(form), name)
}
