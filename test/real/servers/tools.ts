import { spawn } from 'node:child_process'
import { accessSync, constants, readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { delimiter, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { paced } from '../pace.js'
import { atExit } from './at-exit.js'

/** The program of that name on the PATH, then in `folders`. */
export function findProgram(name: string, folders: readonly string[] = []): string | undefined {
  const onPath = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  return [...onPath, ...folders].map((folder) => join(folder, name)).find(isProgram)
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

export interface RunOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly uid?: number
  readonly gid?: number
  /**
   * Ends the command after this time on a quiet machine, and then it has failed. 60 seconds if not
   * given.
   */
  readonly seconds?: number
  /** Is given each line of the standard error, as it comes. */
  readonly onLine?: (line: string) => void
}

/**
 * Runs a command to its end.
 *
 * @returns its standard output
 * @throws Error if it does not end with 0; it has the end of what the command wrote
 */
export function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const { onLine = () => {}, seconds = 60, env, ...others } = options
  const limit = paced(seconds)
  return new Promise((resolve, reject) => {
    // a process group of its own, so that it goes with all its children
    const child = spawn(command, args, {
      ...others,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    const killed = atExit(() => killGroup(child.pid))
    let late = false
    const timer = setTimeout(() => {
      late = true
      killGroup(child.pid)
    }, limit * 1000)
    let stdout = ''
    let stderr = ''
    let line = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(-20_000)
      const lines = (line + text).split('\n')
      line = lines.pop()!
      for (const each of lines) onLine(each)
    })
    const ended = (why: string | undefined) => {
      clearTimeout(timer)
      killed()
      if (why === undefined) return resolve(stdout)
      const said = lastLines(`${stdout}\n${stderr}`, 30)
      reject(new Error(`${command} ${args.join(' ')} has failed (${why})\n${said}`.trimEnd()))
    }
    child.once('error', (error) => ended(error.message))
    child.once('close', (status, signal) => {
      if (late) ended(`not done after ${limit} s`)
      else ended(status === 0 ? undefined : (signal ?? `exit ${status}`))
    })
  })
}

function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // it has ended
  }
}

export interface Wait {
  /** The limit on a quiet machine. */
  readonly seconds: number
  /** What is wrong meanwhile, such as "it is not ready". */
  readonly else: string
  /** Looked at before each try: what it throws ends the wait. */
  readonly giveUp?: () => void
  /** Added to the error. */
  readonly explain?: () => string
}

/**
 * Tries until the answer is something other than undefined. A try that throws has not succeeded
 * yet.
 */
export async function waitFor<T>(attempt: () => Promise<T | undefined> | T | undefined, wait: Wait): Promise<T> {
  const limit = paced(wait.seconds)
  const deadline = performance.now() + limit * 1000
  for (let pause = 5; ; pause = Math.min(pause * 2, 100)) {
    wait.giveUp?.()
    let last = ''
    try {
      const found = await attempt()
      if (found !== undefined) return found
    } catch (error) {
      last = `\nlast try: ${error instanceof Error ? error.message : String(error)}`
    }
    if (performance.now() > deadline) {
      throw new Error(`${wait.else}, after ${limit} s${last}\n${wait.explain?.() ?? ''}`.trimEnd())
    }
    await sleep(pause)
  }
}

export function lastLines(text: string, count: number): string {
  return text.trimEnd().split('\n').slice(-count).join('\n')
}

const given = new Set<number>()

/**
 * A free port of 127.0.0.1, below those that the kernel gives to outgoing connections. From that
 * range a client that keeps trying to reconnect to a dead server may be given the very port of the
 * server: it then talks to itself, and the server cannot come back.
 */
export async function freePort(): Promise<number> {
  const end = firstEphemeralPort()
  const start = Math.max(1024, end - 20_000)
  for (let tries = 0; tries < 200; tries++) {
    const port = start + Math.floor(Math.random() * (end - start))
    if (given.has(port) || !(await isFree(port))) continue
    given.add(port)
    return port
  }
  throw new Error(`no free port from ${start} to ${end - 1}`)
}

function firstEphemeralPort(): number {
  try {
    const first = Number(/^\d+/.exec(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8'))?.[0])
    return first > 2048 ? first : 32_768
  } catch {
    return 32_768
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
