import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { PGlite } from '@electric-sql/pglite'
import type { Meta } from 'ipam-kit/crd'
import { migratePostgres, postgresStore } from 'ipam-kit/store/postgres'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { watchedKinds } from '../../docs/examples/demo/in-cluster/kinds.js'
import { runDemo } from '../../docs/examples/demo/run.js'
import type { Load } from '../../docs/examples/open-store.js'
import { emptyDatabase } from '../setup/pglite.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const options = { now: Date.now, uid: () => crypto.randomUUID(), kinds: watchedKinds, sleep: async () => {} }
let database: PGlite

beforeEach(async () => {
  database = await emptyDatabase()
})

/** A database that outlives the run, in the place of that in a folder. */
const kept: Load = loader({ '@electric-sql/pglite': { PGlite: { create: async () => lasting(database) } } })

function lasting(db: PGlite) {
  return { query: (text: string, values?: unknown[]) => db.query(text, values), close: async () => {} }
}

/** Has these packages and no other. */
function loader(packages: { readonly [name: string]: unknown }): Load {
  return async <T>(name: string) => {
    if (name in packages) return packages[name] as T
    throw Object.assign(new Error(`Cannot find package '${name}'`), { code: 'ERR_MODULE_NOT_FOUND' })
  }
}

/** Runs the program in this process. */
async function demo(args: readonly string[], input: { readonly stdin?: readonly object[]; readonly load?: Load } = {}) {
  let [out, err] = ['', '']
  const status = await runDemo(args, {
    folder: root,
    stdin: Readable.from([(input.stdin ?? []).map((each) => JSON.stringify(each)).join('\n---\n')]),
    out: (text) => (out += text),
    err: (text) => (err += text),
    isTerminal: false,
    load: input.load ?? kept,
  })
  return { status, out, err }
}

/** What a run over the kept database says of these manifests. */
async function resultOf(manifests: readonly object[], ...args: string[]) {
  const { out, ...rest } = await demo(['--store', 'pglite:x', '-f', '-', '-o', 'json', ...args], { stdin: manifests })
  return { ...rest, ...JSON.parse(out) }
}

const group = 'ipam.cluster.x-k8s.io'
const web = (n: number) => ({
  apiVersion: `${group}/v1beta2`,
  kind: 'IPAddressClaim',
  metadata: { name: `web-${n}` },
  spec: { poolRef: { apiGroup: group, kind: 'InClusterIPPool', name: 'lab' } },
})

function pool(spec: object = {}, metadata: object = {}) {
  const lab = { addresses: ['10.0.0.10-10.0.0.11'], prefix: 24, gateway: '10.0.0.1' }
  const kind = { apiVersion: `${group}/v1alpha2`, kind: 'InClusterIPPool' }
  return { ...kind, metadata: { name: 'lab', ...metadata }, spec: { ...lab, ...spec } }
}

const idle = { created: 0, changed: 0, deleted: 0, written: 0, releasesInSeconds: null, name: 'pglite:x' }

/** An object as the database has it. */
async function stored(kind: string, name: string): Promise<Meta.KubeObject> {
  await migratePostgres(database)
  const info = watchedKinds.find((each) => each.kind === kind)!
  const found = await postgresStore(database, options).get({ ...info, namespace: 'default', name })
  if (!found.ok) throw new Error(found.failure.code)
  return found.value
}

describe('the examples of the project', () => {
  test('are applied without their deletion, and a second run has nothing to do', async () => {
    const first = await demo(['--store', 'pglite:x'])
    expect(first.out).toContain('16 claims: 13 bound, 1 pending, 1 error, 1 ignored\n')
    expect(first.out).toMatch(
      /\nStore pglite:x\n {2}manifests: 24 created, 0 changed, 0 unchanged\n {2}provider: \d\d writes\n\nThis is what the examples are meant to come to\.\n\n-v shows .*\n$/,
    )
    expect([first.status, first.err]).toEqual([0, ''])
    const second = await demo(['--store', 'pglite:x'])
    expect(second.out).toContain(
      'Store pglite:x\n  manifests: 0 created, 0 changed, 24 unchanged\n  provider: 0 writes\n  Nothing was to do: everything is as it should be.\n',
    )
    const withoutWork = (text: string) => text.slice(0, text.indexOf('Store pglite'))
    expect(withoutWork(second.out)).toBe(withoutWork(first.out))
    expect(second.status).toBe(0)
  })

  test('are not applied where something is to be deleted', async () => {
    await resultOf([pool(), web(0)])
    const { out, status } = await demo(['--store', 'pglite:x', '--delete', 'ipaddressclaim/web-0'])
    expect(out).toContain(
      'Pools\n  KIND             NAMESPACE/NAME  TOTAL  USED  FREE  OUT-OF-RANGE\n  InClusterIPPool  default/lab',
    )
    expect(out).toContain('0 claims: 0 bound')
    expect(out).not.toContain('Nothing was to do')
    expect(status).toBe(0)
  })
})

