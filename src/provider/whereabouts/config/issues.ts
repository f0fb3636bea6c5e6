import type { ConfigIssue } from './types.js'

/** The faults of one configuration, in the order in which upstream finds them. */
export class ConfigIssues {
  readonly #issues: (ConfigIssue & { readonly text?: string | undefined })[] = []
  readonly #isStrict: boolean

  /** @param isStrict whether faults count that upstream passes over */
  constructor(isStrict: boolean) {
    this.#isStrict = isStrict
  }

  /** A fault that upstream refuses too. @param text its sentence */
  add(path: string, message: string, text: string): void {
    this.#issues.push({ path, message, text })
  }

  /** A fault that upstream passes over. */
  strict(path: string, message: string): void {
    if (this.#isStrict) this.#issues.push({ path, message })
  }

  get all(): readonly ConfigIssue[] {
    return this.#issues.map(({ path, message }) => ({ path, message }))
  }

  /** The sentence of upstream, which stops at the first fault that it knows. */
  get text(): string | undefined {
    return this.#issues.find(({ text }) => text !== undefined)?.text
  }
}
