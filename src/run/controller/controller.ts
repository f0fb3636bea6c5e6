import { type KindInfo, kindKey, objectKey, refOf } from '../../crd/meta/object.js'
import { assertObject } from '../../errors/checks.js'
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
import { assertCanWrite, type CanWrite } from '../can-write.js'
import { assertPlanners, completeUnshared } from '../limits.js'
import { rankOf } from '../plan/rendezvous.js'
import { type KeyResult, type RunKeyOptions, runKey } from '../plan/run-key.js'
import type { AnyCaller, ExternalCaller } from '../plan/run-plan.js'
import { settle } from '../plan/settle.js'
import { Backoff, type BackoffOptions } from './backoff.js'
import { Informer } from './informer.js'
import { Resync } from './resync.js'
import { STALLED_MS, type Stalled, StalledKeys } from './stalled-keys.js'
import type { Timers } from './timers.js'
import { type Job, type JobEnd, type QueueReport, WorkQueue } from './work-queue.js'

/** Something that went wrong, and that the controller tries again by itself. */
export type ControllerProblem =
  /** A plan could not be carried out: the store refused an effect, or conflicts did not end. */
  | { readonly kind: 'failed'; readonly planner: string; readonly key: string; readonly failure: StoreFailure }
  /** It is not known what has become of a write, or it is still not known. */
  | { readonly kind: 'unsettled'; readonly planner: string; readonly key: string; readonly failure: StoreFailure }
  /** A kind could not be listed or watched. */
  | { readonly kind: 'feed'; readonly of: KindInfo; readonly failure: StoreFailure }
  /**
   * A planner or an {@link ExternalCaller} has thrown: that is a bug in it. What is reserved for
   * the plan stays so after a throw of the planner. Or the host, at what it was told by `onEvent`
   * or `onResult`, also by a promise that rejects: nothing is left undone for that.
   */
  | { readonly kind: 'thrown'; readonly planner: string; readonly key: string; readonly error: unknown }
  /**
   * Keys of a planner make no progress for more than a minute. Told once a minute for as long as it
   * is so.
   *
   * - `waiting`: they are ready, and are not planned: there is more to do than `concurrency` can,
   *   or plans do not end
   * - `unfinished`: they are planned again and again, each time with something to do, and never
   *   have nothing to do; or their plan does not end. Time that a key waits in the queue does not
   *   count.
   */
  | {
      readonly kind: 'stalled'
      readonly planner: string
      /** The key that has been so for longest. */
      readonly key: string
      readonly reason: 'waiting' | 'unfinished'
      /** How many keys of the planner are so; of those that wait, how many wait in all. */
      readonly keys: number
      /** How long that key has been so, in milliseconds. */
      readonly forMs: number
      /** How often that key was planned meanwhile. */
      readonly plans: number
    }

/** What became of a key that was planned. */
export interface ControllerResult<O extends Outcome = Outcome> {
  readonly planner: string
  readonly key: string
  readonly kind: KeyResult['kind']
  /** `undefined`: there is nothing under the key any more. */
  readonly outcome: O | undefined
  /** Plans that it took. */
  readonly attempts: number
  /** From the first plan to the last answer, in milliseconds. */
  readonly tookMs: number
}