describe('manifests', () => {
  test('are found again, and what they have got stays', async () => {
    const first = await resultOf([pool(), web(0), web(1)])
    expect(first.store).toMatchObject({ created: 3, unchanged: 0 })
    const second = await resultOf([web(1), pool(), web(0)])
    expect(second.store).toEqual({ ...idle, unchanged: 3 })
    expect(second.claims).toEqual(first.claims)
  })

  test('change the spec of what is there, and nothing else of it', async () => {
    await resultOf([pool({}, { labels: { a: '1' }, annotations: { b: '2' } }), web(0), web(1), web(2)])
    const before = await stored('InClusterIPPool', 'lab')
    const wider = pool({ addresses: ['10.0.0.10-10.0.0.12'] }, { labels: { c: '3' } })
    const { store, claims, err } = await resultOf([wider])
    expect(store).toMatchObject({ created: 0, changed: 1, unchanged: 0 })
    expect(err).toContain('  changed: InClusterIPPool default/lab\n')
    expect(claims.map((claim: { address: string }) => claim.address)).toEqual(['10.0.0.10', '10.0.0.11', '10.0.0.12'])
    const after = await stored('InClusterIPPool', 'lab')
    expect(after.metadata).toMatchObject({
      uid: before.metadata.uid,
      finalizers: before.metadata.finalizers,
      labels: { a: '1', c: '3' },
      annotations: { b: '2' },
    })
    expect(after.status).toMatchObject({ ipAddresses: { total: 3, used: 3 } })
  })

  test('keep the status of a claim that gets a label', async () => {
    await resultOf([pool(), web(0)])
    const { status, metadata } = await stored('IPAddressClaim', 'web-0')
    const labelled = { ...web(0), metadata: { name: 'web-0', labels: { a: '1' } } }
    expect((await resultOf([labelled])).store).toMatchObject({ changed: 1, written: 0 })
    const after = await stored('IPAddressClaim', 'web-0')
    expect(after.status).toEqual(status)
    expect(status).toMatchObject({ addressRef: { name: 'web-0' } })
    expect(after.metadata).toMatchObject({ labels: { a: '1' }, finalizers: metadata.finalizers })
    expect((await resultOf([labelled])).store).toEqual({ ...idle, unchanged: 1 })
  })

  test('that would take away an address in use are refused', async () => {
    await resultOf([pool(), web(0), web(1)])
    const { refused, status } = await resultOf([pool({ addresses: ['10.0.0.10'] })])
    expect(refused).toMatchObject([{ action: 'refused', object: 'InClusterIPPool default/lab' }])
    expect(refused[0].reason).toContain('10.0.0.11')
    expect(status).toBe(2)
    expect((await stored('InClusterIPPool', 'lab')).spec).toMatchObject({ addresses: ['10.0.0.10-10.0.0.11'] })
  })

  test('leave alone what is being deleted', async () => {
    const slow = pool({ addressReuseGracePeriodSeconds: 3600 })
    const { store, err } = await resultOf([slow, web(0)], '--delete', 'ipaddressclaim/web-0')
    expect(store).toMatchObject({ deleted: 1, releasesInSeconds: expect.any(Number) })
    expect(err).toMatch(/The first grace period ends in 3\d\d\d s: run again after that\.\n$/)
    expect(err).not.toContain('time moves on')
    const again = await resultOf([{ ...web(0), metadata: { name: 'web-0', labels: { a: '1' } } }])
    expect(again.err).toContain('IPAddressClaim default/web-0: Warning: it is being deleted in the store')
    expect(again.store).toMatchObject({ created: 0, changed: 0, unchanged: 0, written: 0 })
  })
})

test('objects that cannot be read are reported, and the others are loaded', async () => {
  await resultOf([pool(), web(0)])
  const broken = { ...web(1), metadata: { name: 'broken', namespace: 'default' }, spec: { poolRef: 'lab' } }
  expect((await postgresStore(database, options).create(broken)).ok).toBe(true)
  const { out, status } = await demo(['--store', 'pglite:x', '-f', '-'], { stdin: [web(0)] })
  expect(out).toMatch(/in the store: IPAddressClaim default\/broken: Warning: .*spec\.poolRef/)
  expect(out).toContain('1 claim: 1 bound')
  expect(status).toBe(0)
})

