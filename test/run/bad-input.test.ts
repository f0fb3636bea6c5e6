import { Cluster, IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { InClusterIPPool } from 'ipam-kit/crd/in-cluster'
import { IPBlock, IPDomain, IPHandle, IPPool } from 'ipam-kit/crd/ipam-kit'
import type { KindInfo, KubeObject, OwnerReference } from 'ipam-kit/crd/meta'
import { fail, unwrap } from 'ipam-kit/errors'
import { type Change, definePlanner, ObjectCache, type Planner, type Selection, type Watch } from 'ipam-kit/plan'
import { blocksOperator, blocksSweep } from 'ipam-kit/provider/blocks'
import { gcPlanner } from 'ipam-kit/provider/gc'
import { inCluster } from 'ipam-kit/provider/in-cluster'
import { Controller } from 'ipam-kit/run'
import type { Store, WatchEvent } from 'ipam-kit/store'
import { memoryStore } from 'ipam-kit/store/memory'
import { storeOver } from 'ipam-kit/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import { VirtualTimers } from './controller/virtual-timers.js'
import { counter, counterKind, ref } from './task/counter.js'

const POD: KindInfo = { apiVersion: 'v1', kind: 'Pod', plural: 'pods', namespaced: true, statusSubresource: true }
const models = [IPPool, IPDomain, IPBlock, IPHandle, IPAddressClaim, IPAddress, Cluster, InClusterIPPool]
const kinds = [...models.map(({ info }) => info), POD]

/** All planners that read the cache, on one. */
function host() {
  const owners = [POD, IPAddressClaim.info]
  const planners: Planner[] = [
    gcPlanner({ kinds }),
    blocksOperator(),
    blocksSweep({ owners, handles: true, graceSeconds: 0 }),
    inCluster({ sweepAfterSeconds: 1 }),
  ]
  const cache = new ObjectCache()
  for (const planner of planners) planner.share?.(cache)
  /**
   * Shows a change to all of them, and plans what it wakes. @returns the outcomes by planner and
   * key
   */
  const show = (change: Change, selection?: Selection) => {
    const applied = cache.apply(change, { selection })
    const outcomes = new Map<string, string>()
    for (const planner of planners) {
      for (const key of planner.wakes?.(applied) ?? []) {
        const plan = planner.plan(key, { nowMs: 0 })
        if (plan !== undefined) outcomes.set(`${planner.name} ${key}`, `${plan.outcome.kind}: ${plan.outcome.message}`)
      }
    }
    return outcomes
  }
  return { show, cache }
}

let count = 0
const sample = ({ apiVersion, kind, namespaced }: KindInfo, spec: unknown, status?: unknown): KubeObject => ({
  apiVersion,
  kind,
  metadata: {
    name: kind === 'IPBlock' ? 'd-4-0a000000-28' : 'x',
    ...(namespaced ? { namespace: 'ns' } : {}),
    uid: `uid-${kind}`,
    resourceVersion: `${++count}`,
    generation: 1,
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: { a: 'b' },
    annotations: { a: 'b' },
    finalizers: ['example.com/f'],
    ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'x', uid: 'uid-Pod', controller: true }],
  },
  spec,
  status,
})
const claimRef = { name: 'x' }
const poolRef = { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name: 'x' }
const condition = {
  type: 'Ready',
  status: 'True',
  lastTransitionTime: '2026-01-01T00:00:00Z',
  reason: 'R',
  message: '',
}
const rows = {
  1: { uid: 'uid-Pod', owner: 'ns/x', sequence: 1 },
  2: { uid: 'u2', owner: 'ns/y', kind: 'IPAddressClaim', sequence: 2 },
}
const samples: readonly KubeObject[] = [
  sample(
    IPDomain.info,
    {
      ipv4: { blockPrefixLength: 28, allocationPrefixLength: 32 },
      ipv6: { blockPrefixLength: 122, allocationPrefixLength: 128 },
    },
    { conditions: [condition] },
  ),
  sample(
    IPPool.info,
    {
      subnets: [{ cidr: '10.0.0.0/24', ranges: ['10.0.0.1-10.0.0.9'], gateway: '10.0.0.1' }],
      domain: 'd',
      ipv4: {},
      ipv6: {},
    },
    { domainUID: 'u', conditions: [condition] },
  ),
  sample(IPBlock.info, {
    cidr: '10.0.0.0/28',
    pool: 'x',
    domain: 'd',
    allocationPrefixLength: 32,
    sequence: 3,
    rows,
  }),
  sample(IPHandle.info, { uid: 'uid-Pod', owner: 'ns/x', kind: 'Pod', blocks: { 'd-4-0a000000-28': ['eth0'] } }),
  sample(InClusterIPPool.info, { addresses: ['10.0.0.1-10.0.0.9'], prefix: 24, gateway: '10.0.0.1' }),
  sample(Cluster.info, { paused: false }),
  sample(IPAddressClaim.info, { poolRef, clusterName: 'x' }, { addressRef: claimRef, conditions: [condition] }),
  sample(IPAddress.info, { claimRef, poolRef, address: '10.0.0.2', prefix: 24, gateway: '10.0.0.1' }),
  sample(POD, { nodeName: 'n' }, { phase: 'Running', podIPs: [{ ip: '10.0.0.3' }] }),
]
/** Fields that every store has checked, as it finds the object by them. */
const FIXED = [
  'apiVersion',
  'kind',
  'metadata',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'metadata.resourceVersion',
]

