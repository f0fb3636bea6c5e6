import { Address } from 'ipam-kit/cidr'
import { Pod } from 'ipam-kit/crd/core'
import { IPBlock, IPDomain, IPPool } from 'ipam-kit/crd/ipam-kit'
import { unwrap } from 'ipam-kit/errors'
import type { Outcome, Task } from 'ipam-kit/plan'
import { planUpgrade, type UpgradeDifference, type UpgradeOddity } from 'ipam-kit/provider/whereabouts-blocks'
import { runTask } from 'ipam-kit/run'
import { SimulatedCrash } from 'ipam-kit/testing'
import type { SimulatedPod } from '../whereabouts/attachments.js'
import { claimRef, NAMESPACE, POOL, RESERVATION, reservationRef } from '../whereabouts/kinds.js'
import type { Answer, Call } from '../whereabouts/kubelet.js'
import { type Network, poolNameOf, reservationNameOf } from '../whereabouts/networks.js'
import { liveProblems, reservationProblems, rowProblems } from '../whereabouts/rest.js'
import type { Actor } from '../whereabouts/rules.js'
import { World, type WorldOptions } from '../whereabouts/world.js'
import { blockPoolsOf, configsOf, oldPoolsOf } from './networks.js'
import { missingOddities } from './oddities.js'
import { type Found, Operator, type Steps } from './operator.js'
import type { UpgradeRules } from './rules.js'
import type { Upgrade } from './upgrade.js'

export interface UpgradeWorldOptions extends WorldOptions {
  readonly upgrade: Upgrade
  readonly upgradeRules: UpgradeRules
  readonly steps: Steps
}

const PEOPLE: Actor = { kind: 'people' }
const REST = 0.08

/** The world of whereabouts, in which operators carry an upgrade to blocks out. */
export class UpgradeWorld extends World {
  readonly #upgrade: Upgrade
  readonly #rules: UpgradeRules
  readonly #steps: Steps
  readonly #operators: Operator[] = []
  readonly #oldPools: readonly string[]
  /** Whether a node of upstream is forgotten, until a step finds it. */
  readonly #forgets: boolean
  /** Rests that are wanted, and those that there were. */
  #rests = { wanted: 0, done: 0 }

  constructor(options: UpgradeWorldOptions) {
    super(options)
    this.#upgrade = options.upgrade
    this.#rules = options.upgradeRules
    this.#rules.honoursRecord = this.honoursRecord
    this.#steps = options.steps
    this.#oldPools = oldPoolsOf(this.networks)
    this.#forgets = this.dice.chance(0.5)
  }

  protected override async begin(): Promise<void> {
    for (let nth = 1; nth <= 2; nth++) {
      const operator = new Operator(`operator-${nth}`, {
        scheduler: this.scheduler,
        dice: this.dice,
        now: () => this.nowMs,
        isRough: () => this.isRough,
        upgrade: this.#upgrade,
        steps: this.#steps,
        isReady: () => this.#upgrade.hasBegun && this.#unusual.length === 0,
        phaseOf: (pool) => this.#rules.phaseOf(pool),
        run: (name, task) => this.#run(name, task),
        replacePlugins: () => this.#replacePlugins(),
        disable: (network, disabled) => this.#disable(network, disabled),
        clear: (pool, found) => this.#clear(pool, found),
      })
      this.#operators.push(operator)
      await this.scheduler.start(() => operator.live())
    }
  }

