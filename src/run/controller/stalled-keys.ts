/** The time without progress after which a key is stalled, in milliseconds. */
export const STALLED_MS = 60_000
/** A key that comes back later than this without being due has new work, in milliseconds. */
const REST_MS = 10_000

/** A key whose last plan had something to do. */
interface Unfinished {
  readonly planner: string
  readonly key: string
  /**
   * When the first of the consecutive runs with something to do began, or has ended, plus the time
   * that the key waited in its queue since then.
   */
  sinceMs: number
  /**
   * The time up to which waits in the queue are included in `sinceMs`: the last time that the key
   * was taken from the queue.
   */
  countedMs: number
  plans: number
  /** The number of times that it was taken from the queue. */
  runs: number
  /**
   * The time by which the key has to come back to count as the same work. Infinite while it is
   * ready or is being planned.
   */
  untilMs: number
}

/** A key that is planned, and its wait in the queue before that. */
export interface PlannedKey {
  readonly id: string
  readonly planner: string
  readonly key: string
  readonly readySinceMs: number
  readonly takenMs: number
}

/** Keys of one planner that make no progress. */
export interface Stalled {
  readonly planner: string
  /** The key without progress for the longest time. */
  readonly key: string
  readonly keys: number
  readonly forMs: number
  /** The number of plans of that key in that time. */
  readonly plans: number
}

/** Finds keys that are planned again and again, each time with something to do. */
export class StalledKeys {
  readonly #unfinished = new Map<string, Unfinished>()

  /** The number of keys that are tracked. */
  get size(): number {
    return this.#unfinished.size
  }

  /**
   * Notes a plan of a key that was ready since `readySinceMs` and taken from its queue at
   * `takenMs`.
   */
  planned({ id, planner, key, readySinceMs, takenMs }: PlannedKey, hasWork: boolean, nowMs: number): void {
    if (!hasWork) return void this.#unfinished.delete(id)
    const known = this.#unfinished.get(id)
    if (known === undefined || known.untilMs < readySinceMs) {
      this.#unfinished.set(id, {
        planner,
        key,
        sinceMs: nowMs,
        countedMs: takenMs,
        plans: 1,
        runs: 1,
        untilMs: Number.POSITIVE_INFINITY,
      })
    } else {
      known.plans++
      if (known.countedMs !== takenMs) known.runs++
      known.sinceMs += takenMs - Math.max(readySinceMs, known.countedMs)
      known.countedMs = takenMs
      known.untilMs = Number.POSITIVE_INFINITY
    }
  }

  /**
   * Notes that a plan was carried out. @param againMs when the key comes back. 0: it is ready;
   * `undefined`: when it is woken
   */
  ended(id: string, againMs: number | undefined, nowMs: number): void {
    const known = this.#unfinished.get(id)
    if (known === undefined) return
    // a first run that took long has made progress
    if (known.runs === 1) known.sinceMs = nowMs
    if (againMs === 0) return
    // a plan that asks for a longer wait is not stalled
    if (againMs !== undefined && againMs > STALLED_MS) this.forget(id)
    else known.untilMs = nowMs + (againMs ?? 0) + REST_MS
  }

  /** Removes a key that has failed: that is reported as a problem of its own. */
  forget(id: string): void {
    this.#unfinished.delete(id)
  }

  clear(): void {
    this.#unfinished.clear()
  }

  /**
   * The stalled keys of each planner that has any. O(keys).
   *
   * @param readySinceMs since when a key waits in its queue. `undefined`: it does not wait
   * @param isDone whether another process has done what a key had to do
   */
  find(
    nowMs: number,
    readySinceMs: (id: string) => number | undefined,
    isDone: (id: string) => boolean,
  ): readonly Stalled[] {
    const found = new Map<string, Stalled>()
    for (const [id, { planner, key, sinceMs, plans, runs, untilMs }] of this.#unfinished) {
      const readyMs = readySinceMs(id)
      // a wait in the queue does not count
      const atMs = readyMs ?? nowMs
      const forMs = atMs - sinceMs
      const isPlanning = readyMs === undefined && untilMs === Number.POSITIVE_INFINITY
      if (untilMs < atMs || isDone(id)) this.#unfinished.delete(id)
      else if (forMs > STALLED_MS && (runs > 1 || isPlanning)) {
        const before = found.get(planner)
        const keys = (before?.keys ?? 0) + 1
        found.set(
          planner,
          before !== undefined && before.forMs >= forMs ? { ...before, keys } : { planner, key, keys, forMs, plans },
        )
      }
    }
    return [...found.values()]
  }
}
