import type { Findings } from '../../bench/page.js'
import type { AdapterResults } from './conformance.js'

/**
 * `short`: what every change goes through. Each part says in one place what it does less of then.
 */
export type Depth = 'full' | 'short'

/** What a part has measured, for a section of a page of docs/reference. */
export interface Section extends Findings {
  readonly heading: string
}

/** Some tests that need the same thing from outside. */
export interface Part {
  readonly name: string
  /** What holds if it passes, in one line. */
  readonly about: string
  /**
   * - `first`: it takes seconds, or installs what others need. Such parts run one after the other
   * - `alone`: it measures time. With `--short` it measures none that matters, and runs beside others
   * - left out: it runs beside another part
   */
  readonly place?: 'first' | 'alone'
  run(report: Report, depth: Depth): Promise<void>
}

/**
 * Counts tests, prints a line for each, and at the end has the one line that people and scripts
 * read.
 */
export class Report {
  #passed = 0
  #failed = 0
  readonly #results: AdapterResults[] = []
  readonly #sections: Section[] = []

  get failed(): number {
    return this.#failed
  }

  /** What was kept, of all parts. */
  get results(): readonly AdapterResults[] {
    return this.#results
  }

  /** What was measured. */
  get sections(): readonly Section[] {
    return this.#sections
  }

  /** Keeps how the conformance suite ended on one adapter. */
  keep(results: AdapterResults): void {
    this.#results.push(results)
  }

  /** Keeps what was measured. */
  addSection(section: Section): void {
    this.#sections.push(section)
  }

  /**
   * Runs a part. What it throws outside of its tests is one failure more, and so is a part without
   * a test.
   */
  async run(part: Part, depth: Depth): Promise<void> {
    console.log(`${part.name}: ${part.about}`)
    await this.guard(part.name, async () => {
      const before = this.#passed + this.#failed
      await part.run(this, depth)
      if (this.#passed + this.#failed === before) throw new Error('it has no test')
    })
  }

  /** What is thrown is one failure more. */
  async guard(name: string, action: () => Promise<void>): Promise<void> {
    try {
      await action()
    } catch (error) {
      this.#fail(name, error)
    }
  }

  /**
   * Runs one test: it passes if it does not throw. What it returns, if anything, is printed behind
   * its name.
   *
   * @returns whether it has passed
   */
  async test(name: string, body: () => Promise<string | undefined> | string | undefined): Promise<boolean> {
    const start = performance.now()
    try {
      const note = await body()
      this.#passed++
      const seconds = ((performance.now() - start) / 1000).toFixed(1)
      console.log(`  ok      ${name}${note === undefined ? '' : `: ${note}`} (${seconds} s)`)
      return true
    } catch (error) {
      this.#fail(name, error)
      return false
    }
  }

  /** Adds what another process has reported: its last line is a summary. */
  add(output: string): void {
    const lines = output.trimEnd().split('\n')
    const [, passed, failed] = /^(\d+) passed, (\d+) failed, 0 skipped$/.exec(lines.pop() ?? '') ?? []
    console.log(lines.join('\n'))
    if (passed === undefined || failed === undefined) throw new Error('it has ended without a summary')
    this.#passed += Number(passed)
    this.#failed += Number(failed)
  }

  summary(): string {
    return `${this.#passed} passed, ${this.#failed} failed, 0 skipped`
  }

  #fail(name: string, error: unknown): void {
    this.#failed++
    const words = error instanceof Error ? error.message : String(error)
    console.log(`  FAILED  ${name}\n${words.replace(/^(?=.)/gm, '          ')}`)
  }
}