  protected override get dueMs(): number {
    return Math.min(Infinity, ...this.#operators.map((operator) => operator.dueMs))
  }

  protected override async acted(): Promise<void> {
    if (!this.#upgrade.hasBegun) {
      if (this.dice.chance(0.2)) await this.#beginUpgrade()
      return
    }
    if (!this.dice.chance(REST)) return
    this.isRough = false
    await this.#restOnce()
    this.isRough = true
  }

  /** The operators reach their goal. */
  protected override async settled(): Promise<void> {
    if (!this.#upgrade.hasBegun) await this.#beginUpgrade()
    await this.#restOnce()
    this.#replacePlugins()
    const isRefused = this.networks.some(({ name }) => name === 'wide')
    this.#upgrade.goal = isRefused ? 'back' : this.dice.pick(['finish', 'back'])
    await this.scheduler.turn('people', `wants ${this.#upgrade.goal}`)
    await this.scheduler.turn('people', 'waits for operators', () => this.#operators.every(({ isDone }) => isDone))
    const wanted = this.#upgrade.goal === 'finish' ? 'finished' : undefined
    const late = this.#oldPools.filter((pool) => this.#rules.phaseOf(pool) !== wanted)
    for (const pool of late) this.problems.push(`${pool} is still in ${this.#rules.phaseOf(pool)}, not in ${wanted}`)
  }

  protected override async atQuiet(): Promise<boolean> {
    if (this.#rests.done >= this.#rests.wanted) return false
    await this.#checkRest()
    this.#rests.done++
    return true
  }

  protected override async rest(): Promise<void> {
    if (this.#operators.some(({ isDone }) => !isDone)) this.problems.push('at rest: the operators have not ended')
    await this.#checkRest()
    for (const network of this.networks) await this.#probe(network)
  }

  /** An ADD has an address that is free on both sides, and a DEL frees it on both. */
  async #probe(network: Network): Promise<void> {
    const attachment = this.probeOf(network)
    const run = async (verb: 'ADD' | 'DEL') => {
      const call: Call = { verb, attachment, program: 'ours', isAbandoned: false }
      return this.ours(call, this.checkedStore({ kind: 'plugin', call }))
    }
    const isFree = this.#rules.hasFree(network)
    const added = await run('ADD')
    if (isFree && added.kind !== 'addresses') {
      const why = added.kind === 'failed' ? added.why : added.kind
      this.problems.push(`at rest: an ADD of ${network.name} has no address, and one is free: ${why}`)
    }
    await run('DEL')
    for (const { address } of this.#rules.rowsOf(attachment)) {
      this.problems.push(`at rest: an ADD and a DEL of ${network.name} have left a row of ${address}`)
    }
  }

  protected override async call(call: Call, worker: string): Promise<Answer> {
    this.#upgrade.begins(call)
    const answer = await super.call(call, worker)
    this.#upgrade.ends(call)
    return answer
  }

  /** Without faults, until all is quiet. An old plugin would wait for the Lease without a limit. */
  async #restOnce(): Promise<void> {
    this.#upgrade.isResting = true
    const old = this.kubelets.filter(({ flavor }) => flavor === 'upstream')
    this.#replacePlugins()
    const rest = ++this.#rests.wanted
    await this.scheduler.turn('people', 'waits for a rest', () => this.#rests.done >= rest)
    this.#upgrade.isResting = false
    for (const kubelet of old) kubelet.flavor = 'upstream'
  }

  /** The report is read, plugins are replaced, and pools of blocks are made. */
  async #beginUpgrade(): Promise<void> {
    this.#upgrade.hasBegun = true
    const { store } = this.truth
    const list = async ({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }) =>
      unwrap(await store.list({ apiVersion, kind })).items
    const plan = planUpgrade({
      networks: configsOf(this.networks),
      pools: await list(POOL),
      reservations: await list(RESERVATION),
      pods: await list(Pod.info),
    })
    this.problems.push(...missingOddities(plan, this.#rules, this.networks))
    const names = new Set<string>()
    for (const network of this.networks) {
      for (const object of blockPoolsOf(network)) {
        if (!names.has(object.metadata.name)) unwrap(await store.create(object))
        names.add(object.metadata.name)
      }
      for (const range of network.ranges) {
        const { apiVersion, kind } = POOL
        const metadata = { namespace: NAMESPACE, name: poolNameOf(network, range) }
        await store.create({ apiVersion, kind, metadata, spec: { range: range.range, allocations: {} } })
      }
    }
    // what cannot be upgraded
    for (const { metadata } of this.#rules.stored.claims.values()) await store.delete(claimRef(metadata.name))
    for (const pod of this.#unusual) pod.wanted = 'gone'
    await this.check(PEOPLE)
    const [forgotten] = this.#forgets ? this.kubelets.filter(({ flavor }) => flavor === 'upstream') : []
    for (const kubelet of this.kubelets) if (kubelet !== forgotten) kubelet.flavor = 'ours'
    this.scheduler.note('people', `  begin the upgrade${forgotten ? `, and forget ${forgotten.name}` : ''}`)
  }

  /** Pods with a claim, and those that never report their addresses. */
  get #unusual(): readonly SimulatedPod[] {
    const pods = this.kubelets.flatMap((kubelet) => kubelet.pods)
    return pods.filter(({ tells, interfaces }) => {
      return tells === 'never' || tells === 'no JSON' || interfaces.some(({ claim }) => claim !== undefined)
    })
  }

  #replacePlugins(): void {
    for (const kubelet of this.kubelets) kubelet.flavor = 'ours'
  }

  async #run(name: string, task: Task): Promise<Outcome | undefined> {
    const source = this.source(
      () => ({ kind: 'controller', name, knows: this.truth.log.length }),
      () => ({ seen: this.truth.log.length, isDead: false, knows: 0 }),
    )
    const store = this.storeOf(name, source)
    let before: Parameters<typeof runTask>[3]
    try {
      for (;;) {
        const ended = await runTask(task, store, { now: () => this.nowMs }, before)
        if (ended.kind === 'done') return ended.outcome
        before = ended.kind === 'unsettled' ? ended.unsettled : undefined
        if (this.isRough && this.dice.chance(0.2)) return undefined
      }
    } catch (error) {
      if (error instanceof SimulatedCrash) return undefined
      this.problems.push(`${name} has thrown ${error instanceof Error ? error.stack : String(error)}`)
      return undefined
    }
  }

  async #disable(network: Network, disabled: boolean): Promise<void> {
    const { apiVersion, kind } = IPPool.info
    for (const { metadata } of blockPoolsOf(network)) {
      await this.truth.store.patch({ apiVersion, kind, name: metadata.name }, { spec: { disabled } })
    }
    await this.check(PEOPLE)
  }

  /** Deletes Pods whose rows are obstacles, and reservations without a Pod. */
  async #clear(pool: string, found: Found): Promise<void> {
    const { store } = this.truth
    const rows = this.#rules.stored.rows(pool)
    const podrefs = (found.oddities ?? []).flatMap(({ isObstacle, key }) =>
      isObstacle && key !== undefined ? (rows.find((row) => row.key === key)?.podref ?? []) : [],
    )
    for (const { old, block } of found.differences ?? [])
      podrefs.push(...[old, block].flatMap((text) => text?.split(' ')[0] ?? []))
    for (const { kind, address } of found.oddities ?? []) {
      if ((kind !== 'reservation-alone' && kind !== 'reserved-for-other') || address === undefined) continue
      for (const network of this.#upgrade.networksOf(pool)) {
        const name = reservationNameOf(network, Address.format(address))
        if (this.#rules.foreign.delete(name)) await store.delete(reservationRef(name))
        else podrefs.push(this.#rules.stored.reservations.get(name)?.podref ?? '')
      }
    }
    const pods = this.kubelets.flatMap((kubelet) => kubelet.pods)
    for (const podref of new Set(podrefs)) {
      const name = podref.split('/')[1] ?? ''
      const pod = pods.find((each) => each.name === name && each.wanted === 'running')
      this.scheduler.note('people', `  clear ${podref}`)
      if (pod !== undefined) pod.wanted = 'gone'
      else if (name !== 'bystander' && name !== 'probe') await this.people.deleteObject(name)
    }
    await this.check(PEOPLE)
  }

  async #checkRest(): Promise<void> {
    const rules = this.#rules
    const { networks } = this
    const found = [
      ...rowProblems({ rules }),
      ...reservationProblems({ rules, networks }),
      ...liveProblems({ rules }),
      ...rules.live.flatMap((attachment) => rules.lost(attachment)),
      ...rules.blocks.allRows.flatMap((row) => {
        const pod = rules.stored.pods.get(row.owner.split('/')[1] ?? '')
        return pod?.metadata.uid === row.uid ? [] : [`the row of ${row.address} of ${row.owner} is left in blocks`]
      }),
    ]
    for (const pool of this.#oldPools) found.push(...(await this.#verify(pool)))
    if (this.#oldPools.every((pool) => rules.phaseOf(pool) === 'finished')) {
      // the sweep may have written the reservation of a row again before the pool was deleted
      const left = [...rules.stored.reservations.values()].filter(({ name, podref }) => {
        return !rules.foreign.has(name) && !rules.stored.pods.has(podref.split('/')[1] ?? '')
      })
      found.push(...left.map(({ name }) => `the reservation ${name} is left after the upgrade`))
    }
    this.problems.push(...found.map((problem) => `at rest: ${problem}`))
  }

  /** Both sides name the same holders, as long as blocks alone have given nothing. */
  async #verify(pool: string): Promise<readonly string[]> {
    const phase = this.#rules.phaseOf(pool)
    if (phase === undefined || phase === 'finished') return []
    if (phase === 'blocks' && this.#upgrade.hadAddOnBlocks(pool)) return []
    const request = { pool, namespace: NAMESPACE, networks: configsOf(this.networks) }
    // rows from before the upgrade, and rows of upstream; then those whose address it has freed
    for (let runs = 0; phase === 'dual-write' && runs < 2; runs++) {
      const copied = await runTask(this.#steps.copyRows(request), this.truth.store, { now: () => this.nowMs })
      await this.check({ kind: 'controller', name: 'copyRows at rest', knows: this.truth.log.length })
      if (copied.kind === 'done' && copied.outcome.kind === 'notReady') return this.#unexplained(pool, copied.outcome)
    }
    const ended = await runTask(this.#steps.verifyUpgrade(request), this.truth.store, { now: () => this.nowMs })
    if (ended.kind !== 'done') return [`verifyUpgrade of ${pool} has failed`]
    return this.#unexplained(pool, ended.outcome)
  }

  /** What a statement says that does not follow from a Pod without its containers. */
  #unexplained(pool: string, outcome: Outcome): readonly string[] {
    const { differences = [], oddities = [] } = outcome as Found
    const { stored } = this.#rules
    const phase = this.#rules.phaseOf(pool)
    const isDown = ({ kind, old, block }: UpgradeDifference) => {
      const [podref, holder = ''] = (block ?? old ?? '').split(' ')
      const container = holder.split('/')[0]
      const isAlone = kind === 'surplus' || kind === 'missing'
      const isFormer = phase === 'blocks' && isAlone && this.#podOf(podref)?.sandbox?.id !== container
      return isFormer || [old, block].some((text) => this.#isDown(text?.split(' ')[0]))
    }
    const isExplained = ({ key, address, isObstacle }: UpgradeOddity) => {
      const row = stored.rows(pool).find((each) => each.key === key)
      const names = this.networks.map((network) => address && reservationNameOf(network, Address.format(address)))
      const reserved = names.map((name) => stored.reservations.get(name ?? '')?.podref)
      return !isObstacle || [row?.podref, ...reserved].some((podref) => this.#isDown(podref))
    }
    const left = [...differences.filter((each) => !isDown(each)), ...oddities.filter((each) => !isExplained(each))]
    if (left.length === 0) return []
    return [`the statement on ${pool} in ${phase} is ${outcome.kind}: ${JSON.stringify(left)}`]
  }

  #podOf(podref: string | undefined): SimulatedPod | undefined {
    const name = podref?.split('/')[1]
    return this.kubelets.flatMap((kubelet) => kubelet.pods).find((each) => each.name === name)
  }

  /** Whether a Pod exists that could not be set up, or was by upstream: one side may have its rows. */
  #isDown(podref: string | undefined): boolean {
    const name = podref?.split('/')[1]
    const pod = this.#podOf(podref)
    if (pod === undefined) return name !== undefined && this.#rules.stored.pods.has(name)
    if (pod.sandbox === undefined) return true
    return pod.sandbox.attachments.some(({ state, flavor }) => state !== 'live' || flavor === 'upstream')
  }
}

export const BLOCK_KINDS = [IPBlock.info, IPPool.info, IPDomain.info]
