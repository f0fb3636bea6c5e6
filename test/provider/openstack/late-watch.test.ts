import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { OpenStackServer } from 'ipam-kit/crd/openstack'
import { floatingServers, serverCloudCaller } from 'ipam-kit/provider/openstack'
import { runKey, runPlan } from 'ipam-kit/run'
import { describe, expect, test } from 'vitest'
import { ADDRESS, CLAIM, poolRef, World } from './world.js'

const MOMENT = '2026-01-01T00:00:00Z'
const KEY = 'OpenStackServer default/w1'

/** A second process, which has observed these objects and no later change. */
function second(...objects: readonly (KubeObject | undefined)[]): ReturnType<typeof floatingServers> {
  const planner = floatingServers()
  for (const object of objects) if (object !== undefined) planner.observe({ kind: 'present', object })
  return planner
}

test('the finalizer does not return to the claim of a server that was deleted', async () => {
  const world = await new World().attached()
  const server = await world.get<KubeObject>(OpenStackServer, 'w1')
  await world.delete(OpenStackServer, 'w1')
  await world.work(10)
  expect(await world.get(OpenStackServer, 'w1')).toBeUndefined()
  // the garbage collector has not come yet, and the deletion of the server arrives later
  const claim = await world.claim()
  expect(claim?.metadata.finalizers).toBeUndefined()
  const late = second(server, claim)
  expect((await runPlan(late.plan(KEY, { nowMs: world.nowMs })!, world.store)).kind).toBe('conflict')
  expect(await world.claim()).toEqual(claim)
})

test('the claim of a server that has got a pool again is not deleted', async () => {
  const world = new World()
  await world.server()
  await world.work()
  await world.patch(OpenStackServer, 'w1', { spec: { floatingIPPoolRef: null } })
  const without = await world.get<KubeObject>(OpenStackServer, 'w1')
  await world.patch(OpenStackServer, 'w1', { spec: { floatingIPPoolRef: poolRef } })
  await world.bind()
  world.cloud.floatingIP(ADDRESS)
  const late = second(without, await world.claim())
  const plan = late.plan(KEY, { nowMs: world.nowMs })!
  expect(plan.outcome.kind).toBe('released')
  await world.work()
  expect((await runPlan(plan, world.store)).kind).toBe('conflict')
  expect((await world.claim())?.metadata).toMatchObject({ name: CLAIM })
  expect((await world.claim())?.metadata.deletionTimestamp).toBeUndefined()
})

test('a server does not fail for lack of an address when its claim has got one', async () => {
  const world = new World({ onExhausted: 'fail' })
  await world.server()
  await world.work()
  const exhausted = { type: 'Ready', status: 'False', reason: 'PoolExhausted', message: '', lastTransitionTime: MOMENT }
  const claim = await world.claim()
  const late = floatingServers({ onExhausted: 'fail' })
  late.observe({ kind: 'present', object: (await world.get<KubeObject>(OpenStackServer, 'w1'))! })
  late.observe({ kind: 'present', object: { ...claim!, status: { conditions: [exhausted] } } })
  const plan = late.plan(KEY, { nowMs: world.nowMs })!
  expect(plan.outcome.kind).toBe('failed')
  await world.bind()
  expect((await runPlan(plan, world.store)).kind).toBe('conflict')
  expect((await world.condition())?.reason).not.toBe('FloatingIPPoolExhausted')
})

test('a server does not end before a claim that another process has just created', async () => {
  const world = new World()
  await world.server()
  await world.work()
  await world.delete(OpenStackServer, 'w1')
  const late = second(await world.get<KubeObject>(OpenStackServer, 'w1'))
  const plan = late.plan(KEY, { nowMs: world.nowMs })!
  expect(plan.outcome.kind).toBe('released')
  expect((await runPlan(plan, world.store)).kind).toBe('conflict')
  expect(await world.get(OpenStackServer, 'w1')).toBeDefined()
  // with its claim known, it releases both
  await world.work(10)
  expect(await world.get(OpenStackServer, 'w1')).toBeUndefined()
  expect((await world.claim())?.metadata.finalizers).toBeUndefined()
})

/** The outcome of the server, by a process that has observed only these objects. */
async function workLate(world: World, ...objects: readonly (KubeObject | undefined)[]): Promise<string | undefined> {
  const planner = second(...objects)
  const { kind, outcome } = await runKey(planner, KEY, world.store, {
    now: () => world.nowMs,
    show: (change) => void planner.observe(change),
    external: serverCloudCaller(world.cloud),
  })
  return `${kind}: ${outcome?.kind}`
}

describe('an IPAddress that the process observes later than the claim', () => {
  const LATER = '203.0.113.11'
  const server = (world: World) => world.get<KubeObject>(OpenStackServer, 'w1')
  const address = (world: World) => world.get<KubeObject>(IPAddress, CLAIM)

  /** A server that was created again under its name, with another address than before. */
  async function recreated(): Promise<{ readonly world: World; readonly earlier: KubeObject | undefined }> {
    const world = await new World().attached()
    const earlier = await address(world)
    await world.delete(OpenStackServer, 'w1')
    await world.work(10)
    await world.delete(IPAddressClaim, CLAIM)
    await world.delete(IPAddress, CLAIM)
    await world.server()
    await world.work()
    await world.bind(LATER)
    world.cloud.floatingIP(LATER)
    await world.boot('i2')
    return { world, earlier }
  }

  test('the address of an earlier server of the name is not attached, and that of the server is', async () => {
    const { world, earlier } = await recreated()
    expect(await workLate(world, await server(world), await world.claim(), earlier)).toBe('done: attached')
    expect([world.cloud.portOf(ADDRESS), world.cloud.portOf(LATER)]).toEqual(['', 'i2-p1'])
  })

  test('an address is not attached when a move has deleted its IPAddress', async () => {
    const world = new World()
    await world.server()
    await world.work()
    await world.bind()
    world.cloud.floatingIP(ADDRESS)
    await world.boot()
    const observed = [await server(world), await world.claim(), await address(world)]
    await world.delete(IPAddress, CLAIM)
    expect(await workLate(world, ...observed)).toBe('done: waiting')
    expect(world.cloud.portOf(ADDRESS)).toBe('')
  })

  test.each([
    ['no IPAddress', false],
    ['that of an earlier server of the name', true],
  ])('a claim is not released before its address is detached: the process has observed %s', async (_, isEarlier) => {
    const { world, earlier } = await recreated()
    await world.work()
    expect(world.cloud.portOf(LATER)).toBe('i2-p1')
    await world.delete(OpenStackServer, 'w1')
    const observed = [await server(world), await world.claim(), isEarlier ? earlier : undefined]
    expect(await workLate(world, ...observed)).toBe('done: released')
    expect(world.cloud.portOf(LATER)).toBe('')
    expect((await world.claim())?.metadata.finalizers).toBeUndefined()
  })

  test.each([
    ['does not exist', (world: World) => world.delete(IPAddress, CLAIM)],
    ['cannot be parsed', (world: World) => world.patch(IPAddress, CLAIM, { spec: { claimRef: 1 } })],
  ])('a claim is released when its IPAddress %s', async (_, change) => {
    const world = await new World().attached()
    await change(world)
    await world.delete(OpenStackServer, 'w1')
    expect(await world.work(10)).toBe('released')
    expect((await world.claim())?.metadata.finalizers).toBeUndefined()
  })
})