export interface ControllerOptions<O extends Outcome = Outcome> {
  readonly store: Store
  readonly planners: readonly Planner<O>[]
  readonly timers: Timers
  /** Told of everything that goes wrong: log it. Nothing of it has to be done anything about. */
  readonly onProblem: (problem: ControllerProblem) => void
  /** Told of every key that was planned. */
  readonly onResult?: ((result: ControllerResult<O>) => void) | undefined
  readonly onEvent?: ((event: EventEffect) => void) | undefined
  /**
   * Carries out the calls of plans to external systems: needed if a planner makes such
   * ({@link Planner.onResult}).
   */
  readonly external?: AnyCaller | undefined
  /**
   * Names this process among those that serve the same objects at the same time, for planners whose
   * ledger allows that (blocks): any text that no other of them has. Each process then takes the
   * keys that wait in an order of its own, and after a conflict it leaves a key to the process that
   * was faster, for 1 to 30 seconds. Left out: no other process serves them, keys come in the order
   * in which they were woken, and a conflict is planned again at once.
   */
  readonly identity?: string | undefined
  /**
   * Asked directly before every write and every external call: `canWrite` of a {@link LeaderTerm}.
   * A no is final: the controller sends nothing more, begins no other plan, and `run` resolves as
   * after `stop`. What has become of a write that was not answered is then for the next leader to
   * see. Left out: always.
   */
  readonly canWrite?: CanWrite | undefined
  /**
   * How many plans are carried out at a time, from 1. Default 8. Those of a planner without
   * `reserve`: one. Plans that wait for an external call are not counted: up to 8 times as many
   * wait, for all planners together, and continue as soon as they are answered. With an `identity`
   * one in 16 of the keys that wait is begun at a time, calls counted, and at least `concurrency`.
   */
  readonly concurrency?: number | undefined
  /** How long a key that sums up others waits for more of them, in milliseconds. Default 500. */
  readonly summaryDelayMs?: number | undefined
  /**
   * After this time nobody has a write any more that was not answered: above the limits of the
   * server for a request and of all that is before it (`serverHasGivenUp` of `settle`), in
   * milliseconds. Default 600,000.
   */
  readonly serverLimitMs?: number | undefined
  readonly backoff?: BackoffOptions | undefined
}

/**
 * How many plans may wait for an external call, and how many for what has become of a write, for
 * each that is carried out at a time.
 */
const WAITING_PER_PLAN = 8
const DAY_MS = 86_400_000
const OF = 'Controller'
/** How often stalled keys are looked for while there is anything to do, in milliseconds. */
const CHECK_MS = 10_000

/**
 * Planners at work on a store: lists and watches what they want to see, plans what changes, and
 * carries the plans out, several at a time.
 *
 * No key is planned twice at the same time; what one plan is about to create is in use for all
 * others; after a conflict or a lost answer it is found out what is stored, and only then planned
 * again. Keys come in the order in which they were woken: those that sum up others (the counts of a
 * pool) when they have waited for `summaryDelayMs`, so that many changes make one write.
 *
 * One controller may write for the objects of a planner at a time, unless its ledger allows more:
 * elect a leader, and begin when the former one cannot write any more. docs/examples/controller.ts
 * has one with the timers of Node.
 */
export class Controller<O extends Outcome = Outcome> {
  readonly #options: ControllerOptions<O>
  /** All that is known, for all planners. */
  readonly #cache = new ObjectCache({ onAnnounced: (applied) => this.#wake(applied) })
  readonly #informers: Informer[] = []
  readonly #queue: WorkQueue<O>
  readonly #backoff: Backoff
  readonly #concurrency: number
  /**
   * Waits, and what ends them early: when it is to stop, or, of those that are final, when it may
   * not write any more.
   */
  readonly #waits = new Map<() => void, { readonly isFinal: boolean }>()
  readonly #stalled = new StalledKeys()
  readonly #resyncs = new Map<Planner<O>, Resync>()
  /** When keys of a planner were last told of, by planner and reason. */
  readonly #toldMs = new Map<string, number>()
  #cancelCheck: (() => void) | undefined
  #unsynced = 0
  #running = 0
  #unsettled = 0
  #calling = 0
  #state: 'new' | 'running' | 'stopping' | 'stopped' = 'new'
  /** `canWrite` has answered no. */
  #isWithheld = false
  /** Told to end before it has begun. */
  #endsAtOnce = false
  #ended: () => void = () => {}

  /**
   * The objects that the planners watch, for a webhook in the same process to look up. Before the
   * first list of a kind, and after {@link stop}, none is known: neither which objects exist nor
   * which do not.
   */
  readonly objects: { open<T>(watch: Watch<T>): CachedObjects<T> }

