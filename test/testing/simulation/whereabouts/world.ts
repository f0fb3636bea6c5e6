import type { KindInfo } from 'ipam-kit/crd/meta'
import type { Planner, Task } from 'ipam-kit/plan'
import { runTask } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { Dice, type Fault, SimulatedCrash, storeOver } from 'ipam-kit/testing'
import { type FaultSource, faultyStore } from '../../../../src/testing/simulation/faulty-store.js'
import { Network as SlowNetwork } from '../../../../src/testing/simulation/network.js'
import { Scheduler } from '../../../../src/testing/simulation/scheduler.js'
import { Truth } from '../../../../src/testing/simulation/truth.js'
import { Writer, type WriterWorld } from '../../../../src/testing/simulation/writer.js'
import { type Attachment, type Flavor, newPod, newSandbox } from './attachments.js'
import { KINDS } from './kinds.js'
import { type Answer, type Call, Kubelet, type KubeletWorld } from './kubelet.js'
import type { Library } from './library.js'
import { type Network, pickNetworks } from './networks.js'
import { People, PROBE } from './people.js'
import { pruned } from './pruned-store.js'
import { restProblems } from './rest.js'
import { type Actor, Rules } from './rules.js'
import { type UpstreamProcess, upstreamAdd, upstreamDel } from './upstream.js'

export interface WorldOptions {
  readonly seed: number
  readonly nodes: number | undefined
  readonly flavors: readonly Flavor[] | undefined
  readonly actions: number
  readonly faults: readonly Fault[]
  readonly library: Library
  readonly maxTurns: number
  readonly setting?: Setting | undefined
}

/** The parts that a world of nodes may replace. */
export interface Setting {
  /** The kinds beside those of whereabouts. */
  readonly kinds: readonly KindInfo[]
  readonly networks: (dice: Dice) => readonly Network[]
  readonly rules: Rules
  /** {@link PeopleWorld.isPlain} */
  readonly isPlain: () => boolean
}

const START_MS = 1_767_225_600_000
const TURN_MS = 20
const WAIT_MS = 5000
/** How long nothing was written when all is quiet. */
const QUIET_MS = 3 * 3_600_000
const MAX_JUMPS = 3000
const PEOPLE: Actor = { kind: 'people' }

/** Nodes, controllers and people on one API server. */
export class World {
  readonly #options: WorldOptions
  protected readonly dice: Dice
  protected readonly scheduler: Scheduler
  protected readonly slow: SlowNetwork
  protected readonly truth: Truth
  protected readonly rules: Rules
  protected readonly networks: readonly Network[]
  protected readonly kubelets: Kubelet[] = []
  readonly #controllers: Writer[] = []
  protected readonly people: People
  readonly problems: string[] = []
  /** Whether nodes of upstream have its defects. */
  protected readonly hasDefects: boolean
  /** {@link UpstreamProcess.honoursRecord} */
  protected readonly honoursRecord: boolean
  /** Whether the API server drops members of rows that the definitions of upstream do not have. */
  protected readonly prunes: boolean
  readonly #faultProbability: number
  protected isRough = true
  #sendsDels = true
  protected nowMs = START_MS
  #writtenMs = START_MS
  #jumps = 0
  #faults = 0

  constructor(options: WorldOptions) {
    this.#options = options
    this.dice = new Dice(options.seed)
    this.scheduler = new Scheduler(this.dice)
    this.slow = new SlowNetwork(this.dice, this.scheduler)
    const { setting } = options
    this.truth = new Truth([...KINDS, ...(setting?.kinds ?? [])], () => this.nowMs)
    this.rules = setting?.rules ?? new Rules({ keepsCompleted: this.dice.chance(0.5) })
    this.networks = (setting?.networks ?? pickNetworks)(this.dice)
    this.hasDefects = this.dice.chance(0.25)
    this.prunes = this.dice.chance(0.5)
    this.honoursRecord = this.dice.chance(0.5)
    this.#faultProbability = this.dice.pick([0.03, 0.1, 0.1, 0.2])
    this.people = new People({
      store: this.truth.store,
      dice: this.dice,
      networks: this.networks,
      kubelets: this.kubelets,
      rules: this.rules,
      isPlain: setting?.isPlain ?? (() => false),
      note: (text) => this.scheduler.note('people', `  ${text}`),
    })
  }

