import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Depth, Part, Report } from '../report.js'
import { startEtcd } from '../servers/etcd.js'
import { installSqlite } from '../servers/install.js'
import type { AnyObject } from '../servers/kube-api.js'
import { type RealKubernetes, startKubernetes } from '../servers/kubernetes.js'
import { startPostgres } from '../servers/postgres.js'
import { startRedis } from '../servers/redis.js'
import type { RealServer } from '../servers/server.js'
import { demoDefinitions } from './definitions.js'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const PASSWORD = 'never-to-be-shown'
const MANIFESTS = 24

/** The demo as people run it, on every store: what one run leaves, the next one finds. */
export const demo: Part = {
  name: 'demo',
  about:
    'npm run demo -- --store: a second run finds what the first has done, and writes only what differs; and three writers at once',
  place: 'alone',
  async run(report, depth) {
    await installSqlite()
    const folder = mkdtempSync(join(tmpdir(), 'ipam-kit-demo-'))
    try {
      for (const on of STORES[depth]) await on(report, folder)
    } finally {
      rmSync(folder, { recursive: true })
    }
  },
}

type OnStore = (report: Report, folder: string) => Promise<void>

const onSqlite: OnStore = (report, folder) => check(report, { folder, store: `sqlite:${join(folder, 'ipam.db')}` })

/** Where Node has SQLite inside, this is the other one. */
const onBetterSqlite: OnStore = (report, folder) =>
  check(report, { folder, store: `sqlite:${join(folder, 'better.db')}`, env: { DEMO_WITHOUT: 'node:sqlite' } })

const onPglite: OnStore = (report, folder) => check(report, { folder, store: `pglite:${join(folder, 'pglite')}` })

/** The server asks for no password: what it is does not matter. */
const onPostgres: OnStore = async (report, folder) => {
  const storeOf = (url: string) => url.replace('ipam@', `ipam:${PASSWORD}@`)
  await checkServer(report, { folder, server: await startPostgres(), storeOf })
}

const onIoredis: OnStore = async (report, folder) =>
  checkServer(report, { folder, server: await startRedis(), storeOf: (url) => url })

const onNodeRedis: OnStore = async (report, folder) => {
  const env = { DEMO_WITHOUT: 'ioredis' }
  await checkServer(report, { folder, server: await startRedis(), storeOf: (url) => url, env })
}

const onEtcd: OnStore = async (report, folder) =>
  checkServer(report, { folder, server: await startEtcd({ fast: true }), storeOf: (url) => `etcd:${url}` })

const STORES: { readonly [D in Depth]: readonly OnStore[] } = {
  full: [onSqlite, onBetterSqlite, onPglite, onPostgres, onIoredis, onNodeRedis, onEtcd, checkKubernetes],
  short: [onPostgres, checkKubernetes],
}

interface Ground {
  /** For files. */
  readonly folder: string
  /** As on the command line. */
  readonly store: string
  readonly env?: NodeJS.ProcessEnv
  /** What `-f` names. Default: nothing, for the examples as they are meant to come out. */
  readonly files?: readonly string[]
}

interface Server {
  readonly folder: string
  readonly server: RealServer
  readonly env?: NodeJS.ProcessEnv
  storeOf(url: string): string
}

async function checkServer(report: Report, { folder, server, storeOf, env = {} }: Server): Promise<void> {
  const ground = { folder, store: storeOf(server.url), env }
  try {
    await check(report, ground)
  } finally {
    await server.stop()
  }
  await report.test(`${nameOf(ground)}: a server that is gone is told in a line`, async () => {
    const { status, out, err } = await run(ground)
    assert.deepEqual([status, out], [1, ''])
    assert.match(err, /^\S+ cannot be opened: .*ECONNREFUSED.*\n$/)
    return err.trim()
  })
}

