import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import type { Part, Report } from '../report.js'
import { startEtcd } from './etcd.js'
import { clientVersion, importClient, installClients, LOCKS } from './install.js'
import { type RealKubernetes, startKubernetes } from './kubernetes.js'
import { startPostgres } from './postgres.js'
import { processesIn } from './processes.js'
import { redisSays, startRedis } from './redis.js'
import type { RealServer } from './server.js'

/** What the parts with stores stand on: each server by itself, asked by the plainest means. */
export const servers: Part = {
  name: 'servers',
  about: 'each real server starts, answers, has its data after kill -9, and leaves nothing behind',
  place: 'first',
  async run(report) {
    for (const lock of LOCKS) {
      await report.test(`${lock.slice(lock.indexOf('test/real'))} is whole and names no registry`, () =>
        checkLock(lock),
      )
    }
    await report.test('the clients are installed', async () => {
      await installClients()
      return checkClients()
    })
    await checkServer(report, 'PostgreSQL', startPostgres, { write: writePostgres, read: readPostgres })
    await checkServer(report, 'Redis', startRedis, { write: writeRedis, read: readRedis })
    await checkServer(report, 'etcd', startEtcd, { write: writeEtcd, read: readEtcd })
    const kubernetes = () => startKubernetes({ crds: [definition('early')] })
    await checkServer(report, 'Kubernetes', kubernetes, { write: writeKubernetes, read: readKubernetes })
  },
}

interface Checks<S> {
  /** Writes something, having found nothing. */
  readonly write: (server: S) => Promise<void>
  /** Finds it. */
  readonly read: (server: S) => Promise<void>
}

async function checkServer<S extends RealServer>(
  report: Report,
  name: string,
  start: () => Promise<S>,
  { write, read }: Checks<S>,
): Promise<void> {
  let server: S | undefined
  await report.test(`${name} starts`, async () => {
    server = await start()
    return `${server.name} ${server.version}`
  })
  if (server === undefined) return
  const { kill, restart, stop, folder, url } = server
  try {
    await report.test(`${name} answers`, () =>
      write(server!)
        .then(() => read(server!))
        .then(() => undefined),
    )
    await report.test(`${name} has its data after kill -9`, async () => {
      assert.notEqual(processesIn(folder).length, 0, 'no process to kill')
      await kill()
      assert.deepEqual([processesIn(folder), await isOpen(url)], [[], false], 'still there')
      await restart()
      await read(server!)
      return undefined
    })
    await report.test(`${name} has its data after an orderly restart`, async () => {
      await restart()
      await read(server!)
      return undefined
    })
  } finally {
    await report.test(`${name} leaves nothing behind`, async () => {
      await stop()
      assert.deepEqual([processesIn(folder), existsSync(folder), await isOpen(url)], [[], false, false])
      return undefined
    })
  }
}

