import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

/** A daemon of the example plugin, as a process. */
export class DaemonProcess {
  readonly #args: readonly string[]
  #child: ChildProcess | undefined
  /** What it has said of problems. */
  problems = ''

  constructor(program: string, args: readonly string[]) {
    this.#args = [program, ...args]
  }

  /** Starts it, and waits until it answers. @throws Error if it ends before */
  async start(): Promise<void> {
    const child = spawn(process.execPath, this.#args, {
      env: { PATH: process.env.PATH, NODENAME: 'node-a' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#child = child
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.problems += text
    })
    await Promise.race([
      once(child.stdout, 'data'),
      once(child, 'exit').then(() => Promise.reject(new Error(`the daemon has ended: ${this.problems}`))),
    ])
  }

  /** Kills it where it stands. */
  async kill(): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }

  async stop(): Promise<void> {
    const ended = once(this.#child!, 'exit')
    this.#child!.kill('SIGTERM')
    assert.deepEqual(await ended, [0, null])
  }
}
