import type { Outcome, Planner } from '../plan/index.js'
import type { Timers } from './controller.js'
import { Fifo } from './fifo.js'

/** A key of a planner that is to be planned, or is just being. */
export interface Job<O extends Outcome> {
  readonly planner: Planner<O>
  readonly key: string
  /** Names both. */
  readonly id: string
  isQueued: boolean
  isBusy: boolean
  /** Woken while it was busy: what it was planned from is not all that is known. */
  isStale: boolean
  /** By what of that it was woken that it has not done itself. */
  readonly news: Set<string>
  /** Calls its timer off, if it has one. */
  cancel: (() => void) | undefined
  /** When that rings. */
  dueMs: number
}

/** How a key is to go on after it was planned. */
export interface JobEnd {
  /** To be planned again after this, in milliseconds. */
  readonly againMs?: number | undefined
  /** It failed: unless there was news meanwhile, whatever has woken it waits for that time as well. */
  readonly hasFailed?: boolean | undefined
}

/** What has woken a key, if that matters to one that is busy. */
export interface WokenBy {
  readonly news?: string | undefined
  readonly own?: string | undefined
}

/** The jobs of a planner that are ready. */
interface Line<O extends Outcome> {
  readonly ready: Fifo<Job<O>>
  busy: number
}

/**
 * Which key is planned next: in the order in which they were woken, planner by planner in turn. A key that is busy comes again when it is done.
 *
 * All operations are O(1), apart from a turn over the planners.
 */
export class WorkQueue<O extends Outcome> {
  readonly #timers: Timers
  readonly #summaryDelayMs: number
  readonly #rang: () => void
  readonly #jobs = new Map<string, Job<O>>()
  /** Planners in the order of their turns. */
  readonly #lines = new Map<Planner<O>, Line<O>>()
  #ready = 0
  #isStopped = false

  /** @param rang told when a timer has made a job ready */
  constructor(timers: Timers, summaryDelayMs: number, rang: () => void) {
    this.#timers = timers
    this.#summaryDelayMs = summaryDelayMs
    this.#rang = rang
  }

  /** How many jobs are ready. */
  get length(): number {
    return this.#ready
  }

  /**
   * Wakes a key. One that sums up others is ready after a while: more may come.
   *
   * @param by `news`: what was not known before; `own`: what the key has done or read itself, of which a watch may have told before, as if it were news
   */
  add(planner: Planner<O>, key: string, { news, own }: WokenBy): void {
    if (this.#isStopped) return
    const job = this.#jobOf(planner, key)
    if (job.isBusy) {
      job.isStale = true
      if (news !== undefined) job.news.add(news)
      if (own !== undefined) job.news.delete(own)
      return
    }
    if (job.isQueued) return
    if (!planner.isSummary(key)) this.#push(job)
    // what was to come much later comes now
    else if (job.cancel === undefined || job.dueMs > this.#timers.now() + this.#summaryDelayMs) {
      this.#pushAfter(job, this.#summaryDelayMs)
    }
  }

  /** The next job that may be planned now. It is busy until {@link done}. */
  take(): Job<O> | undefined {
    for (const [planner, line] of this.#lines) {
      // a planner that reserves nothing must see what became of one plan before it makes another
      if (line.ready.length === 0 || (planner.reserve === undefined && line.busy > 0)) continue
      const job = line.ready.shift() as Job<O>
      this.#ready--
      line.busy++
      job.isBusy = true
      // it is planned now: there is no need to do that again when its timer rings
      job.cancel?.()
      job.cancel = undefined
      this.#lines.delete(planner)
      this.#lines.set(planner, line)
      return job
    }
    return undefined
  }

  /** A job was planned, and that is over. */
  done(job: Job<O>, { againMs, hasFailed = false }: JobEnd = {}): void {
    if (this.#isStopped) return
    this.#lineOf(job.planner).busy--
    job.isBusy = false
    const isStale = job.isStale && (job.news.size > 0 || !hasFailed)
    job.isStale = false
    job.news.clear()
    if (isStale) this.add(job.planner, job.key, {})
    else if (againMs !== undefined) this.#pushAfter(job, againMs)
    else this.#jobs.delete(job.id)
  }

  /** Calls all timers off: nothing is ready any more, and nothing will be. */
  stop(): void {
    this.#isStopped = true
    for (const job of this.#jobs.values()) job.cancel?.()
    this.#jobs.clear()
    this.#lines.clear()
    this.#ready = 0
  }

  #push(job: Job<O>): void {
    this.#lineOf(job.planner).ready.push(job)
    this.#ready++
  }

  #pushAfter(job: Job<O>, ms: number): void {
    job.cancel?.()
    job.dueMs = this.#timers.now() + ms
    job.cancel = this.#timers.after(ms, () => {
      job.cancel = undefined
      if (!job.isQueued) this.#push(job)
      this.#rang()
    })
  }

  #lineOf(planner: Planner<O>): Line<O> {
    const known = this.#lines.get(planner)
    if (known !== undefined) return known
    const line = { ready: new Fifo<Job<O>>(), busy: 0 }
    this.#lines.set(planner, line)
    return line
  }

  #jobOf(planner: Planner<O>, key: string): Job<O> {
    const id = `${planner.name} ${key}`
    const known = this.#jobs.get(id)
    if (known !== undefined) return known
    const state = {
      isQueued: false,
      isBusy: false,
      isStale: false,
      news: new Set<string>(),
      cancel: undefined,
      dueMs: 0,
    }
    const job = { planner, key, id, ...state }
    this.#jobs.set(id, job)
    return job
  }
}
