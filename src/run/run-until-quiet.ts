import { formatRef, kindKey } from '../crd/meta/object.js'
import { check, type KindOf } from '../errors/check.js'
import { RUN_LIMIT_EXCEEDED, STORE_IO } from '../errors/definitions.js'
import { ipamError } from '../errors/failure.js'
import { type Failure, IpamError } from '../errors/index.js'
import { refuse } from '../errors/refuse.js'
import {
  type Change,
  type EventEffect,
  ObjectCache,
  type Outcome,
  type Planner,
  type Selection,
} from '../plan/index.js'
import { type Applied, type ApplyOptions, isOlderVersion } from '../plan/object-cache.js'
import type { Store, StoreFailure } from '../store/index.js'
import { STORE } from '../store/store.js'
import { assertCanWrite, type CanWrite } from './can-write.js'
import { Fifo, type Queued } from './controller/fifo.js'
import { assertLimit, assertPlanners, completeUnshared, PLANNERS } from './limits.js'
import { type KeyResult, runKey } from './plan/run-key.js'
import type { AnyCaller } from './plan/run-plan.js'
import { UnsettledError } from './plan/settle.js'

export interface Progress {
  /** Plans made so far. */
  readonly planned: number
  /** Writes that were answered so far. One whose answer was lost is not counted. */
  readonly written: number
  /** Keys that wait for a plan. */
  readonly waiting: number
}

export interface RunUntilQuietOptions {
  /** The clock: milliseconds since 1970. */
  readonly now: () => number
  /** Called after each plan. */
  readonly onProgress?: ((progress: Progress) => void) | undefined
  readonly onEvent?: ((event: EventEffect) => void) | undefined
  /**
   * Carries out the external calls of plans. Required if a planner makes such calls
   * ({@link Planner.onResult}).
   */
  readonly external?: AnyCaller | undefined
  /**
   * Called directly before every write and every external call: {@link CanWrite}. If it returns
   * false, every plan that has something to write fails.
   */
  readonly canWrite?: CanWrite | undefined
  /** The number of conflicts in a row after which a key has failed. Default 20. */
  readonly maxConflicts?: number | undefined
  /**
   * The number of plans of one key after which `RUN_LIMIT_EXCEEDED` is thrown: the planner never
   * stops writing. Default 1,000.
   */
  readonly maxPlansPerKey?: number | undefined
}

const RUN_UNTIL_QUIET_OPTIONS: KindOf<RunUntilQuietOptions> = {
  now: 'function',
  onProgress: 'function?',
  onEvent: 'function?',
  external: 'function?',
  canWrite: 'function?',
  maxConflicts: 'number?',
  maxPlansPerKey: 'number?',
}

/**
 * A plan that could not be carried out: the store refused an effect, or the limit of conflicts was
 * reached. The run continues with the other keys.
 */
export interface RunFailure {
  readonly planner: string
  readonly key: string
  readonly failure: StoreFailure
}

/** The result of a run. */
export interface QuietResult<O extends Outcome = Outcome> {
  /** The last outcome of every key, in the order in which they were first planned. */
  readonly outcomes: ReadonlyMap<string, O>
  readonly failures: readonly RunFailure[]
  readonly planned: number
  /** Writes that were answered. One whose answer was lost is not counted. */
  readonly written: number
  /**
   * When the earliest key asks to be planned again, in seconds from now, at most `resyncSeconds` of
   * its planner. `undefined`: no key does.
   */
  readonly requeueAfterSeconds?: number | undefined
}

/**
 * Lists what the planners watch, and plans and writes until nothing is left to do. For tests,
 * demos, one-shot tools and embedded use. A long-running program uses {@link Controller} instead.
 *
 * Other programs may write at the same time: the run ends when a fresh list has no changes. Every
 * run begins from what is stored, and plans every key. So a later run finishes one that was
 * interrupted, as soon as no write of the first run can still arrive at the store.
 *
 * A run with the same planners on the same store continues the last run: the planners keep their
 * state, for example since when an object is missing. Call it again after `requeueAfterSeconds`.
 * The planners are reset first in all other cases:
 *
 * - one of them was run by a {@link Controller}, or with other planners, or on another store
 * - the last run threw an error, other than for a list
 * - the store was restored to an earlier state
 * - one of them has no {@link Planner.objects}
 *
 * @throws IpamError one of:
 *
 * - `INVALID_ARGUMENT`
 * - `RUN_LIMIT_EXCEEDED` if planners or other writers never stop writing
 * - the code of the store, if a list fails, or a read after a conflict. No write is in flight then,
 *   and the next run continues from there
 *
 * @throws UnsettledError `STORE_OUTCOME_UNKNOWN` if the outcome of a write is unknown, because the
 * store has not answered since. The write may still be done: begin no other run before `settle` has
 * answered
 */
