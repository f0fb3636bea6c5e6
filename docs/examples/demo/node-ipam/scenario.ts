import { Node } from 'ipam-kit/crd/core'
import { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import { unwrap } from 'ipam-kit/errors'
import type { EventEffect } from 'ipam-kit/plan'
import { nodeIPAM } from 'ipam-kit/provider/node-ipam'
import { asciiMapLegend } from 'ipam-kit/render'
import { runUntilQuiet } from 'ipam-kit/run'
import { formatChecks } from '../checks.js'
import { formatProgress } from '../progress.js'
import type { Scenario, Stage } from '../scenario.js'
import { checksOf } from './checks.js'
import { documentOf, formatStep } from './report.js'
import { type Snapshot, snapshot } from './snapshot.js'
import { nodeRef, rangeRef, type Step, steps } from './steps.js'

/** Nodes come and go, and so do the ranges that their subnets are from. */
export const nodeIPAMScenario: Scenario = {
  kinds: [Node.info, ClusterCIDR.info],
  whereKindsAre: 'Install the definition docs/examples/node-ipam-controller/clustercidrs.yaml.',
  run: (stage) => new Run(stage).run(),
}

class Run {
  readonly #stage: Stage
  readonly #planner = nodeIPAM()

  constructor(stage: Stage) {
    this.#stage = stage
  }

  async run(): Promise<number> {
    const { screen, store } = this.#stage
    const snapshots: Snapshot[] = []
    for (const step of steps) {
      await this.#act(step)
      const { events, outcomes } = await this.#settle()
      const now = await snapshot(store, { title: step.title, events, outcomes })
      snapshots.push(now)
      if (!screen.wantsDocument) screen.tell(formatStep(now, screen.limit))
    }
    const { written } = await this.#settle()
    const checks = checksOf(snapshots, written)
    if (screen.wantsDocument) screen.document(documentOf(snapshots, checks))
    screen.tell(`Map: ${asciiMapLegend}\n\n${formatChecks(checks, screen.limit)}`)
    return checks.every(({ wrong }) => wrong.length === 0) ? 0 : 1
  }

  /** All of a step, before anything of it is answered. */
  async #act({ joining = [], leaving = [], added, ended }: Step): Promise<void> {
    const { store, clock } = this.#stage
    if (ended !== undefined) unwrap(await store.delete(rangeRef(ended)))
    if (added !== undefined) unwrap(await store.create(added))
    for (const node of joining) {
      clock.tick()
      unwrap(await store.create(node))
    }
    for (const name of leaving) unwrap(await store.delete(nodeRef(name)))
  }

  async #settle() {
    const { store, clock, screen } = this.#stage
    const events: EventEffect[] = []
    const { outcomes, written } = await runUntilQuiet(store, [this.#planner], {
      now: () => clock.nowMs,
      onEvent: (event) => events.push(event),
      onProgress: (progress) => screen.progress.show(() => formatProgress(progress)),
    })
    screen.progress.clear()
    return { events, outcomes, written }
  }
}
