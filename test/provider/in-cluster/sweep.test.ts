import { IPAddress } from 'ipam-kit/crd/cluster-api'
import type { InClusterOptions } from 'ipam-kit/provider/in-cluster'
import { runPlan } from 'ipam-kit/run'
import type { Store } from 'ipam-kit/store'
import { crashingStore, SimulatedCrash, storeOver } from 'ipam-kit/testing'
import { describe, expect, test } from 'vitest'
import { explainEffect } from '../../../src/plan/plan.js'
import { Host } from './host.js'
import { addressRef, claim, claimRef, cluster, clusterRef, pool, poolRef, World } from './world.js'

const SWEEP: InClusterOptions = { sweepAfterSeconds: 60 }
const FINALIZER = 'ipam.cluster.x-k8s.io/ProtectAddress'

/** A world with the claim `a` bound, whose claim was then removed by force. */
async function orphaned(world = new World()): Promise<World> {
  await world.create(pool(['10.0.0.5-10.0.0.6']), claim('a'))
  await world.run()
  await force(world, 'a')
  return world
}

/** A provider that begins anew, and runs once more after a while. */
async function sweep(world: World, seconds: number): Promise<void> {
  const host = new Host(world, SWEEP)
  await host.run()
  await host.run({ after: seconds })
}

async function force(world: World, name: string): Promise<void> {
  await world.patch(claimRef(name), { metadata: { finalizers: null } })
  await world.delete('claim', name)
}

