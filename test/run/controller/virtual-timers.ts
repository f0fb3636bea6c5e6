import type { Timers } from 'ipam-kit/run'

/**
 * Timers that ring when they are told to: time goes on from one to the next, and no faster than
 * what waits for it.
 */
export class VirtualTimers implements Timers {
  #nowMs: number
  #count = 0
  readonly #timers = new Map<number, { readonly dueMs: number; readonly action: () => void }>()

  constructor(nowMs = Date.UTC(2026, 0, 1)) {
    this.#nowMs = nowMs
  }

  /** How many are set. */
  get size(): number {
    return this.#timers.size
  }

  now(): number {
    return this.#nowMs
  }

  /** Work of the process that takes a time: no timer rings meanwhile. */
  work(ms: number): void {
    this.#nowMs += ms
  }

  after(ms: number, action: () => void): () => void {
    const id = ++this.#count
    this.#timers.set(id, { dueMs: this.#nowMs + ms, action })
    return () => void this.#timers.delete(id)
  }

  /** Lets everything go on until nothing is left that would ring before a time is over. */
  async pass(ms: number): Promise<void> {
    const endMs = this.#nowMs + ms
    for (;;) {
      await this.#settle()
      const next = [...this.#timers].sort(([a, x], [b, y]) => x.dueMs - y.dueMs || a - b)[0]
      if (next === undefined || next[1].dueMs > endMs) break
      this.#timers.delete(next[0])
      this.#nowMs = Math.max(this.#nowMs, next[1].dueMs)
      next[1].action()
    }
    this.#nowMs = Math.max(this.#nowMs, endMs)
  }

  /**
   * Everything that waits for nothing but its turn goes on until it waits for a timer, or for ever.
   */
  async #settle(): Promise<void> {
    for (let turns = 0; turns < 3; turns++) await new Promise((resolve) => setImmediate(resolve))
  }
}
