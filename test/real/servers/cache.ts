import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { homedir, hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { atExit } from './at-exit.js'

/** A folder outside the repository for what takes long to make: $IPAM_KIT_CACHE, or ipam-kit in the user's cache. It is made if missing. */
export function cacheFolder(...path: readonly string[]): string {
  const { IPAM_KIT_CACHE: own, XDG_CACHE_HOME: xdg } = process.env
  const base = own ? own : join(xdg ? xdg : join(homedir(), '.cache'), 'ipam-kit')
  const folder = join(base, ...path)
  mkdirSync(folder, { recursive: true })
  return folder
}

/** A short name for some texts: other texts, another name. */
export function keyOf(...texts: readonly string[]): string {
  const hash = createHash('sha256')
  for (const text of texts) hash.update(`${text.length}:${text}`)
  return hash.digest('hex').slice(0, 16)
}

const BEAT_SECONDS = 5
const STALE_SECONDS = 30

/**
 * Does `work` while holding a lock file, one process after the other. A lock whose owner has died is taken over; in the moment of that two
 * processes may both believe to have it, so what they do has to end in one rename.
 */
export async function withLock<T>(file: string, work: () => Promise<T>): Promise<T> {
  mkdirSync(dirname(file), { recursive: true })
  for (let told = false; !take(file); await sleep(250)) {
    if (isStale(file)) removeStale(file)
    else if (!told) {
      console.log(`  waiting for another process, which holds ${file}`)
      told = true
    }
  }
  const release = atExit(() => rmSync(file, { force: true }))
  const beat = setInterval(() => touch(file), BEAT_SECONDS * 1000)
  try {
    return await work()
  } finally {
    clearInterval(beat)
    release()
  }
}

function take(file: string): boolean {
  try {
    writeFileSync(file, `${hostname()} ${process.pid}`, { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

function touch(file: string): void {
  try {
    const now = new Date()
    utimesSync(file, now, now)
  } catch {
    // gone: the work goes on, and ends in a rename
  }
}

function isStale(file: string): boolean {
  try {
    const [host, pid] = readFileSync(file, 'utf8').split(' ')
    if (Date.now() - statSync(file).mtimeMs > STALE_SECONDS * 1000) return true
    return host === hostname() && Number(pid) > 0 && !isAlive(Number(pid))
  } catch {
    return false
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

function removeStale(file: string): void {
  const aside = `${file}.${process.pid}`
  try {
    renameSync(file, aside)
    rmSync(aside, { force: true })
  } catch {
    // somebody else was faster
  }
}
