import type { KindInfo } from '../../crd/meta/object.js'
import { check } from '../../errors/check.js'
import { refuse } from '../../errors/refuse.js'
import type { Change, EventEffect, Planner } from '../../plan/index.js'
import { objectLocks, runUntilQuiet } from '../../run/index.js'
import type { AnyCaller } from '../../run/plan/run-plan.js'
import type { ObjectLocks } from '../../run/task/object-locks.js'
import type { Store } from '../../store/index.js'
import { Dice } from './dice.js'
import { type ExternalWorld, faultyExternal } from './faulty-external.js'
import { ALL_FAULTS, EXTERNAL_FAULTS, type Fault, faultyStore } from './faulty-store.js'
import { Network } from './network.js'
import { planTwice } from './plan-twice.js'
import { Scheduler } from './scheduler.js'
import { simulatedLocks } from './simulated-locks.js'
import { Truth } from './truth.js'
import { Writer, type WriterWorld } from './writer.js'

/** A system to be simulated: what runs, what people do to it, and what must always hold. */
export interface SimulatedSystem {
  /** All kinds that it reads or writes. */
  readonly kinds: readonly KindInfo[]
  /** A fresh planner: each writer has its own. */
  planner(): Planner
  /**
   * The external system that planners call, if they call one: shared by all writers. It is to keep
   * what it does under the key of the call. Calls go wrong as those to the store do.
   */
  readonly external?: AnyCaller | undefined
  /**
   * The operations of `external` that only read: with the fault `external-stale-list` they are
   * answered with what was so up to 5 s before.
   */
  readonly externalReads?: readonly string[] | undefined
  /**
   * What carries the calls of a planner out, where that is work on the same store: each writer has
   * its own.
   */
  readonly externalOf?: ((planner: Planner, store: Store, options: ExternalOptions) => AnyCaller) | undefined
  /**
   * Given the clock of the simulation when it begins, in milliseconds since 1970: for external
   * systems that know the time.
   */
  clock?(now: () => number): void
  /** What is there at the beginning. */
  prepare(store: Store, dice: Dice): Promise<void>
  /**
   * What people do, one step: creates, changes, deletes something. What is refused is no mistake.
   */
  act(store: Store, dice: Dice): Promise<void>
  /** A fresh set of rules. */
  rules(): SimulationRules
}

export interface ExternalOptions {
  readonly now: () => number
  /** How tasks of one writer wait for each other. */
  readonly locks: ObjectLocks
}

export interface SimulationRules {
  /** Called after every change of what is stored. @returns what is wrong, if anything is */
  observe(change: Change, write: ObservedWrite): string | undefined
  /** Called with every Event that a planner sends. @returns what is wrong, if anything is */
  onEvent?(event: EventEffect): string | undefined
  /** Called when everything is quiet. @returns what is wrong, if anything is */
  atRest(store: Store): Promise<string | undefined>
}

/** What a change is of. */
export interface ObservedWrite {
  /**
   * Whether the writer passed its check that it may write, stood still (`stand-still`), and sent
   * the write later.
   */
  readonly isHeldBack: boolean
  /** The writer that the change is of. Left out: people, or what was there before. */
  readonly by?: ObservedWriter | undefined
}

/** A writer, as rules see it. */
export interface ObservedWriter {
  readonly name: string
  /**
   * How many changes, counted from the first one that was observed, the writer had been told of
   * when it made the write: by the oldest of the plans that it carried out. It may have been told
   * of later ones as well. What follows from these changes it has to respect; what contradicts a
   * later one is no mistake.
   */
  readonly knows: number
}

export interface SimulationOptions {
  readonly system: SimulatedSystem
  /** Decides everything that is left to chance: the same seed, the same run. */
  readonly seed: number
  /** How many writers there are, from 1 to 64. Default 2. */
  readonly writers?: number | undefined
  /**
   * `one`: one writer at a time, elected anew when it dies or gives up; the next begins from a list
   * of its own. `all`: every writer at once, for systems whose ledger allows that. Default `one`.
   */
  readonly mayWrite?: 'one' | 'all' | undefined
  /** How many steps people do. Default 12. */
  readonly actions?: number | undefined
  /**
   * Default: {@link ALL_FAULTS}. Beside those: `refused`, `stand-still`, which only systems can
   * live with that repair what it does, and {@link EXTERNAL_FAULTS}.
   */
  readonly faults?: readonly Fault[] | undefined
  /** How probable a fault is for each call, from 0 to 1. Default 0.15. */
  readonly faultProbability?: number | undefined
  /** How many plans a writer carries out at a time, from 1 to 64. Default 1. */
  readonly concurrency?: number | undefined
  /** Whether planners are shown own writes at once, as they have to be. Default true. */
  readonly showsOwnWrites?: boolean | undefined
  /**
   * Whether a writer takes it for an answer if it does not find what it may have written. That is
   * wrong, and shows what `settle` is for. Default false.
   */
  readonly settlesByReading?: boolean | undefined
  /** How many turns a simulation may take before it counts as never quiet. Default 20,000. */
  readonly maxTurns?: number | undefined
  /**
   * How often time continues to when a writer has waited enough, at most: some systems look after
   * themselves again and again, for ever, and that is as quiet as they get. A whole number from 0,
   * default 20.
   */
  readonly maxJumps?: number | undefined
}

