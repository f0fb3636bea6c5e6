import { check } from '../errors/check.js'
import type { ControllerLoad, ControllerProblem, ControllerResult } from '../run/controller/controller.js'
import type { QueueReport } from '../run/controller/work-queue.js'
import { Histogram } from './histogram.js'
import type { Metric, MetricSample } from './prometheus.js'

/** Upper bounds of the time of a plan, in seconds: those of Prometheus for requests. */
const BOUNDS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/**
 * The metrics of the controllers that one process runs, one after the other: pass {@link onResult}
 * and {@link onProblem} to each `Controller`.
 *
 * | metric | what |
 * |---|---|
 * | `ipam_leader` | 1 while a controller runs in this process, else 0 |
 * | `ipam_keys_waiting` | keys that are ready to be planned, also those that are served |
 * | `ipam_queue_depth{planner}`, `ipam_queue_oldest_key_seconds{planner}` | keys that wait and are not served, and the age of the oldest |
 * | `ipam_plans_running`, `ipam_calls_waiting`, `ipam_writes_unsettled` | what is not done yet |
 * | `ipam_plans_total{outcome}`, `ipam_plan_seconds` | plans by outcome, and how long they take |
 * | `ipam_problems_total{kind}` | problems by kind |
 */
export class ControllerMetrics {
  readonly #outcomes = new Map<string, number>()
  readonly #problems = new Map<string, number>()
  readonly #seconds = new Histogram(BOUNDS_SECONDS)

  /** Counts a key that was planned: `onResult` of a `Controller`. */
  readonly onResult = (result: ControllerResult): void => {
    check('ControllerMetrics.onResult', 'result', result, ['open', { tookMs: 'number' }])
    const { outcome, tookMs } = result
    addOne(this.#outcomes, outcome?.kind ?? 'gone')
    this.#seconds.observe(tookMs / 1000)
  }

  /** Counts a problem: `onProblem` of a `Controller`. */
  readonly onProblem = (problem: Pick<ControllerProblem, 'kind'>): void => {
    check('ControllerMetrics.onProblem', 'problem', problem, 'object')
    addOne(this.#problems, problem.kind)
  }

  /**
   * All metrics, for {@link prometheusText}. O(keys that the controller knows).
   *
   * @param controller the running controller. Left out: none runs, as in a process that does not
   *   lead
   */
  metrics(controller?: RunningController | undefined): readonly Metric[] {
    if (controller !== undefined) {
      check('ControllerMetrics.metrics', 'controller', controller, [
        'open',
        { load: 'object', queues: ['list', 'object'] },
      ])
    }
    const load = controller?.load
    const queues = controller?.queues ?? []
    const ofPlanners = (value: (queue: QueueReport) => number) =>
      queues.map((queue) => ({ labels: { planner: queue.planner }, value: value(queue) }))
    return [
      gauge('ipam_leader', 'Whether this process leads', [{ value: load === undefined ? 0 : 1 }]),
      gauge('ipam_keys_waiting', 'Keys that wait for a plan, also those that are served', one(load?.waiting)),
      gauge(
        'ipam_queue_depth',
        'Keys of a planner that wait for a plan and are not served',
        ofPlanners(({ waiting }) => waiting),
      ),
      gauge(
        'ipam_queue_oldest_key_seconds',
        'How long the oldest key of a planner that is not served has waited',
        ofPlanners(({ oldestMs }) => oldestMs / 1000),
      ),
      gauge('ipam_plans_running', 'Plans that are being carried out', one(load?.running)),
      gauge('ipam_calls_waiting', 'Plans that wait for an external call', one(load?.calling)),
      gauge('ipam_writes_unsettled', 'Writes of unknown outcome', one(load?.unsettled)),
      counter('ipam_plans_total', 'Plans by outcome', 'outcome', this.#outcomes),
      counter('ipam_problems_total', 'Problems by kind', 'kind', this.#problems),
      {
        type: 'histogram',
        name: 'ipam_plan_seconds',
        help: 'From a plan to the last answer',
        samples: [this.#seconds.sample()],
      },
    ]
  }
}

/** The part of a running `Controller` that is read. */
export interface RunningController {
  readonly load: ControllerLoad
  readonly queues: readonly QueueReport[]
}

function addOne(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1)
}

function one(value: number | undefined): readonly MetricSample[] {
  return value === undefined ? [] : [{ value }]
}

function gauge(name: string, help: string, samples: readonly MetricSample[]): Metric {
  return { type: 'gauge', name, help, samples }
}

function counter(name: string, help: string, label: string, counts: ReadonlyMap<string, number>): Metric {
  const samples = [...counts].map(([value, count]) => ({ labels: { [label]: value }, value: count }))
  return { type: 'counter', name, help, samples }
}
