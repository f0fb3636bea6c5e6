import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { KindInfo, KubeObject } from 'ipam-kit/crd/meta'
import { unwrap } from 'ipam-kit/errors'
import { prometheusText } from 'ipam-kit/render'
import { Controller } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'
import { FakeCloud } from 'ipam-kit/testing'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments, stringify } from 'yaml'
import { callerOf } from '../../docs/examples/floating-ip-controller/caller.js'
import {
  CLUSTER_IDENTITY,
  Credentials,
  loadYamlParser,
  NAMESPACE,
  SECRET,
} from '../../docs/examples/floating-ip-controller/credentials.js'
import { CloudFigures } from '../../docs/examples/floating-ip-controller/figures.js'
import { FLAGS, optionsOf } from '../../docs/examples/floating-ip-controller/flags.js'
import { COMMON_FLAGS, parseFlags, readSettings } from '../../docs/examples/program/flags.js'
import { claim, kinds, pool, World } from '../provider/external/world.js'
import { VirtualTimers } from '../run/controller/virtual-timers.js'
import { isDeep } from '../setup/depth.js'

const folder = new URL('../../docs/examples/floating-ip-controller/', import.meta.url)
const read = (file: string) => readFileSync(new URL(file, folder), 'utf8')
const options = (...args: readonly string[]) => optionsOf(parseFlags(FLAGS, args))

describe('the flags of the floating IP controller', () => {
  test('without any, it looks after pools and servers, and calls have a minute', () => {
    expect(options()).toEqual({
      ...{ controllers: ['pools', 'servers'], callSeconds: 60, listSeconds: 300 },
      ...{ onExhausted: 'wait', releaseWhen: 'detached', clusterIdentities: false },
    })
  })

  test.each([
    [['--controllers', 'pools,machines'], /^--controllers \(pools,machines\) is pools, servers, or both/],
    [['--call-seconds', '4'], /^--call-seconds \(4\) must be whole seconds, 5 to 60$/],
    [['--list-seconds', '29'], /^--list-seconds \(29\) must be whole seconds, 30 to 86400$/],
    [['--on-exhausted', 'never'], /^--on-exhausted \(never\) is wait or fail$/],
    [['--release-when', 'now'], /^--release-when \(now\) is detached or instanceGone$/],
  ])('%j is refused in one sentence', (args, sentence) => {
    expect(() => options(...args)).toThrow(sentence)
  })

  // test/examples/in-cluster-controller.test.ts has one such process
  if (isDeep) {
    test('a mistake is one line and status 2', async () => {
      const main = fileURLToPath(new URL('main.ts', folder))
      const ended = await new Promise<{ readonly status: unknown; readonly err: string }>((resolve) => {
        execFile(process.execPath, ['--import', 'tsx', main, '--controllers', ''], (error, _, err) => {
          resolve({ status: error?.code, err })
        })
      })
      expect(ended).toEqual({
        status: 2,
        err: expect.stringMatching(/^\S+ --controllers \(\) is pools, servers, [^\n]*\n$/),
      })
    })
  }
})

describe('the manifests of the floating IP controller', () => {
  interface Rule {
    readonly apiGroups: readonly string[]
    readonly resources: readonly string[]
    readonly verbs: readonly string[]
  }
  const objects = parseAllDocuments(read('rbac.yaml')).map(
    (document) => document.toJS() as { kind: string; metadata: { name: string; namespace?: string }; rules?: Rule[] },
  )
  const { spec, metadata } = parse(read('deployment.yaml')) as {
    metadata: { namespace: string }
    spec: { template: { spec: { serviceAccountName: string; containers: { image: string; args: string[] }[] } } }
  }
  const { serviceAccountName, containers } = spec.template.spec

  test('name files that are there, and an image that is used', () => {
    const kustomization = parse(read('kustomization.yaml')) as { resources: string[]; images: { name: string }[] }
    for (const file of kustomization.resources) expect(parseAllDocuments(read(file)).length).toBeGreaterThan(0)
    expect(kustomization.images.map(({ name }) => name)).toEqual(containers.map(({ image }) => image))
  })

  test('run the program as the account that has the rights, with flags that it has', () => {
    const account = objects.find(({ kind }) => kind === 'ServiceAccount')
    expect(account?.metadata).toEqual({ name: serviceAccountName, namespace: metadata.namespace })
    const values = parseFlags({ ...COMMON_FLAGS, ...FLAGS }, containers[0]!.args)
    expect(readSettings(values)).toMatchObject({ elects: true, metricsPort: 8080, namespace: 'ipam-system' })
    expect(optionsOf(values).controllers).toEqual(['pools', 'servers'])
  })

  test('read Secrets one by one, and change no spec of a Secret', () => {
    const rules = objects.flatMap((object) => object.rules ?? [])
    const ofSecrets = rules.filter(({ resources }) =>
      resources.some((each) => each.startsWith('secrets') || each === '*'),
    )
    expect(ofSecrets).toEqual([{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }])
  })
})

