import type { Answered } from '../../plan/index.js'
import type { Heard, HeardOf } from './outside.js'

/** What was heard from outside systems, by claim. */
export class Hearings {
  /** By claim, then by operation and marker. */
  readonly #heard = new Map<string, Map<string, Heard>>()
  /** The claims for which a call is in flight, and what of its answer is about what was so before. */
  readonly #inFlight = new Map<string, 'nothing' | 'refusal' | 'all'>()

  /** What was heard for a claim. */
  of(claim: string): HeardOf | undefined {
    const heard = this.#heard.get(claim)
    return heard && ((operation, marker) => heard.get(`${operation} ${marker}`))
  }

  /** A call for a claim is about to be made. */
  ask(claim: string): void {
    this.#inFlight.set(claim, 'nothing')
  }

  /** The call for a claim has ended, with an answer or without one. */
  end(claim: string): void {
    this.#inFlight.delete(claim)
  }

  /** Takes an answer in, or drops one that is about what was so before: the verb asks again, under the same key. */
  hear(claim: string, { call, answer, atMs }: Answered): void {
    const outdated = this.#inFlight.get(claim)
    this.end(claim)
    if (outdated === 'all' || (outdated === 'refusal' && !answer.ok)) return
    const heard = this.#heard.get(claim) ?? new Map<string, Heard>()
    this.#heard.set(claim, heard)
    const key = `${call.operation} ${call.key}`
    heard.set(key, { answer, atMs, failures: answer.ok ? 0 : (heard.get(key)?.failures ?? 0) + 1 })
  }

  /** Something has changed that may have an outside system answer otherwise: what it refuses is not believed any more, also by an answer that is in flight. */
  doubt(claims: readonly string[]): void {
    for (const claim of claims) {
      if (this.#inFlight.get(claim) === 'nothing') this.#inFlight.set(claim, 'refusal')
      const heard = this.#heard.get(claim)
      heard?.forEach(({ answer }, call) => {
        if (!answer.ok) heard.delete(call)
      })
    }
  }

  /** What was heard is not believed any more, whatever it says, nor is an answer that is in flight. */
  disbelieve(claim: string): void {
    if (this.#inFlight.has(claim)) this.#inFlight.set(claim, 'all')
    this.#heard.delete(claim)
  }

  clear(): void {
    this.#heard.clear()
    this.#inFlight.clear()
  }
}
