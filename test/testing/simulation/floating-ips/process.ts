import type { KubeObject } from 'ipam-kit/crd/meta'
import type { ExternalCall, Outcome, Planner } from 'ipam-kit/plan'
import { Controller, type ControllerProblem, LeaderElection, type LeaderTerm } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import type { Dice } from 'ipam-kit/testing'
import { planTwice } from '../../../../src/testing/simulation/plan-twice.js'
import { LEASE_SECONDS, PLAN_SECONDS, RENEW_SECONDS, RETRY_SECONDS, STORE_SECONDS } from './bounds.js'
import { ProcessClock, type WorldClock } from './clock.js'
import type { Cluster } from './cluster.js'
import type { FaultKind } from './faults.js'
import { keyOf, MODELS } from './kinds.js'
import { type BegunCall, processCalls } from './process-calls.js'
import { processStore } from './process-store.js'
import type { Trace } from './trace.js'
import { type Moment, Wire } from './wire.js'

const LEASE_PLACE = { namespace: 'ipam-system', name: 'ipam-kit-floating-ip' }

/** What a process needs of the world. */
export interface ProcessWorld {
  readonly clock: WorldClock
  readonly trace: Trace
  dice(kind: FaultKind | 'calls'): Dice
  /** Whether a kind of fault may happen now. */
  isOn(kind: FaultKind): boolean
  /** The planners of a process. */
  plannersOf(): readonly Planner<Outcome>[]
  /** A fault has happened. */
  happened(process: Process, text: string): void
  /** The process writes to the store. */
  written(
    process: Process,
    text: string,
    before: KubeObject | undefined,
    answer: Awaited<ReturnType<Store['create']>>,
  ): void
  /** A planner makes a call. */
  begin(process: Process, call: ExternalCall, label: string): BegunCall
  /** A defect of the library: it has thrown. */
  thrown(process: Process, error: unknown): void
}

export interface ProcessOptions {
  readonly name: string
  readonly cluster: Cluster
  readonly skewMs: number
  /** Whether it elects a leader. Without it the process works at once, by mistake. */
  readonly elects: boolean
  readonly concurrency: number
  /** Called when the process has ended. */
  readonly ended: () => void
}

/** One process of the program, from its start to its end. */
export class Process {
  readonly name: string
  readonly cluster: Cluster
  readonly clock: ProcessClock
  readonly elects: boolean
  /** Since when it has been working as a leader, without a suspension. */
  leadingSinceMs: number | undefined
  suspendedMs = Number.NEGATIVE_INFINITY
  readonly #world: ProcessWorld
  readonly #options: ProcessOptions
  readonly #store: Store
  readonly #wire: Wire
  /** The versions of each pool that it has learned of, and when. */
  readonly #pools = new Map<string, { readonly pool: KubeObject; readonly atMs: number }[]>()
  #stop: () => void = () => {}
  #isStopping = false