  /** @throws IpamError `INVALID_ARGUMENT` */
  constructor(options: ControllerOptions<O>) {
    assertObject(OF, 'options', options)
    assertOptions(options)
    this.#options = options
    this.objects = {
      open: (watch) => (this.#state === 'running' ? this.#cache : new ObjectCache()).open(watch),
    }
    this.#concurrency = options.concurrency ?? 8
    this.#backoff = new Backoff(options.backoff)
    const { timers, summaryDelayMs = 500, identity } = options
    this.#queue = new WorkQueue({ timers, summaryDelayMs, identity, rang: () => this.#pump() })
  }

  /** What there is to do just now. */
  get load(): ControllerLoad {
    const [running, calling, unsettled] = [this.#running, this.#calling, this.#unsettled]
    return { waiting: this.#queue.length, running, calling, unsettled, synced: this.#isSynced }
  }

  /** What waits, planner by planner: depth and age of each queue. O(keys that are known). */
  get queues(): readonly QueueReport[] {
    return this.#options.planners.map((planner) => this.#queue.report(planner))
  }

  /**
   * Runs until {@link stop}, and until everything that was begun is ended. Whoever holds a lease
   * for it gives it back after that. The planners are reset first.
   *
   * @throws IpamError `INVALID_ARGUMENT` if it was called before; `STORE_IO` when what is listed
   *   again is older than it was, or had gone: the database was restored to an earlier state, and
   *   addresses that were given back since are in use again
   * @throws what {@link Planner.observe} throws at what was listed or watched. What it throws at a
   * write of its own plan is a problem of kind `thrown`
   *
   * Either is thrown as after {@link stop}, when everything that was begun is ended. What a planner
   * knows is wrong by then and it must plan nothing more: end the process, or run a new controller.
   */
  async run(): Promise<void> {
    if (this.#state !== 'new') {
      throw ipamError('INVALID_ARGUMENT', {
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
        show: (change, isKept) => this.#show(change, { selection, isKept }),
        synced: () => {
          completeUnshared(planners, cache, selection)
          this.#unsynced--
          this.#pump()
        },
        failed: async (failure, times) => {
          this.#options.onProblem({ kind: 'feed', of: selection, failure })
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
   * Begins no other plan. {@link run} resolves when those that were begun are done, and it is known
   * what has become of every write; at once, if it was not called yet. A call to the external
   * system that is never answered is never done: {@link ExternalCaller}.
   *
   * Where `canWrite` says no it does not wait to find out what has become of a write: call it again
   * when the lease is lost meanwhile.
   */
  stop(): void {
    if (this.#state === 'new') this.#endsAtOnce = true
    if (this.#unsettled > 0) this.#canWrite()
    if (this.#state !== 'running') return
    this.#state = 'stopping'
    for (const informer of this.#informers) informer.stop()
    this.#queue.stop()
    this.#stalled.clear()
    for (const resync of this.#resyncs.values()) resync.stop()
    this.#cancelCheck?.()
    this.#wakeWaits({ isFinal: false })
    this.#endIfDone()
  }

  get #isSynced(): boolean {
    return this.#state !== 'new' && this.#unsynced === 0
  }

  /** @param by what has found it out: the watch of a selection, or a job */
  #show(change: Change, by: ApplyOptions & { readonly job?: Job<O> }): void {
    this.#wake(this.#cache.apply(change, by), by.job)
  }

  #wake(applied: Applied, job?: Job<O>): void {
    const { change } = applied
    const kind = kindKey(change.kind === 'present' ? change.object : change.ref)
    const news = { id: idOf(change), isNews: applied.isNews }
    for (const planner of this.#options.planners) {
      if (!planner.watches.some((watched) => kindKey(watched) === kind)) continue
      this.#enqueue(planner, planner.wakes?.(applied) ?? planner.observe(change), job, news)
    }
  }

  #enqueue(planner: Planner<O>, keys: Iterable<string>, by?: Job<O>, { id, isNews }: News = RELEASED): void {
    for (const key of keys) {
      const isOwn = by?.planner === planner && by.key === key
      const ofOwn = isOwn && !isNews ? id : undefined
      this.#queue.add(planner, key, { own: ofOwn, news: isNews && !isOwn ? id : undefined })
    }
    this.#pump()
  }

  /** Begins as many plans as there is room for. */
  #pump(): void {
    if (this.#state !== 'running' || !this.#isSynced || !this.#canWrite()) return
    const most = this.#concurrency * WAITING_PER_PLAN
    while (this.#running < this.#concurrency && this.#unsettled < most && this.#calling < most && this.#mayBegin()) {
      const job = this.#queue.take()
      if (job === undefined) break
      this.#running++
      void this.#work(job)
    }
    this.#checkLater()
  }

  /**
   * Where other processes serve the same keys: the fewer wait, the likelier another process has
   * begun with the next one.
   */
  #mayBegin(): boolean {
    if (this.#options.identity === undefined) return true
    return this.#running + this.#calling < Math.max(this.#concurrency, this.#queue.length / 16)
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
      // those that sum up others have as much to do as the others
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
        // with others at work, one of them was faster: it is left to that one for a while
        maxConflicts: identity === undefined ? undefined : 0,
      })
      const { kind, outcome, attempts } = ended
      if (this.#state === 'running') this.#resyncs.get(planner)?.planned(key, outcome !== undefined)
      this.#enqueue(planner, ended.wakes, job)
      for (const event of events) this.#tell(job, () => onEvent?.(event))
      const tookMs = timers.now() - beganMs
      this.#tell(job, () => onResult?.({ planner: planner.name, key, kind, outcome, attempts, tookMs }))
      if (ended.kind === 'done') {
        const { requeueAfterSeconds: seconds } = ended
        end = seconds === undefined ? {} : { againMs: againMs(seconds) }
        // at once, and again at once: that would be without a pause
        if (end.againMs === 0) end = { againMs: this.#pauseMs(id) }
        else this.#backoff.succeeded(id)
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

  /** Looks for stalled keys after a while, for as long as there is anything to do. */
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
    for (const stalled of this.#stalled.find(nowMs, readySinceMs)) tell('unfinished', stalled)
    for (const { planner, waiting: keys, oldestKey: key, oldestMs: forMs } of this.queues) {
      if (key !== undefined && forMs > STALLED_MS) tell('waiting', { planner, key, keys, forMs, plans: 0 })
    }
  }

  /** Whether something may be sent. After a first no never again. */
  #canWrite(): boolean {
    const { canWrite } = this.#options
    if (!this.#isWithheld && canWrite !== undefined && !canWrite()) {
      this.#isWithheld = true
      this.stop()
      this.#wakeWaits({ isFinal: true })
    }
    return !this.#isWithheld
  }

  /** How long to wait with a key that has failed once more. */
  #pauseMs(id: string): number {
    return Math.min(this.#backoff.failed(id), DAY_MS)
  }

  /**
   * What the host does with what it is told may throw, or reject later: that is no reason to leave
   * anything undone.
   */
  #tell({ planner, key }: Job<O>, tell: () => unknown): void {
    const failed = (error: unknown) => this.#options.onProblem({ kind: 'thrown', planner: planner.name, key, error })
    try {
      const told = tell()
      if (typeof Object(told).then === 'function') Promise.resolve(told).catch(failed)
    } catch (error) {
      failed(error)
    }
  }

  /**
   * Others are planned while a call is not answered: the addresses that it asks for are not theirs.
   */
  async #call(external: ExternalCaller, call: ExternalCall): Promise<ExternalResult> {
    this.#calling++
    this.#running--
    try {
      // the next plan begins when this call was sent: calls are sent in the order of their keys
      const [result] = await Promise.all([external(call), Promise.resolve().then(() => this.#pump())])
      return result
    } finally {
      this.#calling--
      this.#running++
    }
  }

  /**
   * Finds out what has become of a write. Others are planned meanwhile, if the planner keeps from
   * them what may have been created.
   */
  async #settle(job: Job<O>, { unsettled, release }: Extract<KeyResult, { kind: 'unsettled' }>): Promise<void> {
    const { store, timers, onProblem, serverLimitMs = 600_000 } = this.#options
    this.#unsettled++
    this.#running--
    this.#pump()
    let sentMs = timers.now()
    try {
      for (let times = 1; ; times++) {
        // also when it is to stop: nobody else could find out
        await this.#wait(waitMs(times), { isFinal: true })
        // the next leader sees what is stored, and this one plans nothing more
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
      // also after a throw of the planner that is shown it: whoever stops would wait for ever
      this.#unsettled--
      this.#running++
    }
    this.#enqueue(job.planner, release(), job)
  }

  #wakeWaits(which: { readonly isFinal: boolean }): void {
    for (const [wake, { isFinal }] of [...this.#waits]) if (isFinal === which.isFinal) wake()
  }

  /**
   * @param isFinal whether it continues while the controller stops, for as long as that may write
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

/** What keys are woken by. */
interface News {
  readonly id: string
  /** Whether it was not known before. */
  readonly isNews: boolean
}

/** What was reserved for a plan, and is not any more. */
const RELEASED: News = { id: 'released', isNews: true }

/** Names a change: what a write has shown and what a watch tells of it are the same. */
function idOf(change: Change): string {
  if (change.kind === 'absent') return `${objectKey(change.ref)} ${change.uid} gone`
  const { uid, resourceVersion } = change.object.metadata
  return `${objectKey(refOf(change.object))} ${uid} ${resourceVersion}`
}

/** What a controller has to do. */
export interface ControllerLoad {
  /** Keys that are ready to be planned. */
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
 * How long a key is left to another process after conflicts: 1 to 2 s, twice as long after each, up
 * to 30 s.
 */
function yieldMs(conflicts: number, rank: number): number {
  return Math.min(1000 * (1 + rank / 2 ** 32) * 2 ** Math.min(conflicts, 5), 30_000)
}

/**
 * How long to wait before a store is asked again that has failed so many times in a row: 5 ms,
 * twice as long each time, up to half a minute.
 */
function waitMs(times: number): number {
  return Math.min(5 * 2 ** Math.min(times - 1, 20), 30_000)
}

/**
 * @throws IpamError `INVALID_ARGUMENT` for what is no time: a timer would take it for none at all,
 * again and again
 */
function againMs(seconds: number): number {
  if (seconds >= 0) return Math.min(seconds * 1000, DAY_MS)
  const expected = 'seconds, from 0'
  refuseIn(OF, 'requeueAfterSeconds', expected, seconds)
}

/** @throws IpamError `INVALID_ARGUMENT` */
function assertOptions<O extends Outcome>(options: ControllerOptions<O>): void {
  const { store, planners, timers, onProblem, concurrency = 8, summaryDelayMs = 0, serverLimitMs = 0 } = options
  if (typeof store?.watch !== 'function') refuseIn(OF, 'store', 'a store', store)
  if (!Array.isArray(planners)) refuseIn(OF, 'planners', 'a list of planners', planners)
  if (typeof onProblem !== 'function') refuseIn(OF, 'onProblem', 'a function', onProblem)
  for (const part of ['now', 'after'] as const) {
    if (typeof timers?.[part] !== 'function') refuseIn(OF, `timers.${part}`, 'a function', timers?.[part])
  }
  if (!Number.isInteger(concurrency) || concurrency < 1)
    refuseIn(OF, 'concurrency', 'a whole number from 1', concurrency)
  for (const [argument, ms] of Object.entries({ summaryDelayMs, serverLimitMs })) {
    if (!(ms >= 0 && ms <= DAY_MS)) refuseIn(OF, argument, 'from 0 to 86,400,000', ms)
  }
  const { identity } = options
  if (identity !== undefined && (typeof identity !== 'string' || identity === '')) {
    refuseIn(OF, 'identity', 'a text that is not empty', identity)
  }
  assertPlanners(planners, options.external)
  assertCanWrite(options.canWrite)
  const names = planners.map((planner) => planner.name)
  if (new Set(names).size < names.length) refuseIn(OF, 'planners', 'planners of different names', names.join(', '))
}