describe('a package that is not installed', () => {
  test.each([
    ['postgres://u:secret@localhost/db', 'postgres', 'pg'],
    ['redis://:secret@localhost', 'redis', 'ioredis (or redis)'],
    ['sqlite:x.db', 'sqlite', 'better-sqlite3, or run Node 22.13 or later, which has SQLite inside'],
    ['pglite:x', 'pglite', '@electric-sql/pglite'],
    ['kubernetes', 'kubernetes', '@kubernetes/client-node@1.4.0'],
  ])('is named for --store %s', async (store, engine, name) => {
    expect(await demo(['--store', store], { load: loader({}) })).toEqual({
      status: 2,
      out: '',
      err: `${engine} needs a package that is not installed: npm install --no-save ${name}\n`,
    })
  })

  test('is told of by Node as expected here', async () => {
    const load: Load = (name) => import(/* @vite-ignore */ `${name}-that-nobody-has`)
    expect((await demo(['--store', 'redis://localhost'], { load })).status).toBe(2)
  })

  test('may be there, and not be built', async () => {
    class Database {
      constructor() {
        throw new Error('Could not locate the bindings file. Tried: ...')
      }
    }
    const { status, err } = await demo(['--store', 'sqlite:x'], {
      load: loader({ 'better-sqlite3': { default: Database } }),
    })
    expect([status, err]).toEqual([
      2,
      'better-sqlite3 is installed and not built for this Node: npm rebuild better-sqlite3\n',
    ])
  })
})

describe('a server', () => {
  /**
   * The database behind the interface of pg: it fails from one query on, the first of such a text
   * after so many.
   */
  function pgThatFails(message: string, after: number, first = /^/) {
    let queries = 0
    let isGone = false
    class Pool {
      on() {}
      async end() {}
      async query(text: string, values?: unknown[]) {
        isGone ||= ++queries > after && first.test(text)
        if (isGone) throw new Error(message)
        return database.query(text, values)
      }
    }
    return loader({ pg: { default: { Pool } } })
  }

  test('that cannot be reached is told in one line, without the password', async () => {
    const message = 'connect ECONNREFUSED postgres://u:top%20secret@host/db, password "top secret"'
    const load = pgThatFails(message, 0)
    expect(await demo(['--store', 'postgres:postgres://u:top%20secret@host/db'], { load })).toEqual({
      status: 1,
      out: '',
      err: 'postgres://***@host/db cannot be opened: connect ECONNREFUSED postgres://***@host/db, password "***"\n',
    })
  })

  test.each([
    ['while it reads', /^\s*select/i, 'the next run goes on from there.'],
    [
      'while it writes',
      /^(?!\s*select)/i,
      'It may still be done. Run this again when the store answers, and has ended whatever it was asked for before.',
    ],
  ])('that goes away %s ends the run with one word about it', async (_, first, rest) => {
    const { status, out, err } = await demo(['--store', 'postgres://u:secret@host/db'], {
      load: pgThatFails('terminated by u:secret', 20, first),
    })
    expect(err).toMatch(/^postgres:\/\/\*\*\*@host\/db: .*: terminated by u:\*\*\*\n/)
    expect(err.endsWith(`${rest}\n`), err).toBe(true)
    expect([status, out]).toEqual([1, ''])
  })

  test('of etcd that is not there', async () => {
    const { status, err } = await demo(['--store', 'etcd:http://127.0.0.1:9'])
    expect(err).toMatch(/^etcd:http:\/\/127\.0\.0\.1:9 cannot be opened: fetch failed: .+\n$/)
    expect(status).toBe(1)
  })

  test('of Kubernetes without the kinds: they are named, and where to get them', async () => {
    vi.stubEnv('KUBECONFIG', fileURLToPath(import.meta.url))
    const served = { resources: [{ kind: 'Cluster' }, { kind: 'IPAddressClaim' }, { kind: 'IPAddress' }] }
    const load = clientNode((path) => (path.endsWith('/v1alpha2') ? undefined : served))
    const { status, out, err } = await demo(['--store', 'kubernetes:here'], { load })
    expect(err).toMatch(
      /^the API server does not have these kinds:\n {2}ipam\.cluster\.x-k8s\.io\/v1alpha2 InClusterIPPool \(inclusterippools\)\n/,
    )
    expect(err).not.toContain('IPAddressClaim')
    expect(err).toContain('https://github.com/kubernetes-sigs/cluster-api-ipam-provider-in-cluster\n')
    expect([status, out]).toEqual([1, ''])
    expect((await demo(['--store', 'kubernetes:there'], { load })).err).toBe(
      'kubernetes:there cannot be opened: the kubeconfig has no context there; its contexts: here\n',
    )
    vi.stubEnv('KUBECONFIG', join(tmpdir(), 'no-such-kubeconfig'))
    vi.stubEnv('KUBERNETES_SERVICE_HOST', undefined)
    expect((await demo(['--store', 'kubernetes'], { load })).err).toMatch(
      /^kubernetes cannot be opened: there is no kubeconfig: .*no-such-kubeconfig\n$/,
    )
    vi.unstubAllEnvs()
  })

  test('of Kubernetes without the kinds of another scenario', async () => {
    vi.stubEnv('KUBECONFIG', fileURLToPath(import.meta.url))
    const served = { resources: [{ kind: 'IPPool' }, { kind: 'IPDomain' }] }
    const args = ['--scenario', 'blocks', '--store', 'kubernetes:here']
    const { status, out, err } = await demo(args, { load: clientNode(() => served) })
    expect(err).toBe(
      'the API server does not have these kinds:\n  ipam-kit.dev/v1alpha1 IPBlock (ipblocks)\n' +
        'Install their CustomResourceDefinitions:\n' +
        '  npx tsx docs/examples/blocks/definitions.ts | kubectl apply --server-side -f -\n',
    )
    expect([status, out]).toEqual([1, ''])
    vi.unstubAllEnvs()
  })

  /** As much of @kubernetes/client-node as is used before a store is asked. */
  function clientNode(answer: (path: string) => object | undefined): Load {
    const send = async (path: string) => {
      const found = answer(path)
      return {
        httpStatusCode: found === undefined ? 404 : 200,
        body: { text: async () => JSON.stringify(found ?? {}) },
      }
    }
    const configuration = {
      baseServer: {
        makeRequestContext: (path: string) => ({ path, setHeaderParam() {}, setBody() {}, setSignal() {} }),
      },
      httpApi: { send: ({ path }: { readonly path: string }) => ({ toPromise: () => send(path) }) },
      authMethods: {},
    }
    class KubeConfig {
      #context = 'here'
      loadFromDefault() {}
      getContexts = () => [{ name: 'here' }]
      getCurrentContext = () => this.#context
      setCurrentContext(name: string) {
        this.#context = name
      }
      makeApiClient<T>(type: new (parts: unknown) => T): T {
        return new type(configuration)
      }
    }
    class Watch {
      watch() {}
    }
    return loader({ '@kubernetes/client-node': { KubeConfig, Watch } })
  }
})

