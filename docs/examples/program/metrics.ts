import { createServer, type Server } from 'node:http'
import { describe } from 'ipam-kit/errors'
import { type Metric, prometheusText } from 'ipam-kit/render'
import type { Controller, ControllerProblem, ControllerResult } from 'ipam-kit/run'

const BOUNDS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Metrics that one program has beside those of each controller. */
export interface Figures {
  /** Told of each key that was planned. */
  observe(result: ControllerResult): void
  metrics(): readonly Metric[]
}

/** What the controller has done, in figures. */
export class Metrics {
  readonly #figures: Figures | undefined
  readonly #results = new Map<string, number>()
  readonly #problems = new Map<string, number>()
  readonly #buckets = BOUNDS_SECONDS.map((atMost) => ({ atMost, count: 0 }))
  #seconds = 0
  #count = 0
  /** Set while this process leads. */
  controller: Pick<Controller, 'load' | 'queues'> | undefined

  constructor(figures?: Figures | undefined) {
    this.#figures = figures
  }

  observe(result: ControllerResult): void {
    const { outcome, tookMs } = result
    const kind = outcome?.kind ?? 'gone'
    this.#results.set(kind, (this.#results.get(kind) ?? 0) + 1)
    const seconds = tookMs / 1000
    for (const bucket of this.#buckets) if (seconds <= bucket.atMost) bucket.count++
    this.#seconds += seconds
    this.#count++
    this.#figures?.observe(result)
  }

  count(problem: ControllerProblem): void {
    this.#problems.set(problem.kind, (this.#problems.get(problem.kind) ?? 0) + 1)
  }

  text(): string {
    const load = this.controller?.load
    const queues = this.controller?.queues ?? []
    const byLabel = (label: string, counts: ReadonlyMap<string, number>) =>
      [...counts].map(([name, value]) => ({ labels: { [label]: name }, value }))
    const gauge = (name: string, help: string, value: number | undefined): Metric => {
      return { type: 'gauge', name, help, samples: value === undefined ? [] : [{ value }] }
    }
    return prometheusText([
      gauge('ipam_leader', 'Whether this process leads', load === undefined ? 0 : 1),
      gauge('ipam_keys_waiting', 'Keys that wait for a plan', load?.waiting),
      {
        type: 'gauge',
        name: 'ipam_queue_depth',
        help: 'Keys of a planner that wait for a plan',
        samples: queues.map(({ planner, waiting }) => ({ labels: { planner }, value: waiting })),
      },
      {
        type: 'gauge',
        name: 'ipam_queue_oldest_key_seconds',
        help: 'How long the key has waited that has waited longest',
        samples: queues.map(({ planner, oldestMs }) => ({ labels: { planner }, value: oldestMs / 1000 })),
      },
      gauge('ipam_plans_running', 'Plans that are being carried out', load?.running),
      gauge('ipam_writes_unsettled', 'Writes of which it is not known what has become of them', load?.unsettled),
      {
        type: 'counter',
        name: 'ipam_plans_total',
        help: 'Plans by outcome',
        samples: byLabel('outcome', this.#results),
      },
      {
        type: 'counter',
        name: 'ipam_problems_total',
        help: 'What went wrong',
        samples: byLabel('kind', this.#problems),
      },
      {
        type: 'histogram',
        name: 'ipam_plan_seconds',
        help: 'From a plan to the last answer',
        samples: [{ buckets: this.#buckets, sum: this.#seconds, count: this.#count }],
      },
      ...(this.#figures?.metrics() ?? []),
    ])
  }
}

/** Serves `/metrics` and `/healthz`. */
export function serveMetrics(metrics: Metrics, port: number): Server {
  return createServer((request, response) => {
    const isMetrics = request.url === '/metrics'
    if (!isMetrics && request.url !== '/healthz') return void response.writeHead(404).end()
    response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4' }).end(isMetrics ? metrics.text() : 'ok\n')
  }).listen(port)
}

/** What differs between problems of one kind: the key, and the names of objects in it. */
export function problemNames(problem: ControllerProblem): readonly string[] {
  if (problem.kind === 'feed') return [problem.of.kind]
  const [, namespacedName = problem.key] = problem.key.split(' ')
  return [problem.key, namespacedName, namespacedName.split('/').at(-1) as string]
}

/** A problem in one line. */
export function problemLine(problem: ControllerProblem): string {
  switch (problem.kind) {
    case 'feed':
      return `${problem.of.kind} cannot be watched: ${describe(problem.failure)}`
    case 'thrown':
      return `${problem.key}: ${problem.error instanceof Error ? problem.error.stack : String(problem.error)}`
    case 'stalled': {
      const seconds = Math.round(problem.forMs / 1000)
      return problem.reason === 'waiting'
        ? `${problem.key}: has waited for a plan for ${seconds} s, with ${problem.keys} keys of ${problem.planner} in the queue`
        : `${problem.key}: no progress for ${seconds} s, in ${problem.plans} plans; ${problem.keys} keys of ${problem.planner} are so`
    }
    case 'failed':
    case 'unsettled':
      return `${problem.key}: ${problem.kind}: ${describe(problem.failure)}`
  }
}
