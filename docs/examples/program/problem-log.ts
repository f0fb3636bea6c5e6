import type { Timers } from 'ipam-kit/run'

/**
 * How long a kind of problem is quiet after its first line, and at most after later ones, in
 * milliseconds.
 */
const FIRST_QUIET_MS = 10_000
const LONGEST_QUIET_MS = 600_000
/** How many kinds of problems are told apart. */
const MAX_KINDS = 100

interface Folded {
  quietMs: number
  count: number
  last: string
}

/**
 * Folds problems that repeat: the first of a kind is a line at once. What follows is counted, and
 * told in one line after 10 s, 20 s and so on, up to 10 minutes. A kind that was quiet for that
 * time begins anew.
 */
export class ProblemLog {
  readonly #timers: Timers
  readonly #log: (line: string) => void
  readonly #kinds = new Map<string, Folded>()

  constructor(timers: Timers, log: (line: string) => void) {
    this.#timers = timers
    this.#log = log
  }

  /** @param about what differs between problems of one kind: names of objects */
  tell(line: string, about: readonly string[] = []): void {
    const kind = this.#kindOf(line, about)
    const known = this.#kinds.get(kind)
    if (known !== undefined) {
      known.count++
      known.last = line
      return
    }
    this.#log(line)
    this.#kinds.set(kind, { quietMs: FIRST_QUIET_MS, count: 0, last: '' })
    this.#waitFor(kind)
  }

  /** Tells what was counted: before the end of the process. */
  flush(): void {
    for (const folded of this.#kinds.values()) this.#tellCount(folded)
  }

  #kindOf(line: string, about: readonly string[]): string {
    const names = about.filter((name) => name !== '').sort((left, right) => right.length - left.length)
    const text = names
      .reduce((rest, name) => rest.replaceAll(name, '*'), line)
      .replace(/\b[0-9a-f-]*[0-9][0-9a-f-]*\b/gi, '#')
    return this.#kinds.has(text) || this.#kinds.size < MAX_KINDS ? text : 'other'
  }

  #waitFor(kind: string): void {
    const folded = this.#kinds.get(kind) as Folded
    this.#timers.after(folded.quietMs, () => {
      if (folded.count === 0) return void this.#kinds.delete(kind)
      this.#tellCount(folded)
      folded.quietMs = Math.min(2 * folded.quietMs, LONGEST_QUIET_MS)
      this.#waitFor(kind)
    })
  }

  #tellCount(folded: Folded): void {
    const { count, last, quietMs } = folded
    if (count > 0) this.#log(`${count} more of this kind within ${quietMs / 1000} s, the last: ${last}`)
    folded.count = 0
  }
}
