import type { Outcome, Planner } from '../../plan/index.js'
import { Fifo, type Queued } from './fifo.js'
import type { Timers } from './timers.js'

/** A key of a planner that waits for a plan, or is being planned. */
export interface Job<O extends Outcome> extends Queued {
  readonly planner: Planner<O>
  readonly key: string
  /** Names the planner and the key. */
  readonly id: string
  /** When it became ready, or its object was served no more. */
  readySinceMs: number
  isBusy: boolean
  /** Another process is working on it: if it is woken, it waits for its timer. */
  isHeld: boolean
  /** It was left to another process that had begun with it. That happens once. */
  wasLeft: boolean
  /** The number of conflicts with other processes in a row. */
  conflicts: number
  /** Woken while it was planned: the plan is outdated. */
  isStale: boolean
  /** The changes that have woken it while it was planned, without its own writes. */
  news: Set<string> | undefined
  /** Cancels its timer, if it has one. */
  cancel: (() => void) | undefined
  /** When that timer rings. */
  dueMs: number
}

/** What the queue does with a key after its plan. */
export interface JobEnd {
  /** The time until the next plan, in milliseconds. */
  readonly againMs?: number | undefined
  /**
   * Its plan failed: unless there was a newer change, it waits for that time even if it is woken.
   */
  readonly hasFailed?: boolean | undefined
  /** Another process is working on it: it waits for that time even if it is woken. */
  readonly isHeld?: boolean | undefined
}

/** What has woken a key that is being planned. */
export interface WokenBy {
  readonly news?: string | undefined
  readonly own?: string | undefined
}

/** The queue of a planner. */
export interface QueueReport {
  readonly planner: string
  /**
   * The number of keys that wait, without keys whose objects have what they ask for
   * ({@link Planner.isServed}): their plans usually have nothing to do.
   */
  readonly waiting: number
  /**
   * The key that has waited the longest time, without keys with which another process has begun
   * ({@link Planner.isBegun}). `undefined`: no key waits.
   */
  readonly oldestKey: string | undefined
  /** How long that key has waited, in milliseconds. 0: no key waits. */
  readonly oldestMs: number
}

/** The jobs of a planner that are ready. */
interface Line<O extends Outcome> {
  /** Jobs that make addresses safe ({@link Planner.isRepair}). */
  readonly repairs: Fifo<Job<O>>
  readonly ready: Fifo<Job<O>>
  /** Jobs whose objects have what they ask for ({@link Planner.isServed}). */
  readonly behind: Fifo<Job<O>>
  busy: number
  /** The number of jobs taken from `ready` since the last one from `behind`. */
  taken: number
}

export interface WorkQueueOptions {
  readonly timers: Timers
  readonly summaryDelayMs: number
  /** The name of this process, if several processes serve the same objects. */
  readonly identity?: string | undefined
  /** Called when a timer has made a job ready. */
  readonly rang: () => void
  /** Whether the event loop has to continue before more jobs are looked at. Default: never. */
  readonly isOver?: (() => boolean) | undefined
}

/**
 * The shortest time for which a key is left to another process that has begun with it. The longest
 * is twice as long.
 */
const LEFT_MS = 2000

/**
 * While unserved keys wait, every eighth key that is taken is a served one, so that those are
 * planned too.
 */
const SERVED_EVERY = 8

/**
 * Decides which key is planned next: in the order in which keys were woken, one planner after the
 * other. Of the keys of a planner, repairs come first, and unserved keys before served ones. A key
 * that is woken while it is planned comes back after that plan. With an identity the waiting keys
 * are taken in an order of that process (`rankOf`). A key with which another process has begun
 * ({@link Planner.isBegun}) is left to that process for 2 to 4 s, once, because that process may
 * have ended.
 *
 * All operations are O(1) amortised, or O(log n) with an identity, apart from the loop over the
 * planners.
 */
export class WorkQueue<O extends Outcome> {
  readonly #timers: Timers
  readonly #summaryDelayMs: number
  readonly #rang: () => void
  readonly #isOver: () => boolean
  readonly #rankOf: ((job: Job<O>) => number) | undefined
  readonly #jobs = new Map<string, Job<O>>()
  /** Planners, the next one first. */
  readonly #lines = new Map<Planner<O>, Line<O>>()
  #ready = 0
  #isStopped = false

