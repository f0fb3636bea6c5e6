import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { aptInstall } from './apt.js'
import { cacheFolder, keyOf, withLock } from './cache.js'
import { findProgram, run } from './tools.js'

const HERE = fileURLToPath(new URL('..', import.meta.url))
const NODE_24 = join(HERE, 'node24')
const NPM_SECONDS = 300
const COMPILE_SECONDS = 900
const NODE_MAJOR = Number.parseInt(process.versions.node, 10)

/**
 * Since Node 22 there are newer clients, which do not run before it. They are in a package of their
 * own.
 */
const NEWER = NODE_MAJOR >= 22

/**
 * Installs what test/real/package.json names, and on Node 22 and later that of test/real/node24, if
 * it is not there yet. better-sqlite3 has no compiled part then: see {@link installSqlite}.
 */
export async function installClients(): Promise<void> {
  await withLock(LOCK, `installs the clients of ${HERE}`, installPackages)
}

/**
 * As {@link installClients}, and compiles better-sqlite3 where it has to be. The result is kept in
 * the cache.
 */
export async function installSqlite(): Promise<void> {
  await withLock(LOCK, `installs the clients of ${HERE}, with better-sqlite3`, async () => {
    await installPackages()
    if (!NEWER) await compiledSqlite()
  })
}

const LOCK = join(cacheFolder('clients'), `${keyOf(HERE)}.lock`)

async function installPackages(): Promise<void> {
  await installPackage(HERE)
  if (NEWER) await installPackage(NODE_24)
}

/**
 * Loads a client, after {@link installClients}, in the version for this Node. It has no type of its
 * own, so that types can be checked where it is not installed: say what you need of it.
 */
export async function importClient<T>(name: string): Promise<T> {
  if (!NEWER) return await import(name)
  const { importHere } = await import('../node24/import.js')
  return (await importHere(name)) as T
}

/** The exact version of a client, as the lock file for this Node has it. */
export function clientVersion(name: string): string {
  for (const folder of NEWER ? [NODE_24, HERE] : [HERE]) {
    const entry = lockOf(folder).packages[`node_modules/${name}`]
    if (entry !== undefined) return entry.version
  }
  throw new Error(`test/real/package.json has no ${name}`)
}

/** The lock files of the packages here. */
export const LOCKS: readonly string[] = [HERE, NODE_24].map((folder) => join(folder, 'package-lock.json'))

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version: string; readonly integrity?: string }>>
}

function lockOf(folder: string): Lock {
  return JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'))
}

async function installPackage(folder: string): Promise<void> {
  const files = ['package.json', 'package-lock.json'].map((name) => readFileSync(join(folder, name), 'utf8'))
  const stamp = join(folder, 'node_modules', '.installed')
  const wanted = keyOf(...files)
  if (contentOf(stamp) === wanted) return
  const start = performance.now()
  await npm(folder, NPM_SECONDS, 'ci', '--ignore-scripts', '--no-audit', '--no-fund')
  writeFileSync(stamp, wanted)
  console.log(`  installed the clients of ${join(folder, 'package.json')} in ${secondsSince(start)} s`)
}

/**
 * better-sqlite3 12 has to be compiled for each version of Node, if its authors' build cannot be
 * had.
 */
async function compiledSqlite(): Promise<void> {
  const { version } = lockOf(HERE).packages['node_modules/better-sqlite3']!
  const { platform, arch, versions } = process
  const key = `${version}-node${versions.modules}-${platform}-${arch}`
  const stamp = join(HERE, 'node_modules', '.compiled')
  if (contentOf(stamp) === key) return
  const release = join(HERE, 'node_modules', 'better-sqlite3', 'build', 'Release')
  const built = join(release, 'better_sqlite3.node')
  const cached = join(cacheFolder('better-sqlite3'), `${key}.node`)
  if (existsSync(cached)) {
    mkdirSync(release, { recursive: true })
    copyFileSync(cached, built)
  }
  if (!existsSync(cached) || !(await opensSqlite())) {
    console.log(`  compiling better-sqlite3 ${version}, for the first time here: this takes minutes`)
    const start = performance.now()
    await compileSqlite()
    copyFileSync(built, `${cached}.${process.pid}`)
    renameSync(`${cached}.${process.pid}`, cached)
    console.log(`  compiled better-sqlite3 in ${secondsSince(start)} s`)
  }
  writeFileSync(stamp, key)
}

async function compileSqlite(): Promise<void> {
  const compile = () => npm(HERE, COMPILE_SECONDS, 'rebuild', 'better-sqlite3')
  try {
    await compile()
  } catch (error) {
    if (['g++', 'make', 'python3'].every((tool) => findProgram(tool) !== undefined)) throw error
    await aptInstall('compiler for better-sqlite3', ['build-essential', 'python3'])
    await compile()
  }
  await run(process.execPath, TRY_SQLITE, { cwd: HERE })
}

const TRY_SQLITE = ['--eval', "new (require('better-sqlite3'))(':memory:').exec('select 1')", '--input-type=commonjs']

async function opensSqlite(): Promise<boolean> {
  try {
    await run(process.execPath, TRY_SQLITE, { cwd: HERE })
    return true
  } catch {
    return false
  }
}

/**
 * Runs npm in a folder as if nobody had run it around us: this may be a script of `npm run`, or
 * below npx.
 */
async function npm(folder: string, seconds: number, ...args: readonly string[]): Promise<void> {
  const inherited = Object.keys(process.env).filter((name) => /^npm_(package|lifecycle)_|^INIT_CWD$/.test(name))
  const ours = [...inherited, 'npm_command', 'npm_config_call', 'npm_config_local_prefix', 'npm_config_package']
  const headers = findHeaders()
  const env = {
    ...Object.fromEntries(ours.map((name) => [name, undefined])),
    PATH: `${dirname(process.execPath)}:${process.env.PATH ?? ''}`,
    ...(headers === undefined ? {} : { npm_config_nodedir: headers }),
  }
  await run('npm', args, { cwd: folder, env, seconds })
}

/** Where include/node of this very Node lies; node-gyp would download it. */
function findHeaders(): string | undefined {
  const { modules, node } = process.versions
  return [dirname(dirname(process.execPath)), '/usr', '/usr/local'].find((folder) => {
    const text = contentOf(join(folder, 'include/node/node_version.h')) ?? ''
    const is = (name: string, value: string) => new RegExp(`#define ${name}\\s+${value}\\b`).test(text)
    return is('NODE_MODULE_VERSION', modules) && is('NODE_MAJOR_VERSION', `${Number.parseInt(node, 10)}`)
  })
}

function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

function secondsSince(start: number): string {
  return ((performance.now() - start) / 1000).toFixed(1)
}
