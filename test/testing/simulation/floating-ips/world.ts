import type { KubeObject } from 'ipam-kit/crd/meta'
import type { ExternalCall, ExternalResult, Outcome, Planner } from 'ipam-kit/plan'
import type { CloudAddresses } from 'ipam-kit/provider/external'
import { Dice } from 'ipam-kit/testing'
import { CALL_SECONDS, QUIET_SECONDS, REST_SECONDS } from './bounds.js'
import { WorldClock } from './clock.js'
import { Cluster, type ObjectChange } from './cluster.js'
import { FAULT_KINDS, type FaultKind } from './faults.js'
import { isAlive, keyOf, specOf } from './kinds.js'
import { callerOf } from './library.js'
import { Operator } from './operator.js'
import { People } from './people.js'
import { Process, type ProcessWorld } from './process.js'
import type { BegunCall } from './process-calls.js'
import { Project, untidyList } from './project.js'
import { BoundClaimsRule } from './rule-bound-claims.js'
import { DeletionsRule } from './rule-deletions.js'
import { EndingsRule } from './rule-endings.js'
import { GivingsRule } from './rule-givings.js'
import { LeaksRule } from './rule-leaks.js'
import { LimitRule } from './rule-limit.js'
import { RestRule } from './rule-rest.js'
import { ServersRule } from './rule-servers.js'
import { TwoClaimsRule } from './rule-two-claims.js'
import { WaitingClaimsRule } from './rule-waiting-claims.js'
import type { CloudCall, Rule, RuleWorld } from './rules.js'
import { copyPool, movePool } from './second-cluster.js'
import { Trace } from './trace.js'

const TICK_MS = 5000
/** Each clock is off by half a minute at most, so that two differ by a minute at most. */
const SKEW_MS = 30_000
const PEOPLE: readonly FaultKind[] = ['recreate-claims', 'recreate-pools', 'limit', 'reclaim', 'edit-spec', 'pause']
const OPERATOR: readonly FaultKind[] = ['operator-own', 'operator-pool', 'quota']
const OF_CLUSTERS: readonly FaultKind[] = ['move', 'copy']
const OF_PROCESSES: readonly FaultKind[] = ['suspend', 'crash', 'handover', 'two-leaders']
const ACTING = [...PEOPLE, ...OPERATOR, ...OF_CLUSTERS, ...OF_PROCESSES]
/** How long people leave between two steps, in milliseconds. */
const PAUSES_MS = [50, 500, 2000, 5000, 15_000, 30_000, 60_000]

export interface WorldOptions {
  readonly seed: number
  readonly faults: ReadonlySet<FaultKind>
  /** How many steps people do. */
  readonly actions: number
  /** How many processes of the first cluster elect a leader. */
  readonly processes: number
  /** Makes the planners of a process. */
  readonly plannersOf: () => readonly Planner<Outcome>[]
}

/** The name of a process, which is started again when it ends. */
interface Slot {
  readonly name: string
  readonly cluster: Cluster
  readonly elects: boolean
  readonly skewMs: number
  process: Process | undefined
  starts: number
  isOver: boolean
}

/** Clusters, processes, a cloud and people, in simulated time. */
export class World implements ProcessWorld, RuleWorld {
  readonly clock: WorldClock
  readonly trace: Trace
  readonly project: Project
  readonly clusters: readonly Cluster[]
  readonly promised = new Map<string, string>()
  /** What is wrong. The first finding ends the schedule. */
  readonly problems: string[] = []
  disturbedMs = 0
  hotSpot = ''
  faultCount = 0
  readonly #options: WorldOptions
  readonly #dice = new Map<string, Dice>()
  readonly #people: People
  readonly #operator: Operator
  readonly #slots: Slot[] = []
  readonly #rules: readonly Rule[]
  readonly #rest: RestRule
  readonly #changes: ObjectChange[] = []
  /** The process that has written in this turn. */
  #writer: Process | undefined
  #isRough = true
  /** Moves and copies happen once. */
  readonly #done = new Set<FaultKind>()

