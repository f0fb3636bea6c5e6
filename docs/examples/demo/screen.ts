import { stringify } from 'yaml'
import { colour } from './colour.js'
import type { Io } from './io.js'
import type { Options } from './options.js'
import { noProgress, type ProgressLine, progressLine } from './progress.js'
import { type Detail, LONG, type RowLimit } from './text.js'

/** The limit of the short form. */
const SHORT: RowLimit = 10

/** Where a scenario says what happens: paragraphs for people, or one document for programs. */
export class Screen implements Detail {
  readonly progress: ProgressLine
  readonly limit: RowLimit
  readonly isVerbose: boolean
  readonly #format: Options['format']
  readonly #io: Io
  #hasTold = false

  constructor({ format, all, progress, isVerbose }: Options, io: Io) {
    this.progress = io.isTerminal || progress ? progressLine(io.err) : noProgress
    this.limit = all ? Number.POSITIVE_INFINITY : isVerbose ? LONG : SHORT
    this.isVerbose = isVerbose
    this.#format = format
    this.#io = io
  }

  /** A paragraph for people. Standard output belongs to the document where one was asked for. */
  tell(text: string): void {
    const write = this.wantsDocument ? this.#io.err : this.#io.out
    const shown = this.#io.takesColour && !this.wantsDocument ? colour(text) : text
    write(`${this.#hasTold ? '\n' : ''}${shown}\n`)
    this.#hasTold = true
  }

  /** The last line of the short form: what the long form shows besides. */
  hint(more: string): void {
    if (!this.isVerbose && !this.wantsDocument) this.tell(`-v shows ${more}.`)
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