function isOpen(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(portOf(url), '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

function portOf(url: string): number {
  return Number(new URL(url).port)
}

/** npm may write a lock without the builds of other platforms, and then refuse it there. */
function checkLock(file: string): string {
  const text = readFileSync(file, 'utf8')
  interface Entry {
    readonly integrity?: string
    readonly optionalDependencies?: Readonly<Record<string, string>>
  }
  const packages: Readonly<Record<string, Entry>> = JSON.parse(text).packages
  assert.doesNotMatch(text, /"resolved"|\.tgz|registry\./, 'the address of a registry')
  const names = Object.keys(packages)
  for (const [path, { integrity, optionalDependencies }] of Object.entries(packages)) {
    assert.ok(path === '' || integrity !== undefined, `${path} has no integrity`)
    for (const name of Object.keys(optionalDependencies ?? {})) {
      const isLocked = names.some((each) => each === `node_modules/${name}` || each.endsWith(`/node_modules/${name}`))
      assert.ok(isLocked, `${path}: ${name} has no entry`)
    }
  }
  return `${names.length - 1} packages`
}

/** better-sqlite3 is compiled by the parts that use it. */
const CLIENTS = ['pg', 'ioredis', 'redis', '@kubernetes/client-node']

async function checkClients(): Promise<string> {
  for (const name of CLIENTS) await importClient<unknown>(name)
  return CLIENTS.map((name) => `${name} ${clientVersion(name)}`).join(', ')
}

/** One statement on a connection of its own. */
async function query(url: string, sql: string): Promise<unknown[]> {
  interface Client {
    connect(): Promise<void>
    query(sql: string): Promise<{ rows: unknown[] }>
    end(): Promise<void>
  }
  interface Pg {
    readonly default: { readonly Client: new (options: { connectionString: string }) => Client }
  }
  const { default: pg } = await importClient<Pg>('pg')
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

async function writePostgres({ url }: RealServer): Promise<void> {
  assert.deepEqual(await query(url, 'select 1 as one'), [{ one: 1 }])
  const settings = "select current_setting('fsync') as fsync, current_setting('synchronous_commit') as commits"
  assert.deepEqual(await query(url, settings), [{ fsync: 'on', commits: 'on' }])
  await query(url, "create table kept as select 'a value' as value")
}

async function readPostgres({ url }: RealServer): Promise<void> {
  assert.deepEqual(await query(url, 'select value from kept'), [{ value: 'a value' }])
}

async function writeRedis({ url }: RealServer): Promise<void> {
  assert.equal(await redisSays(portOf(url), 'PING'), '+PONG')
  assert.equal(await redisSays(portOf(url), 'EXISTS', 'kept'), ':0')
  assert.equal(await redisSays(portOf(url), 'INCRBY', 'kept', '41'), ':41')
}

async function readRedis({ url }: RealServer): Promise<void> {
  assert.equal(await redisSays(portOf(url), 'INCRBY', 'kept', '0'), ':41')
}

async function etcd(
  url: string,
  path: string,
  body: Readonly<Record<string, string>>,
): Promise<Record<string, unknown>> {
  const base64 = Object.entries(body).map(([name, text]) => [name, Buffer.from(text).toString('base64')])
  const response = await fetch(`${url}/v3/kv/${path}`, {
    method: 'POST',
    body: JSON.stringify(Object.fromEntries(base64)),
  })
  assert.equal(response.status, 200)
  return (await response.json()) as Record<string, unknown>
}

async function writeEtcd({ url }: RealServer): Promise<void> {
  assert.equal((await etcd(url, 'range', { key: 'kept' })).kvs, undefined)
  await etcd(url, 'put', { key: 'kept', value: 'a value' })
}

async function readEtcd({ url }: RealServer): Promise<void> {
  const { kvs } = await etcd(url, 'range', { key: 'kept' })
  const [found] = kvs as { value: string }[]
  assert.equal(Buffer.from(found!.value, 'base64').toString(), 'a value')
}

/**
 * A kind `Early` or `Late`, with a rule that only bites if nothing has dropped it on its way to the
 * server.
 */
function definition(singular: string) {
  const kind = `${singular.charAt(0).toUpperCase()}${singular.slice(1)}`
  const spec = {
    type: 'object',
    properties: { address: { type: 'string' } },
    'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'spec does not change' }],
  }
  const openAPIV3Schema = { type: 'object', properties: { spec } }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${singular}s.test.ipam-kit.dev` },
    spec: {
      group: 'test.ipam-kit.dev',
      scope: 'Namespaced',
      names: { kind, singular, plural: `${singular}s` },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
    },
  }
}

function kept(kind: string, address = '10.0.0.1') {
  return {
    apiVersion: 'test.ipam-kit.dev/v1',
    kind,
    metadata: { name: 'kept', namespace: 'kept' },
    spec: { address },
  }
}

async function writeKubernetes({ request, apply, kubeconfig }: RealKubernetes): Promise<void> {
  assert.equal((await request('GET', '/version')).status, 200)
  assert.equal(readFileSync(kubeconfig.path, 'utf8'), kubeconfig.text)
  await apply(definition('late'))
  await apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kept' } })
  for (const kind of ['Early', 'Late']) {
    await apply(kept(kind))
    await assert.rejects(apply(kept(kind, '10.0.0.2')), /422 .*spec does not change/)
  }
}

async function readKubernetes({ request }: RealKubernetes): Promise<void> {
  for (const plural of ['earlys', 'lates']) {
    const path = `/apis/test.ipam-kit.dev/v1/namespaces/kept/${plural}/kept`
    const { status, body } = await request<{ spec: unknown }>('GET', path)
    assert.deepEqual([status, body.spec], [200, { address: '10.0.0.1' }])
  }
}