describe('an IPAddress whose claim was removed by force', () => {
  test('stays for ever unless a sweep is asked for', async () => {
    const world = await orphaned()
    const host = new Host(world)
    await host.run()
    await host.run({ after: 1e6 })
    expect(await world.bindings()).toEqual({ 'default/a': '10.0.0.5' })
    expect(host.planner.plan('IPAddressClaim default/a', { nowMs: world.nowMs })).toBeUndefined()
  })

  test('goes after the time, and not before', async () => {
    const world = await orphaned()
    const host = new Host(world, SWEEP)
    await host.run()
    expect(host.outcomeOf('a')).toMatchObject({ kind: 'orphaned', remainingSeconds: 60 })
    expect(host.dueSeconds).toBe(60)
    await host.run({ after: 59 })
    expect(await world.bindings()).toEqual({ 'default/a': '10.0.0.5' })
    await host.run()
    await host.run({ after: 1 })
    expect(await world.bindings()).toEqual({})
    expect((await world.pool()).status?.ipAddresses).toEqual({ total: 2, free: 2, used: 0, outOfRange: 0 })
  })

  test('waits anew after a restart: what is not known to be old is young', async () => {
    const world = await orphaned()
    await sweep(world, 59)
    await sweep(world, 59)
    expect(await world.bindings()).toEqual({ 'default/a': '10.0.0.5' })
  })

  test('waits anew when a claim of the name was there in between', async () => {
    const world = await orphaned()
    const host = new Host(world, SWEEP)
    await host.run()
    await host.run({ after: 50 })
    await world.create(claim('a'))
    await host.run()
    expect((await world.claim('a')).status?.addressRef).toEqual({ name: 'a' })
    await force(world, 'a')
    await host.run()
    await host.run({ after: 50 })
    expect(await world.bindings()).toEqual({ 'default/a': '10.0.0.5' })
    await host.run()
    await host.run({ after: 10 })
    expect(await world.bindings()).toEqual({})
  })

  test('is adopted by a claim that comes in time, and kept', async () => {
    const world = await orphaned()
    const host = new Host(world, SWEEP)
    await host.run()
    await host.run({ after: 30 })
    await world.create(claim('a'))
    await host.run()
    await host.run({ after: 1000 })
    expect(await world.bindings()).toEqual({ 'default/a': '10.0.0.5' })
    expect((await world.claim('a')).status?.conditions).toMatchObject([{ status: 'True' }])
  })

  test.each<[string, (world: World) => Promise<void>, (world: World) => Promise<void>]>([
    [
      'the address is paused',
      (world) => world.patch(addressRef('a'), { metadata: { annotations: { 'cluster.x-k8s.io/paused': '' } } }),
      (world) => world.patch(addressRef('a'), { metadata: { annotations: null } }),
    ],
    [
      'the pool is paused',
      (world) => world.patch(poolRef(), { metadata: { annotations: { 'cluster.x-k8s.io/paused': '' } } }),
      (world) => world.patch(poolRef(), { metadata: { annotations: null } }),
    ],
    [
      'the Cluster is paused',
      async (world) => {
        await world.create(cluster('c1', { paused: true }))
        await world.patch(addressRef('a'), { metadata: { labels: { 'cluster.x-k8s.io/cluster-name': 'c1' } } })
      },
      (world) => world.patch(clusterRef('c1'), { spec: { paused: false } }),
    ],
    [
      'the pool cannot be read',
      (world) => world.patch(poolRef(), { spec: { addresses: 'none' } }),
      (world) => world.patch(poolRef(), { spec: { addresses: ['10.0.0.5'] } }),
    ],
  ])('is held while %s', async (_, hold, release) => {
    const world = await orphaned()
    const host = new Host(world, SWEEP)
    await hold(world)
    await host.run()
    await host.run({ after: 3600 })
    expect(await world.bindings()).toEqual({ 'default/a': '10.0.0.5' })
    expect(host.outcomeOf('a')).toMatchObject({ kind: 'orphaned', remainingSeconds: undefined })
    expect(host.dueSeconds).toBe(60)
    await release(world)
    await host.run({ after: 60 })
    expect(await world.bindings()).toEqual({})
  })

  test('goes also where its pool and its Cluster are gone', async () => {
    const world = await orphaned()
    await world.patch(poolRef(), { metadata: { finalizers: null } })
    await world.delete('pool', 'pool')
    await world.patch(addressRef('a'), { metadata: { labels: { 'cluster.x-k8s.io/cluster-name': 'gone' } } })
    await sweep(world, 60)
    expect(await world.bindings()).toEqual({})
  })

  test('goes where the collector has cut the claim out of its owners', async () => {
    const world = await orphaned()
    await world.patch(addressRef('a'), { metadata: { ownerReferences: null } })
    await sweep(world, 60)
    expect(await world.bindings()).toEqual({})
  })

  test('goes where a release has taken our finalizer off before it broke off', async () => {
    const world = await orphaned()
    await world.patch(addressRef('a'), { metadata: { finalizers: null } })
    await sweep(world, 60)
    expect(await world.bindings()).toEqual({})
  })

  test.each<[string, { readonly [field: string]: unknown }]>([
    ['was never ours: no finalizer, no claim', { metadata: { finalizers: null, ownerReferences: null } }],
    ['is for a claim of another name', { spec: { claimRef: { name: 'other' } } }],
    ['is of a pool of somebody else', { spec: { poolRef: { kind: 'ForeignPool', name: 'pool' } } }],
  ])('stays where it %s', async (_, patch) => {
    const world = await orphaned()
    await world.patch(addressRef('a'), patch)
    await sweep(world, 1e6)
    expect(Object.keys(await world.bindings())).toEqual(['default/a'])
  })

  test('is not mistaken for that of a deleted pool of the same name: its claim lives', async () => {
    const world = new World()
    await world.create(pool(['10.0.0.5-10.0.0.6']), claim('pool'))
    const host = new Host(world, SWEEP)
    await host.run()
    await world.patch(poolRef(), { metadata: { finalizers: null } })
    await world.delete('pool', 'pool')
    await host.run()
    expect(host.dueSeconds).toBeUndefined()
    await host.run({ after: 61 })
    expect(host.outcomes.get('InClusterIPPool default/pool')).toBeUndefined()
    expect(await world.bindings()).toEqual({ 'default/pool': '10.0.0.5' })
  })

  test('is planned as: no claim has the name; delete; let go', async () => {
    const world = await orphaned()
    const host = new Host(world, SWEEP)
    await host.run()
    await host.run({ after: 59 })
    const { uid, resourceVersion } = (await world.address('a')).metadata
    const plan = host.planner.plan('IPAddressClaim default/a', { nowMs: world.nowMs + 1000 })
    expect(plan?.outcome).toMatchObject({ kind: 'swept', address: '10.0.0.5' })
    expect(plan?.effects.map(explainEffect)).toEqual([
      'continue only if there is no IPAddressClaim default/a: a claim of that name adopts the address',
      `delete IPAddress default/a if it has uid ${uid} and version ${resourceVersion}: 10.0.0.5 is free again`,
      `patch IPAddress default/a (metadata.finalizers) if it has uid ${uid} and version ${resourceVersion}: its claim does not exist`,
    ])
  })
})

