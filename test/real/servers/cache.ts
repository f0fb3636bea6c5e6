import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, readlinkSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { homedir, hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { atExit } from './at-exit.js'

/**
 * A folder outside the repository for what takes long to make: $IPAM_KIT_CACHE, or ipam-kit in the
 * user's cache. It is made if missing.
 */
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
/**
 * A holder that this process cannot see, such as one in another container, is dead when it has not
 * touched its lock for so long.
 */
const STALE_SECONDS = 60

/** What stands in a lock file. */
interface Holder {
  /** Where its process id counts. */
  readonly place: string
  readonly pid: number
  /**
   * When the process started, as the kernel counts it: another process may get the same id later.
   */
  readonly started: string
  readonly work: string
  readonly since: string
}

/**
 * Does `work` while holding a lock file, one process after the other. A lock whose holder has died
 * is taken over; in the moment of that two processes may both believe to have it, so what they do
 * has to end in one rename.
 *
 * @param what what the holder does, as others that wait for it are told: `builds etcd`
 */
export async function withLock<T>(file: string, what: string, work: () => Promise<T>): Promise<T> {
  mkdirSync(dirname(file), { recursive: true })
  const own = holderOf(what)
  for (let told = ''; !take(file, own); await sleep(250)) {
    const text = textOf(file)
    if (text === undefined) continue
    const holder = parseHolder(text)
    if (isDead(holder, file)) removeStale(file, text)
    else if (text !== told) {
      console.log(`  waiting for ${shown(holder)}, which holds ${file}`)
      told = text
    }
  }
  const release = atExit(() => {
    if (textOf(file) === own) rmSync(file, { force: true })
  })
  const beat = setInterval(() => touch(file), BEAT_SECONDS * 1000)
  try {
    return await work()
  } finally {
    clearInterval(beat)
    release()
  }
}

function holderOf(work: string): string {
  const { pid } = process
  return JSON.stringify({ place: PLACE, pid, started: startOf(pid) ?? '', work, since: new Date().toISOString() })
}

/** `undefined`: not written by this version. */
function parseHolder(text: string): Holder | undefined {
  try {
    const holder = JSON.parse(text) as Partial<Holder> | null
    return typeof holder?.place === 'string' && typeof holder.pid === 'number' ? (holder as Holder) : undefined
  } catch {
    return undefined
  }
}

function shown(holder: Holder | undefined): string {
  if (holder === undefined) return 'a process that does not say who it is'
  const { place, pid, work, since } = holder
  const name = pid === process.pid ? 'this process' : `process ${pid}`
  return `${name}${place === PLACE ? '' : ` of ${place}`}, which ${work} since ${since}`
}

function take(file: string, own: string): boolean {
  try {
    writeFileSync(file, own, { flag: 'wx' })
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
    // gone: the work continues, and ends in a rename
  }
}

/**
 * A holder that can be seen is asked for, whatever the age of its lock: it may have stood still for
 * a while.
 */
function isDead(holder: Holder | undefined, file: string): boolean {
  if (holder?.place === PLACE && CAN_SEE) return startOf(holder.pid) !== holder.started
  try {
    return Date.now() - statSync(file).mtimeMs > STALE_SECONDS * 1000
  } catch {
    return false
  }
}

function removeStale(file: string, text: string): void {
  const aside = `${file}.${process.pid}`
  try {
    if (textOf(file) !== text) return
    renameSync(file, aside)
    rmSync(aside, { force: true })
  } catch {
    // another process was faster
  }
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

/**
 * The machine, and within it the namespace of process ids: containers may share a host name and a
 * cache.
 */
const NAMESPACE = pidNamespace()
const PLACE = `${hostname()} ${NAMESPACE}`
const CAN_SEE = NAMESPACE !== ''

function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return ''
  }
}

/** `undefined`: there is no such process, or it has ended. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19]
  } catch {
    return undefined
  }
}