  get schedule(): readonly string[] {
    return this.scheduler.schedule
  }

  get faults(): number {
    return this.#faults
  }

  async run(): Promise<void> {
    const { actions, maxTurns, nodes = this.dice.pick([2, 2, 3, 4]), library } = this.#options
    await this.people.prepare()
    await this.check(PEOPLE)
    const flavors = this.#options.flavors ?? this.#flavors(nodes)
    for (const [nth, flavor] of flavors.entries()) await this.#startNode(`node-${nth + 1}`, flavor)
    const controllers = {
      graceSeconds: this.dice.pick([300, 900]),
      completedPods: this.rules.keepsCompleted ? 'keep' : 'free',
      // for networks that reserve addresses alone
      createReservations: this.networks.every(({ overlap }) => overlap) && this.dice.chance(0.5),
    } as const
    for (const planner of library.planners(controllers)) {
      const count = this.dice.pick([1, 1, 2])
      for (let nth = 1; nth <= count; nth++) await this.#startController(nth, planner())
    }
    await this.begin()
    await this.scheduler.start(() => this.slow.live())
    await this.scheduler.start(() => this.live(actions))
    let turns = 0
    while (this.problems.length === 0 && ((await this.scheduler.step()) || this.#jump() || (await this.atQuiet()))) {
      this.nowMs += TURN_MS
      if (++turns >= maxTurns) this.problems.push(`still not quiet after ${maxTurns} turns`)
    }
    if (this.problems.length === 0) await this.rest()
  }

  /** Other actors begin. */
  protected async begin(): Promise<void> {}

  /** Called when all is quiet. @returns whether something continues */
  protected async atQuiet(): Promise<boolean> {
    return false
  }

  /** After each step of the people. */
  protected async acted(): Promise<void> {}

  /** When the people have done their steps, and nothing goes wrong any more. */
  protected async settled(): Promise<void> {}

  /** When one of the other actors has something to do next. */
  protected get dueMs(): number {
    return Infinity
  }

  /** In two of three schedules some nodes, but not all, run upstream. */
  #flavors(nodes: number): readonly Flavor[] {
    const isMixed = this.dice.chance(0.6)
    return Array.from({ length: nodes }, (_, nth) =>
      nth > 0 && isMixed && this.dice.chance(0.5) ? 'upstream' : 'ours',
    )
  }

