import type { CallResult, ExternalCall } from '../../plan/index.js'
import type { LastCall } from './definition.js'
import type { LastResult, ResultOf } from './external.js'

/** The results of calls to external systems, by claim. */
export class CallResults {
  /** By claim, then by operation and marker. */
  readonly #results = new Map<string, Map<string, LastResult>>()
  /** When calls were planned, by the same keys. */
  readonly #asked = new Map<string, Map<string, number>>()
  /** The claims with a call in flight, and which of its results would be stale. */
  readonly #inFlight = new Map<string, 'nothing' | 'refusal' | 'all'>()

  /** The results of a claim. */
  of(claim: string): ResultOf | undefined {
    const results = this.#results.get(claim)
    return results && ((operation, marker) => results.get(`${operation} ${marker}`))
  }

  /** The last call for a claim. */
  callOf(claim: string, operation: string, marker: string): LastCall<unknown> | undefined {
    const call = `${operation} ${marker}`
    const askedAtMs = this.#asked.get(claim)?.get(call)
    if (askedAtMs === undefined) return undefined
    const result = this.#results.get(claim)?.get(call)
    return { askedAtMs, answer: result?.answer, answeredAtMs: result?.atMs }
  }

  /** Called when a call for a claim is planned. */
  planned(claim: string, { operation, key }: ExternalCall<unknown>, nowMs: number): void {
    const asked = this.#asked.get(claim) ?? new Map<string, number>()
    this.#asked.set(claim, asked)
    asked.set(`${operation} ${key}`, nowMs)
  }

  /** Called when a call for a claim is about to be made. */
  ask(claim: string): void {
    this.#inFlight.set(claim, 'nothing')
  }

  /** Called when the call for a claim has ended, with or without a result. */
  end(claim: string): void {
    this.#inFlight.delete(claim)
  }

  /** Stores a result, or drops a stale one: the verb calls again, under the same key. */
  onResult(claim: string, { call, answer, atMs }: CallResult<unknown, unknown>): void {
    const outdated = this.#inFlight.get(claim)
    this.end(claim)
    if (outdated === 'all' || (outdated === 'refusal' && !answer.ok)) return
    const results = this.#results.get(claim) ?? new Map<string, LastResult>()
    this.#results.set(claim, results)
    const key = `${call.operation} ${call.key}`
    results.set(key, { answer, atMs, failures: answer.ok ? 0 : (results.get(key)?.failures ?? 0) + 1 })
  }

  /**
   * Drops failures, also those of calls in flight: after a change that may make the external system
   * accept the call.
   */
  invalidateFailures(claims: readonly string[]): void {
    // without an external system there is nothing to look for
    if (this.#results.size === 0 && this.#inFlight.size === 0) return
    for (const claim of claims) {
      if (this.#inFlight.get(claim) === 'nothing') this.#inFlight.set(claim, 'refusal')
      const results = this.#results.get(claim)
      results?.forEach(({ answer }, call) => {
        if (!answer.ok) results.delete(call)
      })
    }
  }

  /** Drops all results of a claim, also those of calls in flight. */
  invalidate(claim: string): void {
    if (this.#inFlight.has(claim)) this.#inFlight.set(claim, 'all')
    this.#results.delete(claim)
    this.#asked.delete(claim)
  }

  clear(): void {
    this.#results.clear()
    this.#asked.clear()
    this.#inFlight.clear()
  }
}
