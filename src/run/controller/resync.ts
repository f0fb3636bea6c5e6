import type { Timers } from './timers.js'

/** The largest number of parts of a period, and the shortest part. */
const MAX_PARTS = 1000
const MIN_PART_MS = 100

/**
 * Plans all keys of a planner again in each period (`Planner.resyncSeconds`), spread evenly over
 * it. The next key is the one that was planned again the longest time ago. All operations are O(1).
 * It has a timer while it has keys.
 */
export class Resync {
  readonly #timers: Timers
  readonly #parts: number
  readonly #partMs: number
  readonly #wake: (key: string) => void
  /** The keys, the next one first. */
  readonly #keys = new Set<string>()
  /** The number of keys that are due. A fraction is kept for the next part. */
  #due = 0
  #cancel: (() => void) | undefined

  constructor(seconds: number, timers: Timers, wake: (key: string) => void) {
    this.#timers = timers
    this.#parts = Math.min(Math.floor((seconds * 1000) / MIN_PART_MS), MAX_PARTS)
    this.#partMs = (seconds * 1000) / this.#parts
    this.#wake = wake
  }

  /** Notes that a key was planned. @param exists whether there is anything under it */
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
      // sums of fractions are slightly less than a whole number
      if (this.#due < 1 - 1e-9) break
      this.#due--
      this.#keys.delete(key)
      this.#keys.add(key)
      this.#wake(key)
    }
  }
}