describe('a claim that comes while its IPAddress is swept', () => {
  /** Calls back before a write of a kind. */
  function before(store: Store, kind: 'get' | 'delete' | 'patch', action: () => Promise<unknown>): Store {
    let isDone = false
    const once = async () => {
      if (!isDone) await action()
      isDone = true
    }
    return storeOver(store, {
      get: async (...parameters) => {
        if (kind === 'get') await once()
        return store.get(...parameters)
      },
      delete: async (...parameters) => {
        if (kind === 'delete') await once()
        return store.delete(...parameters)
      },
      patch: async (...parameters) => {
        if (kind === 'patch') await once()
        return store.patch(...parameters)
      },
    })
  }

  test.each<['get' | 'delete' | 'patch', string]>([
    ['get', 'before the proof: it adopts the address'],
    ['delete', 'after the proof: it gets one anew'],
    ['patch', 'after the deletion: it gets one anew'],
  ])('%s: %s', async (at) => {
    const world = await orphaned()
    await world.create(claim('b'))
    const host = new Host(world, SWEEP)
    await host.run()
    world.nowMs += 60_000
    const plan = host.planner.plan('IPAddressClaim default/a', { nowMs: world.nowMs })!
    const ran = await runPlan(
      plan,
      before(world.store, at, () => world.store.create(claim('a'))),
    )
    expect(ran.kind).toBe(at === 'get' ? 'conflict' : 'done')
    // the planner sees all of it late
    for (const change of ran.changes) host.planner.observe(change)
    await host.run()
    expect(await world.bindings()).toEqual({ 'default/a': '10.0.0.5', 'default/b': '10.0.0.6' })
    const address = await world.address('a')
    expect(address.metadata.deletionTimestamp).toBeUndefined()
    expect(address.metadata.ownerReferences?.[0]?.uid).toBe((await world.claim('a')).metadata.uid)
  })

  test('is not told of as gone by a proof that was made before it came', async () => {
    const world = await orphaned()
    const host = new Host(world, SWEEP)
    await host.run()
    await host.run({ after: 59 })
    const plan = host.planner.plan('IPAddressClaim default/a', { nowMs: world.nowMs + 1000 })!
    const ran = await runPlan(plan, world.store)
    expect(ran.changes.some(({ kind }) => kind === 'absent' && ran.changes.length > 2)).toBe(false)
    expect(ran.changes.map((change) => (change.kind === 'present' ? change.object.kind : change.ref.kind))).toEqual([
      'IPAddress',
      'IPAddress',
    ])
  })
})

describe('a sweep that is cut off at any write', () => {
  test('is ended by the next one', async () => {
    for (let at = 1; at <= 3; at++) {
      for (const point of ['before', 'after'] as const) {
        const world = await orphaned()
        const host = new Host(world, SWEEP)
        await host.run()
        world.nowMs += 60_000
        let hasCrashed = false
        try {
          await host.run({ store: crashingStore(world.store, at, point) })
        } catch (error) {
          if (!(error instanceof SimulatedCrash)) throw error
          hasCrashed = true
        }
        // the deletion, the finalizer, the counts of the pool
        expect(hasCrashed, `${point} ${at}`).toBe(true)
        await sweep(world, 60)
        expect(await world.bindings(), `${point} ${at}`).toEqual({})
        expect((await world.pool()).status?.ipAddresses?.free).toBe(2)
      }
    }
  })
})

