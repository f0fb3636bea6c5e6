import type { IpamError } from 'ipam-kit'
import { ControllerMetrics, Histogram, prometheusText } from 'ipam-kit/render'
import { Controller, type ControllerResult } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'
import { describe, expect, test } from 'vitest'
import { VirtualTimers } from '../run/controller/virtual-timers.js'

const linesOf = (metrics: ControllerMetrics, name: string, ...controller: Parameters<ControllerMetrics['metrics']>) =>
  prometheusText(metrics.metrics(...controller))
    .split('\n')
    .filter((line) => line.startsWith(name))

const result = (kind: string | undefined, tookMs = 0): ControllerResult => ({
  ...{ planner: 'p', key: 'k', kind: 'done', attempts: 1, tookMs },
  outcome: kind === undefined ? undefined : { kind, message: '' },
})

describe('the metrics of a controller', () => {
  test('count plans by outcome and by time', () => {
    const metrics = new ControllerMetrics()
    for (const each of [result('bound', 20), result('bound', 3000), result(undefined)]) metrics.onResult(each)
    expect(linesOf(metrics, 'ipam_plans_total')).toEqual([
      'ipam_plans_total{outcome="bound"} 2',
      'ipam_plans_total{outcome="gone"} 1',
    ])
    expect(linesOf(metrics, 'ipam_plan_seconds')).toEqual([
      ...['0.005', '0.01'].map((le) => `ipam_plan_seconds_bucket{le="${le}"} 1`),
      ...['0.025', '0.05', '0.1', '0.25', '0.5', '1', '2.5'].map((le) => `ipam_plan_seconds_bucket{le="${le}"} 2`),
      ...['5', '10', '+Inf'].map((le) => `ipam_plan_seconds_bucket{le="${le}"} 3`),
      'ipam_plan_seconds_sum 3.02',
      'ipam_plan_seconds_count 3',
    ])
  })

  test('count problems by kind', () => {
    const metrics = new ControllerMetrics()
    for (const kind of ['informer', 'thrown', 'informer'] as const) metrics.onProblem({ kind })
    expect(linesOf(metrics, 'ipam_problems_total')).toEqual([
      'ipam_problems_total{kind="informer"} 2',
      'ipam_problems_total{kind="thrown"} 1',
    ])
  })

  test('have the load and the queues of the controller that runs, and nothing of one that does not', () => {
    const metrics = new ControllerMetrics()
    const names = [
      'ipam_keys_waiting',
      'ipam_queue',
      'ipam_plans_running',
      'ipam_calls_waiting',
      'ipam_writes_unsettled',
    ]
    expect(linesOf(metrics, 'ipam_leader')).toEqual(['ipam_leader 0'])
    expect(names.flatMap((name) => linesOf(metrics, name))).toEqual([])
    const controller = {
      load: { waiting: 4, running: 1, calling: 2, unsettled: 0, synced: true },
      queues: [
        { planner: 'claims', waiting: 4, oldestKey: 'claim default/a', oldestMs: 61_500 },
        { planner: 'pools', waiting: 0, oldestKey: undefined, oldestMs: 0 },
      ],
    }
    expect(linesOf(metrics, 'ipam_leader', controller)).toEqual(['ipam_leader 1'])
    expect(names.flatMap((name) => linesOf(metrics, name, controller))).toEqual([
      'ipam_keys_waiting 4',
      'ipam_queue_depth{planner="claims"} 4',
      'ipam_queue_depth{planner="pools"} 0',
      'ipam_queue_oldest_key_seconds{planner="claims"} 61.5',
      'ipam_queue_oldest_key_seconds{planner="pools"} 0',
      'ipam_plans_running 1',
      'ipam_calls_waiting 2',
      'ipam_writes_unsettled 0',
    ])
  })

  test('take a Controller as it is, and its callbacks as they are', async () => {
    const timers = new VirtualTimers()
    const metrics = new ControllerMetrics()
    const { onResult, onProblem } = metrics
    const store = memoryStore({ now: () => timers.now() })
    const controller = new Controller({ store, planners: [], timers, onResult, onProblem })
    const ended = controller.run()
    await timers.pass(1000)
    expect(linesOf(metrics, 'ipam_keys_waiting', controller)).toEqual(['ipam_keys_waiting 0'])
    controller.stop()
    await ended
  })
})

describe('a histogram', () => {
  test('counts each observation in every bucket that is not below it', () => {
    const sizes = new Histogram([1, 10])
    for (const size of [1, 2, 11]) sizes.observe(size)
    const buckets = [
      { atMost: 1, count: 1 },
      { atMost: 10, count: 2 },
    ]
    expect(sizes.sample({ of: 'x' })).toEqual({ labels: { of: 'x' }, buckets, sum: 14, count: 3 })
  })

  test.each([[[2, 1]], [[1, 1]], [[Number.NaN]], [[1, Number.POSITIVE_INFINITY]], ['12'], [undefined]])(
    'refuses the bounds %j',
    (bounds) => expect(() => new Histogram(bounds as number[])).toThrow(refusal),
  )

  test.each([Number.NaN, '1', undefined])('refuses the observation %j', (value) => {
    expect(() => new Histogram([1]).observe(value as number)).toThrow(refusal)
  })
})

const refusal = expect.objectContaining({ code: 'INVALID_ARGUMENT' } satisfies Partial<IpamError>)