export interface SimulationResult {
  readonly seed: number
  /** What was wrong, in the order in which it was found. Empty: nothing. */
  readonly problems: readonly string[]
  /** The steps of all writers, in order. The seed repeats them. */
  readonly schedule: readonly string[]
  /** How many faults there were. */
  readonly faults: number
}

/**
 * Runs controllers against one store, with faults at every call, in an order that the seed decides;
 * then, without faults, until everything is quiet. Nothing waits for real time: a run of some
 * hundred calls takes milliseconds.
 *
 * Found at the end: whatever a rule has said, a writer that has thrown, a system that never comes
 * to rest, and a fresh planner that still finds something to do.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 * @example
 * const { problems, schedule } = await simulate({ system: inClusterSystem(), seed: 1, writers: 3 })
 */
export async function simulate(options: SimulationOptions): Promise<SimulationResult> {
  check('simulate', 'options', options, ['open', { system: 'object', seed: 'number' }])

  assertOptions(options)
  return new Simulation(options).run()
}

/** How many turns people leave at most between two steps. */
const MAX_PAUSE = 24

/** Time continues by this much with every turn. */
const TURN_MS = 50
const START_MS = 1_767_225_600_000

class Simulation {
  readonly #options: SimulationOptions
  readonly #dice: Dice
  readonly #scheduler: Scheduler
  readonly #network: Network
  readonly #truth: Truth
  readonly #rules: SimulationRules
  readonly #external: ExternalWorld
  readonly #problems: string[] = []
  #ruler: Writer | undefined
  #isRough = true
  #turns = 0
  #jumps = 0
  #nowMs = START_MS
  readonly #writers: Writer[] = []
  #faults = 0

