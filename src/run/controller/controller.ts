import { type KindInfo, kindKey, objectKey, refOf } from '../../crd/meta/object.js'
import { check, type Kind } from '../../errors/check.js'
import { INVALID_ARGUMENT } from '../../errors/definitions.js'
import { ipamError } from '../../errors/failure.js'
import { refuseIn } from '../../errors/refuse.js'
import {
  type CachedObjects,
  type Change,
  type EventEffect,
  type ExternalCall,
  type ExternalResult,
  ObjectCache,
  type Outcome,
  type Plan,
  type Planner,
  type Selection,
  type Watch,
} from '../../plan/index.js'
import type { Applied, ApplyOptions } from '../../plan/object-cache.js'
import type { Store, StoreFailure } from '../../store/index.js'
import { STORE } from '../../store/store.js'
import { assertCanWrite, type CanWrite } from '../can-write.js'
import { assertPlanners, completeUnshared, PLANNERS } from '../limits.js'
import { type KeyResult, type RunKeyOptions, runKey } from '../plan/run-key.js'
import type { AnyCaller, ExternalCaller } from '../plan/run-plan.js'
import { settle } from '../plan/settle.js'
import { Backoff, type BackoffOptions } from './backoff.js'
import { Informer } from './informer.js'
import { Resync } from './resync.js'
import { STALLED_MS, type Stalled, StalledKeys } from './stalled-keys.js'
import type { Timers } from './timers.js'
import { Turns } from './turns.js'
import { type Job, type JobEnd, type QueueReport, rankOf, WorkQueue } from './work-queue.js'

/** A problem that the controller tries again by itself. */
export type ControllerProblem =
  /** A plan could not be carried out: the store refused an effect, or conflicts did not end. */
  | { readonly kind: 'failed'; readonly planner: string; readonly key: string; readonly failure: StoreFailure }
  /** The outcome of a write is unknown, or is still unknown. */
  | { readonly kind: 'unsettled'; readonly planner: string; readonly key: string; readonly failure: StoreFailure }
  /** A kind could not be listed or watched. */
  | { readonly kind: 'informer'; readonly of: KindInfo; readonly failure: StoreFailure }
  /**
   * A planner, an {@link ExternalCaller} or a callback of the host has thrown: a defect in that
   * function. After a throw of a planner, what the plan writes stays pending. A throw of `onEvent`
   * or `onResult`, or a promise of them that rejects, has no effect on the run.
   */
  | { readonly kind: 'thrown'; readonly planner: string; readonly key: string; readonly error: unknown }
  /**
   * Keys of a planner make no progress for more than a minute. Reported once a minute while that
   * lasts.
   *
   * - `waiting`: the keys are ready, but are not planned. `concurrency` is too low for the load, or
   *   plans do not end. Keys that are served, and keys with which another process has begun, are
   *   left out
   * - `unfinished`: the keys are planned again and again, each time with something to do, or their
   *   plan does not end. Time that a key waits in the queue does not count, nor the time of its
   *   first plan, once that has ended
   */
  | {
      readonly kind: 'stalled'
      readonly planner: string
      /** The key that has made no progress for the longest time. */
      readonly key: string
      readonly reason: 'waiting' | 'unfinished'
      /**
       * The number of such keys of the planner. For `waiting`: the number of all keys that wait.
       */
      readonly keys: number
      /** The time without progress of that key, in milliseconds. */
      readonly forMs: number
      /** The number of plans of that key in that time. */
      readonly plans: number
    }

/** The result of a key that was planned. */
export interface ControllerResult<O extends Outcome = Outcome> {
  readonly planner: string
  readonly key: string
  readonly kind: KeyResult['kind']
  /** `undefined`: there is nothing under the key. */
  readonly outcome: O | undefined
  /** The number of plans. */
  readonly attempts: number
  /** The time from the first plan to the last answer, in milliseconds. */
  readonly tookMs: number
}

