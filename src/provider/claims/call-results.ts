import type { CallResult, ExternalCall } from '../../plan/index.js'
import type { LastCall } from './definition.js'
import type { LastResult, ResultOf } from './external.js'

/** What was heard from external systems, by claim. */
export class CallResults {
  /** By claim, then by operation and marker. */
  readonly #results = new Map<string, Map<string, LastResult>>()
  /** When calls were planned, as results are kept. */
  readonly #asked = new Map<string, Map<string, number>>()
  /**
   * The claims for which a call is in flight, and what of its answer is about what was so before.
   */
  readonly #inFlight = new Map<string, 'nothing' | 'refusal' | 'all'>()

  /** What was heard for a claim. */
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

  /** A call for a claim is planned. */
  planned(claim: string, { operation, key }: ExternalCall<unknown>, nowMs: number): void {
    const asked = this.#asked.get(claim) ?? new Map<string, number>()
    this.#asked.set(claim, asked)
    asked.set(`${operation} ${key}`, nowMs)
  }

  /** A call for a claim is about to be made. */
  ask(claim: string): void {
    this.#inFlight.set(claim, 'nothing')
  }

  /** The call for a claim has ended, with an answer or without one. */
  end(claim: string): void {
    this.#inFlight.delete(claim)
  }

  /**
   * Takes an answer in, or drops one that is about what was so before: the verb asks again, under
   * the same key.
   */
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
   * Something has changed that may have an external system answer otherwise: what it refuses is not
   * believed any more, also by an answer that is in flight.
   */
  invalidateFailures(claims: readonly string[]): void {
    for (const claim of claims) {
      if (this.#inFlight.get(claim) === 'nothing') this.#inFlight.set(claim, 'refusal')
      const results = this.#results.get(claim)
      results?.forEach(({ answer }, call) => {
        if (!answer.ok) results.delete(call)
      })
    }
  }

  /**
   * What was heard is not believed any more, whatever it says, nor is an answer that is in flight.
   */
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