const PASSWORD = 'correct-horse'
const clouds = { clouds: { one: { auth: { auth_url: 'https://keystone.test', password: PASSWORD } } } }
const identity = { type: 'Secret', namespace: 'shop', name: 'clouds', cloudName: 'one' } as const
const ofCluster = { ...identity, type: 'ClusterIdentity' } as const

const object = ({ apiVersion, kind }: KindInfo, metadata: KubeObject['metadata'], rest: object = {}) =>
  ({ apiVersion, kind, metadata, ...rest }) as KubeObject
const secret = (text: string, { namespace = 'shop', key = 'clouds.yaml' } = {}) =>
  object(SECRET, { namespace, name: 'clouds' }, { data: { [key]: Buffer.from(text).toString('base64') } })
const identityObject = (spec: object) => object(CLUSTER_IDENTITY, { name: 'clouds' }, { spec })

async function credentialsOver(objects: readonly KubeObject[], { clusterIdentities = true } = {}) {
  const clock = { nowMs: 0 }
  const store = memoryStore({ now: () => clock.nowMs, kinds: [SECRET, NAMESPACE, CLUSTER_IDENTITY] })
  for (const each of objects) unwrap(await store.create(each))
  let reads = 0
  const get: typeof store.get = (ref) => {
    reads++
    return store.get(ref)
  }
  const { read } = new Credentials({ store: { get }, parse, now: () => clock.nowMs, clusterIdentities })
  return { store, clock, read, reads: () => reads }
}