describe('an IPAddress that is being deleted and has no claim', () => {
  test('is let go at once, with the pool or without, sweep or not', async () => {
    for (const options of [{}, SWEEP]) {
      for (const isPoolGone of [false, true]) {
        const world = await orphaned()
        if (isPoolGone) {
          await world.patch(poolRef(), { metadata: { finalizers: null } })
          await world.delete('pool', 'pool')
        }
        await world.delete('address', 'a')
        expect(await world.bindings()).toEqual({ 'default/a': '10.0.0.5' })
        await new Host(world, options).run()
        expect(await world.bindings()).toEqual({})
      }
    }
  })

  test('is let go by the end of its claim, in a planner that lives on', async () => {
    const world = await orphaned(new World())
    await world.create(claim('a'))
    const host = new Host(world)
    await host.run()
    await world.delete('address', 'a')
    await host.run()
    expect(await world.bindings()).toEqual({ 'default/a': '10.0.0.5' })
    await force(world, 'a')
    await host.run()
    expect(await world.bindings()).toEqual({})
  })

  test('is held while its Cluster is paused, as in a move', async () => {
    const world = await orphaned()
    await world.create(cluster('c1', { paused: true }))
    await world.patch(addressRef('a'), { metadata: { labels: { 'cluster.x-k8s.io/cluster-name': 'c1' } } })
    await world.delete('address', 'a')
    await world.run()
    expect(await world.bindings()).toEqual({ 'default/a': '10.0.0.5' })
  })

  test('is not bound to: a claim that comes gets a new one', async () => {
    const world = await orphaned()
    await world.patch(addressRef('a'), { metadata: { ownerReferences: null } })
    await world.delete('address', 'a')
    const { uid } = (await world.address('a')).metadata
    await world.create(claim('a'))
    await world.run()
    const address = await world.address('a')
    expect(address.metadata.uid).not.toBe(uid)
    expect(address.metadata.deletionTimestamp).toBeUndefined()
    expect((await world.claim('a')).status?.addressRef).toEqual({ name: 'a' })
  })

  test('stays with a claim that is Bound to it, whichever client has cut its owners', async () => {
    const world = new World()
    await world.create(pool(['10.0.0.5-10.0.0.6']), claim('a'))
    await world.run()
    const { uid } = (await world.address('a')).metadata
    await world.patch(addressRef('a'), { metadata: { ownerReferences: null } })
    await world.delete('address', 'a')
    await world.run()
    const address = await world.address('a')
    expect(address.metadata.uid).toBe(uid)
    expect(address.metadata.finalizers).toContain(FINALIZER)
    expect(IPAddress.is(address) && address.spec.address).toBe('10.0.0.5')
  })
})

describe('an IPAddress that was removed by force while its claim lives', () => {
  async function removed(): Promise<{ world: World; host: Host }> {
    const world = new World()
    const host = new Host(world)
    await world.create(pool(['10.0.0.5-10.0.0.9']), claim('low'))
    await host.run()
    await world.create(claim('high'))
    await host.run()
    expect((await world.bindings())['default/high']).toBe('10.0.0.6')
    await world.delete('claim', 'low')
    await host.run()
    await world.patch(addressRef('high'), { metadata: { finalizers: null } })
    await world.delete('address', 'high')
    return { world, host }
  }

  test('comes again with the same address', async () => {
    const { world, host } = await removed()
    await host.run()
    expect(await world.bindings()).toEqual({ 'default/high': '10.0.0.6' })
    expect((await world.claim('high')).status?.addressRef).toEqual({ name: 'high' })
  })

  test('comes again with the same address where the pool has another subnet by now', async () => {
    const { world, host } = await removed()
    await world.patch(poolRef(), { spec: { prefix: 25 } })
    await host.run()
    expect((await world.address('high')).spec).toMatchObject({ address: '10.0.0.6', prefix: 25 })
  })

  test('comes with the lowest after a restart: the former one is unknown', async () => {
    const { world } = await removed()
    await new Host(world).run()
    expect(await world.bindings()).toEqual({ 'default/high': '10.0.0.5' })
  })

  test('comes with another one where the same is in use by now, or not of the pool any more', async () => {
    for (const change of ['taken', 'shrunk']) {
      const { world, host } = await removed()
      if (change === 'shrunk') await world.patch(poolRef(), { spec: { addresses: ['10.0.0.7-10.0.0.9'] } })
      else {
        const { kind, apiVersion } = IPAddress.info
        const taken = { ...(await other(world)), apiVersion, kind }
        await world.create(taken)
      }
      await host.run()
      expect((await world.bindings())['default/high'], change).toBe(change === 'taken' ? '10.0.0.5' : '10.0.0.7')
    }
  })

  test('is no reason to give a claim of that name, made anew, what the one before it had', async () => {
    const { world, host } = await removed()
    await force(world, 'high')
    await world.create(claim('high'))
    await host.run()
    expect(await world.bindings()).toEqual({ 'default/high': '10.0.0.5' })
  })

  async function other(world: World) {
    const { spec } = await world.claim('high')
    const metadata = { name: 'squatter', namespace: 'default' }
    return {
      metadata,
      spec: { claimRef: { name: 'squatter' }, poolRef: spec.poolRef, address: '10.0.0.6', prefix: 24 },
    }
  }
})