export interface ControllerOptions<O extends Outcome = Outcome> {
  readonly store: Store
  readonly planners: readonly Planner<O>[]
  readonly timers: Timers
  /** Receives every problem, for the log. The controller needs no reaction to it. */
  readonly onProblem: (problem: ControllerProblem) => void
  /** Receives the result of every key that was planned. */
  readonly onResult?: ((result: ControllerResult<O>) => void) | undefined
  readonly onEvent?: ((event: EventEffect) => void) | undefined
  /**
   * Carries out the external calls of plans. Required if a planner makes such calls
   * ({@link Planner.onResult}).
   */
  readonly external?: AnyCaller | undefined
  /**
   * The name of this process, if several processes serve the same objects at the same time: any
   * text that no other process has. Only for planners whose ledger allows that (blocks). Each
   * process then plans the waiting keys in an order of its own. After a conflict it leaves the key
   * to the other process for 1 to 30 seconds. Left out: no other process serves the objects. Keys
   * are planned in the order in which they were woken, and again at once after a conflict.
   */
  readonly identity?: string | undefined
  /**
   * Called directly before every write and every external call: `canWrite` of a {@link LeaderTerm}.
   * After false the controller sends nothing more, begins no other plan, and `run` resolves as
   * after `stop`. The next leader then reads the outcome of unanswered writes. Left out: always
   * true.
   */
  readonly canWrite?: CanWrite | undefined
  /**
   * The number of plans that are carried out at a time, from 1. Default 8. For a planner without
   * `begin`: 1. Plans that wait for an external call are not counted. Up to 8 times as many wait,
   * for all planners together, and continue when they are answered.
   *
   * With an `identity`, one in 8 of the waiting keys is begun at a time, calls included, but from 1
   * to 8 times this number. While more keys wait than that, the next ones are begun when three
   * quarters of them have ended, or after a second.
   */
  readonly concurrency?: number | undefined
  /**
   * How long an aggregate key collects wakes before it is planned, in milliseconds. Default 500.
   */
  readonly summaryDelayMs?: number | undefined
  /**
   * The time after which an unanswered write can no longer be done, in milliseconds. It must exceed
   * the request time-outs of the server and of all proxies before it (`serverHasGivenUp` of
   * `settle`). Default 600,000.
   */
  readonly serverLimitMs?: number | undefined
  readonly backoff?: BackoffOptions | undefined
}

const OPTIONS: Required<{ readonly [name in keyof ControllerOptions]: Kind }> = {
  store: STORE as Kind,
  planners: PLANNERS,
  timers: ['open', { now: 'function', after: 'function' }],
  onProblem: 'function',
  onResult: 'function?',
  onEvent: 'function?',
  external: 'function?',
  identity: 'text?',
  canWrite: 'function?',
  concurrency: 'number?',
  summaryDelayMs: 'number?',
  serverLimitMs: 'number?',
  backoff: 'object?',
}

/**
 * The number of plans that may wait for an external call, and of plans that may wait for the
 * outcome of a write, for each plan that is carried out at a time.
 */
const WAITING_PER_PLAN = 8
/** With several processes: the share of the waiting keys that is begun at a time. */
const BEGUN_SHARE = 1 / 8
/** The share of them that is still in progress when the next ones are begun. */
const REFILL_SHARE = 1 / 4
/** The time after which the next ones are begun in any case, in milliseconds. */
const REFILL_MS = 1000
const DAY_MS = 86_400_000
/** The number of keys that a change wakes at once. More are woken in turns of the event loop. */
const MOST_WAKES = 100
const OF = 'Controller'
/** The interval in which stalled keys are looked for while there is work, in milliseconds. */
const CHECK_MS = 10_000