/** An object with another value at a path, for each path of it and each value. */
function* spoilt(object: KubeObject): Generator<readonly [path: string, object: KubeObject]> {
  const values = [null, 'text', -1.5, [], {}, [null], { a: null }, true]
  function* walk(value: unknown, path: readonly string[]): Generator<readonly string[]> {
    if (typeof value !== 'object' || value === null) return
    for (const [key, inner] of Object.entries(value)) {
      yield [...path, key]
      yield* walk(inner, [...path, key])
    }
  }
  for (const path of walk(object, [])) {
    if (FIXED.includes(path.join('.'))) continue
    for (const value of values) {
      const copy = structuredClone(object) as { metadata: { resourceVersion: string } }
      let parent = copy as unknown as Record<string, unknown>
      for (const key of path.slice(0, -1)) parent = parent[key] as Record<string, unknown>
      parent[path.at(-1) as string] = value
      copy.metadata.resourceVersion = `${++count}`
      yield [`${path.join('.')}: ${JSON.stringify(value)}`, copy as unknown as KubeObject]
    }
  }
}

describe('planners on one cache', () => {
  test.each(samples.map((object) => [object.kind, object] as const))(
    'take %s with wrong types at any depth',
    (_, object) => {
      const { show } = host()
      for (const each of samples) show({ kind: 'present', object: each })
      const thrown: string[] = []
      for (const [what, wrong] of spoilt(object)) {
        try {
          show({ kind: 'present', object: wrong })
        } catch (error) {
          thrown.push(`${what}: ${error}`)
        }
      }
      expect(thrown).toEqual([])
      // and go on with what is right again
      const right = { ...object, metadata: { ...object.metadata, resourceVersion: `${++count}` } }
      expect([...show({ kind: 'present', object: right }).values()].join()).not.toMatch(/unreadable|broken/)
    },
  )

  test.each(samples.map((object) => [object.kind, object] as const))(
    'take %s of an unknown apiVersion',
    (_, object) => {
      const { show, cache } = host()
      const slash = object.apiVersion.indexOf('/')
      const apiVersion = `${object.apiVersion.slice(0, slash + 1)}v99`
      const unknown = { ...object, apiVersion, metadata: { ...object.metadata, resourceVersion: `${++count}` } }
      for (const outcome of show({ kind: 'present', object: unknown }).values()) {
        expect(outcome).not.toMatch(/^(allocated|swept|released)/)
      }
      expect(cache.isEmpty).toBe(false)
    },
  )

  test('plan the same with 1 MB of annotations', () => {
    const annotations = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`a${i}`, 'x'.repeat(1024)]))
    for (const object of samples) {
      const large = { ...object, metadata: { ...object.metadata, annotations } }
      const [as, is] = [object, large].map((each) => host().show({ kind: 'present', object: each }))
      expect(is).toEqual(as)
    }
  })

  test('take owner references in rings, also of an object to itself', () => {
    const { show } = host()
    const owns = (name: string): OwnerReference => ({
      apiVersion: 'v1',
      kind: 'Pod',
      name,
      uid: `uid-${name}`,
      blockOwnerDeletion: true,
    })
    const ring = ['a', 'b', 'c'].map((name, i, all) => ({
      ...sample(POD, {}),
      metadata: {
        name,
        namespace: 'ns',
        uid: `uid-${name}`,
        resourceVersion: `${++count}`,
        finalizers: ['foregroundDeletion'],
        deletionTimestamp: '2026-01-01T00:00:00Z',
        ownerReferences: [owns(all[(i + 1) % 3] as string), ...(i === 0 ? [owns('a')] : [])],
      },
    }))
    const outcomes = ring.map((object) => show({ kind: 'present', object }))
    expect(outcomes.at(-1)?.size).toBeGreaterThan(0)
  })

  test('take another uid under one name, also of what is watched and read', () => {
    for (const object of samples) {
      const { show, cache } = host()
      const watch: Watch<KubeObject> = {
        ...(kinds.find(({ kind }) => kind === object.kind) as KindInfo),
        parse: (value) => ({ ok: true, value }),
      }
      const known = cache.open(watch)
      const of = (uid: string): KubeObject => ({
        ...object,
        metadata: { ...object.metadata, uid, resourceVersion: `${++count}` },
      })
      const [first, second] = [of('one'), of('two')]
      show({ kind: 'present', object: first })
      show({ kind: 'present', object: second })
      // the deletion of the first one comes late, and so does a change of it
      const { apiVersion, kind, metadata } = object
      const { name, namespace } = metadata
      show({ kind: 'absent', ref: { apiVersion, kind, name, namespace }, uid: 'one' })
      show({ kind: 'present', object: of('one') })
      expect([...known].map(({ metadata: { uid } }) => uid)).toEqual(['two'])
    }
  })
})

