import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface, type Interface } from 'node:readline'
import type { Took } from './worker.js'

const WRITERS = 4

/** What a round took. */
export interface Round {
  readonly count: number
  readonly seconds: number
  /** Of each allocation, in milliseconds, the fastest first. */
  readonly ms: readonly number[]
  readonly requests: number
  readonly conflicts: number
}

/** Processes of one side, which allocate side by side. */
export class Processes {
  readonly #all: { readonly process: ChildProcess; readonly lines: AsyncIterator<string>; readonly reader: Interface }[]
  #next = 1

  constructor(program: string, args: readonly string[]) {
    this.#all = Array.from({ length: WRITERS }, () => {
      const child = spawn(process.execPath, [program, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
      const reader = createInterface({ input: child.stdout })
      return { process: child, lines: reader[Symbol.asyncIterator](), reader }
    })
  }

  async ready(): Promise<void> {
    await Promise.all(this.#all.map(({ lines }) => answerOf(lines)))
  }

  /** So many allocations of a pool by each of them, one after the other. */
  async allocate(pool: string, each: number): Promise<Round> {
    const start = performance.now()
    const answers = this.#all.map(({ process, lines }) => {
      process.stdin!.write(`${JSON.stringify({ pool, first: this.#next, count: each })}\n`)
      this.#next += each
      return answerOf(lines)
    })
    const took = (await Promise.all(answers)).map((line) => JSON.parse(line) as Took)
    const seconds = (performance.now() - start) / 1000
    const sum = (field: 'requests' | 'conflicts') => took.reduce((total, each) => total + each[field], 0)
    const ms = took.flatMap((each) => each.ms).sort((left, right) => left - right)
    return { count: ms.length, seconds, ms, requests: sum('requests'), conflicts: sum('conflicts') }
  }

  stop(): void {
    for (const { process } of this.#all) process.kill()
  }
}

async function answerOf(lines: AsyncIterator<string>): Promise<string> {
  const line = await lines.next()
  if (line.done === true) throw new Error('a writer has ended by itself')
  return line.value
}