export async function runUntilQuiet<O extends Outcome>(
  store: Store,
  planners: readonly Planner<O>[],
  options: RunUntilQuietOptions,
): Promise<QuietResult<O>> {
  check('runUntilQuiet', 'store', store, STORE)
  check<unknown>('runUntilQuiet', 'planners', planners, PLANNERS)
  check('runUntilQuiet', 'options', options, RUN_UNTIL_QUIET_OPTIONS)

  assertOptions(planners, options)
  const continued = await Run.before(store, planners)?.continue(options)
  return continued ?? new Run(store, planners, options).run()
}

const NEVER = Number.POSITIVE_INFINITY

/** A key of a planner, and its state in this run. */
interface Job<O extends Outcome> extends Queued {
  readonly planner: Planner<O>
  readonly key: string
  plans: number
  /**
   * It met conflict after conflict and gets no further plan in this run: its failure is what the
   * run reports of it.
   */
  isGivenUp: boolean
  outcome: O | undefined
  failure: StoreFailure | undefined
  dueMs: number
}

/** When a key is planned: repairs first, aggregate keys when no other key is left. */
function placeOf<O extends Outcome>({ planner, key }: Job<O>): 0 | 1 | 2 {
  if (planner.isRepair?.(key) === true) return 0
  return planner.isAggregate(key) ? 2 : 1
}

/** The cache of a run: by it the next run of its planners finds the run. */
class RunCache<O extends Outcome> extends ObjectCache {
  readonly run: Run<O>

  constructor(run: Run<O>, onAnnounced: (applied: Applied) => void) {
    super({ onAnnounced })
    this.run = run
  }
}

class Run<O extends Outcome> {
  readonly #store: Store
  readonly #planners: readonly Planner<O>[]
  #options: RunUntilQuietOptions
  /** The objects of all planners. */
  readonly #cache: RunCache<O> = new RunCache(this, (applied) => this.#announced(applied))
  readonly #selections: readonly Selection[]
  /** The version of the last list. */
  readonly #reached = new Map<Selection, string>()
  readonly #jobs = new Map<string, Job<O>>()
  /** Keys that wait: by {@link placeOf}. */
  readonly #queues = [new Fifo<Job<O>>(), new Fifo<Job<O>>(), new Fifo<Job<O>>()] as const
  #waiting = 0
  #planned = 0
  #written = 0
  /**
   * The clock of the cache when a run ended with no plan in progress. If the clock differs later, a
   * program has changed the cache by one planner, and the other planners did not observe that.
   */
  #endedAt: number | undefined

  /** The last run of the same planners on the same store, if it can continue. */
  static before<O extends Outcome>(store: Store, planners: readonly Planner<O>[]): Run<O> | undefined {
    const cache = planners[0]?.objects
    if (!(cache instanceof RunCache)) return undefined
    const run = cache.run as Run<O>
    const isSame = planners.length === run.#planners.length && planners.every((each) => run.#planners.includes(each))
    const isOurs = isSame && store === run.#store && planners.every(({ objects }) => objects === cache)
    return isOurs && run.#endedAt === cache.clock ? run : undefined
  }