async function check(report: Report, ground: Ground): Promise<void> {
  const name = nameOf(ground)
  const { files = [] } = ground
  const status = files.length === 0 ? 0 : 2
  await report.test(`${name}: the second run has nothing to do`, async () => {
    const first = await resultOf(ground, status, ...files)
    const { created, unchanged, written } = first.store
    assert.deepEqual([created, unchanged], [MANIFESTS, 0])
    assert(written > 0)
    assert.equal(first.summary.bound, 13)
    const second = await resultOf(ground, status, ...files)
    const { name: shown, ...idle } = second.store
    const nothing = { created: 0, changed: 0, deleted: 0, written: 0, releasesInSeconds: null }
    assert.deepEqual(idle, { ...nothing, unchanged: MANIFESTS })
    assert.deepEqual(second.claims, first.claims)
    assert.deepEqual(second.pools, first.pools)
    assert.match(second.err, /Nothing was to do/)
    return `${shown}: ${created} created, ${written} writes of the provider; then none`
  })
  await report.test(`${name}: a pool that was changed keeps what it has given`, async () => {
    const before = await resultOf(ground, 1, '-f', 'docs/examples/manifests/05-runs-dry.yaml')
    const file = join(ground.folder, 'more.yaml')
    const text = readFileSync(join(ROOT, 'docs/examples/manifests/05-runs-dry.yaml'), 'utf8')
    const wider = text.replace(/10\.20\.0\.10-10\.20\.0\.12/, '10.20.0.10-10.20.0.13')
    assert.notEqual(wider, text)
    writeFileSync(file, wider)
    const after = await run(ground, '-o', 'json', '-f', file)
    const { claims, store } = JSON.parse(after.out) as Result
    assert.deepEqual([store.created, store.changed, store.unchanged], [0, 1, 4])
    const addresses = (all: Result['claims']) =>
      all.map(({ namespace, name, address }) => `${namespace}/${name} ${address}`)
    const changed = addresses(claims).filter((line) => !addresses(before.claims).includes(line))
    assert.deepEqual(changed, ['office/printer-4 10.20.0.13'])
    return undefined
  })
  await checkBlocks(report, ground)
}

/**
 * Three writers at once: what the demo itself checks, and that nothing is left to do for the next
 * run.
 */
async function checkBlocks(report: Report, ground: Ground): Promise<void> {
  await report.test(`${nameOf(ground)}: three writers at once, and the second run has nothing to do`, async () => {
    const first = await blocksOf(ground)
    const { created, written } = first.store
    assert.equal(created, POOLS)
    assert.equal(first.owners.length, OWNERS)
    assert.deepEqual(
      [...first.pools].map(({ ipv4, ipv6 }) => [ipv4.allocated, ipv6.allocated]),
      GIVEN,
    )
    const second = await blocksOf(ground)
    const { name: shown, ...idle } = second.store
    assert.deepEqual(idle, { created: 0, changed: 0, unchanged: POOLS, written: 0 })
    assert.deepEqual([second.owners, second.blocks, second.pools], [first.owners, first.blocks, first.pools])
    assert.match(second.err, /Nothing was to do/)
    const conflicts = first.writers.reduce((sum, writer) => sum + writer.conflicts, 0)
    return `${shown}: ${OWNERS} owners, ${written} writes, ${conflicts} conflicts of writers; then none`
  })
}

const POOLS = 3
const OWNERS = 18
/** Of each pool, and of each family. */
const GIVEN = Array.from({ length: POOLS }, () => ['6', '6'])

interface BlocksResult {
  readonly writers: readonly { readonly conflicts: number }[]
  readonly owners: readonly unknown[]
  readonly blocks: readonly unknown[]
  readonly pools: readonly { readonly ipv4: Counts; readonly ipv6: Counts }[]
  readonly store: Result['store']
}

interface Counts {
  readonly allocated: string
}

async function blocksOf(ground: Ground): Promise<BlocksResult & { readonly err: string }> {
  const { status, out, err } = await run(ground, '-o', 'json', '--scenario', 'blocks')
  assert.equal(status, 0, err)
  return { ...(JSON.parse(out) as BlocksResult), err }
}

