/** When virtual time begins. A fixed date, so that the same input gives the same output. */
const START_MS = Date.UTC(2026, 0, 1)

export interface Clock {
  readonly nowMs: number
  /** Called before each write. */
  tick(): void
  /** Lets time go by, if it can be had. */
  pass(seconds: number): boolean
}

/** Of a store inside this process: only this program moves it. */
export class VirtualClock implements Clock {
  #nowMs = START_MS

  get nowMs(): number {
    return this.#nowMs
  }

  /** Every write comes a second after the one before. */
  tick(): void {
    this.#nowMs += 1000
  }

  pass(seconds: number): boolean {
    this.#nowMs += seconds * 1000
    return true
  }
}

/** Of a store that others may use too, and that outlives this process: time is what it is. */
export const realClock: Clock = {
  get nowMs() {
    return Date.now()
  },
  tick() {},
  pass: () => false,
}