  constructor(world: ProcessWorld, options: ProcessOptions) {
    this.#world = world
    this.#options = options
    this.name = options.name
    this.cluster = options.cluster
    this.elects = options.elects
    this.clock = new ProcessClock(world.clock, options.skewMs)
    const { clock } = this
    const happened = (text: string) => world.happened(this, text)
    this.#wire = new Wire({
      world: world.clock,
      clock,
      dice: world.dice('calls'),
      disturb: (moment, label) => this.#disturb(moment, label),
    })
    this.#store = processStore({
      below: options.cluster.store,
      wire: this.#wire,
      world: world.clock,
      clock,
      dice: world.dice('store-calls'),
      lateDice: world.dice('late-watch'),
      isFaulty: () => world.isOn('store-calls'),
      isLate: () => world.isOn('late-watch'),
      happened,
      written: (text, before, answer) => world.written(this, text, before, answer),
      learned: (object) => this.#learn(object),
    })
  }

  /** Whether it may write: it holds the Lease and runs. */
  get isLeader(): boolean {
    return this.elects && this.isWorking && this.cluster.leaseHolder === this.name
  }

  /** Whether it works as a leader, rightly or by mistake. */
  get isWorking(): boolean {
    return this.leadingSinceMs !== undefined && this.clock.isRunning
  }

  async run(): Promise<void> {
    this.#world.trace.step(this.name, `starts, its clock is ${Math.round(this.#options.skewMs / 1000)} s off`)
    try {
      if (this.elects) await this.#elect()
      else await this.#lead({})
    } catch (error) {
      this.#world.thrown(this, error)
    }
    if (this.clock.isDead) return
    this.#world.trace.step(this.name, 'has ended')
    this.#end()
  }

  /** Ends it as SIGTERM does. */
  stop(): void {
    this.#isStopping = true
    this.#stop()
  }

  /** Ends it as SIGKILL does: its calls on the way still arrive. */
  kill(why: string): void {
    if (this.clock.isDead) return
    this.#world.trace.step(this.name, `ends: ${why}`)
    this.#end()
  }

  suspend(seconds: number, why: string): void {
    if (!this.clock.isRunning) return
    this.#world.happened(this, `suspended for ${seconds} s ${why}`)
    this.clock.suspend()
    this.suspendedMs = this.#world.clock.nowMs
    this.#world.clock.after(seconds * 1000, () => this.resume())
  }

  resume(): void {
    if (this.clock.isRunning || this.clock.isDead) return
    this.#world.happened(this, 'continues')
    const { nowMs } = this.#world.clock
    if (this.leadingSinceMs !== undefined) this.leadingSinceMs = nowMs
    this.suspendedMs = nowMs
    this.clock.resume()
  }

  /** The versions of a pool with which a plan can have been made that is carried out now. */
  knownPools(key: string): readonly KubeObject[] {
    const fromMs = this.#world.clock.nowMs - PLAN_SECONDS * 1000
    const known = this.#pools.get(key) ?? []
    return known
      .filter((_, nth) => (known[nth + 1]?.atMs ?? Number.POSITIVE_INFINITY) >= fromMs)
      .map(({ pool }) => pool)
  }

  #end(): void {
    this.clock.kill()
    this.leadingSinceMs = undefined
    this.#options.ended()
  }

  #learn(object: KubeObject): void {
    if (object.kind !== MODELS.pools.info.kind) return
    const key = keyOf(object)
    const known = this.#pools.get(key) ?? []
    this.#pools.set(key, known)
    // an answer comes before the event of the watch
    if (versionOf(object) <= versionOf(known.at(-1)?.pool)) return
    known.push({ pool: object, atMs: this.#world.clock.nowMs })
  }

  async #elect(): Promise<void> {
    const election = new LeaderElection({
      store: this.#store,
      timers: this.clock,
      lease: LEASE_PLACE,
      identity: this.name,
      leaseDurationSeconds: LEASE_SECONDS,
      renewDeadlineSeconds: RENEW_SECONDS,
      retryPeriodSeconds: RETRY_SECONDS,
      writeTimeoutSeconds: STORE_SECONDS,
      onProblem: (failure) => this.#world.trace.step(this.name, `Lease: ${failure.message}`),
    })
    this.#stop = () => election.stop()
    if (this.#isStopping) election.stop()
    if ((await election.run((term) => this.#lead(term))) === 'lost') this.kill('it has lost its Lease')
  }

  async #lead({ ending, lost, canWrite }: Partial<LeaderTerm>): Promise<void> {
    const { trace } = this.#world
    trace.step(this.name, this.elects ? 'leads' : 'works without a Lease')
    const controller = new Controller<Outcome>({
      store: this.#store,
      planners: this.#world
        .plannersOf()
        .map((planner) => planTwice(planner, (found) => this.#world.thrown(this, found))),
      timers: this.clock,
      concurrency: this.#options.concurrency,
      serverLimitMs: (STORE_SECONDS + 2) * 1000,
      canWrite,
      external: processCalls({
        wire: this.#wire,
        dice: this.#world.dice('cloud-calls'),
        isFaulty: () => this.#world.isOn('cloud-calls'),
        happened: (text) => this.#world.happened(this, text),
        begin: (call, label) => this.#world.begin(this, call, label),
      }),
      onProblem: (problem) => this.#problem(problem),
    })
    this.leadingSinceMs = this.#world.clock.nowMs
    void ending?.then(() => controller.stop())
    void lost?.then(() => this.kill('it has lost its Lease'))
    if (!this.elects) this.#stop = () => controller.stop()
    await controller.run()
    this.leadingSinceMs = undefined
  }

  #problem(problem: ControllerProblem): void {
    if (problem.kind === 'thrown') this.#world.thrown(this, problem.error)
    else if (problem.kind !== 'stalled') {
      const about = 'key' in problem ? problem.key : problem.of.kind
      this.#world.trace.step(this.name, `${problem.kind} ${about}: ${problem.failure.message}`)
    }
  }

  /** A leader can be suspended or end before and after each call. */
  #disturb(moment: Moment, label: string): void {
    if (!this.isWorking || label.includes('Lease')) return
    const suspends = this.#world.dice('suspend')
    if (this.#world.isOn('suspend') && suspends.chance(chanceAt(label))) {
      this.suspend(suspends.pick([12, 20, 30, 50, 90]), `${moment} ${label}`)
      return
    }
    if (this.#world.isOn('crash') && this.#world.dice('crash').chance(chanceAt(label))) {
      this.#world.happened(this, `crash ${moment} ${label}`)
      this.kill(`it crashed ${moment} ${label}`)
    }
  }
}

/** Calls that change the cloud are few, and what they do is most in doubt. */
function chanceAt(label: string): number {
  if (/^(create|delete|mark)Address |^(attach|detach)FloatingIP |^create IPAddress /.test(label)) return 0.12
  if (/^(create|patch|delete) /.test(label)) return 0.015
  return 0.002
}

function versionOf(object: KubeObject | undefined): number {
  return Number(object?.metadata.resourceVersion ?? 0)
}
