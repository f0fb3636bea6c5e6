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
  /** The number of answers that are worked on in this turn. */
  #admitted = 0
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
    return nowMs - this.#beganMs < MOST_MS ? undefined : this.#later()
  }

  /**
   * Resolves when an answer may be worked on, whose work cannot be interrupted: a number of them in
   * each turn.
   */
  async admit(most: number): Promise<void> {
    while (this.over() !== undefined || this.#admitted >= most) await this.#later()
    this.#admitted++
  }

  /** Ends the turn at once, and its timer. */
  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#next = undefined
    this.#admitted = 0
    this.#begin()
  }

  #later(): Promise<void> {
    this.#next ??= new Promise((resolve) => {
      this.#begin = resolve
    })
    return this.#next
  }
}
