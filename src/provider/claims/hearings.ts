import type { Answered } from '../../plan/index.js'
import type { Heard, HeardOf } from './outside.js'

/** What was heard from outside systems, by claim. */
export class Hearings {
  /** By claim, then by operation and marker. */
  readonly #heard = new Map<string, Map<string, Heard>>()
  /** The claims that are asked for, and for which it is about to be answered what was so before. */
  readonly #outdated = new Set<string>()

  /** What was heard for a claim. */
  of(claim: string): HeardOf | undefined {
    const heard = this.#heard.get(claim)
    return heard && ((operation, marker) => heard.get(`${operation} ${marker}`))
  }

  /** A call for a claim is about to be made. */
  ask(claim: string): void {
    this.#outdated.delete(claim)
  }

  hear(claim: string, { call, answer, atMs }: Answered): void {
    if (this.#outdated.delete(claim) && !answer.ok) return
    const heard = this.#heard.get(claim) ?? new Map<string, Heard>()
    this.#heard.set(claim, heard)
    const key = `${call.operation} ${call.key}`
    heard.set(key, { answer, atMs, failures: answer.ok ? 0 : (heard.get(key)?.failures ?? 0) + 1 })
  }

  /**
   * Something has changed that may have an outside system answer otherwise: what it has refused is not believed any more.
   *
   * @param asking the claims for which an answer is still to come: if it refuses, it does for what was so before
   */
  doubt(claims: readonly string[], asking: ReadonlySet<string>): void {
    for (const claim of claims) {
      if (asking.has(claim)) this.#outdated.add(claim)
      const heard = this.#heard.get(claim)
      heard?.forEach(({ answer }, call) => {
        if (!answer.ok) heard.delete(call)
      })
    }
  }

  /** What was heard is not believed any more, whatever it says. */
  disbelieve(claim: string): void {
    this.#heard.delete(claim)
  }

  forget(claim: string): void {
    this.disbelieve(claim)
    this.#outdated.delete(claim)
  }

  clear(): void {
    this.#heard.clear()
    this.#outdated.clear()
  }
}
