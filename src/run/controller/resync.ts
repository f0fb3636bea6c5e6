import type { Timers } from './timers.js'

/** The most and the shortest parts that a period is divided into. */
const MAX_PARTS = 1000
const MIN_PART_MS = 100

/**
 * Plans all keys of a planner again in each period (`Planner.resyncSeconds`), spread evenly over
 * it. Keys take turns: the one that was planned again longest ago is the next. All operations are
 * O(1); it has a timer for as long as it has keys.
 */
export class Resync {
  readonly #timers: Timers
  readonly #parts: number
  readonly #partMs: number
  readonly #wake: (key: string) => void
  /** In the order of their turns. */
  readonly #keys = new Set<string>()
  /** How many keys are due: a fraction of one is left for the next part. */
  #due = 0
  #cancel: (() => void) | undefined

  constructor(seconds: number, timers: Timers, wake: (key: string) => void) {
    this.#timers = timers
    this.#parts = Math.min(Math.floor((seconds * 1000) / MIN_PART_MS), MAX_PARTS)
    this.#partMs = (seconds * 1000) / this.#parts
    this.#wake = wake
  }

  /** A key was planned. @param exists whether there is anything under it */
  planned(key: string, exists: boolean): void {
    if (exists) this.#keys.add(key)
    else this.#keys.delete(key)
    if (this.#keys.size === 0) this.stop()
    else this.#cancel ??= this.#timers.after(this.#partMs, () => this.#ring())
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#due = 0
  }

  #ring(): void {
    this.#cancel = this.#timers.after(this.#partMs, () => this.#ring())
    this.#due += this.#keys.size / this.#parts
    for (const key of this.#keys) {
      // sums of fractions are a little less than whole
      if (this.#due < 1 - 1e-9) break
      this.#due--
      this.#keys.delete(key)
      this.#keys.add(key)
      this.#wake(key)
    }
  }
}
