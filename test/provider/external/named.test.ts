import { Cluster, IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { OpenStackFloatingIPPool } from 'ipam-kit/crd/openstack'
import type { ExternalCaller } from 'ipam-kit/run'
import { describe, expect, test } from 'vitest'
import { claim, NAMESPACE, pool, World } from './world.js'

const blue = { ...refInfo(OpenStackFloatingIPPool), namespace: NAMESPACE, name: 'blue' }

function refInfo({
  info: { apiVersion, kind },
}: {
  readonly info: { readonly apiVersion: string; readonly kind: string }
}) {
  return { apiVersion, kind }
}

test('one address that cannot be deleted stops no other claim', async () => {
  const world = new World()
  await world.create(pool(), claim('c1'))
  const planner = world.start()
  await world.run({ planner })
  await world.remove(IPAddressClaim, 'c1')
  await world.create(claim('c2'))
  const external: ExternalCaller = (call) =>
    call.operation === 'deleteAddress'
      ? Promise.resolve({ ok: false, failure: { message: 'forbidden', retryable: true, nothingDone: true } })
      : world.external(call)
  await world.runFor(60, planner, external)
  const { c2 } = await world.claims()
  expect(c2).toMatch(/^203\./)
  expect(world.outside).toHaveLength(2)
  const ready = (await world.pool())?.status?.conditions?.find(({ type }) => type.includes('PoolReady'))
  expect(ready).toMatchObject({ status: 'True', message: expect.stringMatching(/^203\S+ is not deleted: forbidden$/) })
  await world.runFor(400, planner)
  expect(await world.claims()).toEqual({ c2 })
  expect((await world.pool())?.status?.conditions).toContainEqual({ ...ready, message: '' })
  expect(world.outside).toEqual([c2])
})

test('a pool that is full says so once, also while it waits to be told of the addresses that it has given', async () => {
  const world = new World()
  await world.create(pool({ maxIPs: 1 }), claim('c1'), claim('c2'))
  const planner = world.start()
  await world.run({ planner })
  const said = async () => (await world.pool())?.status?.conditions?.find(({ reason }) => reason === 'MaxIPsReached')
  const first = await said()
  expect(first).toMatchObject({ status: 'False' })
  await world.runFor(100, planner)
  expect(await said()).toEqual(first)
})

test.each<[string, (world: World) => Promise<void>]>([
  ['a release', (world) => world.remove(IPAddressClaim, 'c1')],
  ['a higher maxIPs', (world) => world.patch(blue, { spec: { maxIPs: 2 } })],
  [
    'a new preallocated address',
    async (world) => {
      world.cloud.byHand.create({ network: world.network, address: '203.0.113.99' })
      await world.patch(blue, { spec: { preAllocatedFloatingIPs: ['203.0.113.99'] } })
    },
  ],
])('claims that wait for an exhausted pool are woken by %s, the oldest first', async (_, act) => {
  const world = new World()
  await world.create(pool({ maxIPs: 1, reclaimPolicy: 'Retain' }), claim('c1'))
  const planner = world.start()
  await world.run({ planner })
  for (const name of ['c2', 'c3']) {
    world.nowMs += 1000
    await world.create(claim(name))
  }
  await world.run({ planner })
  expect(await world.claims()).toMatchObject({ c2: 'Error PoolExhausted', c3: 'Error PoolExhausted' })
  await act(world)
  await world.runFor(40, planner)
  const { c2, c3 } = await world.claims()
  expect(c2).toMatch(/^203\./)
  expect(c3).toBe('Error PoolExhausted')
})

test('a quota that is raised in the cloud is noticed', async () => {
  const world = new World()
  world.cloud.quota = 0
  await world.create(pool(), claim('c1'))
  const planner = world.start()
  await world.run({ planner })
  expect(await world.claims()).toEqual({ c1: 'Error BackendExhausted' })
  world.cloud.quota = 1
  await world.runFor(400, planner)
  expect((await world.claims()).c1).toMatch(/^203\./)
})

test('a preallocated address that failed comes back by itself', async () => {
  const world = new World()
  await world.create(pool({ maxIPs: 0, preAllocatedFloatingIPs: ['203.0.113.99'] }), claim('c1'))
  const planner = world.start()
  await world.run({ planner })
  expect((await world.pool())?.status?.failedIPs).toEqual(['203.0.113.99'])
  world.cloud.byHand.create({ network: world.network, address: '203.0.113.99' })
  await world.runFor(400, planner)
  expect(await world.claims()).toEqual({ c1: '203.0.113.99' })
  expect((await world.pool())?.status?.failedIPs).toEqual([])
})

test('retained addresses survive the deletion of their pool', async () => {
  const world = new World()
  await world.create(pool({ reclaimPolicy: 'Retain' }), claim('c1'))
  const planner = world.start()
  await world.run({ planner })
  const [address] = world.outside
  await world.remove(IPAddressClaim, 'c1')
  await world.remove(OpenStackFloatingIPPool, 'blue')
  await world.runFor(400, planner)
  expect(await world.pool()).toBeUndefined()
  expect(world.outside).toEqual([address])
  expect(world.cloud.deleted).toEqual([])
})

test('a move to another cluster makes no call that creates or deletes', async () => {
  const [from, to] = [new World(), new World()]
  const cluster = { ...refInfo(Cluster), metadata: { namespace: NAMESPACE, name: 'prod' }, spec: { paused: false } }
  const labels = { 'cluster.x-k8s.io/cluster-name': 'prod' }
  await from.create(cluster, pool(), claim('c1', { labels }))
  const planner = from.start()
  await from.run({ planner })
  const bound = await from.claims()
  const clusterRef = { ...refInfo(Cluster), namespace: NAMESPACE, name: 'prod' }
  await from.patch(clusterRef, { spec: { paused: true } })
  to.nowMs += 1000
  // the objects are made again with new uids, and owners that have them
  await to.create({ ...cluster, spec: { paused: true } })
  const uids = new Map<string, string>()
  for (const model of [OpenStackFloatingIPPool, IPAddressClaim, IPAddress]) {
    for (const { metadata, status: _, ...rest } of (await from.list(model as typeof IPAddress)) as never[] as {
      metadata: { name: string; uid: string; ownerReferences?: { uid: string }[] }
      status?: unknown
    }[]) {
      const { uid, resourceVersion, ...kept } = metadata as typeof metadata & { resourceVersion: string }
      const owners = kept.ownerReferences?.map((owner) => ({ ...owner, uid: uids.get(owner.uid) }))
      const made = await to.store.create({
        ...rest,
        metadata: { ...kept, ...(owners && { ownerReferences: owners }) },
      } as never)
      if (!made.ok) throw new Error(JSON.stringify(made.failure))
      uids.set(uid, made.value.metadata.uid ?? '')
    }
  }
  const acts = () => [from.cloud.created.length, from.cloud.deleted.length]
  const before = acts()
  // the source goes as clusterctl deletes it
  await from.patch(blue, { metadata: { annotations: { 'clusterctl.cluster.x-k8s.io/delete-for-move': '' } } })
  await from.remove(OpenStackFloatingIPPool, 'blue')
  await from.runFor(400, planner)
  await to.patch(clusterRef, { spec: { paused: false } })
  to.nowMs = from.nowMs
  const moved = to.start()
  await to.run({ planner: moved, external: from.external })
  expect(await to.claims()).toEqual(bound)
  expect(acts()).toEqual(before)
  // what the earlier pool has created is not known as that of this one before the operator confirms it
  await to.remove(IPAddressClaim, 'c1')
  await to.runFor(100, moved, from.external)
  expect(from.outside).toEqual([bound.c1])
  const [earlier = ''] = [...uids.keys()]
  await to.patch(blue, { metadata: { annotations: { 'ipam-kit.dev/earlier-uid': earlier } } })
  await to.runFor(100, moved, from.external)
  expect(from.outside).toEqual([])
})

test.each([
  [0, 3],
  [2, 5],
  [4, 2],
])('with maxIPs %i and %i spare addresses there are never more than maxIPs', async (maxIPs, minFree) => {
  const world = new World()
  await world.create(pool({ maxIPs }, { annotations: { 'ipam-kit.dev/min-free': `${minFree}` } }))
  const planner = world.start()
  const counts: number[] = []
  for (let step = 0; step < 6; step++) {
    if (step % 2 === 0) await world.create(claim(`c${step}`))
    await world.runFor(35, planner)
    counts.push(world.outside.length)
  }
  expect(Math.max(...counts)).toBe(Math.min(maxIPs, Math.max(...counts)))
  expect(counts.at(-1)).toBe(Math.min(maxIPs, minFree + 3))
})

describe('an address that two pools name', () => {
  const own = ['203.0.113.99']
  const named = { maxIPs: 0, reclaimPolicy: 'Retain', preAllocatedFloatingIPs: own } as const

  test('is given by one of them at a time, the older one first', async () => {
    const world = new World()
    world.cloud.byHand.create({ network: world.network, address: own[0]! })
    await world.create(pool(named))
    world.nowMs += 1000
    await world.create(pool(named, { name: 'green' }), claim('g1', { pool: 'green' }), claim('b1'))
    const planner = world.start()
    await world.runFor(120, planner)
    expect(await world.claims()).toEqual({ b1: own[0], g1: 'Error PoolExhausted' })
    expect((await world.pool('green'))?.status?.failedIPs).toEqual(own)
    // what the older pool does not name any more the other one gives, when no claim has it
    await world.patch(blue, { spec: { preAllocatedFloatingIPs: [] } })
    await world.runFor(120, planner)
    expect(await world.claims()).toEqual({ b1: own[0], g1: 'Error PoolExhausted' })
    await world.remove(IPAddressClaim, 'b1')
    await world.runFor(120, planner)
    expect(await world.claims()).toEqual({ g1: own[0] })
  })

  test('or that another pool has created, is not given', async () => {
    const world = new World()
    await world.create(pool({ reclaimPolicy: 'Retain' }), claim('b1'))
    const planner = world.start()
    await world.run({ planner })
    const { b1 } = await world.claims()
    await world.remove(IPAddressClaim, 'b1')
    const green = pool({ ...named, preAllocatedFloatingIPs: [b1 ?? ''] }, { name: 'green' })
    await world.create(green, claim('g1', { pool: 'green' }))
    await world.runFor(120, planner)
    expect(await world.claims()).toEqual({ g1: 'Error PoolExhausted' })
  })
})