describe('--store', () => {
  test.each([
    ['', 'there is no such store'],
    ['mysql://u:secret@host/db', 'there is no such store'],
    ['memory:x', 'memory is written alone'],
    ['pglite', 'pglite needs a name behind the colon'],
    ['sqlite:', 'sqlite needs a name behind the colon'],
    ['postgres', 'postgres needs a URL that begins with postgres:// or postgresql://'],
    ['postgres:http://u:secret@host', 'postgres needs a URL'],
    ['redis:u:secret@host', 'redis needs a URL that begins with redis:// or rediss://'],
    ['etcd:127.0.0.1:2379', 'etcd needs a URL that begins with http:// or https://'],
    ['etcd:http://a,b', 'etcd needs a URL'],
    ['etcd:http://u:secret@host', 'etcd takes no user and password in its URL'],
  ])('%s is a mistake', async (store, message) => {
    const { status, out, err } = await demo(['--store', store])
    expect(err).toContain(message)
    expect(err).toContain('Usage: npm run demo')
    expect(err).not.toContain('secret')
    expect([status, out]).toEqual([2, ''])
  })

  test('does not show a password either where it was forgotten', async () => {
    const { status, err } = await demo(['postgres://u:se@cret@host/db'])
    expect(err).toContain("Unexpected argument 'postgres://***@host/db'")
    expect(status).toBe(2)
  })

  test('memory is what is taken without it', async () => {
    expect(await demo(['--store', 'memory'])).toEqual(await demo([]))
  })

  test('is documented', async () => {
    const { out } = await demo(['--help'])
    for (const store of [
      'memory',
      'pglite:DIR',
      'sqlite:FILE',
      'postgres:URL',
      'redis:URL',
      'etcd:URL',
      'kubernetes[:CONTEXT]',
    ]) {
      expect(out).toContain(`\n  ${store} `)
    }
    expect(out).toContain('--store STORE')
  })
})