/**
 * Runs planners on a store: lists and watches their objects, plans what changes, and carries the
 * plans out, several at a time.
 *
 * - No key is planned twice at the same time.
 * - What one plan is about to create is in use for all other plans.
 * - After a conflict or a lost answer the stored object is read before the key is planned again.
 * - Keys are planned in the order in which they were woken. Aggregate keys (the counts of a pool)
 *   wait for `summaryDelayMs`, so that many changes make one write.
 *
 * Only one controller at a time may write for the objects of a planner, unless its ledger allows
 * more. Elect a leader, and begin when the former leader can no longer write.
 * docs/examples/controller.ts is an example with the timers of Node.
 */
export class Controller<O extends Outcome = Outcome> {
  readonly #options: ControllerOptions<O>
  /** The objects of all planners. */
  readonly #cache = new ObjectCache({ onAnnounced: (applied) => this.#wake(applied) })
  readonly #informers: Informer[] = []
  readonly #queue: WorkQueue<O>
  readonly #backoff: Backoff
  readonly #concurrency: number
  /**
   * Waits, and the functions that end them early: at `stop`, or for final waits when nothing may be
   * written any more.
   */
  readonly #waits = new Map<() => void, { readonly isFinal: boolean }>()
  readonly #stalled = new StalledKeys()
  readonly #turns: Turns
  readonly #resyncs = new Map<Planner<O>, Resync>()
  /** When keys of a planner were last told of, by planner and reason. */
  readonly #toldMs = new Map<string, number>()
  /** Changes of which some keys are still to be woken. */
  readonly #wakes: Woken<O>[] = []
  #cancelCheck: (() => void) | undefined
  #unsynced = 0
  /** The number of selections of which a list is being applied. */
  #listing = 0
  /** The next plans begin in a later turn of the event loop. */
  #isPaused = false
  #running = 0
  /** With several processes: whether keys of a backlog are begun at present. */
  #isFilling = true
  #cancelRefill: (() => void) | undefined
  #unsettled = 0
  #calling = 0
  #state: 'new' | 'running' | 'stopping' | 'stopped' = 'new'
  /** `canWrite` has returned false. */
  #isWithheld = false
  /** `stop` was called before `run`. */
  #endsAtOnce = false
  #ended: () => void = () => {}

  /**
   * The objects that the planners watch, for look-ups by a webhook in the same process. Before the
   * first list of a kind, and after {@link stop}, the presence of all objects is unknown.
   */
  readonly objects: { open<T>(watch: Watch<T>): CachedObjects<T> }

