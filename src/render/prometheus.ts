import { refuse } from '../errors/refuse.js'

/** One figure of a metric. */
export interface MetricSample {
  readonly labels?: { readonly [name: string]: string } | undefined
  readonly value: number
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
  /** Rising bounds, each with how many were at most that. The last, for all of them, is `count`. */
  readonly buckets: readonly { readonly atMost: number; readonly count: number }[]
  readonly sum: number
  readonly count: number
}

/**
 * Metrics in the text format of Prometheus (version 0.0.4), to be served as
 * `text/plain; version=0.0.4`. O(samples).
 *
 * @throws IpamError `INVALID_ARGUMENT` for a name that Prometheus does not take, or one that comes
 * twice
 * @example
 * prometheusText([{ type: 'gauge', name: 'ipam_free', help: 'Free addresses', samples: [{ labels: { pool: 'lab' }, value: 3 }] }])
 * // '# HELP ipam_free Free addresses\n# TYPE ipam_free gauge\nipam_free{pool="lab"} 3\n'
 */
export function prometheusText(metrics: readonly Metric[]): string {
  const names = new Set<string>()
  let text = ''
  for (const metric of metrics) {
    const { name, help, type } = metric
    assertName('name', name, /^[a-zA-Z_:][a-zA-Z0-9_:]*$/)
    if (names.has(name)) refuse('name', 'each once', name)
    names.add(name)
    text += `# HELP ${name} ${help.replace(/\\/g, '\\\\').replace(/\n/g, '\\n')}\n# TYPE ${name} ${type}\n`
    if (metric.type === 'histogram') for (const sample of metric.samples) text += histogramLines(name, sample)
    else for (const { labels, value } of metric.samples) text += line(name, labels, value)
  }
  return text
}

function histogramLines(name: string, { labels, buckets, sum, count }: HistogramSample): string {
  const bucketLines = buckets.map((bucket) =>
    line(`${name}_bucket`, { ...labels, le: number(bucket.atMost) }, bucket.count),
  )
  const all = line(`${name}_bucket`, { ...labels, le: '+Inf' }, count)
  return `${bucketLines.join('')}${all}${line(`${name}_sum`, labels, sum)}${line(`${name}_count`, labels, count)}`
}

function line(name: string, labels: { readonly [name: string]: string } = {}, value: number): string {
  const parts = Object.entries(labels).map(([label, text]) => {
    assertName('label', label, /^[a-zA-Z_][a-zA-Z0-9_]*$/)
    return `${label}="${text.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n')}"`
  })
  return `${name}${parts.length === 0 ? '' : `{${parts.join(',')}}`} ${number(value)}\n`
}

/** A number as Go reads it. */
function number(value: number): string {
  if (Number.isNaN(value)) return 'NaN'
  if (Number.isFinite(value)) return String(value)
  return value > 0 ? '+Inf' : '-Inf'
}

function assertName(argument: string, name: string, form: RegExp): void {
  if (!form.test(name)) refuse(argument, String(form), name)
}
