import { AddressPool } from 'ipam-kit/allocator'
import { prometheusText } from 'ipam-kit/render'
import { expect, test } from 'vitest'

test('metrics are written as Prometheus reads them', () => {
  const text = prometheusText([
    {
      type: 'counter',
      name: 'plans_total',
      help: 'Plans\nmade, with a \\',
      samples: [{ value: 7 }, { labels: { pool: 'a "b"\\\n', kind: 'x' }, value: 0.5 }],
    },
    {
      type: 'histogram',
      name: 'seconds',
      help: '',
      samples: [
        {
          labels: { kind: 'claim' },
          buckets: [
            { atMost: 0.1, count: 1 },
            { atMost: 1, count: 3 },
          ],
          sum: 2.5,
          count: 4,
        },
      ],
    },
    {
      type: 'gauge',
      name: 'odd',
      help: 'h',
      samples: [Number.NaN, Infinity, -Infinity, 1e21].map((value) => ({ value })),
    },
    { type: 'gauge', name: 'none', help: 'h', samples: [] },
  ])
  expect(text.split('\n')).toEqual([
    '# HELP plans_total Plans\\nmade, with a \\\\',
    '# TYPE plans_total counter',
    'plans_total 7',
    'plans_total{pool="a \\"b\\"\\\\\\n",kind="x"} 0.5',
    '# HELP seconds ',
    '# TYPE seconds histogram',
    'seconds_bucket{kind="claim",le="0.1"} 1',
    'seconds_bucket{kind="claim",le="1"} 3',
    'seconds_bucket{kind="claim",le="+Inf"} 4',
    'seconds_sum{kind="claim"} 2.5',
    'seconds_count{kind="claim"} 4',
    '# HELP odd h',
    '# TYPE odd gauge',
    'odd NaN',
    'odd +Inf',
    'odd -Inf',
    'odd 1e+21',
    '# HELP none h',
    '# TYPE none gauge',
    '',
  ])
})

test.each([
  [{ name: '1a' }, 'name'],
  [{ name: 'a-b' }, 'name'],
  [{ samples: [{ labels: { 'a-b': '' }, value: 1 }] }, 'label'],
])('%j is refused', (bad, argument) => {
  const metric = { type: 'gauge', name: 'a', help: '', samples: [], ...bad } as const
  const refusal = expect.objectContaining({ context: expect.objectContaining({ argument }) })
  expect(() => prometheusText([metric])).toThrow(refusal)
})

test('a name that comes twice is refused', () => {
  const metric = { type: 'gauge', name: 'a', help: '', samples: [] } as const
  expect(() => prometheusText([metric, metric])).toThrow(/each once/)
})

test('counts go in as they are: a bigint is written whole', () => {
  const { total, free } = new AddressPool({ ranges: ['10.0.0.0/24', 'fd00::/64'] }).counts()
  const text = prometheusText([
    { type: 'gauge', name: 'total', help: 'h', samples: [{ value: total }] },
    { type: 'gauge', name: 'free', help: 'h', samples: [{ value: free }] },
  ])
  expect(text).toContain('\ntotal 18446744073709551870\n')
  expect(text).toContain('\nfree 18446744073709551870\n')
})

test.each([undefined, null, '5', {}])('%j is no value of a metric', (value) => {
  const samples = [{ value: value as unknown as number }]
  expect(() => prometheusText([{ type: 'gauge', name: 'a', help: 'h', samples }])).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT', context: expect.objectContaining({ argument: 'value' }) }),
  )
})
