/** How many lines of an extract are shown from its start, and from its end. */
const MOST_LINES = 40

/** What happened in a schedule, line by line, with the time since its start. */
export class Trace {
  readonly lines: string[] = []
  readonly #now: () => number
  readonly #startMs: number
  #turns = 0

  constructor(now: () => number) {
    this.#now = now
    this.#startMs = now()
  }

  /** A step of an actor. */
  step(actor: string, text: string): void {
    this.#turns++
    this.lines.push(`${this.#time()} ${actor}: ${text}`)
  }

  /** The number of steps. */
  get turns(): number {
    return this.#turns
  }

  /** The lines that mention one of these words as a whole: its start and its end, without answers to lists. */
  about(words: readonly string[]): readonly string[] {
    const escaped = words.filter((word) => word !== '').map((word) => word.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&'))
    if (escaped.length === 0) return []
    const pattern = new RegExp(`(?<![\\w.-])(${escaped.join('|')})(?![\\w-]|\\.\\w)`)
    const lines = this.lines.filter((line) => pattern.test(line) && !line.includes(': answer to listAddresses'))
    const left = lines.length - 2 * MOST_LINES
    if (left <= 0) return lines
    return [...lines.slice(0, MOST_LINES), `... ${left} lines ...`, ...lines.slice(-MOST_LINES)]
  }

  #time(): string {
    return ((this.#now() - this.#startMs) / 1000).toFixed(3).padStart(9)
  }
}
