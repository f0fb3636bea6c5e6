import { spawn, spawnSync } from 'node:child_process'
import { accessSync, constants, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome']
const INSTALL_SECONDS = 600
const PAGE_SECONDS = 600
const HELP = `no Chromium: none of ${NAMES.join(', ')} is on the PATH. Install one (Debian: apt-get install chromium), or name it in $CHROMIUM`

/**
 * The binary of a Chromium: $CHROMIUM, or the first of the usual names on the PATH. Where there is
 * none, root has Debian's package installed.
 *
 * @throws Error if there is none and none could be installed; it says what to do
 */
export function findChromium(): string {
  const named = process.env.CHROMIUM
  if (named === undefined || named === '') return onPath(NAMES) ?? installed()
  if (isProgram(named)) return named
  throw new Error(`$CHROMIUM is ${named}, and that is no program`)
}

/** What Chromium has loaded. */
export interface Dump {
  /** The document, once its scripts have run. */
  readonly html: string
  /** What they have said, and what went wrong. */
  readonly console: readonly string[]
}

/** Loads a page in a browser of its own, with an empty profile and further flags. */
export async function dumpDom(binary: string, url: string, more: readonly string[] = []): Promise<Dump> {
  const profile = mkdtempSync(join(tmpdir(), 'ipam-kit-chromium-'))
  const flags = [
    ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-dev-shm-usage', '--no-first-run'],
    ...['--disable-background-networking', '--disable-component-update', '--disable-sync', '--enable-logging=stderr'],
  ]
  try {
    const { stdout, stderr } = await output(binary, [
      ...flags,
      ...more,
      `--user-data-dir=${profile}`,
      '--dump-dom',
      url,
    ])
    return { html: stdout, console: stderr.split('\n').filter((line) => line.includes(':CONSOLE')) }
  } finally {
    rmSync(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 })
  }
}

function onPath(names: readonly string[]): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isProgram)
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}

function installed(): string {
  const aptGet = onPath(['apt-get'])
  if (aptGet === undefined || process.getuid?.() !== 0) throw new Error(HELP)
  console.log('  no Chromium: installing the package of the distribution')
  for (const args of [['update'], ['install', '-y', '--no-install-recommends', 'chromium']]) {
    const { status, signal, error, stderr } = spawnSync(aptGet, args, {
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
      stdio: ['ignore', 'ignore', 'pipe'],
      encoding: 'utf8',
      timeout: INSTALL_SECONDS * 1000,
    })
    if (status === 0) continue
    const why = error?.message ?? signal ?? `exit ${status}`
    throw new Error(`${HELP}\napt-get ${args.join(' ')} has failed (${why})\n${(stderr ?? '').slice(-2000)}`)
  }
  const binary = onPath(NAMES)
  if (binary === undefined) throw new Error(`${HELP}\napt-get has installed chromium, and it is not on the PATH`)
  return binary
}

function output(command: string, args: readonly string[]): Promise<{ stdout: string; stderr: string }> {
  return new Promise((resolve, reject) => {
    // a process group of its own, so that a browser that hangs goes with all its children
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    let stdout = ''
    let stderr = ''
    let late = false
    const timer = setTimeout(() => {
      late = true
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    }, PAGE_SECONDS * 1000)
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text
    })
    child.once('error', (error) => {
      clearTimeout(timer)
      reject(error)
    })
    child.once('close', (status, signal) => {
      clearTimeout(timer)
      if (status === 0 && !late) return resolve({ stdout, stderr })
      const why = late ? `did not end within ${PAGE_SECONDS} s` : `ended with ${signal ?? `exit ${status}`}`
      reject(new Error(`${command} ${why}\n${stderr.slice(-4000)}`))
    })
  })
}
