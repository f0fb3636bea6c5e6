import { Cluster, IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { OpenStackFloatingIPPool, OpenStackServer } from 'ipam-kit/crd/openstack'
import { unwrap } from 'ipam-kit/errors'
import type { Outcome, Planner } from 'ipam-kit/plan'
import { gcPlanner } from 'ipam-kit/provider/gc'
import { floatingIPPools, floatingServers } from 'ipam-kit/provider/openstack'
import { type ExternalCaller, runUntilQuiet } from 'ipam-kit/run'
import { FakeCloud } from 'ipam-kit/testing'
import { callerOf } from '../../floating-ip-controller/caller.js'
import { formatChecks } from '../checks.js'
import { formatProgress } from '../progress.js'
import type { Scenario, Stage } from '../scenario.js'
import { checksOf, expectationsOf } from './checks.js'
import { Machines } from './machines.js'
import { documentOf, formatStep } from './report.js'
import { type Snapshot, snapshot } from './snapshot.js'
import { PREALLOCATED, poolObject, poolRef, type Step, serverObject, serverRef, steps } from './steps.js'

const kinds = [OpenStackServer, OpenStackFloatingIPPool, IPAddressClaim, IPAddress, Cluster].map((model) => model.info)

/** Machines get floating IPs of a cloud, which fails at times. */
export const floatingIPScenario: Scenario = {
  kinds,
  whereKindsAre: 'The kinds are those of Cluster API and its provider for OpenStack.',
  run: (stage) => new Run(stage).run(),
}

/** The planners of a process that starts. */
function start(): readonly Planner<Outcome>[] {
  return [floatingIPPools({ callSeconds: 5 }), floatingServers({ callSeconds: 5 }), gcPlanner({ kinds })]
}

class Run {
  readonly #stage: Stage
  readonly #cloud: FakeCloud
  readonly #network: string
  readonly #machines: Machines
  /** Those of the process that runs. */
  #planners = start()
  /** Set when the process has ended in the midst of its work: nothing is written after that. */
  #isDead = false

  constructor(stage: Stage) {
    this.#stage = stage
    this.#cloud = new FakeCloud({ now: () => stage.clock.nowMs })
    this.#network = this.#cloud.addNetwork({ name: 'public', cidrs: ['203.0.113.0/24'] }).id
    this.#machines = new Machines(stage.store, this.#cloud, this.#network)
  }

  async run(): Promise<number> {
    const { screen, store } = this.#stage
    const snapshots: Snapshot[] = []
    for (const address of PREALLOCATED) this.#cloud.byHand.create({ network: this.#network, address })
    unwrap(await store.create(poolObject()))
    for (const step of steps) {
      const callsBefore = new Map(this.#cloud.calls)
      await this.#act(step)
      await this.#go(step)
      const now = await snapshot(store, this.#cloud, { title: step.title, callsBefore })
      snapshots.push(now)
      if (!screen.wantsDocument) screen.tell(formatStep(now, screen))
    }
    this.#planners = start()
    const { written } = await this.#settle()
    const checks = [...checksOf(snapshots, this.#cloud, written), ...expectationsOf(snapshots)]
    if (screen.wantsDocument) screen.document(documentOf(snapshots, checks))
    screen.tell(formatChecks(checks, screen))
    screen.hint('the pool, the cloud and the calls to it, why machines wait, and each check')
    return checks.every(({ wrong }) => wrong.length === 0) ? 0 : 1
  }

  /** All of a step, before anything of it is answered. */
  async #act({ joining = [], leaving = [], operator, poolEnds }: Step): Promise<void> {
    const { store, clock } = this.#stage
    for (const n of leaving) unwrap(await store.delete(serverRef(`machine-${n}`)))
    if (poolEnds) unwrap(await store.delete(poolRef))
    for (const n of joining) {
      clock.tick()
      unwrap(await store.create(serverObject(n)))
    }
    if (operator !== undefined) this.#operate(operator)
  }

  #operate(act: NonNullable<Step['operator']>): void {
    const { byHand, floatingIPs } = this.#cloud
    if ('creates' in act) byHand.create({ network: this.#network, address: act.creates })
    else for (const { id, address } of floatingIPs) if (address === act.deletes) byHand.delete(id)
  }

  /** Lets time go on, and machines and the controller with it. */
  async #go({ seconds, crashes }: Step): Promise<void> {
    const { clock } = this.#stage
    const endMs = clock.nowMs + seconds * 1000
    for (;;) {
      const { requeueAfterSeconds = seconds } = await this.#settle(crashes)
      if (crashes) return
      if (await this.#machines.act()) continue
      const waitSeconds = Math.max(1, requeueAfterSeconds)
      if (clock.nowMs + waitSeconds * 1000 > endMs) break
      clock.pass(waitSeconds)
    }
  }

  /** The process works until nothing is left to do now. After a crash another process starts. */
  async #settle(crashes = false) {
    const { store, clock, screen } = this.#stage
    if (this.#isDead) this.#planners = start()
    this.#isDead = false
    const result = await runUntilQuiet(store, this.#planners, {
      now: () => clock.nowMs,
      external: this.#caller(crashes),
      canWrite: () => !this.#isDead,
      onProgress: (progress) => screen.progress.show(() => formatProgress(progress)),
    })
    screen.progress.clear()
    return result
  }

  /** @param crashes whether the process ends with the first address that is created */
  #caller(crashes: boolean): ExternalCaller {
    const call = callerOf(this.#cloud)
    return async (asked) => {
      const result = await call(asked)
      if (crashes && asked.operation === 'createAddress') this.#isDead = true
      return result
    }
  }
}
