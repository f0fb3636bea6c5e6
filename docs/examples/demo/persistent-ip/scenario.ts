import type { Outcome, Planner } from 'ipam-kit/plan'
import { gcPlanner } from 'ipam-kit/provider/gc'
import { persistentClaims, persistentIPs } from 'ipam-kit/provider/persistent-ip'
import { asciiMapLegend } from 'ipam-kit/render'
import { runUntilQuiet } from 'ipam-kit/run'
import { formatChecks } from '../checks.js'
import { formatProgress } from '../progress.js'
import type { Scenario, Stage } from '../scenario.js'
import { checksOf } from './checks.js'
import { Cluster } from './cluster.js'
import { kinds } from './objects.js'
import { documentOf, formatStep } from './report.js'
import { type Snapshot, snapshot } from './snapshot.js'

/** The life of a virtual machine, whose address stays with it. */
export const persistentIPScenario: Scenario = {
  kinds,
  whereKindsAre: 'Install the definitions of KubeVirt, of IPAMClaims and of networks.',
  run: (stage) => new Run(stage).run(),
}

interface Step {
  readonly title: string
  readonly act: (cluster: Cluster) => Promise<void>
}

const steps: readonly Step[] = [
  {
    title: 'The machines db and web are made and started: each has a claim, and its Pod has the address of the claim',
    act: async (cluster) => {
      await cluster.create('db', 'db-1')
      await cluster.create('web', 'web-1')
    },
  },
  { title: 'db is stopped: its claim keeps the address', act: (cluster) => cluster.end('db') },
  { title: 'A Pod without a claim gets a free address', act: (cluster) => cluster.other('cache') },
  { title: 'db is started: another Pod has the same address', act: (cluster) => cluster.begin('db', 'db-2') },
  {
    title: 'A Pod of another workload names the claim of db, and is refused',
    act: (cluster) => cluster.other('thief', 'db.blue'),
  },
  {
    title: 'db migrates: both Pods have the address, and the claim names the source',
    act: async (cluster) => {
      await cluster.remove('thief')
      await cluster.launch('db', 'db-3', true)
    },
  },
  {
    title: 'db runs in the target, and the source has ended: the claim names the target',
    act: (cluster) => cluster.migrated('db-2', 'db-3'),
  },
  {
    title: 'web is deleted as an orphan: its instance runs on, and owns the claim',
    act: (cluster) => cluster.delete('web', 'Orphan'),
  },
  {
    title: 'db is deleted in foreground: its instance, its Pod and its claim end before it',
    act: (cluster) => cluster.delete('db', 'Foreground'),
  },
  {
    title: 'db is made again under its name: it has a claim of its own',
    act: (cluster) => cluster.create('db', 'db-4'),
  },
  {
    title: 'All of it is deleted',
    act: async (cluster) => {
      await cluster.delete('db', 'Background')
      await cluster.end('web')
      await cluster.remove('cache')
    },
  },
]

class Run {
  readonly #stage: Stage
  readonly #planners: readonly Planner<Outcome>[] = [persistentClaims(), persistentIPs(), gcPlanner({ kinds })]

  constructor(stage: Stage) {
    this.#stage = stage
  }

  async run(): Promise<number> {
    const { screen, store, clock } = this.#stage
    const cluster = new Cluster(store, clock)
    const snapshots: Snapshot[] = []
    await cluster.define()
    for (const { title, act } of steps) {
      await act(cluster)
      const { events } = await this.#settle()
      const now = await snapshot(store, { title, events })
      snapshots.push(now)
      if (!screen.wantsDocument) screen.tell(formatStep(now, screen.limit))
    }
    const { written } = await this.#settle()
    const checks = checksOf(snapshots, written)
    if (screen.wantsDocument) screen.document(documentOf(snapshots, checks))
    screen.tell(`Map: ${asciiMapLegend}\n\n${formatChecks(checks, screen.limit)}`)
    return checks.every(({ wrong }) => wrong.length === 0) ? 0 : 1
  }

  /** Both sides and the garbage collector work until nothing is left to do, also not later. */
  async #settle() {
    const { store, clock, screen } = this.#stage
    const events: string[] = []
    let written = 0
    for (;;) {
      const result = await runUntilQuiet(store, this.#planners, {
        now: () => clock.nowMs,
        onEvent: ({ about, reason, message }) => events.push(`${about.kind} ${about.name} ${reason}: ${message}`),
        onProgress: (progress) => screen.progress.show(() => formatProgress(progress)),
      })
      written += result.written
      if (result.requeueAfterSeconds === undefined) break
      clock.pass(Math.max(1, result.requeueAfterSeconds))
    }
    screen.progress.clear()
    return { events, written }
  }
}