  constructor(store: Store, planners: readonly Planner<O>[], options: RunUntilQuietOptions) {
    this.#store = store
    this.#planners = planners
    this.#options = options
    const selections = new Map<string, Selection>()
    for (const planner of planners) {
      planner.reset()
      planner.share?.(this.#cache)
      for (const selection of planner.watches) selections.set(this.#cache.selectionKey(selection), selection)
    }
    this.#selections = [...selections.values()]
  }

  async run(): Promise<QuietResult<O>> {
    const restored = await this.#resync()
    if (restored !== undefined) throw restored
    return this.#drain()
  }

  /**
   * Runs again, and plans every key of the run before.
   *
   * @returns `undefined`: the store was restored to an earlier state since then
   */
  async continue(options: RunUntilQuietOptions): Promise<QuietResult<O> | undefined> {
    this.#options = options
    this.#endedAt = undefined
    this.#planned = 0
    this.#written = 0
    for (const [id, job] of this.#jobs) {
      job.plans = 0
      job.isGivenUp = false
      // there was nothing under the key
      if (job.outcome === undefined && job.failure === undefined && job.queue === undefined) this.#jobs.delete(id)
      else this.#enqueue(job)
    }
    const restored = await this.#resync()
    return restored === undefined ? this.#drain() : undefined
  }

  /**
   * Lists every kind, and passes the differences from the cache to the planners.
   *
   * @returns why the cache is no longer valid, if the store was restored to an earlier state
   */
  async #resync(): Promise<IpamError | undefined> {
    for (const selection of this.#selections) {
      const restored = await this.#list(selection)
      if (restored !== undefined) return restored
    }
    return undefined
  }

  async #list(selection: Selection): Promise<IpamError | undefined> {
    const { apiVersion, kind, namespace, labels, labelExpressions, fields } = selection
    const since = this.#cache.clock
    const listed = await this.#store.list({ apiVersion, kind, namespace, labels, labelExpressions, fields })
    if (!listed.ok) {
      this.#endedAt = since
      throw new IpamError(listed.failure as Failure)
    }
    const found = this.#cache.changesOf(selection, listed.value, since)
    const { resourceVersion } = listed.value
    const reached = this.#reached.get(selection)
    if (found.kind === 'went-back' || isOlderVersion(resourceVersion, reached)) {
      const what =
        found.kind === 'went-back'
          ? `${found.how === 'older' ? 'an older' : 'again'} ${formatRef(found.ref)}`
          : `version ${resourceVersion} after ${reached}`
      return ipamError(STORE_IO, { operation: `list of ${kind}`, problem: `restored to an earlier state: ${what}` })
    }
    this.#reached.set(selection, resourceVersion)
    for (const change of found.changes) this.#show(change, { selection })
    this.#cache.complete(selection, resourceVersion)
    completeUnshared(this.#planners, this.#cache, selection)
    return undefined
  }

  /**
   * Plans and writes until no key waits, and a fresh list has no changes.
   */
  async #drain(): Promise<QuietResult<O>> {
    while (this.#waiting > 0) {
      for (let job = this.#next(); job !== undefined; job = this.#next()) await this.#step(job)
      const restored = await this.#resync()
      if (restored !== undefined) throw restored
    }
    this.#endedAt = this.#cache.clock
    return this.#result()
  }

  #result(): QuietResult<O> {
    const outcomes = new Map<string, O>()
    const failures: RunFailure[] = []
    let dueMs = NEVER
    for (const { planner, key, outcome, failure, dueMs: due } of this.#jobs.values()) {
      if (outcome !== undefined) outcomes.set(key, outcome)
      if (failure !== undefined) failures.push({ planner: planner.name, key, failure })
      if (due < dueMs) dueMs = due
    }
    const result = { outcomes, failures, planned: this.#planned, written: this.#written }
    if (dueMs === NEVER) return result
    return { ...result, requeueAfterSeconds: Math.max(0, Math.ceil((dueMs - this.#options.now()) / 1000)) }
  }

  #next(): Job<O> | undefined {
    const [first, then, last] = this.#queues
    const job = first.shift() ?? then.shift() ?? last.shift()
    if (job !== undefined) this.#waiting--
    return job
  }

  async #step(job: Job<O>): Promise<void> {
    const { onEvent, onProgress, external, canWrite, maxConflicts = 20 } = this.#options
    const ended = await runKey(job.planner, job.key, this.#store, {
      now: this.#options.now,
      onEvent,
      external,
      canWrite,
      maxConflicts,
      onPlan: () => this.#count(job),
      clock: () => this.#cache.clock,
      show: (change, source, since) => {
        if (source === 'written') this.#written++
        this.#show(change, { since })
      },
    })
    job.outcome = ended.outcome
    job.failure = ended.kind === 'done' ? undefined : ended.failure
    job.isGivenUp = ended.kind === 'failed' && ended.conflicts > maxConflicts
    for (const key of ended.wakes) this.#enqueue(this.#jobOf(job.planner, key))
    // what is stored is not known, and nothing may be planned on that
    if (ended.kind === 'unsettled') throw errorOf(ended)
    const resyncSeconds = job.outcome && job.planner.resyncSeconds
    const { requeueAfterSeconds = NEVER } = ended.kind === 'done' ? ended : {}
    job.dueMs = this.#options.now() + Math.min(requeueAfterSeconds, resyncSeconds ?? NEVER) * 1000
    onProgress?.({ planned: this.#planned, written: this.#written, waiting: this.#waiting })
  }

  #count(job: Job<O>): void {
    const { maxPlansPerKey = 1000 } = this.#options
    if (++job.plans > maxPlansPerKey) throw this.#notQuiet(maxPlansPerKey, job)
    this.#planned++
  }

  #show(change: Change, options: ApplyOptions): void {
    this.#wake(this.#cache.apply(change, options))
  }

  /** Called when another part of the process has applied a change, also between two runs. */
  #announced(applied: Applied): void {
    this.#wake(applied)
    if (this.#endedAt !== undefined) this.#endedAt++
  }

  #wake(applied: Applied): void {
    const { change } = applied
    const kind = kindKey(change.kind === 'present' ? change.object : change.ref)
    for (const planner of this.#planners) {
      if (!planner.watches.some((watched) => kindKey(watched) === kind)) continue
      for (const key of planner.wakes?.(applied) ?? planner.observe(change)) this.#enqueue(this.#jobOf(planner, key))
    }
  }

  #jobOf(planner: Planner<O>, key: string): Job<O> {
    const id = `${planner.name} ${key}`
    const known = this.#jobs.get(id)
    if (known !== undefined) return known
    const fresh = {
      queue: undefined,
      plans: 0,
      isGivenUp: false,
      outcome: undefined,
      failure: undefined,
      dueMs: NEVER,
    }
    const job: Job<O> = { planner, key, ...fresh }
    this.#jobs.set(id, job)
    return job
  }

