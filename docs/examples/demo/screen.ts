import { stringify } from 'yaml'
import type { Io } from './io.js'
import type { Options } from './options.js'
import { noProgress, type ProgressLine, progressLine } from './progress.js'
import type { RowLimit } from './text.js'

const ROWS = 50

/** Where a scenario says what happens: paragraphs for people, or one document for programs. */
export class Screen {
  readonly progress: ProgressLine
  readonly limit: RowLimit
  readonly #format: Options['format']
  readonly #io: Io
  #hasTold = false

  constructor({ format, all, progress }: Options, io: Io) {
    this.progress = io.isTerminal || progress ? progressLine(io.err) : noProgress
    this.limit = all ? Number.POSITIVE_INFINITY : ROWS
    this.#format = format
    this.#io = io
  }

  /** A paragraph for people. Standard output belongs to the document where one was asked for. */
  tell(text: string): void {
    const write = this.#format === 'table' ? this.#io.out : this.#io.err
    write(`${this.#hasTold ? '\n' : ''}${text}\n`)
    this.#hasTold = true
  }

  /** Whether a document is asked for, and not text. */
  get wantsDocument(): boolean {
    return this.#format !== 'table'
  }

  /** The document for programs: once, and only where one is asked for. */
  document(content: object): void {
    this.#io.out(
      this.#format === 'yaml'
        ? stringify(content, { aliasDuplicateObjects: false })
        : `${JSON.stringify(content, null, 2)}\n`,
    )
  }
}
