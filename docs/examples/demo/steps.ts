import type { EventEffect, Outcome, Planner } from 'ipam-kit/plan'
import { asciiMapLegend } from 'ipam-kit/render'
import { runUntilQuiet } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { type Check, formatChecks } from './checks.js'
import { formatProgress } from './progress.js'
import type { Stage } from './scenario.js'
import type { RowLimit } from './text.js'

/** What the controllers have said after a step. */
export interface Said<O extends Outcome> {
  readonly title: string
  readonly events: readonly EventEffect[]
  readonly outcomes: ReadonlyMap<string, O>
}

/** Steps, and what is shown of them. After each one the controllers work until they are quiet. */
export interface Steps<S extends { readonly title: string }, Seen, O extends Outcome> {
  readonly steps: readonly S[]
  readonly planners: readonly Planner<O>[]
  /** Does all of a step, before a controller works. */
  act(step: S): Promise<void>
  snapshot(store: Pick<Store, 'list'>, said: Said<O>): Promise<Seen>
  formatStep(seen: Seen, limit: RowLimit): string
  /** @param again the writes of a further run, which has nothing to do */
  checksOf(seen: readonly Seen[], again: number): readonly Check[]
  documentOf(seen: readonly Seen[], checks: readonly Check[]): object
}

/** Does and shows steps, and checks them in the end. Returns the exit status. */
export async function tellSteps<S extends { readonly title: string }, Seen, O extends Outcome>(
  stage: Stage,
  told: Steps<S, Seen, O>,
): Promise<number> {
  const { screen, store } = stage
  const seen: Seen[] = []
  for (const step of told.steps) {
    await told.act(step)
    const { events, outcomes } = await settle(stage, told.planners)
    const now = await told.snapshot(store, { title: step.title, events, outcomes })
    seen.push(now)
    if (!screen.wantsDocument) screen.tell(told.formatStep(now, screen.limit))
  }
  const { written } = await settle(stage, told.planners)
  const checks = told.checksOf(seen, written)
  if (screen.wantsDocument) screen.document(told.documentOf(seen, checks))
  screen.tell(`Map: ${asciiMapLegend}\n\n${formatChecks(checks, screen.limit)}`)
  return checks.every(({ wrong }) => wrong.length === 0) ? 0 : 1
}

/** The controllers work until nothing is left to do, also not later. */
async function settle<O extends Outcome>({ store, clock, screen }: Stage, planners: readonly Planner<O>[]) {
  const events: EventEffect[] = []
  let written = 0
  for (;;) {
    const result = await runUntilQuiet(store, planners, {
      now: () => clock.nowMs,
      onEvent: (event) => events.push(event),
      onProgress: (progress) => screen.progress.show(() => formatProgress(progress)),
    })
    written += result.written
    if (result.requeueAfterSeconds === undefined) {
      screen.progress.clear()
      return { events, outcomes: result.outcomes, written }
    }
    clock.pass(Math.max(1, result.requeueAfterSeconds))
  }
}