  #enqueue(job: Job<O>): void {
    if (job.isGivenUp) return
    const queue = this.#queues[placeOf(job)]
    if (job.queue === queue) return
    if (job.queue === undefined) this.#waiting++
    queue.push(job)
  }

  #notQuiet(max: number, job: Job<O>) {
    const stillBusy = [job, ...this.#queues.flatMap((queue) => queue.peek(20))]
    return ipamError(RUN_LIMIT_EXCEEDED, {
      limit: 'plans of one key',
      max,
      stillBusy: stillBusy.map(({ key }) => key),
    })
  }
}

/**
 * After a conflict nothing is on its way, and the next run may begin when the store answers. After
 * an unknown outcome it may not.
 */
function errorOf({ failure, unsettled }: Extract<KeyResult, { kind: 'unsettled' }>): IpamError {
  const mayStillCome = unsettled.failure.code === 'STORE_OUTCOME_UNKNOWN'
  return mayStillCome ? new UnsettledError(failure, unsettled) : new IpamError(failure as Failure)
}

/** @throws IpamError `INVALID_ARGUMENT` for what would make a run do nothing */
function assertOptions(planners: readonly Planner[], options: RunUntilQuietOptions): void {
  if (typeof options.now !== 'function') refuse('runUntilQuiet', 'now', 'a function', typeof options.now)
  for (const limit of ['maxConflicts', 'maxPlansPerKey'] as const)
    assertLimit('runUntilQuiet', limit, options[limit] ?? 1)
  assertPlanners('runUntilQuiet', planners, options.external)
  assertCanWrite('runUntilQuiet', options.canWrite)
  const names = planners.map((planner) => planner.name)
  if (new Set(names).size < names.length)
    refuse('runUntilQuiet', 'planners', 'planners of different names', names.join(', '))
}
