import type { EventEffect, Outcome, Planner } from 'ipam-kit/plan'
import { asciiMapLegend } from 'ipam-kit/render'
import { type ExternalCaller, runUntilQuiet } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { type Check, formatChecks } from './checks.js'
import { formatProgress } from './progress.js'
import type { Stage } from './scenario.js'
import type { Detail } from './text.js'

/** What the controllers have said after a step. */
export interface Said<O extends Outcome> {
  readonly title: string
  readonly events: readonly EventEffect[]
  readonly outcomes: ReadonlyMap<string, O>
}

interface Step {
  readonly title: string
  /** No time passes: the controllers do what they can do at once. Left out: until they are quiet. */
  readonly stopsClock?: true | undefined
}

/** Steps, and what is shown of them. After each one the controllers work until they are quiet. */
export interface Steps<S extends Step, Seen, O extends Outcome> {
  readonly steps: readonly S[]
  readonly planners: readonly Planner<O>[]
  /** Carries out the calls of planners to an external system. */
  readonly external?: ExternalCaller
  /** Does all of a step, before a controller works. */
  act(step: S): Promise<void>
  snapshot(store: Pick<Store, 'list'>, said: Said<O>): Promise<Seen>
  formatStep(seen: Seen, detail: Detail): string
  /** Whether the long form has maps. */
  readonly hasMaps: boolean
  /** What the long form shows of a step besides. */
  readonly more: string
  /** @param again the writes of a further run, which has nothing to do */
  checksOf(seen: readonly Seen[], again: number): readonly Check[]
  documentOf(seen: readonly Seen[], checks: readonly Check[]): object
}

/** Does and shows steps, and checks them in the end. Returns the exit status. */
export async function tellSteps<S extends Step, Seen, O extends Outcome>(
  stage: Stage,
  told: Steps<S, Seen, O>,
): Promise<number> {
  const { screen, store } = stage
  const seen: Seen[] = []
  for (const step of told.steps) {
    await told.act(step)
    const { events, outcomes } = await settle(stage, told, step.stopsClock)
    const now = await told.snapshot(store, { title: step.title, events, outcomes })
    seen.push(now)
    if (!screen.wantsDocument) screen.tell(told.formatStep(now, screen))
  }
  const { written } = await settle(stage, told)
  const checks = told.checksOf(seen, written)
  if (screen.wantsDocument) screen.document(told.documentOf(seen, checks))
  if (screen.isVerbose && told.hasMaps) screen.tell(`Map: ${asciiMapLegend}`)
  screen.tell(formatChecks(checks, screen))
  screen.hint(told.more)
  return checks.every(({ wrong }) => wrong.length === 0) ? 0 : 1
}

/** The controllers work until nothing is left to do, also not later; or not now if the clock stops. */
async function settle<O extends Outcome>(
  { store, clock, screen }: Stage,
  { planners, external }: { readonly planners: readonly Planner<O>[]; readonly external?: ExternalCaller },
  stopsClock = false,
) {
  const events: EventEffect[] = []
  let written = 0
  for (;;) {
    const result = await runUntilQuiet(store, planners, {
      now: () => clock.nowMs,
      onEvent: (event) => events.push(event),
      ...(external && { external }),
      onProgress: (progress) => screen.progress.show(() => formatProgress(progress)),
    })
    written += result.written
    if (stopsClock || result.requeueAfterSeconds === undefined) {
      screen.progress.clear()
      return { events, outcomes: result.outcomes, written }
    }
    clock.pass(Math.max(1, result.requeueAfterSeconds))
  }
}
