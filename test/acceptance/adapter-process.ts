import { type ChildProcess, fork } from 'node:child_process'
import { createRequire } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { GivenCase } from './answer.js'
import type { Ask, Reply } from './runner.js'

export interface AdapterProcessOptions {
  /** The module that exports the table of `adapters`. */
  readonly adapters: URL
  /** How long one case may take. */
  readonly timeLimitMs: number
}

export interface AdapterProcess {
  readonly ask: Ask
  close(): void
}

/** What the process is sent for each case. */
export interface Question {
  readonly file: string
  readonly given: GivenCase
}

/**
 * What it sends: that the adapters are loaded, the reply to each question, and why it comes to its
 * end.
 */
export type Message = 'ready' | { readonly reply: Reply } | { readonly crashed: string }

const START_LIMIT_MS = 60_000

/**
 * Runs adapters in a process of their own. One that does not come back, not even to its event loop,
 * is stopped, and one that crashes takes nothing else along; the next case gets a new process.
 */
export function adapterProcess({ adapters, timeLimitMs }: AdapterProcessOptions): AdapterProcess {
  let current: Child | undefined
  let answer: ((reply: Reply) => void) | undefined
  let crashedLate: string | undefined

  const ended = (child: Child, problem: string) => {
    if (child !== current) return
    current = undefined
    if (answer === undefined) crashedLate = problem
    else answer({ kind: 'broke', problem })
  }
  const received = (child: Child, reply: Reply) => {
    if (child === current) answer?.(reply)
  }
  const close = () => {
    const closed = current
    current = undefined
    closed?.process.kill('SIGKILL')
  }

  const ask: Ask = async (file, given) => {
    if (crashedLate !== undefined) {
      const problem = `after the case before: ${crashedLate}`
      crashedLate = undefined
      return { kind: 'broke', problem }
    }
    const child = current ?? startChild(adapters, ended, received)
    current = child
    let timer: NodeJS.Timeout | undefined
    const reply = await new Promise<Reply>((resolve) => {
      answer = resolve
      const giveUp = (problem: string) => {
        close()
        resolve({ kind: 'broke', problem })
      }
      timer = setTimeout(giveUp, START_LIMIT_MS, 'the adapters did not load')
      void child.ready.then(() => {
        if (child !== current) return
        clearTimeout(timer)
        timer = setTimeout(giveUp, timeLimitMs, `no answer within ${timeLimitMs / 1000} s`)
        // where it cannot be sent, the end of the process follows
        child.process.send({ file, given } satisfies Question, () => {})
      })
    })
    answer = undefined
    clearTimeout(timer)
    return reply
  }
  return { ask, close }
}

interface Child {
  readonly process: ChildProcess
  /** Resolves when the adapters are loaded; never, if they cannot be. */
  readonly ready: Promise<void>
}

function startChild(
  adapters: URL,
  ended: (child: Child, problem: string) => void,
  received: (child: Child, reply: Reply) => void,
): Child {
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href
  const started = fork(fileURLToPath(new URL('./adapter-child.ts', import.meta.url)), [adapters.href], {
    execArgv: ['--import', tsx],
    serialization: 'advanced',
  })
  const ready = new Promise<void>((resolve) => {
    started.on('message', (message: Message) => {
      if (message === 'ready') resolve()
      else if ('crashed' in message) ended(child, `the adapter crashed: ${message.crashed}`)
      else received(child, message.reply)
    })
  })
  const child: Child = { process: started, ready }
  started.on('error', (error) => ended(child, `the adapters cannot be run: ${error.message}`))
  started.on('exit', (code, signal) => ended(child, `the adapter ended its process (${signal ?? `exit code ${code}`})`))
  return child
}