  /** @throws IpamError `INVALID_ARGUMENT` */
  constructor(options: ControllerOptions<O>) {
    check<unknown>(OF, 'options', options, OPTIONS)
    assertOptions(options)
    this.#options = options
    this.objects = {
      open: (watch) => (this.#state === 'running' ? this.#cache : new ObjectCache()).open(watch),
    }
    this.#concurrency = options.concurrency ?? 8
    this.#backoff = new Backoff(options.backoff)
    const { timers, summaryDelayMs = 500, identity } = options
    this.#turns = new Turns(timers)
    this.#queue = new WorkQueue({
      timers,
      summaryDelayMs,
      identity,
      rang: () => this.#pump(),
      isOver: () => this.#turns.over() !== undefined,
    })
  }

  /** The present load. */
  get load(): ControllerLoad {
    const [running, calling, unsettled] = [this.#running, this.#calling, this.#unsettled]
    const asleep = this.#wakes.reduce((sum, { keys, next }) => sum + keys.length - next, 0)
    return { waiting: this.#queue.length + asleep, running, calling, unsettled, synced: this.#isSynced }
  }

  /** Depth and age of the queue of each planner. O(keys). */
  get queues(): readonly QueueReport[] {
    return this.#options.planners.map((planner) => this.#queue.report(planner))
  }

  /**
   * Runs until {@link stop}, and until everything that was begun has ended. Release a lease only
   * after that. The planners are reset first.
   *
   * @throws IpamError `INVALID_ARGUMENT` if it was called before. `STORE_IO` if a list is older
   *   than the cache: the database was restored to an earlier state, and addresses that were
   *   released since then are in use again
   * @throws what {@link Planner.observe} throws for an object of a list or a watch. What it throws
   *   for a write of its own plan is a problem of kind `thrown`
   *
   * Either error is thrown as after {@link stop}, when everything that was begun has ended. The
   * cache of the planners is invalid then. End the process, or run a new controller.
   */
  async run(): Promise<void> {
    if (this.#state !== 'new') {
      throw ipamError(INVALID_ARGUMENT, {
        argument: 'run',
        expected: 'one call',
        got: `a call of one that is ${this.#state}`,
      })
    }
    if (this.#endsAtOnce) {
      this.#state = 'stopped'
      return
    }
    this.#state = 'running'
    const { planners, store } = this.#options
    const cache = this.#cache
    const selections = new Map<string, Selection>()
    for (const planner of planners) {
      planner.reset()
      planner.share?.(cache)
      const { resyncSeconds } = planner
      const wake = (key: string) => this.#enqueue(planner, [key])
      if (resyncSeconds !== undefined) this.#resyncs.set(planner, new Resync(resyncSeconds, this.#options.timers, wake))
      for (const selection of planner.watches) selections.set(cache.selectionKey(selection), selection)
    }
    this.#unsynced = selections.size
    for (const selection of selections.values()) {
      const informer = new Informer(selection, {
        store,
        cache,
        show: (change, options) => this.#show(change, { selection, ...options }),
        over: () => this.#turns.over(),
        admit: () => this.#turns.admit(1),
        listing: () => void this.#listing++,
        listed: (isFirst) => {
          completeUnshared(planners, cache, selection)
          this.#listing--
          if (isFirst) this.#unsynced--
          this.#pump()
        },
        failed: async (failure, times) => {
          this.#options.onProblem({ kind: 'informer', of: selection, failure })
          await this.#wait(waitMs(times))
        },
      })
      this.#informers.push(informer)
    }
    const rest = new Promise<void>((resolve) => {
      this.#ended = resolve
    })
    try {
      await Promise.all(this.#informers.map((informer) => informer.run()))
    } finally {
      this.stop()
      await rest
      this.#state = 'stopped'
    }
  }

  /**
   * Begins no other plan. {@link run} resolves when all plans have ended and the outcome of every
   * write is known. If `run` was not called yet, it will resolve at once. A call to the external
   * system that is never answered never ends: {@link ExternalCaller}.
   *
   * If `canWrite` returns false, it does not wait for the outcome of a write. If the lease is lost
   * after this call, call it again.
   */
  stop(): void {
    if (this.#state === 'new') this.#endsAtOnce = true
    if (this.#unsettled > 0) this.#canWrite()
    if (this.#state !== 'running') return
    this.#state = 'stopping'
    for (const informer of this.#informers) informer.stop()
    this.#queue.stop()
    this.#wakes.length = 0
    this.#stalled.clear()
    for (const resync of this.#resyncs.values()) resync.stop()
    this.#cancelCheck?.()
    this.#cancelRefill?.()
    this.#turns.stop()
    this.#wakeWaits({ isFinal: false })
    this.#endIfDone()
  }

  get #isSynced(): boolean {
    return this.#state !== 'new' && this.#unsynced === 0
  }

  /** @param by the source of the change: the watch of a selection, or a job */
  #show(change: Change, by: ApplyOptions & { readonly job?: Job<O> }): void {
    const { job, ...options } = by
    this.#wake(this.#cache.apply(change, options), job)
  }

  #wake(applied: Applied, job?: Job<O>): void {
    const { change } = applied
    const kind = kindKey(change.kind === 'present' ? change.object : change.ref)
    const cause = { id: idOf(change), isNewer: applied.isNewer }
    for (const planner of this.#options.planners) {
      if (!planner.watches.some((watched) => kindKey(watched) === kind)) continue
      this.#enqueue(planner, planner.wakes?.(applied) ?? planner.observe(change), job, cause)
    }
  }

  #enqueue(planner: Planner<O>, keys: readonly string[], by?: Job<O>, cause: WakeCause = RELEASED): void {
    if (this.#state !== 'running') return
    const [now, later] = keys.length > MOST_WAKES ? [[], keys] : [keys, []]
    for (const key of now) this.#add(planner, key, by, cause)
    // a change of a pool wakes all of its claims
    if (later.length > 0) this.#wakes.push({ planner, keys: later, by, cause, next: 0 })
    this.#pump()
  }

  #add(planner: Planner<O>, key: string, by: Job<O> | undefined, cause: WakeCause): void {
    if (cause === UNDONE && this.#backoff.has(`${planner.name} ${key}`)) return
    const { id, isNewer } = cause
    const isOwn = by?.planner === planner && by.key === key
    const ofOwn = isOwn && !isNewer ? id : undefined
    this.#queue.add(planner, key, { own: ofOwn, news: isNewer && !isOwn ? id : undefined })
  }

  /**
   * Wakes the keys of large changes. @returns whether all are awake in this turn of the event loop
   */
  #addWoken(): boolean {
    for (let woken = this.#wakes[0]; woken !== undefined; woken = this.#wakes[0]) {
      const { planner, keys, by, cause } = woken
      while (woken.next < keys.length) {
        if (this.#turns.over() !== undefined) return false
        this.#add(planner, keys[woken.next++]!, by, cause)
      }
      this.#wakes.shift()
    }
    return true
  }

  /** Begins plans up to the limit. */
  #pump(): void {
    if (this.#state !== 'running' || !this.#isSynced || this.#listing > 0 || !this.#canWrite()) return
    const isAwake = this.#addWoken()
    const most = this.#concurrency * WAITING_PER_PLAN
    while (
      isAwake &&
      this.#running < this.#concurrency &&
      this.#unsettled < most &&
      this.#calling < most &&
      this.#mayBegin()
    ) {
      const job = this.#queue.take()
      if (job === undefined) break
      this.#running++
      void this.#work(job)
    }
    if (!isAwake || this.#queue.length > 0) this.#pumpAfter(this.#turns.over())
    this.#checkLater()
  }

  /** Begins more plans in the next turn of the event loop, if this one has no time for them. */
  #pumpAfter(over: Promise<void> | undefined): void {
    if (over === undefined || this.#isPaused) return
    this.#isPaused = true
    void over.then(() => {
      this.#isPaused = false
      this.#pump()
    })
  }

  /**
   * With several processes: the fewer keys wait, the likelier another process has begun with the
   * next one. The keys of a backlog are begun together, so that their calls can share writes.
   */
  #mayBegin(): boolean {
    if (this.#options.identity === undefined) return true
    const busy = this.#running + this.#calling
    const { length } = this.#queue
    const limit =
      this.#concurrency * Math.min(Math.max(1, (length * BEGUN_SHARE) / this.#concurrency), WAITING_PER_PLAN)
    if (busy >= limit) this.#stopFilling()
    else if (busy <= limit * REFILL_SHARE || length < limit) this.#isFilling = true
    return this.#isFilling
  }

  /** A few plans that take long do not keep others from being begun. */
  #stopFilling(): void {
    if (!this.#isFilling) return
    this.#isFilling = false
    this.#cancelRefill?.()
    this.#cancelRefill = this.#options.timers.after(REFILL_MS, () => {
      this.#isFilling = true
      this.#pump()
    })
  }

  async #work(job: Job<O>): Promise<void> {
    const { planner, key, id } = job
    const { store, timers, identity, onEvent, onProblem, onResult, external } = this.#options
    const beganMs = timers.now()
    const show: RunKeyOptions['show'] = (change, _, since) => this.#show(change, { job, since })
    const events: EventEffect[] = []
    const keep = (event: EventEffect) => void events.push(event)
    let end: JobEnd
    const onPlan = (plan: Plan | undefined) => {
      const hasWork = plan?.effects.some((effect) => effect.kind !== 'event') === true
      // aggregate keys have as much to do as other keys
      const planned = { id, planner: planner.name, key, readySinceMs: job.readySinceMs, takenMs: beganMs }
      if (!planner.isAggregate(key)) this.#stalled.planned(planned, hasWork, timers.now())
    }
    try {
      const canWrite = () => this.#canWrite()
      const ended = await runKey(planner, key, store, {
        now: () => timers.now(),
        show,
        clock: () => this.#cache.clock,
        onEvent: keep,
        external: external && ((call) => this.#call(external, call)),
        onPlan,
        canWrite,
        // with several processes, another one has won the conflict: the key is left to it for a
        // while
        maxConflicts: identity === undefined ? undefined : 0,
      })
      const { kind, outcome, attempts } = ended
      if (this.#state === 'running') this.#resyncs.get(planner)?.planned(key, outcome !== undefined)
      this.#enqueue(planner, ended.wakes, job, ended.kind === 'done' ? RELEASED : UNDONE)
      for (const event of events) this.#tell(job, () => onEvent?.(event))
      const tookMs = timers.now() - beganMs
      this.#tell(job, () => onResult?.({ planner: planner.name, key, kind, outcome, attempts, tookMs }))
      if (ended.kind === 'done') {
        const { requeueAfterSeconds: seconds } = ended
        end = seconds === undefined ? {} : { againMs: againMs(seconds) }
        // a requeue of 0 seconds would repeat without a pause
        if (end.againMs === 0) end = { againMs: this.#pauseMs(id) }
        else if (outcome === undefined || !this.#isFailing(job)) this.#backoff.succeeded(id)
        else end = { againMs: Math.min(end.againMs ?? DAY_MS, this.#pauseMs(id)) }
      } else if (identity !== undefined && ended.kind === 'failed' && ended.conflicts > 0) {
        end = { againMs: yieldMs(job.conflicts, rankOf(identity, `${id} ${job.conflicts}`)), isHeld: true }
      } else {
        const { failure } = ended
        this.#stalled.forget(id)
        onProblem({ kind, planner: planner.name, key, failure } as ControllerProblem)
        if (ended.kind === 'unsettled') await this.#settle(job, ended)
        end = { againMs: this.#pauseMs(id), hasFailed: true }
      }
    } catch (error) {
      this.#stalled.forget(id)
      onProblem({ kind: 'thrown', planner: planner.name, key, error })
      end = { againMs: this.#pauseMs(id), hasFailed: true }
    }
    this.#running--
    this.#stalled.ended(id, this.#queue.done(job, end), timers.now())
    this.#pump()
    this.#endIfDone()
  }

  /** Looks for stalled keys after a while, as long as there is work. */
  #checkLater(): void {
    if (this.#cancelCheck !== undefined || (this.#queue.length === 0 && this.#stalled.size === 0)) return
    this.#cancelCheck = this.#options.timers.after(CHECK_MS, () => {
      this.#cancelCheck = undefined
      this.#tellStalled()
      this.#checkLater()
    })
  }

  #tellStalled(): void {
    const nowMs = this.#options.timers.now()
    const tell = (reason: 'waiting' | 'unfinished', stalled: Stalled) => {
      const about = `${reason} ${stalled.planner}`
      if (nowMs - (this.#toldMs.get(about) ?? Number.NEGATIVE_INFINITY) < STALLED_MS) return
      this.#toldMs.set(about, nowMs)
      this.#options.onProblem({ kind: 'stalled', reason, ...stalled })
    }
    const readySinceMs = (id: string) => this.#queue.readySinceMs(id)
    const isDone = (id: string) => this.#queue.isServedByOther(id)
    for (const stalled of this.#stalled.find(nowMs, readySinceMs, isDone)) tell('unfinished', stalled)
    for (const { planner, waiting: keys, oldestKey: key, oldestMs: forMs } of this.queues) {
      if (key !== undefined && forMs > STALLED_MS) tell('waiting', { planner, key, keys, forMs, plans: 0 })
    }
  }

  /** Whether something may be sent. After the first false, always false. */
  #canWrite(): boolean {
    const { canWrite } = this.#options
    if (!this.#isWithheld && canWrite !== undefined && !canWrite()) {
      this.#isWithheld = true
      this.stop()
      this.#wakeWaits({ isFinal: true })
    }
    return !this.#isWithheld
  }

  /**
   * Whether a key has failed, and still lacks what it asks for: it has found no address while
   * another plan was about to create the one that was refused. Such a key always has a timer.
   */
  #isFailing({ planner, key, id }: Job<O>): boolean {
    return this.#backoff.has(id) && !planner.isAggregate(key) && planner.isServed?.(key) === false
  }

  /** The wait of a key that has failed once more. */
  #pauseMs(id: string): number {
    return Math.min(this.#backoff.failed(id), DAY_MS)
  }

  /** Calls a callback of the host. If it throws, or its promise rejects, the run continues. */
  #tell({ planner, key }: Job<O>, tell: () => unknown): void {
    const failed = (error: unknown) => this.#options.onProblem({ kind: 'thrown', planner: planner.name, key, error })
    try {
      const told = tell()
      if (typeof Object(told).then === 'function') Promise.resolve(told).catch(failed)
    } catch (error) {
      failed(error)
    }
  }

  /** Other keys are planned while a call is not answered: what it asks for is pending. */
  async #call(external: ExternalCaller, call: ExternalCall): Promise<ExternalResult> {
    this.#calling++
    this.#running--
    try {
      // the next plan begins when this call was sent: calls are sent in the order of their keys
      const [result] = await Promise.all([external(call), Promise.resolve().then(() => this.#pump())])
      // many calls may be answered together
      await this.#turns.admit(this.#concurrency)
      return result
    } finally {
      this.#calling--
      this.#running++
    }
  }

  /**
   * Finds out the outcome of a write. Other keys are planned meanwhile, if the planner counts what
   * may have been created as pending.
   */
  async #settle(job: Job<O>, { unsettled, release }: Extract<KeyResult, { kind: 'unsettled' }>): Promise<void> {
    const { store, timers, onProblem, serverLimitMs = 600_000 } = this.#options
    this.#unsettled++
    this.#running--
    this.#pump()
    let sentMs = timers.now()
    try {
      for (let times = 1; ; times++) {
        // also during a stop: no other component can find out the outcome
        await this.#wait(waitMs(times), { isFinal: true })
        // the next leader reads what is stored, and this controller plans nothing more
        if (!this.#canWrite()) return
        const serverHasGivenUp = timers.now() - sentMs > serverLimitMs
        const since = this.#cache.clock
        const settled = await settle(store, unsettled, { serverHasGivenUp, canWrite: () => this.#canWrite() })
        if (settled.ok) {
          const { change, source } = settled.value
          this.#show(change, { job, since: source === 'read' ? since : undefined })
          break
        }
        if (settled.failure.code === 'STORE_OUTCOME_UNKNOWN') sentMs = timers.now()
        onProblem({ kind: 'unsettled', planner: job.planner.name, key: job.key, failure: settled.failure })
      }
    } finally {
      // also if the planner throws: otherwise `stop` would never resolve
      this.#unsettled--
      this.#running++
    }
    this.#enqueue(job.planner, release(), job, UNDONE)
  }

  #wakeWaits(which: { readonly isFinal: boolean }): void {
    for (const [wake, { isFinal }] of [...this.#waits]) if (isFinal === which.isFinal) wake()
  }

  /**
   * @param isFinal whether the wait continues during a stop, as long as the controller may write
   */
  #wait(ms: number, { isFinal = false } = {}): Promise<void> {
    if (this.#state !== 'running' && !isFinal) return Promise.resolve()
    return new Promise((resolve) => {
      const end = () => {
        this.#waits.delete(end)
        cancel()
        resolve()
      }
      const cancel = this.#options.timers.after(ms, end)
      this.#waits.set(end, { isFinal })
    })
  }

  #endIfDone(): void {
    if (this.#state === 'stopping' && this.#running + this.#calling + this.#unsettled === 0) this.#ended()
  }
}

/** The keys that a change wakes, the first of which are awake. */
interface Woken<O extends Outcome> {
  readonly planner: Planner<O>
  readonly keys: readonly string[]
  readonly by: Job<O> | undefined
  readonly cause: WakeCause
  next: number
}

/** The change that wakes a key. */
interface WakeCause {
  readonly id: string
  /** Whether the change was newer than the cache. */
  readonly isNewer: boolean
}

/** Another plan has ended. */
const RELEASED: WakeCause = { id: 'released', isNewer: true }
/**
 * The same of a plan that was not carried out: keys that have failed as well wait for their timers.
 * Otherwise two keys that are refused one address would wake each other without end.
 */
const UNDONE: WakeCause = { id: 'undone', isNewer: false }

/** Names a change: the response of a write and the event of that write have the same name. */
function idOf(change: Change): string {
  if (change.kind === 'absent') return `${objectKey(change.ref)} ${change.uid} gone`
  const { uid, resourceVersion } = change.object.metadata
  return `${objectKey(refOf(change.object))} ${uid} ${resourceVersion}`
}

/** The load of a controller. */
export interface ControllerLoad {
  /** Keys that are ready to be planned, also those that are served: {@link QueueReport.waiting}. */
  readonly waiting: number
  /** Plans that are being carried out. */
  readonly running: number
  /** Plans that wait for an external call. */
  readonly calling: number
  /** Writes of unknown outcome. */
  readonly unsettled: number
  /** Whether all kinds were listed. */
  readonly synced: boolean
}

/**
 * The time for which a key is left to another process after conflicts: 1 to 2 s, doubled after each
 * conflict, up to 30 s.
 */
function yieldMs(conflicts: number, rank: number): number {
  return Math.min(1000 * (1 + rank / 2 ** 32) * 2 ** Math.min(conflicts, 5), 30_000)
}

/**
 * The wait before the next request to a store after this number of failures in a row: 5 ms, doubled
 * each time, up to 30 s.
 */
function waitMs(times: number): number {
  return Math.min(5 * 2 ** Math.min(times - 1, 20), 30_000)
}

/**
 * @throws IpamError `INVALID_ARGUMENT` for an invalid time: a timer would treat it as 0, again and
 *   again
 */
function againMs(seconds: number): number {
  if (seconds >= 0) return Math.min(seconds * 1000, DAY_MS)
  const expected = 'seconds, from 0'
  refuseIn(OF, 'requeueAfterSeconds', expected, seconds)
}

/** @throws IpamError `INVALID_ARGUMENT` */
function assertOptions<O extends Outcome>(options: ControllerOptions<O>): void {
  const { planners, concurrency = 8, summaryDelayMs = 0, serverLimitMs = 0 } = options
  if (!Number.isInteger(concurrency) || concurrency < 1)
    refuseIn(OF, 'concurrency', 'a whole number from 1', concurrency)
  for (const [argument, ms] of Object.entries({ summaryDelayMs, serverLimitMs })) {
    if (!(ms >= 0 && ms <= DAY_MS)) refuseIn(OF, argument, 'from 0 to 86,400,000', ms)
  }
  const { identity } = options
  if (identity !== undefined && (typeof identity !== 'string' || identity === '')) {
    refuseIn(OF, 'identity', 'a text that is not empty', identity)
  }
  assertPlanners(OF, planners, options.external)
  assertCanWrite(OF, options.canWrite)
  const names = planners.map((planner) => planner.name)
  if (new Set(names).size < names.length) refuseIn(OF, 'planners', 'planners of different names', names.join(', '))
}
