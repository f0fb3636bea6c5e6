import type { Timers } from 'ipam-kit/run'

interface Timer {
  readonly dueMs: number
  readonly nth: number
  action: (() => void) | undefined
}

/**
 * The time of a simulated world. It continues from one timer to the next. Everything that waits
 * for no timer is done before the next timer rings.
 */
export class WorldClock {
  nowMs = Date.UTC(2026, 0, 1)
  #count = 0
  /** A binary heap by due time, then by the order in which the timers were set. */
  readonly #heap: Timer[] = []
  readonly #onStep: () => void

  /** @param onStep called after each timer, when everything that it has caused is done */
  constructor(onStep: () => void) {
    this.#onStep = onStep
  }

  after(ms: number, action: () => void): () => void {
    const timer: Timer = { dueMs: this.nowMs + ms, nth: ++this.#count, action }
    this.#push(timer)
    return () => {
      timer.action = undefined
    }
  }

  wait(ms: number): Promise<void> {
    return new Promise((resolve) => void this.after(ms, resolve))
  }

  /** Runs everything that is due within this time. `isOver` ends it early. */
  async pass(ms: number, isOver: () => boolean): Promise<void> {
    const endMs = this.nowMs + ms
    await this.#settle()
    while (!isOver()) {
      const next = this.#heap[0]
      if (next === undefined || next.dueMs > endMs) {
        this.nowMs = endMs
        return
      }
      this.#pop()
      if (next.action === undefined) continue
      this.nowMs = Math.max(this.nowMs, next.dueMs)
      next.action()
      await this.#settle()
    }
  }

  async #settle(): Promise<void> {
    // an immediate runs when no promise is left to continue
    await new Promise((resolve) => setImmediate(resolve))
    this.#onStep()
  }

  #push(timer: Timer): void {
    const heap = this.#heap
    let at = heap.push(timer) - 1
    while (at > 0) {
      const above = (at - 1) >> 1
      if (isBefore(heap[above] as Timer, timer)) break
      heap[at] = heap[above] as Timer
      at = above
    }
    heap[at] = timer
  }

  #pop(): void {
    const heap = this.#heap
    const last = heap.pop() as Timer
    if (heap.length === 0) return
    let at = 0
    for (;;) {
      let below = 2 * at + 1
      if (below >= heap.length) break
      if (below + 1 < heap.length && isBefore(heap[below + 1] as Timer, heap[below] as Timer)) below++
      if (isBefore(last, heap[below] as Timer)) break
      heap[at] = heap[below] as Timer
      at = below
    }
    heap[at] = last
  }
}

function isBefore(left: Timer, right: Timer): boolean {
  return left.dueMs < right.dueMs || (left.dueMs === right.dueMs && left.nth < right.nth)
}

/**
 * The clock and the timers of one process. Its time differs from that of the world by a fixed
 * amount. A suspended process does nothing, but its clock continues. A dead one does nothing more.
 */
export class ProcessClock implements Timers {
  readonly #world: WorldClock
  readonly #skewMs: number
  /** What came due while the process was suspended, in order. */
  #held: (() => void)[] = []
  #state: 'running' | 'suspended' | 'dead' = 'running'

  constructor(world: WorldClock, skewMs: number) {
    this.#world = world
    this.#skewMs = skewMs
  }

  get isRunning(): boolean {
    return this.#state === 'running'
  }

  get isDead(): boolean {
    return this.#state === 'dead'
  }

  now(): number {
    return this.#world.nowMs + this.#skewMs
  }

  after(ms: number, action: () => void): () => void {
    let isCalledOff = false
    const cancel = this.#world.after(ms, () => this.#when(() => !isCalledOff && action()))
    return () => {
      isCalledOff = true
      cancel()
    }
  }

  /** Resolves when the process runs: at once, after its suspension, or never if it is dead. */
  running(): Promise<void> {
    return new Promise((resolve) => this.#when(resolve))
  }

  suspend(): void {
    if (this.#state === 'running') this.#state = 'suspended'
  }

  resume(): void {
    if (this.#state !== 'suspended') return
    this.#state = 'running'
    const held = this.#held
    this.#held = []
    // each in a turn of its own
    for (const action of held) this.#world.after(0, () => this.#when(action))
  }

  kill(): void {
    this.#state = 'dead'
    this.#held = []
  }

  #when(action: () => void): void {
    if (this.#state === 'running') action()
    else if (this.#state === 'suspended') this.#held.push(action)
  }
}