  constructor({ timers, summaryDelayMs, identity, rang, isOver = () => false }: WorkQueueOptions) {
    this.#timers = timers
    this.#summaryDelayMs = summaryDelayMs
    this.#rang = rang
    this.#isOver = isOver
    this.#rankOf = identity === undefined ? undefined : ({ id }) => rankOf(identity, id)
  }

  /** The number of jobs that are ready. */
  get length(): number {
    return this.#ready
  }

  /** Since when a key waits for a plan. `undefined`: it does not wait. */
  readySinceMs(id: string): number | undefined {
    const job = this.#jobs.get(id)
    return job?.queue === undefined ? undefined : job.readySinceMs
  }

  /** Whether a key was left to another process, and its object has what it asks for by now. */
  isServedByOther(id: string): boolean {
    const job = this.#jobs.get(id)
    return job?.isHeld === true && job.planner.isServed?.(job.key) === true
  }

  /** The queue of a planner. O(keys of all planners). */
  report(planner: Planner<O>): QueueReport {
    const nowMs = this.#timers.now()
    const { behind } = this.#lineOf(planner)
    let oldest: Job<O> | undefined
    let waiting = 0
    for (const job of this.#jobs.values()) {
      if (job.planner !== planner || job.queue === undefined || job.queue === behind) continue
      waiting++
      const isOlder = oldest === undefined || job.readySinceMs < oldest.readySinceMs
      if (isOlder && !this.#isOthers(job)) oldest = job
    }
    const oldestMs = oldest === undefined ? 0 : Math.max(0, nowMs - oldest.readySinceMs)
    return { planner: planner.name, waiting, oldestKey: oldest?.key, oldestMs }
  }

  /**
   * Wakes a key. An aggregate key is ready after a delay, to collect more changes.
   *
   * @param by `news`: a newer change; `own`: a write or read of the key itself, whose event of a
   *   watch may have arrived before, as if it were newer
   */
  add(planner: Planner<O>, key: string, { news, own }: WokenBy): void {
    if (this.#isStopped) return
    const job = this.#jobOf(planner, key)
    if (job.isBusy) {
      job.isStale = true
      if (news !== undefined) {
        job.news ??= new Set()
        job.news.add(news)
      }
      if (own !== undefined) job.news?.delete(own)
      return
    }
    if (job.isHeld) return
    if (job.queue !== undefined || !planner.isAggregate(key)) this.#push(job)
    // a job that was due much later is due now
    else if (job.cancel === undefined || job.dueMs > this.#timers.now() + this.#summaryDelayMs) {
      this.#pushAfter(job, this.#summaryDelayMs)
    }
  }

  /**
   * The next job that may be planned now. It is busy until {@link done}. `undefined`: no job, or
   * the event loop has to continue before a job is looked for.
   */
  take(): Job<O> | undefined {
    for (const [planner, line] of this.#lines) {
      // a planner without `begin` must observe the result of a plan before the next plan
      if (planner.begin === undefined && line.busy > 0) continue
      const job = this.#shift(line)
      if (job === undefined) continue
      this.#ready--
      line.busy++
      job.isBusy = true
      // it is planned now, so its timer is not needed
      job.cancel?.()
      job.cancel = undefined
      this.#lines.delete(planner)
      this.#lines.set(planner, line)
      return job
    }
    return undefined
  }

  /**
   * Ends the plan of a job. @returns the time until its next plan, in milliseconds; `undefined`:
   * when it is woken
   */
  done(job: Job<O>, { againMs, hasFailed = false, isHeld = false }: JobEnd = {}): number | undefined {
    if (this.#isStopped) return undefined
    this.#lineOf(job.planner).busy--
    job.isBusy = false
    job.conflicts = isHeld ? job.conflicts + 1 : 0
    if (isHeld && againMs !== undefined) {
      job.isStale = false
      job.news = undefined
      job.isHeld = true
      this.#pushAfter(job, againMs)
      return againMs
    }
    const isStale = job.isStale && (!hasFailed || (job.news?.size ?? 0) > 0)
    job.isStale = false
    job.news = undefined
    if (isStale) this.add(job.planner, job.key, {})
    else if (againMs !== undefined) this.#pushAfter(job, againMs)
    else this.#jobs.delete(job.id)
    return isStale ? 0 : againMs
  }

  /** Cancels all timers: no job becomes ready any more. */
  stop(): void {
    this.#isStopped = true
    for (const job of this.#jobs.values()) job.cancel?.()
    this.#jobs.clear()
    this.#lines.clear()
    this.#ready = 0
  }

  /** Makes a job ready, or moves a ready one to where it belongs since it was woken. */
  #push(job: Job<O>): void {
    const line = this.#lineOf(job.planner)
    const { planner, key, queue: before } = job
    const isServed = planner.isServed?.(key) === true
    const queue = planner.isRepair?.(key) === true ? line.repairs : isServed ? line.behind : line.ready
    if (queue === before) return
    if (before === undefined) this.#ready++
    if (before === undefined || before === line.behind) job.readySinceMs = this.#timers.now()
    queue.push(job)
  }

  /** The next job of a line: a repair, the first unserved job, or now and then a served one. */
  #shift(line: Line<O>): Job<O> | undefined {
    const { repairs, ready, behind } = line
    if (this.#isOver()) return undefined
    const repair = repairs.shift()
    if (repair !== undefined) return repair
    const served = line.taken >= SERVED_EVERY ? behind.shift() : undefined
    for (let job = served ?? ready.shift(); job !== undefined; job = ready.shift()) {
      line.taken = job === served ? 0 : line.taken + 1
      if (job === served || !this.#leaves(job)) return job
      if (this.#isOver()) return undefined
    }
    line.taken = 0
    return behind.shift()
  }

  /** Whether another process has begun with a job, and may end it. */
  #isOthers({ planner, key, wasLeft, conflicts }: Job<O>): boolean {
    return this.#rankOf !== undefined && !wasLeft && conflicts === 0 && planner.isBegun?.(key) === true
  }

  /** Leaves a key to the process that has begun with it. */
  #leaves(job: Job<O>): boolean {
    if (this.#rankOf === undefined || !this.#isOthers(job)) return false
    job.wasLeft = true
    job.isHeld = true
    this.#ready--
    this.#pushAfter(job, LEFT_MS * (1 + this.#rankOf(job) / 2 ** 32))
    return true
  }

  #pushAfter(job: Job<O>, ms: number): void {
    job.cancel?.()
    job.dueMs = this.#timers.now() + ms
    job.cancel = this.#timers.after(ms, () => {
      job.cancel = undefined
      job.isHeld = false
      this.#push(job)
      this.#rang()
    })
  }

  #lineOf(planner: Planner<O>): Line<O> {
    const known = this.#lines.get(planner)
    if (known !== undefined) return known
    const fifo = () => new Fifo<Job<O>>(this.#rankOf)
    const line = { repairs: fifo(), ready: fifo(), behind: fifo(), busy: 0, taken: 0 }
    this.#lines.set(planner, line)
    return line
  }

  #jobOf(planner: Planner<O>, key: string): Job<O> {
    const id = `${planner.name} ${key}`
    const known = this.#jobs.get(id)
    if (known !== undefined) return known
    const state = {
      queue: undefined,
      readySinceMs: 0,
      isBusy: false,
      isHeld: false,
      wasLeft: false,
      conflicts: 0,
      isStale: false,
      news: undefined,
      cancel: undefined,
      dueMs: 0,
    }
    const job = { planner, key, id, ...state }
    this.#jobs.set(id, job)
    return job
  }
}

/**
 * A rank from 0 to 2^32 - 1 for a process and a key: the same each time, and unrelated between two
 * processes or two keys (rendezvous hashing). FNV-1a over the UTF-16 code units of both, mixed by
 * the finalizer of MurmurHash3. O(length).
 */
export function rankOf(process: string, key: string): number {
  let hash = 0x811c9dc5
  for (const text of [process, '\0', key]) {
    for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
