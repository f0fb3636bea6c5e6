import { refuseIn } from '../errors/refuse.js'
import { assertMetrics, type HistogramSample, type Metric, type MetricSample } from './prometheus.js'

/** The part of a `Registry` of prom-client 15 that is used here. */
export interface PromRegistry {
  // biome-ignore lint/suspicious/noExplicitAny: prom-client expects a class of its own
  registerMetric(metric: any): void
  getSingleMetric?(name: string): unknown
}

/**
 * Registers metrics of this library with a registry of prom-client, beside those of the program.
 * Programs without prom-client serve `prometheusText`.
 *
 * A bigint becomes a number: above 2^53 it loses its last digits, as it does in Prometheus. What
 * {@link prometheusText} refuses is refused here, before any metric is registered; later it fails
 * the scrape with `INVALID_ARGUMENT`.
 *
 * @param metrics returns the metrics as they are now, such as those of a `ControllerMetrics`. It is
 *   called once here and once for each scrape. Metrics whose name it does not return here are not
 *   served later either
 * @throws IpamError `INVALID_ARGUMENT` for a value that is not a registry or not a function, and
 *   for metrics that `prometheusText` refuses
 * @throws the error of the registry if it has a metric of the same name. None is registered then
 * @example
 * import { Registry } from 'prom-client'
 * const registry = new Registry()
 * const free = { type: 'gauge', name: 'ipam_free', help: 'Free addresses', samples: [{ labels: { pool: 'lab' }, value: 3 }] }
 * registerMetrics(registry, () => [free])
 * await registry.metrics()
 * // '# HELP ipam_free Free addresses\n# TYPE ipam_free gauge\nipam_free{pool="lab"} 3\n'
 */
export function registerMetrics(registry: PromRegistry, metrics: () => readonly Metric[]): void {
  if (typeof Object(registry).registerMetric !== 'function') {
    refuseIn(OF, 'registry', 'a Registry of prom-client', registry)
  }
  if (typeof metrics !== 'function') refuseIn(OF, 'metrics', 'a function that answers metrics', metrics)
  const scrape = onceAScrape(() => checked(metrics()))
  const all = checked(metrics())
  // what the registry has it refuses itself, before any other is registered
  const known = all.find(({ name }) => registry.getSingleMetric?.(name) !== undefined)
  for (const { name, help, type } of known === undefined ? all : [known]) {
    registry.registerMetric(new PromMetric(name, help, type, scrape))
  }
}

const OF = 'registerMetrics'

function checked(metrics: readonly Metric[]): readonly Metric[] {
  assertMetrics(OF, metrics)
  return metrics
}

/** One call for all metrics of a scrape: a registry reads them all before it waits for any. */
function onceAScrape(metrics: () => readonly Metric[]): () => ReadonlyMap<string, Metric> {
  let known: ReadonlyMap<string, Metric> | undefined
  return () => {
    if (known !== undefined) return known
    known = new Map(metrics().map((metric) => [metric.name, metric]))
    void Promise.resolve().then(() => {
      known = undefined
    })
    return known
  }
}

interface PromValue {
  readonly metricName?: string
  readonly labels: { readonly [name: string]: string | number }
  readonly value: number
}

/** A metric as a registry reads it. */
class PromMetric {
  readonly type: Metric['type']
  readonly help: string
  /** How prom-client combines the values of a cluster of processes. */
  readonly aggregator = 'sum'
  readonly #name: string
  readonly #scrape: () => ReadonlyMap<string, Metric>
  /** A registry of OpenMetrics takes `_total` off the name of a counter. */
  name: string

  constructor(name: string, help: string, type: Metric['type'], scrape: () => ReadonlyMap<string, Metric>) {
    this.#name = name
    this.name = name
    this.help = help
    this.type = type
    this.#scrape = scrape
  }

  async get(): Promise<object> {
    const { name, help, type, aggregator } = this
    const metric = this.#scrape().get(this.#name)
    const values =
      metric === undefined
        ? []
        : metric.type === 'histogram'
          ? metric.samples.flatMap((sample) => histogramValues(name, sample))
          : metric.samples.map(({ labels = {}, value }) => ({ labels: { ...labels }, value: Number(value) }))
    return { name, help, type, aggregator, values }
  }

  /** Nothing: the counts are those of the program. */
  reset(): void {}
}

function histogramValues(name: string, { labels = {}, buckets, sum, count }: HistogramSample): readonly PromValue[] {
  const of = (part: string, value: MetricSample['value'], more: PromValue['labels'] = {}): PromValue => ({
    metricName: `${name}_${part}`,
    labels: { ...more, ...labels },
    value: Number(value),
  })
  return [
    ...buckets.map((bucket) => of('bucket', bucket.count, { le: bucket.atMost })),
    of('bucket', count, { le: '+Inf' }),
    of('sum', sum),
    of('count', count),
  ]
}