  constructor(options: SimulationOptions) {
    this.#options = options
    this.#dice = new Dice(options.seed)
    this.#scheduler = new Scheduler(this.#dice)
    this.#network = new Network(this.#dice, this.#scheduler)
    this.#truth = new Truth(options.system.kinds, () => this.#now())
    this.#rules = options.system.rules()
    this.#external = {
      scheduler: this.#scheduler,
      network: this.#network,
      now: () => this.#now(),
      reads: options.system.externalReads ?? [],
      answers: new Map(),
    }
  }

  async run(): Promise<SimulationResult> {
    const { system, seed, writers = 2, actions = 12, maxTurns = 20_000 } = this.#options
    system.clock?.(() => this.#now())
    await system.prepare(this.#truth.store, this.#dice)
    await this.#check()
    for (let i = 1; i <= writers; i++) await this.#startWriter(`writer ${i}`)
    await this.#scheduler.start(() => this.#network.live())
    await this.#scheduler.start(() => this.#people(actions))
    while (this.#problems.length === 0 && ((await this.#scheduler.step()) || this.#jump())) {
      this.#nowMs += TURN_MS
      if (++this.#turns >= maxTurns) this.#problems.push(`still not quiet after ${maxTurns} turns`)
    }
    if (this.#problems.length === 0) await this.#checkRest()
    const { schedule } = this.#scheduler
    return { seed, problems: this.#problems, schedule, faults: this.#faults }
  }

  async #startWriter(name: string): Promise<void> {
    const { system, mayWrite = 'one', showsOwnWrites = true, faults = ALL_FAULTS } = this.#options
    const { faultProbability = 0.15, settlesByReading = false, concurrency = 1 } = this.#options
    const world: WriterWorld = {
      truth: this.#truth,
      scheduler: this.#scheduler,
      dice: this.#dice,
      now: () => this.#now(),
      mayWrite: (writer) => {
        if (mayWrite === 'all') return true
        return this.#ruler === undefined || this.#ruler === writer
      },
      canWrite: (writer) => mayWrite === 'all' || this.#ruler === writer,
      begins: (writer) => {
        this.#ruler = writer
      },
      ends: (writer) => this.#network.ends(writer.name),
      resigned: (writer) => {
        if (this.#ruler === writer) this.#ruler = undefined
      },
      isRough: () => this.#isRough,
      concurrency,
      showsOwnWrites,
      failed: (problem) => void this.#problems.push(problem),
      onEvent: (event) => {
        const problem = this.#rules.onEvent?.(event)
        if (problem !== undefined) this.#problems.push(problem)
      },
    }
    const parts = { scheduler: this.#scheduler, network: this.#network }
    const source = {
      dice: this.#dice,
      faults: () => ({ kinds: this.#isRough ? faults : [], probability: faultProbability }),
      settlesByReading,
      seen: () => writer.seen,
      isDead: () => writer.isDead,
      stands: () => {
        if (this.#ruler === writer) this.#ruler = undefined
      },
      happened: () => void this.#faults++,
      knows: () => writer.knows,
      written: (isHeldBack: boolean, knows: number) => this.#check({ isHeldBack, by: { name, knows } }),
    }
    const store = faultyStore(this.#truth, name, parts, source)
    const planner = system.planner()
    const external =
      system.externalOf?.(planner, store, {
        now: world.now,
        locks: simulatedLocks(objectLocks(), this.#scheduler, name),
      }) ??
      (system.external && faultyExternal(system.external, name, this.#external, source))
    const writer: Writer = new Writer(name, world, { store, planner, external })
    this.#writers.push(writer)
    await this.#scheduler.start(() => writer.live())
    if (concurrency === 1) return
    for (let n = 1; n <= concurrency; n++) await this.#scheduler.start(() => writer.work(`${name}.${n}`))
  }

  /** People do what they do; when they have done it, nothing goes wrong any more. */
  async #people(actions: number): Promise<void> {
    for (let i = 0; i < actions; i++) {
      await this.#scheduler.turn('people', `act ${i + 1}`)
      await this.#options.system.act(this.#truth.store, this.#dice)
      await this.#check()
      // they leave some time in between
      for (let pause = this.#dice.below(MAX_PAUSE); pause > 0; pause--) await this.#scheduler.turn('people', 'wait')
    }
    this.#isRough = false
  }

  async #check(write: ObservedWrite = { isHeldBack: false }): Promise<void> {
    for (const { change } of await this.#truth.catchUp()) {
      const problem = this.#rules.observe(change, write)
      if (problem !== undefined) this.#problems.push(problem)
    }
  }

  async #checkRest(): Promise<void> {
    const { system } = this.#options
    const problem = await this.#rules.atRest(this.#truth.store)
    if (problem !== undefined) this.#problems.push(`at rest: ${problem}`)
    const planner = planTwice(system.planner(), (found) => this.#problems.push(`at rest: ${found}`))
    const now = () => this.#now()
    const external = system.externalOf?.(planner, this.#truth.store, { now, locks: objectLocks() }) ?? system.external
    const fresh = await runUntilQuiet(this.#truth.store, [planner], { now, external })
    if (fresh.written > 0) this.#problems.push(`at rest: a fresh planner still wrote ${fresh.written} objects`)
    for (const { key, failure } of fresh.failures) this.#problems.push(`at rest: ${key}: ${failure.message}`)
  }

  /**
   * Where nothing is left to do but to wait, time continues to when the first one has waited
   * enough.
   */
  #jump(): boolean {
    const dueMs = Math.min(...this.#writers.map((writer) => writer.dueMs))
    if (!Number.isFinite(dueMs) || this.#jumps >= (this.#options.maxJumps ?? 20)) return false
    this.#jumps++
    this.#nowMs = Math.max(this.#nowMs, dueMs)
    return true
  }

  #now(): number {
    return this.#nowMs
  }
}

function assertOptions(options: SimulationOptions): void {
  const { seed, writers = 2, concurrency = 1, faultProbability = 0, actions = 0, maxTurns = 1, maxJumps = 0 } = options
  const { mayWrite = 'one', faults = [] } = options
  if (!Number.isSafeInteger(seed)) refuse('simulate', 'seed', 'a whole number', seed)
  for (const [argument, count] of Object.entries({ writers, concurrency })) {
    if (!Number.isInteger(count) || count < 1 || count > 64)
      refuse('simulate', argument, 'a whole number from 1 to 64', count)
  }
  if (!(faultProbability >= 0 && faultProbability <= 1))
    refuse('simulate', 'faultProbability', 'from 0 to 1', faultProbability)
  if (!Number.isSafeInteger(actions) || actions < 0) refuse('simulate', 'actions', 'a whole number from 0', actions)
  if (!Number.isSafeInteger(maxJumps) || maxJumps < 0) refuse('simulate', 'maxJumps', 'a whole number from 0', maxJumps)
  if (!Number.isSafeInteger(maxTurns) || maxTurns < 1) refuse('simulate', 'maxTurns', 'a whole number from 1', maxTurns)
  if (mayWrite !== 'one' && mayWrite !== 'all') refuse('simulate', 'mayWrite', 'one or all', mayWrite)
  const known: readonly Fault[] = [...ALL_FAULTS, 'refused', 'stand-still', ...EXTERNAL_FAULTS]
  const isKnown = Array.isArray(faults) && faults.every((fault) => known.includes(fault))
  if (!isKnown) refuse('simulate', 'faults', `some of ${known.join(', ')}`, faults)
}
