import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Order, Told } from './told.js'

/** A process of writer.ts. */
export class WriterProcess {
  readonly #process: ChildProcess
  readonly #ended: Promise<unknown>
  readonly #told: (line: Told) => void
  /** What it says when it ends by itself. */
  #words = ''
  #heard: { readonly kind: Told['kind']; resolve(): void; reject(error: unknown): void } | undefined
  readonly isReady: Promise<void>

  constructor(program: string, args: readonly string[], told: (line: Told) => void) {
    this.#told = told
    this.#process = spawn(process.execPath, [program, ...args], { stdio: ['pipe', 'pipe', 'pipe'] })
    this.#process.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#words = (this.#words + text).slice(-4000)
    })
    // what is written to one that has died
    this.#process.stdin!.on('error', () => {})
    const lines = createInterface({ input: this.#process.stdout! })
    this.#ended = once(lines, 'close')
    lines.on('line', (text) => this.#hear(JSON.parse(text) as Told))
    this.#process.once('exit', (code) => {
      this.#heard?.reject(new Error(`a writer has ended with code ${code}\n${this.#words}`))
    })
    this.isReady = this.#until('ready')
  }

  /**
   * Waits until it has done it all. @throws Error if it ends before, other than by {@link kill};
   * what is thrown at what it tells
   */
  async obey(order: Order): Promise<void> {
    const done = this.#until('end')
    this.#process.stdin!.write(`${order}\n`)
    await done
  }

  /** Kills it where it stands. @returns when all that it had told is heard */
  async kill(): Promise<void> {
    this.#heard?.resolve()
    this.#process.kill('SIGKILL')
    await this.#ended
  }

  #until(kind: Told['kind']): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#heard = { kind, resolve, reject }
    })
  }

  #hear(line: Told): void {
    try {
      this.#told(line)
      if (line.kind === this.#heard?.kind) this.#heard.resolve()
    } catch (error) {
      // what it tells is wrong
      this.#heard?.reject(error)
    }
  }
}
