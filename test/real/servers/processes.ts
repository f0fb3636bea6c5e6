import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join, sep } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { paced } from '../pace.js'
import { findProgram, lastLines, waitFor } from './tools.js'

/** A program that runs until it is told to end, in a folder that is its server's alone. */
export interface Program {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly uid?: number
  readonly gid?: number
  /** How it is told to end; SIGTERM if not given. */
  readonly stopSignal?: NodeJS.Signals
  /** Whether it does its work. What it throws counts as "not yet". */
  readonly ready: () => Promise<boolean>
  readonly readySeconds: number
  /** Done then, before the next program starts. */
  readonly whenReady?: () => Promise<void>
}

export interface Running {
  /** Has it end in order; after some seconds it is killed. */
  end(): Promise<void>
  /**
   * Resolves when it has ended and its id is free. A process that was killed has its id until its
   * parent, that is this process, has heard of its end: PostgreSQL takes a server whose id is there
   * for one that runs, and does not start.
   */
  hasEnded(): Promise<void>
}

const END_SECONDS = 5

/** Starts a program in `folder`, with its output in NAME.log there, and waits until it is ready. */
export async function start(program: Program, folder: string): Promise<Running> {
  const { name, uid, gid } = program
  const logFile = join(folder, `${name}.log`)
  const log = openSync(logFile, 'a')
  const [command, ...args] = [...dieWithUs(), program.command, ...program.args]
  const child = spawn(command!, args, {
    cwd: folder,
    detached: true,
    stdio: ['ignore', log, log],
    ...(uid === undefined ? {} : { uid }),
    ...(gid === undefined ? {} : { gid }),
  })
  closeSync(log)
  child.unref()
  let failure: string | undefined
  child.once('error', (error) => {
    failure = error.message
  })
  const explain = () => `the end of ${logFile}:\n${lastLines(readFileSync(logFile, 'utf8'), 20)}`
  const giveUp = () => {
    const ended = failure ?? endOf(child)
    if (ended !== undefined) throw new Error(`${name} has ended before it was ready (${ended})\n${explain()}`)
  }
  await waitFor(async () => (await program.ready()) || undefined, {
    seconds: program.readySeconds,
    else: `${name} is not ready`,
    explain,
    giveUp,
  })
  // it may have been another server that answered
  giveUp()
  await program.whenReady?.()
  return { end: () => end(child, program.stopSignal ?? 'SIGTERM'), hasEnded: () => hasEnded(child, name) }
}

function endOf({ exitCode, signalCode }: ChildProcess): string | undefined {
  return signalCode ?? (exitCode === null ? undefined : `exit ${exitCode}`)
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  child.kill(signal)
  const deadline = performance.now() + paced(END_SECONDS) * 1000
  while (endOf(child) === undefined) {
    if (performance.now() > deadline) child.kill('SIGKILL')
    await sleep(5)
  }
}

async function hasEnded(child: ChildProcess, name: string): Promise<void> {
  const check = () => (endOf(child) === undefined ? undefined : true)
  await waitFor(check, { seconds: END_SECONDS, else: `${name} has not ended` })
}

let wrapper: readonly string[] | undefined

/**
 * What to put before a command so that the kernel kills it when this process dies, even by SIGKILL.
 * Nothing where that cannot be had.
 */
function dieWithUs(): readonly string[] {
  if (wrapper === undefined) {
    const setpriv = [findProgram('setpriv') ?? 'setpriv', '--pdeathsig', 'SIGKILL', '--'] as const
    const [command, ...args] = [...setpriv, 'true']
    wrapper = spawnSync(command, args, { stdio: 'ignore' }).status === 0 ? setpriv : []
  }
  return wrapper
}

/**
 * The processes whose working folder is `folder` or in it. Those of a server are all there, also
 * the ones that left the process group of the program that started them, as PostgreSQL's do.
 */
export function processesIn(folder: string): number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      const cwd = readlinkSync(`/proc/${name}/cwd`)
      return cwd === folder || cwd.startsWith(`${folder}${sep}`) || cwd === `${folder} (deleted)` ? [Number(name)] : []
    } catch {
      return []
    }
  })
}

/** Kills the processes in a folder. @returns their ids: they need not have ended yet */
export function killProcessesIn(folder: string): number[] {
  const pids = processesIn(folder)
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // it has just ended
    }
  }
  return pids
}

/**
 * Kills the processes in a folder, and those that they start meanwhile, until all have ended. A
 * process that is about to end has left its folder and still has its port, so that not being in the
 * folder any more is not enough.
 */
export async function killAllIn(folder: string): Promise<void> {
  const killed = new Set<number>()
  const check = () => {
    const found = killProcessesIn(folder)
    for (const pid of found) killed.add(pid)
    return found.length === 0 && ![...killed].some(isRunning) ? true : undefined
  }
  await waitFor(check, { seconds: 10, else: `there are processes in ${folder}` })
}

/**
 * Whether a process has a thread that may still hold something. One whose parent has not asked for
 * its end has none.
 */
function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const state = stat.charAt(stat.lastIndexOf(')') + 2)
    return !/[ZX]/.test(state) || readdirSync(`/proc/${pid}/task`).length > 1
  } catch {
    return false
  }
}