  constructor(options: WorldOptions) {
    this.#options = options
    this.clock = new WorldClock(() => this.#observe())
    const now = () => this.clock.nowMs
    this.trace = new Trace(now)
    this.project = new Project(now, options.faults.has('reuse'))
    const hasSecond = options.faults.has('move') || options.faults.has('copy')
    const take = (change: ObjectChange) => void this.#changes.push(change)
    this.clusters = (hasSecond ? ['A', 'B'] : ['A']).map((name) => new Cluster(name, now, take))
    this.#people = new People(this)
    this.#operator = new Operator(this)
    this.#rest = new RestRule(this)
    this.#rules = [
      new DeletionsRule(this, this.promised),
      new TwoClaimsRule(this),
      new GivingsRule(this, this.promised),
      new BoundClaimsRule(this),
      new LimitRule(this),
      new LeaksRule(this),
      new WaitingClaimsRule(this),
      new EndingsRule(this),
      new ServersRule(this, this.#people.ports),
      this.#rest,
    ]
  }

  get nowMs(): number {
    return this.clock.nowMs
  }

  async run(): Promise<void> {
    const { faults, actions, processes } = this.#options
    this.trace.step('world', `faults: ${[...faults].join(' ') || 'none'}`)
    await this.clock.pass(0, () => false)
    await this.#people.prepare()
    for (const cluster of this.clusters) {
      for (let nth = 1; nth <= (cluster.name === 'A' ? processes : 1); nth++)
        this.#addSlot(cluster, `${cluster.name}${nth}`, true)
    }
    this.#tick()
    void this.#act(actions)
    const isOver = () => this.problems.length > 0
    while (this.#isRough && !isOver()) await this.clock.pass(10_000, isOver)
    await this.clock.pass(QUIET_SECONDS * 1000, isOver)
    if (!isOver()) {
      this.trace.step('world', 'at rest')
      this.#rest.begin()
      await this.clock.pass(REST_SECONDS * 1000, isOver)
    }
    if (!isOver()) this.#rest.end()
    for (const slot of this.#slots) {
      slot.isOver = true
      slot.process?.kill('the end of the schedule')
    }
    await Promise.all(this.clusters.map((cluster) => cluster.close()))
  }

  /** Each kind of fault has dice of its own: without one kind the others stay as they are. */
  dice(kind: FaultKind | 'calls' | 'people' | 'world'): Dice {
    const known = this.#dice.get(kind)
    if (known !== undefined) return known
    const nth = FAULT_KINDS.indexOf(kind as FaultKind) + ['calls', 'people', 'world'].indexOf(kind) * 100
    const made = new Dice(this.#options.seed * 1009 + nth * 7919)
    this.#dice.set(kind, made)
    return made
  }

  isOn(kind: FaultKind): boolean {
    return this.#isRough && this.#options.faults.has(kind)
  }

  plannersOf(): readonly Planner<Outcome>[] {
    return this.#options.plannersOf()
  }

  happened(process: Process, text: string): void {
    this.faultCount++
    this.disturbedMs = this.nowMs
    this.hotSpot = /team-[ab]\/[\w-]+/.exec(text)?.[0] ?? this.hotSpot
    this.trace.step(process.name, `FAULT ${text}`)
  }

  thrown(process: Process, error: unknown): void {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
    this.report(`${process.name} has thrown: ${text}`, [process.name])
  }

  report(message: string, words: readonly string[]): void {
    this.trace.step('world', `WRONG ${message}`)
    if (this.problems.length > 0) return
    const named = message.match(/team-[ab]\/(claim|server)-[\w-]+/g) ?? []
    this.problems.push(message, 'what the trace says of it:', ...this.trace.about([...words, ...named]))
  }

  leadingSinceMs(cluster: Cluster): number | undefined {
    const leaders = this.#slots.flatMap(({ process }) =>
      process?.cluster === cluster && process.isLeader ? [process] : [],
    )
    return leaders[0]?.leadingSinceMs
  }

  written(
    process: Process,
    text: string,
    before: KubeObject | undefined,
    answer: { readonly ok: boolean; readonly value?: KubeObject; readonly failure?: { readonly code: string } },
  ): void {
    this.#writer = process
    if (!answer.ok) {
      this.trace.step(process.name, `${text}: ${answer.failure?.code}`)
      return
    }
    const { value } = answer
    const isChanged = before === undefined || before.metadata.resourceVersion !== value?.metadata.resourceVersion
    if (!isChanged && !text.startsWith('delete')) return
    this.trace.step(process.name, text)
    this.#rest.onWrite(process.name, text, value === undefined ? [] : [keyOf(value)])
  }

  begin(process: Process, call: ExternalCall, label: string): BegunCall {
    const { pool: named } = (call.input ?? {}) as {
      readonly pool?: { readonly namespace: string; readonly name: string }
    }
    const pool = named === undefined ? '' : `${named.namespace}/${named.name}`
    const stored = process.cluster.pools.get(pool)
    const made: CloudCall = {
      ...{ process, call, label, pool, stored },
      known: process.knownPools(pool),
      madeMs: this.nowMs,
      isByLeader: process.isLeader,
    }
    // a process that ends in the middle of a turn sends nothing more
    if (!process.clock.isDead) {
      this.trace.step(process.name, `calls ${label}`)
      for (const rule of this.#rules) rule.onCall?.(made)
      this.#maySwitchReclaim(made)
    }
    return {
      arrive: () => this.#arrive(made),
      answered: (answer) => {
        this.trace.step(process.name, `answer to ${label}: ${textOf(answer)}`)
        for (const rule of this.#rules) rule.onAnswer?.(made, answer)
      },
    }
  }

  async #arrive(made: CloudCall): Promise<ExternalResult> {
    const { process, call, pool, stored, label, madeMs } = made
    const isLate = !process.isLeader || process.suspendedMs >= madeMs
    const ask = () => callerOf(this.project.cloud)(call)
    const isUntidy = call.operation === 'listAddresses' && this.isOn('lists')
    const answer: ExternalResult<unknown> = isUntidy
      ? await untidyList(this.project.cloud, this.dice('lists'), ask as () => Promise<ExternalResult<CloudAddresses>>)
      : await ask()
    const uid = stored?.metadata.uid
    const creator = { cluster: process.cluster.name, process: process.name, pool, uid, isLate }
    const { created, deleted } = this.project.note(creator)
    this.#noteLeftBehind(made)
    for (const { text, id } of created)
      this.trace.step('cloud', `creates ${text} (${id}) for ${process.name}${isLate ? ', late' : ''}`)
    for (const { text, id } of deleted)
      this.trace.step('cloud', `deletes ${text} (${id}) for ${process.name}${isLate ? ', late' : ''}`)
    if (!answer.ok) this.trace.step('cloud', `refuses ${label}: ${answer.failure.message}`)
    for (const rule of this.#rules)
      rule.onArrival?.({ ...made, answer: answer as ExternalResult, isLate, created, deleted })
    return answer as ExternalResult
  }

  /**
   * A pool that ends takes its mark from an address under Retain, or from one that its spec names.
   * That stays on purpose, whatever the spec says later.
   */
  #noteLeftBehind({ call, stored, known }: CloudCall): void {
    const { seen } = (call.input ?? {}) as { readonly seen?: { readonly id: string } }
    const record = this.project.records.get(seen?.id ?? '')
    if (call.operation !== 'markAddress' || record === undefined || isAlive(stored)) return
    const isLeft = [...known, ...(stored ? [stored] : [])].some((pool) => {
      const { reclaimPolicy, preAllocatedFloatingIPs = [] } = specOf(pool)
      return reclaimPolicy === 'Retain' || preAllocatedFloatingIPs.includes(record.text)
    })
    if (isLeft) record.isRetained = true
  }

  /** After each turn: what has changed, in order. */
  #observe(): void {
    const by = this.#writer
    for (const change of this.#changes.splice(0)) {
      const { cluster, room, before, now } = change
      if (room === 'pools' && now === undefined) this.#endPool(cluster, before)
      for (const rule of this.#rules) rule.onChange?.({ ...change, by })
    }
    this.#writer = undefined
  }

  /**
   * What a pool leaves in the cloud on purpose: all under Retain, what its spec names, and what was
   * created before it has moved here.
   */
  #endPool({ name }: Cluster, pool: KubeObject | undefined): void {
    if (pool === undefined) return
    const { reclaimPolicy, preAllocatedFloatingIPs = [] } = specOf(pool)
    for (const record of this.project.existing) {
      if (record.owner?.cluster !== name || record.owner.uid !== pool.metadata.uid) continue
      // a pool that does not know whether it was moved or copied leaves what the earlier one has created
      const isInherited = record.creator?.cluster !== name
      if (reclaimPolicy === 'Retain' || preAllocatedFloatingIPs.includes(record.text) || isInherited)
        record.isRetained = true
    }
  }

  #tick(): void {
    for (const cluster of this.clusters) void cluster.collectGarbage()
    for (const rule of this.#rules) rule.onTick?.()
    this.clock.after(TICK_MS, () => this.#tick())
  }

  async #act(actions: number): Promise<void> {
    const dice = this.dice('people')
    const kinds = ACTING.filter((kind) => this.#options.faults.has(kind))
    await this.clock.wait(dice.below(30_000))
    for (let nth = 0; nth < actions; nth++) {
      if (kinds.length > 0 && dice.chance(0.45)) this.#actOf(kinds[dice.below(kinds.length)] as FaultKind)
      else void this.#people.act()
      await this.clock.wait(dice.pick(PAUSES_MS))
    }
    this.#isRough = false
    this.disturbedMs = this.nowMs
    this.trace.step('world', 'no more faults')
    await this.#people.unpauseAll()
    if (dice.chance(0.5)) this.#operator.detachAll()
    for (const slot of this.#slots) {
      slot.process?.resume()
      if (!slot.elects && this.dice('two-leaders').chance(0.5)) this.#stopSlot(slot)
    }
  }

  #actOf(kind: FaultKind): void {
    if (PEOPLE.includes(kind)) void this.#people.actOf(kind)
    else if (OPERATOR.includes(kind)) void this.#operator.actOf(kind)
    else if (OF_CLUSTERS.includes(kind)) void this.#actOnClusters(kind)
    else this.#actOnProcesses(kind)
    if (!OF_PROCESSES.includes(kind)) {
      this.faultCount++
      this.disturbedMs = this.nowMs
    }
  }

  async #actOnClusters(kind: FaultKind): Promise<void> {
    const [source, target] = this.clusters
    const dice = this.dice(kind)
    if (source === undefined || target === undefined || this.#done.has(kind)) return
    const pools = [...source.pools.values()].filter((pool) => isAlive(pool) && !target.pools.has(keyOf(pool)))
    if (pools.length === 0) return
    this.#done.add(kind)
    const pool = dice.pick(pools)
    if (kind === 'copy') await copyPool(this, pool, target, dice)
    else await movePool(this, keyOf(pool), { source, target, dice })
  }

  #actOnProcesses(kind: FaultKind): void {
    const dice = this.dice(kind)
    if (kind === 'two-leaders') {
      if (this.#slots.some(({ elects }) => !elects)) return
      const slot = this.#addSlot(dice.pick(this.clusters), 'mistaken', false)
      if (dice.chance(0.5)) this.clock.after(dice.pick([60_000, 200_000]), () => this.#stopSlot(slot))
      return
    }
    const leaders = this.#slots.flatMap(({ process }) => (process?.isLeader ? [process] : []))
    if (leaders.length === 0) return
    const leader = dice.pick(leaders)
    if (kind === 'handover') {
      this.happened(leader, 'told to end')
      leader.stop()
    } else if (kind === 'suspend') leader.suspend(dice.pick([12, 20, 30, 50, 90]), 'at any moment')
    else {
      this.happened(leader, 'crash at any moment')
      leader.kill('it crashed')
    }
  }

  #addSlot(cluster: Cluster, name: string, elects: boolean): Slot {
    const skews = this.dice('clocks')
    const skewMs = this.#options.faults.has('clocks') ? skews.below(2 * SKEW_MS) - SKEW_MS : 0
    const slot: Slot = { name, cluster, elects, skewMs, process: undefined, starts: 0, isOver: false }
    this.#slots.push(slot)
    this.#start(slot)
    return slot
  }

  #stopSlot(slot: Slot): void {
    slot.isOver = true
    slot.process?.stop()
  }

  #start(slot: Slot): void {
    const { cluster, elects, skewMs } = slot
    const name = `${slot.name}-${++slot.starts}`
    const concurrency = 1 + (this.#options.seed % 4)
    slot.process = new Process(this, {
      ...{ name, cluster, elects, skewMs, concurrency },
      ended: () => {
        slot.process = undefined
        if (!slot.isOver) this.clock.after(this.dice('world').pick([500, 3000, 10_000]), () => this.#start(slot))
      },
    })
    void slot.process.run()
  }

  /** A policy is switched while a deletion is unanswered. */
  #maySwitchReclaim({ call, pool, process }: CloudCall): void {
    const dice = this.dice('reclaim')
    if (call.operation !== 'deleteAddress' || !this.isOn('reclaim') || !dice.chance(0.5)) return
    this.clock.after(dice.below(CALL_SECONDS * 500), () => void this.#people.switchReclaim(process.cluster, pool))
  }
}

function textOf(answer: ExternalResult): string {
  if (!answer.ok)
    return answer.failure.nothingDone ? `${answer.failure.message} (nothing done)` : answer.failure.message
  const { addresses } = answer.value as { readonly addresses?: readonly { readonly address?: string }[] }
  const listed = addresses?.map((each) => each.address ?? JSON.stringify(each)).join(' ')
  return listed ?? JSON.stringify(answer.value)
}