describe('a list that is read in pages', () => {
  const COUNT = 1200
  let timers: VirtualTimers
  let store: Store
  let problems: unknown[]
  beforeEach(async () => {
    timers = new VirtualTimers()
    store = memoryStore({ kinds: [counterKind], now: () => timers.now() })
    problems = []
    for (let i = 0; i < COUNT; i++) unwrap(await store.create(counter(`c${i}`)))
  })
  const counters: Watch<string> = { ...counterKind, parse: ({ metadata }) => ({ ok: true, value: metadata.name }) }
  const seeing = () =>
    definePlanner({ name: 'seeing', watches: { counters }, wakes: { counters: () => [] }, plan: () => undefined })

  async function sizeAfter(own: Partial<Store>, during: () => Promise<void> = async () => {}): Promise<number> {
    const planner = seeing()
    const controller = new Controller({
      store: storeOver(store, own),
      planners: [planner],
      timers,
      onProblem: (problem) => problems.push(problem),
    })
    const running = controller.run()
    await timers.pass(1000)
    await during()
    await timers.pass(1000)
    controller.stop()
    await running
    return planner.context.cache.counters.size
  }

  test.each([
    ['expires in the middle (410)', fail('STORE_VERSION_GONE', { resourceVersion: '1', oldest: '2' })],
    ['whose continue is refused', fail('STORE_INVALID', { object: 'list', path: 'continue', problem: 'not a token' })],
  ])('and %s is read again in one piece', async (_, failure) => {
    const lists: unknown[] = []
    const list: Store['list'] = async (query, options) => {
      lists.push(options)
      return options?.continue !== undefined ? (failure as never) : store.list(query, options)
    }
    expect(await sizeAfter({ list })).toBe(COUNT)
    expect([lists.length, lists.at(-1), problems]).toEqual([3, {}, []])
  })

  test('and does not come to its end is read again later, and tells of what was deleted in between', async () => {
    let isDown = true
    const list: Store['list'] = async (query, options) => {
      if (!isDown || options?.continue === undefined) return store.list(query, options)
      await store.delete(ref('c0'))
      isDown = false
      return fail('STORE_IO', { operation: 'list', problem: 'down' })
    }
    expect(await sizeAfter({ list })).toBe(COUNT - 1)
    expect(problems).toMatchObject([{ kind: 'informer' }])
  })

  test('a bookmark without a version leaves the watch where it is', async () => {
    let from: string | undefined
    const extra: WatchEvent[] = []
    const watch: Store['watch'] = (query, options) => {
      from = options?.resourceVersion
      const below = store.watch(query, options)[Symbol.asyncIterator]()
      let isCut = false
      const next = async (): Promise<IteratorResult<WatchEvent>> => {
        const value = extra.shift()
        if (isCut) return { done: true, value: undefined }
        isCut = value?.type === 'ERROR'
        return value === undefined ? below.next() : { done: false, value }
      }
      return { [Symbol.asyncIterator]: () => ({ next, return: async () => below.return!() }) }
    }
    let version: string | undefined
    const size = await sizeAfter({ watch }, async () => {
      version = unwrap(await store.create(counter('new'))).metadata.resourceVersion
      // what the watch tells behind it: bookmarks that say nothing, and its end
      for (const resourceVersion of ['', undefined]) extra.push({ type: 'BOOKMARK', resourceVersion } as WatchEvent)
      extra.push({ type: 'ERROR', failure: fail('STORE_IO', { operation: 'watch', problem: 'cut' }).failure })
      await timers.pass(1000)
      unwrap(await store.create(counter('newer')))
    })
    expect([size, from]).toEqual([COUNT + 2, version])
  })
})