  async #startNode(name: string, flavor: Flavor): Promise<void> {
    const workers = this.dice.pick([1, 2, 3])
    const world: KubeletWorld = {
      scheduler: this.scheduler,
      dice: this.dice,
      store: this.truth.store,
      now: () => this.nowMs,
      isRough: () => this.isRough,
      sendsDels: () => this.#sendsDels,
      call: (call, worker) => this.call(call, worker),
      made: (sandbox) => this.rules.made(sandbox),
      wrote: () => this.check(PEOPLE),
    }
    const kubelet = new Kubelet(name, { flavor, workers }, world)
    this.kubelets.push(kubelet)
    await this.scheduler.start(() => kubelet.live())
    for (let nth = 1; nth <= workers; nth++) await this.scheduler.start(() => kubelet.work(`${name}.${nth}`))
  }

  async #startController(nth: number, planner: Planner): Promise<void> {
    const name = `${planner.name} ${nth}`
    const world: WriterWorld = {
      truth: this.truth,
      scheduler: this.scheduler,
      dice: this.dice,
      now: () => this.nowMs,
      mayWrite: () => true,
      canWrite: () => true,
      begins: () => {},
      ends: (writer) => this.slow.ends(writer.name),
      resigned: () => {},
      isRough: () => this.isRough,
      concurrency: 1,
      showsOwnWrites: true,
      failed: (problem) => void this.problems.push(problem),
    }
    const of = () => ({ seen: writer.seen, isDead: writer.isDead, knows: writer.knows })
    const store = this.storeOf(
      name,
      this.source((knows) => ({ kind: 'controller', name, knows }), of),
    )
    const writer: Writer = new Writer(name, world, { store, planner, external: undefined })
    this.#controllers.push(writer)
    await this.scheduler.start(() => writer.live())
  }

  /** The API server as a program sees it. */
  protected storeOf(name: string, source: FaultSource, program: Flavor = 'ours'): Store {
    const store = faultyStore(this.truth, name, { scheduler: this.scheduler, network: this.slow }, source)
    return this.prunes && program === 'ours' ? pruned(store) : store
  }

  protected source(
    actorOf: (knows: number) => Actor,
    of: () => { readonly seen: number; readonly isDead: boolean; readonly knows: number },
  ): FaultSource {
    const { faults } = this.#options
    return {
      dice: this.dice,
      faults: () => ({ kinds: this.isRough ? faults : [], probability: this.#faultProbability }),
      settlesByReading: false,
      seen: () => of().seen,
      isDead: () => of().isDead,
      happened: (what) => {
        this.#faults++
        const actor = actorOf(0)
        if (what === 'late-call' && actor.kind === 'plugin' && actor.call.verb === 'ADD')
          actor.call.attachment.hasLateWrites = true
      },
      knows: () => of().knows,
      written: (_, knew) => this.check(actorOf(knew)),
    }
  }

  /** A call of the plugin: a process of its own. */
  protected async call(call: Call, worker: string): Promise<Answer> {
    const { verb, attachment, program } = call
    const { sandbox, ifname, network } = attachment
    this.scheduler.note(worker, `  ${verb} ${sandbox.id} ${ifname} ${network.name} (${program})`)
    const isOurs = program === 'ours'
    const actor: Actor = isOurs ? { kind: 'plugin', call } : { kind: 'upstream' }
    const source = this.source(
      () => actor,
      () => ({ seen: this.truth.log.length, isDead: false, knows: 0 }),
    )
    let answer: Answer
    try {
      const store = this.storeOf(worker, source, program)
      answer = isOurs ? await this.ours(call, store) : await this.#upstream(call, worker, store)
    } catch (error) {
      if (!(error instanceof SimulatedCrash)) {
        this.problems.push(`${worker} has thrown ${error instanceof Error ? error.stack : String(error)}`)
      }
      answer = { kind: 'crashed' }
    }
    if (this.dice.chance(0.5)) await this.slow.ends(worker)
    const text = answer.kind === 'addresses' ? answer.addresses.join() : answer.kind === 'failed' ? answer.why : ''
    this.scheduler.note(worker, `  ${answer.kind} ${text}`)
    return answer
  }

  protected async ours(call: Call, store: Store): Promise<Answer> {
    const { library } = this.#options
    const task: Task = library.task(call)
    let before: Parameters<typeof runTask>[3]
    for (;;) {
      const ended = await runTask(task, store, { now: () => this.nowMs, maxConflicts: 30, maxSettles: 2 }, before)
      if (ended.kind === 'done') {
        const answer = library.answerOf(call, ended.outcome)
        if (call.verb === 'ADD' && answer.kind === 'addresses') this.rules.added(call, answer)
        if (call.verb === 'DEL' && answer.kind === 'done') this.rules.deleted(call)
        if (call.verb === 'CHECK' && answer.kind === 'failed') this.rules.missed(call, answer.why)
        this.problems.push(...this.rules.problems.splice(0))
        return answer
      }
      before = ended.kind === 'unsettled' ? ended.unsettled : undefined
      if (!this.isRough || this.dice.chance(0.5)) continue
      return { kind: 'failed', why: ended.failure.code }
    }
  }

  async #upstream(call: Call, name: string, store: UpstreamProcess['store']): Promise<Answer> {
    const process: UpstreamProcess = {
      name,
      store,
      scheduler: this.scheduler,
      dice: this.dice,
      now: () => this.nowMs,
      changes: () => this.truth.log.length,
      hasDefects: this.hasDefects,
      honoursRecord: this.honoursRecord,
    }
    if (call.verb === 'DEL') return upstreamDel(process, call.attachment)
    const answer = await upstreamAdd(process, call.attachment)
    if (answer.kind === 'addresses') this.rules.added(call, answer)
    return answer
  }

  protected async live(actions: number): Promise<void> {
    for (let nth = 1; nth <= actions; nth++) {
      await this.scheduler.turn('people', `act ${nth}`)
      await this.people.act()
      await this.check(PEOPLE)
      await this.acted()
      await this.#wait()
      for (let pause = this.dice.below(40); pause > 0; pause--) await this.scheduler.turn('people', 'wait')
    }
    this.isRough = false
    await this.settled()
    if (!this.dice.chance(0.5)) return
    this.#sendsDels = this.dice.chance(0.5)
    await this.people.deleteAll()
    await this.check(PEOPLE)
  }

  /** Lets minutes pass, as long as nothing is under way that takes seconds. */
  async #wait(): Promise<void> {
    for (; this.people.waitMs > 0; this.people.waitMs -= WAIT_MS) {
      await this.scheduler.turn('people', `wait ${WAIT_MS / 1000} s`)
      if (this.kubelets.every((kubelet) => kubelet.mayWait)) this.nowMs += WAIT_MS
    }
  }

  protected async check(actor: Actor): Promise<void> {
    for (const { change } of await this.truth.catchUp()) {
      this.#writtenMs = this.nowMs
      this.rules.observe(change, actor)
    }
    if (this.rules.problems.length > 0) this.problems.push(...this.rules.problems.splice(0))
  }

  /** If nothing can continue, time passes to when the first one has something to do. */
  #jump(): boolean {
    const isBusy = this.kubelets.some((kubelet) => kubelet.isBusy)
    const nodesMs = Math.min(...this.kubelets.map((kubelet) => kubelet.dueMs))
    const controllersMs = Math.min(this.dueMs, ...this.#controllers.map((controller) => controller.dueMs))
    const isIdle = !isBusy && !Number.isFinite(nodesMs) && !Number.isFinite(this.dueMs)
    const isQuiet = isIdle && this.nowMs - this.#writtenMs > QUIET_MS
    if (isQuiet || ++this.#jumps > MAX_JUMPS) return false
    // a node whose workers all wait cannot do what is due
    const isStuck = isBusy && nodesMs <= this.nowMs
    const dueMs = Math.min(isStuck ? Infinity : nodesMs, controllersMs, isBusy ? this.nowMs + 1500 : Infinity)
    if (!Number.isFinite(dueMs)) return false
    this.nowMs = Math.max(this.nowMs + 1, dueMs)
    return true
  }

  protected async rest(): Promise<void> {
    for (const kubelet of this.kubelets)
      if (kubelet.isBusy) this.problems.push(`at rest: ${kubelet.name} is still busy`)
    const probes = this.networks.map((network) => this.probeOf(network))
    const probe = async (verb: 'ADD' | 'DEL', network: Network): Promise<Answer> => {
      const attachment = probes[this.networks.indexOf(network)] as Attachment
      const call: Call = { verb, attachment, program: 'ours', isAbandoned: false }
      return this.ours(call, this.checkedStore({ kind: 'plugin', call }))
    }
    const found = await restProblems({
      store: this.truth.store,
      rules: this.rules,
      networks: this.networks,
      hasDefects: this.hasDefects,
      add: (network) => probe('ADD', network),
      del: (network) => probe('DEL', network),
    })
    this.problems.push(...found.map((problem) => `at rest: ${problem}`))
  }

  /** A store without faults whose writes are checked at once. */
  protected checkedStore(actor: Actor): Store {
    const { store } = this.truth
    const checked = async <T>(answer: Promise<T>): Promise<T> => {
      const done = await answer
      await this.check(actor)
      return done
    }
    return storeOver(store, {
      create: (object) => checked(store.create(object)),
      update: (object, options) => checked(store.update(object, options)),
      patch: (ref, patch, options) => checked(store.patch(ref, patch, options)),
      delete: (ref, options) => checked(store.delete(ref, options)),
    })
  }

  /** An interface that is there for one ADD and one DEL. */
  protected probeOf(network: Network): Attachment {
    const name = PROBE
    const uid = this.rules.stored.pods.get(name)?.metadata.uid as string
    const pod = newPod({ name, uid, node: 'node-1', interfaces: [{ ifname: 'net1', network }], tells: 'never' })
    const sandbox = newSandbox(pod, 'ours', `probe-${network.name}`)
    this.rules.made(sandbox)
    return sandbox.attachments[0] as Attachment
  }
}
