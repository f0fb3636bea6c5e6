import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { waitFor } from '../servers/tools.js'

const PATIENCE_SECONDS = 60

/** The example controller, running. */
export class ControllerProcess {
  readonly #process: ChildProcess
  readonly #lines: string[] = []
  readonly #ended: Promise<unknown>
  #isTold = false

  constructor(program: string, kubeconfig: string, args: readonly string[] = []) {
    const env = { ...process.env, KUBECONFIG: kubeconfig }
    this.#process = spawn(process.execPath, [program, '--metrics', '0', ...args], {
      env,
      stdio: ['ignore', 'inherit', 'pipe'],
    })
    this.#ended = once(this.#process, 'close')
    createInterface({ input: this.#process.stderr! }).on('line', (line) => this.#lines.push(line))
  }

  /** What it has said, without the times. */
  get lines(): readonly string[] {
    return this.#lines.map((line) => line.replace(/^\S+Z /, ''))
  }

  get leads(): boolean {
    return this.lines.includes('leading')
  }

  /** Has `action` called when it ends without having been told to. */
  whenItEndsItself(action: (code: number | null) => void): void {
    void this.#ended.then(() => {
      if (!this.#isTold) action(this.#process.exitCode)
    })
  }

  get pid(): number {
    return this.#process.pid!
  }

  async untilItLeads(): Promise<void> {
    await waitFor(() => this.leads || undefined, {
      seconds: PATIENCE_SECONDS,
      else: 'the controller does not lead',
      explain: () => this.lines.join('\n'),
      giveUp: () => {
        if (this.#process.exitCode !== null) throw new Error(`the controller has ended\n${this.lines.join('\n')}`)
      },
    })
  }

  /** Waits until it ends by itself. @returns what it has ended with */
  async ended(seconds: number): Promise<number | null> {
    const explain = () => this.lines.slice(-20).join('\n')
    await waitFor(() => this.#process.exitCode !== null || undefined, { seconds, else: 'it does not end', explain })
    await this.#ended
    return this.#process.exitCode
  }

  /** Suspends it for a time. It may end by itself after that, as its Lease has expired. */
  async suspend(seconds: number): Promise<void> {
    this.#process.kill('SIGSTOP')
    await sleep(seconds * 1000)
    this.#process.kill('SIGCONT')
  }

  /** @returns what it has ended with */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    this.#isTold = true
    this.#process.kill(signal)
    await this.#ended
    return this.#process.exitCode
  }
}
