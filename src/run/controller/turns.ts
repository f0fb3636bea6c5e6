import type { Timers } from './timers.js'

/** The longest work in one turn of the event loop, in milliseconds. */
const MOST_MS = 10

/**
 * Ends the turns of the event loop in time, so that the timers and the answers of other parts of
 * the process are not late: above all the renewal of a Lease.
 *
 * Promises alone do not end a turn. So the first work of a turn sets a timer of 0 ms: until it has
 * rung, the turn is the same.
 */
export class Turns {
  readonly #timers: Timers
  /** When the present turn began. */
  #beganMs = 0
  #cancel: (() => void) | undefined
  #next: Promise<void> | undefined
  #begin: () => void = () => {}

  constructor(timers: Timers) {
    this.#timers = timers
  }

  /**
   * Called before each piece of work. `undefined`: the turn has time for it. Otherwise the work has
   * to wait for the promise, which resolves in the next turn, or at {@link stop}.
   */
  over(): Promise<void> | undefined {
    const nowMs = this.#timers.now()
    if (this.#cancel === undefined) {
      this.#beganMs = nowMs
      this.#cancel = this.#timers.after(0, () => this.stop())
    }
    if (nowMs - this.#beganMs < MOST_MS) return undefined
    this.#next ??= new Promise((resolve) => {
      this.#begin = resolve
    })
    return this.#next
  }

  /** Ends the turn at once, and its timer. */
  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#next = undefined
    this.#begin()
  }
}