describe('credentials', () => {
  test('are what clouds.yaml of the Secret says, read once in 30 s', async () => {
    const { read, reads, clock } = await credentialsOver([secret(stringify(clouds))])
    const all = await Promise.all([read(identity), read(identity), read({ ...identity, cloudName: 'two' })])
    expect(all).toEqual(all.map(() => ({ ok: true, value: clouds })))
    clock.nowMs += 29_999
    await read(identity)
    expect(reads()).toBe(1)
    clock.nowMs += 1
    await read(identity)
    expect(reads()).toBe(2)
  })

  test('that are not there are looked for each time', async () => {
    const { read, store } = await credentialsOver([])
    expect(await read(identity)).toMatchObject({ ok: false, failure: { retryable: true, reason: 'PoolNotReady' } })
    unwrap(await store.create(secret(stringify(clouds))))
    expect(await read(identity)).toEqual({ ok: true, value: clouds })
  })

  test('a message has no text of the Secret', async () => {
    const wrong = await credentialsOver([secret(`clouds: [${PASSWORD}: "`)])
    const message = 'clouds.yaml of Secret shop/clouds is not YAML'
    expect(await wrong.read(identity)).toMatchObject({ failure: { message } })
    const other = await credentialsOver([secret(PASSWORD, { key: 'cloud.conf' })])
    expect(await other.read(identity)).toMatchObject({ failure: { message: 'Secret shop/clouds has no clouds.yaml' } })
  })

  test('of an OpenStackClusterIdentity are for the namespaces that it selects', async () => {
    const namespaceSelector = { matchLabels: { team: 'web' } }
    const secretRef = { namespace: 'ops', name: 'clouds' }
    const labels = { team: 'web' }
    const objects = [secret(stringify(clouds), { namespace: 'ops' }), object(NAMESPACE, { name: 'shop', labels })]
    const { read } = await credentialsOver([...objects, identityObject({ secretRef, namespaceSelector })])
    expect(await read(ofCluster)).toEqual({ ok: true, value: clouds })
    expect(await read({ ...ofCluster, namespace: 'none' })).toMatchObject({ ok: false })

    const others = identityObject({ secretRef, namespaceSelector: { matchLabels: { team: 'db' } } })
    const refused = await credentialsOver([...objects, others])
    const message = 'OpenStackClusterIdentity clouds is not for namespace shop'
    expect(await refused.read(ofCluster)).toMatchObject({ failure: { message } })
  })

  test.each([
    [[identityObject({})], {}, 'OpenStackClusterIdentity clouds names no Secret'],
    [[], { clusterIdentities: false }, 'identityRef.type ClusterIdentity needs --cluster-identities'],
  ])('of an OpenStackClusterIdentity that cannot be used: %#', async (objects, more, message) => {
    const { read } = await credentialsOver(objects, more)
    expect(await read(ofCluster)).toMatchObject({ ok: false, failure: { message } })
  })

  test('a client without its parser is told when a Secret is read', async () => {
    const load = () => Promise.reject(new Error('ERR_MODULE_NOT_FOUND'))
    const parseYaml = await loadYamlParser(load)
    expect(() => parseYaml('a: 1')).toThrow('js-yaml')
  })
})

test('the metrics tell how addresses and pools are, and how calls end', async () => {
  const timers = new VirtualTimers()
  const store = memoryStore({ now: () => timers.now(), kinds })
  const cloud = new FakeCloud({ now: () => timers.now() })
  const network = cloud.addNetwork({ name: 'public', cidrs: ['203.0.113.0/24'] }).id
  cloud.byHand.create({ network, address: '203.0.113.9' })
  const planner = new World().start()
  const figures = new CloudFigures(planner)
  const controller = new Controller({
    ...{ store, timers, planners: [planner], external: figures.counted(callerOf(cloud)) },
    onProblem: (problem) => {
      throw new Error(problem.kind)
    },
    onResult: (result) => figures.observe(result),
  })
  const spec = { preAllocatedFloatingIPs: ['203.0.113.9', '203.0.113.10'], maxIPs: 3 }
  unwrap(await store.create(pool(spec)))
  for (const name of ['c1', 'c2']) unwrap(await store.create(claim(name)))
  cloud.inject('createAddress', 'quota')
  const ended = controller.run()
  // until the second list
  await timers.pass(310_000)
  const lines = prometheusText(figures.metrics()).split('\n')
  const told = (start: string) => lines.filter((line) => line.startsWith(start))
  const labels = 'namespace="team-a",pool="blue"'
  expect(told('ipam_floating_ip_addresses')).toEqual([
    `ipam_floating_ip_addresses{${labels},state="claimed"} 2`,
    `ipam_floating_ip_addresses{${labels},state="free"} 0`,
    `ipam_floating_ip_addresses{${labels},state="failed"} 1`,
    `ipam_floating_ip_addresses{${labels},state="missing"} 0`,
    `ipam_floating_ip_addresses{${labels},state="inherited"} 0`,
  ])
  expect(told('ipam_floating_ip_pools')).toEqual(['ipam_floating_ip_pools{outcome="ready"} 1'])
  expect(told('ipam_cloud_calls_total{operation="createAddress"')).toEqual([
    'ipam_cloud_calls_total{operation="createAddress",result="BackendExhausted"} 1',
    'ipam_cloud_calls_total{operation="createAddress",result="ok"} 1',
  ])
  expect(told('ipam_cloud_call_seconds_count{operation="createAddress"}')).toEqual([
    'ipam_cloud_call_seconds_count{operation="createAddress"} 2',
  ])
  controller.stop()
  await ended
})
