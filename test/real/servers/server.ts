import { chownSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atExit } from './at-exit.js'
import { killAllIn, killProcessesIn, type Program, type Running, start } from './processes.js'

/**
 * A real server on 127.0.0.1, with data of its own. It goes with the process that started it, if
 * that does not stop it.
 */
export interface RealServer {
  readonly name: string
  readonly version: string
  readonly url: string
  /** Its data and the logs of its programs. */
  readonly folder: string
  /** Kills all its processes with SIGKILL. The data stays. */
  kill(): Promise<void>
  /**
   * Starts it again with the same data on the same port; what still runs is ended in order first.
   */
  restart(): Promise<void>
  /** Ends it in order and removes the data. */
  stop(): Promise<void>
}

export interface ServerSpec {
  readonly name: string
  readonly url: string
  readonly folder: string
  /** In the order in which they start. They end the other way round. */
  readonly programs: readonly Program[]
  /** Asked for once it is up. */
  readonly version: () => Promise<string>
}

export interface Owner {
  readonly uid: number
  readonly gid: number
}

/**
 * A folder that goes with this process, together with every process in it. Where there is an owner,
 * it belongs to that user.
 */
export function dataFolder(name: string, owner?: Owner): string {
  if (process.platform !== 'linux') throw new Error(`the real servers need Linux, and this is ${process.platform}`)
  const folder = realpathSync(mkdtempSync(join(tmpdir(), `ipam-kit-${name}-`)))
  if (owner !== undefined) chownSync(folder, owner.uid, owner.gid)
  removals.set(
    folder,
    atExit(() => {
      for (let tries = 0; killProcessesIn(folder).length > 0 && tries < 10; tries++);
      rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 })
    }),
  )
  return folder
}

const removals = new Map<string, () => void>()

/** Kills what runs in a folder of {@link dataFolder}, and removes it. */
export async function removeFolder(folder: string): Promise<void> {
  await killAllIn(folder)
  removals.get(folder)?.()
  removals.delete(folder)
}

/** Starts a server in its folder. If that fails, nothing is left of it. */
export async function startServer(spec: ServerSpec): Promise<RealServer> {
  const { name, url, folder, programs } = spec
  let running: Running[] = []
  let gone = false

  const endAll = async () => {
    for (const program of running.toReversed()) await program.end()
    running = []
    await killAllIn(folder)
  }
  const startAll = async () => {
    for (const program of programs) running.push(await start(program, folder))
  }
  const server = {
    name,
    url,
    folder,
    async kill() {
      const killed = running
      running = []
      await killAllIn(folder)
      for (const program of killed) await program.hasEnded()
    },
    async restart() {
      if (gone) throw new Error(`${name} has been stopped, and its data is gone`)
      await endAll()
      await startAll()
    },
    async stop() {
      gone = true
      await endAll()
      await removeFolder(folder)
    },
  }
  try {
    await startAll()
    return { ...server, version: await spec.version() }
  } catch (error) {
    await removeFolder(folder)
    throw new Error(`${name} did not start: ${error instanceof Error ? error.message : error}`, { cause: error })
  }
}