async function checkKubernetes(report: Report, folder: string): Promise<void> {
  const server = await startKubernetes()
  const ground = { folder, store: 'kubernetes:test', env: { KUBECONFIG: server.kubeconfig.path } }
  const files = ['-f', 'docs/examples/manifests']
  try {
    await report.test('kubernetes: kinds that are not installed are named', async () => {
      const { status, out, err } = await run(ground)
      assert.deepEqual([status, out], [1, ''])
      assert.match(
        err,
        /^the API server does not have these kinds:\n {2}cluster\.x-k8s\.io\/v1beta2 Cluster \(clusters\)\n/,
      )
      assert.match(err, /github\.com\/kubernetes-sigs\/cluster-api-ipam-provider-in-cluster/)
      return undefined
    })
    await report.test('kubernetes: a context that is not there is told, with those that are', async () => {
      const { status, err } = await run({ ...ground, store: 'kubernetes:nope' })
      assert.deepEqual([status, err.trim()], [1, CONTEXT])
      return undefined
    })
    for (const definition of demoDefinitions()) await server.apply(definition)
    await report.test('kubernetes: a namespace that is not there is told, and what to do', async () => {
      const { status, out } = await run(ground, '-f', 'docs/examples/manifests/05-runs-dry.yaml')
      assert.equal(status, 2)
      assert.match(
        out,
        /InClusterIPPool office\/printers refused: there is no namespace office: kubectl create namespace office/,
      )
      return undefined
    })
    await createNamespaces(server)
    await report.test('kubernetes: the definitions of blocks are missing, and printed', async () => {
      const { status, err } = await run(ground, '--scenario', 'blocks')
      assert.equal(status, 1)
      assert.match(err, /^the API server does not have these kinds:\n {2}ipam-kit\.dev\/v1alpha1 IPDomain /)
      const [, script = ''] = /npx tsx (\S+) \| kubectl apply/.exec(err) ?? []
      const { items } = JSON.parse((await execute([script], ground.env)).out) as { readonly items: AnyObject[] }
      for (const definition of items) await server.apply(definition)
      return undefined
    })
    await check(report, { ...ground, files })
  } finally {
    await server.stop()
  }
}

const CONTEXT = 'kubernetes:nope cannot be opened: the kubeconfig has no context nope; its contexts: test'

async function createNamespaces(server: RealKubernetes): Promise<void> {
  for (const name of ['factory', 'office']) {
    await server.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  }
}

interface Result {
  readonly claims: readonly { readonly namespace: string; readonly name: string; readonly address: string | null }[]
  readonly pools: readonly unknown[]
  readonly summary: { readonly bound: number }
  readonly store: {
    readonly name: string
    readonly created: number
    readonly changed: number
    readonly unchanged: number
    readonly written: number
  }
}

async function resultOf(
  ground: Ground,
  expected: number,
  ...args: readonly string[]
): Promise<Result & { readonly err: string }> {
  const { status, out, err } = await run(ground, '-o', 'json', ...args)
  assert.equal(status, expected, err)
  return { ...(JSON.parse(out) as Result), err }
}

interface Ended {
  readonly status: number
  readonly out: string
  readonly err: string
}

/** Runs the demo as a process of its own. */
function run({ store, env }: Ground, ...args: readonly string[]): Promise<Ended> {
  return execute(['test/real/demo/main.ts', '--store', store, ...args], env)
}

function execute(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const options = { cwd: ROOT, env: { ...process.env, ...env }, maxBuffer: 2 ** 24 }
    execFile(process.execPath, ['--import', 'tsx', ...args], options, (error, out, told) => {
      // SQLite is experimental in some versions of Node
      const err = told.replace(/^\(node:\d+\) ExperimentalWarning: SQLite .*\n\(Use .*\n/m, '')
      const shown = `${out}${err}`
      if (shown.includes(PASSWORD)) reject(new Error(`a password is shown: ${shown}`))
      if (/^ +at /m.test(err)) reject(new Error(`a stack is shown: ${err}`))
      resolve({ status: error === null ? 0 : Number(error.code), out, err })
    })
  })
}

function nameOf({ store, env }: Ground): string {
  const without = env?.DEMO_WITHOUT === undefined ? '' : ` without ${env.DEMO_WITHOUT}`
  return `${store.slice(0, store.indexOf(':'))}${without}`
}
