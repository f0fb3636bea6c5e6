/** How many Events of one object are written at once, and how often one more: as in client-go. */
const BURST = 25
const REFILL_MS = 300_000

interface Tokens {
  left: number
  /** When the last one was added. */
  atMs: number
}

/** Limits how many Events are written about each object. */
export class EventBudget {
  readonly #most: number
  readonly #objects = new Map<string, Tokens>()

  /**
   * @param most the number of objects that are remembered. The least recently used are removed
   *   first
   */
  constructor(most: number) {
    this.#most = most
  }

  /** Whether one more Event about an object may be written. O(1). */
  take(object: string, nowMs: number): boolean {
    const tokens = this.#objects.get(object) ?? { left: BURST, atMs: nowMs }
    const added = Math.max(0, Math.floor((nowMs - tokens.atMs) / REFILL_MS))
    tokens.left = Math.min(BURST, tokens.left + added)
    // after the clock was set back, the count starts from there
    tokens.atMs = nowMs < tokens.atMs ? nowMs : tokens.atMs + added * REFILL_MS
    this.#objects.delete(object)
    this.#objects.set(object, tokens)
    const [oldest] = this.#objects.keys()
    if (this.#objects.size > this.#most && oldest !== undefined) this.#objects.delete(oldest)
    if (tokens.left === 0) return false
    tokens.left--
    return true
  }
}
