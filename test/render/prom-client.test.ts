import { type Metric, prometheusText, registerMetrics } from 'ipam-kit/render'
import { Gauge, type OpenMetricsContentType, Registry } from 'prom-client'
import { expect, test } from 'vitest'

const METRICS: readonly Metric[] = [
  { type: 'gauge', name: 'ipam_free', help: 'Free\naddresses', samples: [{ labels: { pool: 'a "b"' }, value: 3 }] },
  { type: 'counter', name: 'ipam_plans_total', help: 'Plans', samples: [{ value: 7 }] },
  {
    type: 'histogram',
    name: 'ipam_plan_seconds',
    help: 'Time',
    samples: [
      {
        labels: { planner: 'in-cluster' },
        buckets: [
          { atMost: 0.1, count: 1 },
          { atMost: 1, count: 3 },
        ],
        sum: 2.5,
        count: 4,
      },
    ],
  },
  { type: 'gauge', name: 'ipam_none', help: 'Nothing', samples: [] },
]

/** The lines of a text, in any order of labels. */
const linesOf = (text: string) => text.split('\n').filter((line) => line !== '')

test('a registry of prom-client serves what prometheusText writes, beside the metrics of the program', async () => {
  const registry = new Registry()
  new Gauge({ name: 'own', help: 'Own', registers: [registry] }).set(1)
  registerMetrics(registry, () => METRICS)
  const own = ['# HELP own Own', '# TYPE own gauge', 'own 1']
  const ours = linesOf(prometheusText(METRICS)).map((line) =>
    // prom-client writes the bound first
    line.replace(/\{(planner="[^"]*"),(le="[^"]*")\}/, '{$2,$1}'),
  )
  expect(linesOf(await registry.metrics())).toEqual([...own, ...ours])
})

test('values are those of the scrape, and are asked for once for all metrics of it', async () => {
  const registry = new Registry()
  let asked = 0
  registerMetrics(registry, () => {
    asked++
    const samples = [{ value: asked }]
    return ['a', 'b', 'c'].map((name) => ({ type: 'gauge', name, help: name, samples }) as const)
  })
  expect(asked).toBe(1)
  const values = async () => (await registry.getMetricsAsJSON()).map((metric) => metric.values[0]?.value)
  expect(await values()).toEqual([2, 2, 2])
  expect(await values()).toEqual([3, 3, 3])
})

test('a count that is a bigint is a number, and one that is undefined is not -Inf', async () => {
  const serve = async (value: unknown) => {
    const registry = new Registry()
    registerMetrics(registry, () => [{ type: 'gauge', name: 'a', help: '', samples: [{ value: value as number }] }])
    return linesOf(await registry.metrics()).at(-1)
  }
  expect(await serve(5n)).toBe('a 5')
  expect(await serve(2n ** 64n)).toBe('a 18446744073709552000')
  for (const value of [undefined, null, '5']) {
    await expect(serve(value)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', context: { argument: 'value' } })
  }
})

test('a metric that is not answered any more has no values, and a reset of the registry changes none', async () => {
  const registry = new Registry()
  let metrics = METRICS.slice(0, 2)
  registerMetrics(registry, () => metrics)
  registry.resetMetrics()
  expect(await registry.getSingleMetricAsString('ipam_plans_total')).toContain('ipam_plans_total 7')
  metrics = []
  expect(await registry.getSingleMetricAsString('ipam_plans_total')).toBe(
    '# HELP ipam_plans_total Plans\n# TYPE ipam_plans_total counter',
  )
})

test('a registry of OpenMetrics has counters with one _total', async () => {
  const registry = new Registry<OpenMetricsContentType>()
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
  registerMetrics(registry, () => METRICS)
  for (const _ of [1, 2]) {
    expect(linesOf(await registry.metrics())).toEqual(expect.arrayContaining(['ipam_plans_total 7', '# EOF']))
  }
})

test('a name that the registry has is refused by it, and other arguments by us', () => {
  const registry = new Registry()
  registerMetrics(registry, () => METRICS)
  expect(() => registerMetrics(registry, () => METRICS)).toThrow(/already been registered/)
  for (const wrong of [undefined, null, 5, {}]) {
    expect(() => registerMetrics(wrong as never, () => METRICS)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', context: expect.objectContaining({ argument: 'registry' }) }),
    )
    expect(() => registerMetrics(registry, wrong as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', context: expect.objectContaining({ argument: 'metrics' }) }),
    )
  }
})

const gauge = { type: 'gauge', name: 'a', help: '', samples: [] } as const
const histogram = { type: 'histogram', name: 'h', help: '', samples: [{ buckets: [], sum: 0, count: 0 }] } as const
const samples = (sample: object) => [{ ...histogram.samples[0], value: 1, ...sample }]
const of = (wrong: object) => [gauge, { ...gauge, name: 'b', ...wrong }]

test.each<readonly [string, unknown]>([
  ['a name', of({ name: 'bad name\n# x' })],
  ['no name', of({ name: undefined })],
  ['a help', of({ help: 5 })],
  ['a type', of({ type: 'summary' })],
  ['no samples', of({ samples: undefined })],
  ['a sample', of({ samples: [5] })],
  ['labels', of({ samples: samples({ labels: 'x' }) })],
  ['the name of a label', of({ samples: samples({ labels: { 'x"y': 'z' } }) })],
  ['the value of a label', of({ samples: samples({ labels: { x: 5 } }) })],
  ['a value', of({ samples: samples({ value: '5' }) })],
  ['buckets', of({ ...histogram, samples: samples({ buckets: undefined }) })],
  ['a bound', of({ ...histogram, samples: samples({ buckets: [{ atMost: '1', count: 1 }] }) })],
  ['the count of a bucket', of({ ...histogram, samples: samples({ buckets: [{ atMost: 1 }] }) })],
  ['a sum', of({ ...histogram, samples: samples({ sum: null }) })],
  ['a count', of({ ...histogram, samples: samples({ count: undefined }) })],
  ['the label le of a histogram', of({ ...histogram, samples: samples({ labels: { le: '1' } }) })],
  ['a name twice', [gauge, gauge]],
  ['the name of a part of a histogram', [{ ...gauge, name: 'h_count' }, histogram]],
  ['no list', gauge],
  ['undefined', undefined],
])('both writers refuse %s, and nothing is registered', (_, wrong) => {
  const registry = new Registry()
  const refusal = (name: string) =>
    expect.objectContaining({ code: 'INVALID_ARGUMENT', context: expect.objectContaining({ function: name }) })
  expect(() => prometheusText(wrong as never)).toThrow(refusal('prometheusText'))
  expect(() => registerMetrics(registry, () => wrong as never)).toThrow(refusal('registerMetrics'))
  expect(registry.getMetricsAsArray()).toEqual([])
})

test('what is wrong later fails the scrape', async () => {
  const registry = new Registry()
  let metrics: readonly Metric[] = [gauge]
  registerMetrics(registry, () => metrics)
  metrics = [{ ...gauge, samples: [{ value: 1, labels: { 'x"y': 'z' } }] }]
  await expect(registry.metrics()).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
})

test('a registry that has one of the names has none of the others after its refusal', () => {
  const registry = new Registry()
  registerMetrics(registry, () => [gauge])
  expect(() => registerMetrics(registry, () => [{ ...gauge, name: 'b' }, gauge])).toThrow(/already been registered/)
  expect(registry.getMetricsAsArray()).toHaveLength(1)
})
