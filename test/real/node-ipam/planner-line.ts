import type { KindInfo } from 'ipam-kit/crd/meta'
import type { EventEffect, Outcome, Planner } from 'ipam-kit/plan'
import { Controller, type Timers } from 'ipam-kit/run'
import { type Line, openLine, storeOver } from '../selection/line.js'
import { importClient } from '../servers/install.js'
import type { RealKubernetes } from '../servers/kubernetes.js'

const timers: Timers = {
  now: Date.now,
  after(ms, action) {
    const timer = setTimeout(action, ms)
    return () => clearTimeout(timer)
  },
}

/** A planner at work in this process, with a record of all that it asks the server. */
export interface PlannerLine<O extends Outcome> {
  readonly line: Line
  readonly events: readonly EventEffect[]
  /** What goes wrong: one line for each. */
  readonly problems: readonly string[]
  /** The last outcome of each key. */
  readonly outcomes: ReadonlyMap<string, O>
  stop(): Promise<void>
}

/** Starts a controller of one planner. */
export async function startPlanner<O extends Outcome>(
  server: RealKubernetes,
  planner: Planner<O>,
  kinds: readonly KindInfo[],
): Promise<PlannerLine<O>> {
  const line = await openLine(server.kubeconfig.path, importClient)
  const events: EventEffect[] = []
  const problems: string[] = []
  const outcomes = new Map<string, O>()
  const controller = new Controller<O>({
    store: storeOver(line, kinds),
    planners: [planner],
    timers,
    onProblem: (problem) => void problems.push(JSON.stringify(problem)),
    onEvent: (event) => void events.push(event),
    onResult({ key, outcome }) {
      if (outcome === undefined) outcomes.delete(key)
      else outcomes.set(key, outcome)
    },
  })
  const ended = controller.run()
  return {
    line,
    events,
    problems,
    outcomes,
    async stop() {
      controller.stop()
      await ended
    },
  }
}
