import { findCondition } from 'ipam-kit/claim'
import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { OpenStackFloatingIPPool } from 'ipam-kit/crd/openstack'
import { RESERVATIONS_ANNOTATION } from 'ipam-kit/provider/external'
import { describe, expect, test } from 'vitest'
import type { Reservation, Reservations } from '../../../src/provider/external/reservations.js'
import { running } from './running.js'
import { claim, NAMESPACE, pool, unwrap, World } from './world.js'

const { apiVersion, kind } = OpenStackFloatingIPPool.info
const blue = { apiVersion, kind, namespace: NAMESPACE, name: 'blue' }

/** Writes the annotation of the pool as people do. */
async function edit(world: World, change: (before: Reservations) => Partial<Reservations>): Promise<void> {
  const text = (await world.pool())?.metadata.annotations?.[RESERVATIONS_ANNOTATION] ?? ''
  const before = JSON.parse(text) as Reservations
  const annotations = { [RESERVATIONS_ANNOTATION]: JSON.stringify({ ...before, ...change(before) }) }
  await world.patch(blue, { metadata: { annotations } })
}

/** An entry of another process for a claim. */
async function entryFor(world: World, name: string, rest: Partial<Reservation> = {}): Promise<Reservation> {
  const found = (await world.list(IPAddressClaim)).find(({ metadata }) => metadata.name === name)
  return { claim: name, uid: found?.metadata.uid ?? '', by: 'other', atMs: world.nowMs, ...rest }
}

/** What the claim says. */
async function said(world: World, name = 'c1'): Promise<string> {
  const found = (await world.list(IPAddressClaim)).find(({ metadata }) => metadata.name === name)
  const { reason, message } = findCondition(found?.status?.conditions, 'Ready') ?? {}
  return `${reason}: ${message}`
}

async function withPool(spec: Parameters<typeof pool>[0] = {}, size = 24): Promise<World> {
  const world = new World({}, { size })
  await world.create(pool(spec))
  await world.run()
  return world
}

describe('an entry that people have written', () => {
  test('with an address that the pool does not have gives it to no claim, and the claim gets another one', async () => {
    const world = await withPool()
    await world.create(claim('c1'))
    const entry = await entryFor(world, 'c1', { address: '198.51.100.9' })
    await edit(world, () => ({ entries: [entry] }))
    await world.runFor(200)
    expect((await world.claims()).c1).toMatch(/^203\.0\.113\./)
  })

  test('keeps its address from a claim to which the cloud gives it', async () => {
    const world = await withPool()
    const annotations = { 'cluster.x-k8s.io/paused': '' }
    await world.create(claim('c1', { annotations }))
    const entry = await entryFor(world, 'c1', { address: '203.0.113.9' })
    await edit(world, () => ({ entries: [entry] }))
    await world.create(claim('c2'))
    // it was deleted by hand
    await world.run({
      external: async (call) => {
        const answer = await world.external(call)
        if (call.operation !== 'createAddress' || !answer.ok) return answer
        return { ok: true, value: { ...(answer.value as object), address: '203.0.113.9' } as never }
      },
    })
    expect(await said(world, 'c2')).toBe('AllocationFailed: the cloud has given 203.0.113.9, which another claim has')
  })

  test.each([
    ['in another form', '2001:DB8:1:0::9', undefined],
    ['twice', '203.0.113.9', '203.0.113.9'],
  ])('with an address %s is said, and gives nothing', async (_, first, second) => {
    const world = await withPool({ preAllocatedFloatingIPs: ['203.0.113.9'] })
    await world.create(claim('c1'), claim('c2'))
    const entries = [await entryFor(world, 'c1', { address: first }), await entryFor(world, 'c2', { address: second })]
    await edit(world, () => ({ entries }))
    await world.runFor(60)
    expect(await world.claims()).toEqual({ c1: 'Pending PoolNotReady', c2: 'Pending PoolNotReady' })
    expect(await said(world)).toMatch(/^PoolNotReady: the annotation ipam-kit\.dev\/reservations cannot be read/)
  })

  test.each([['a claim'], ['the end of the pool']])('of a time to come does not hold up %s for ever', async (what) => {
    const world = await withPool()
    await world.create(claim('c1'))
    const entry = await entryFor(world, 'c1', { atMs: 1e18 })
    await edit(world, () => ({ entries: [entry] }))
    if (what !== 'a claim') {
      await world.remove(IPAddressClaim, 'c1')
      await world.remove(OpenStackFloatingIPPool, 'blue')
    }
    await world.runFor(200)
    if (what === 'a claim') expect((await world.claims()).c1).toMatch(/^203\.0\.113\./)
    else expect(await world.pool()).toBeUndefined()
  })
})

test('a time of the last created address that is still to come does not hold up a claim', async () => {
  const world = await withPool({ maxIPs: 2 })
  await edit(world, () => ({ createdMs: 1e18 }))
  await world.create(claim('c1'))
  await world.runFor(60)
  expect((await world.claims()).c1).toMatch(/^203\.0\.113\./)
})

describe('the version that the watch of IPAddress objects has to reach', () => {
  const addressesVersion = '9999999999'

  test('is of no use in another cluster: claims are served after a move', async () => {
    const world = await withPool()
    await edit(world, () => ({ addressesVersion, uids: ['uid-before-the-move'] }))
    await world.create(claim('c1'))
    await world.runFor(60)
    expect((await world.claims()).c1).toMatch(/^203\.0\.113\./)
  })

  test('is said after a minute where it is not reached, and claims are served when it is', async () => {
    const { timers, store, stop } = await running()
    await timers.pass(60_000)
    const write = async (version: string) => {
      const found = OpenStackFloatingIPPool.parse(unwrap(await store.get(blue)))
      const before = JSON.parse(found.metadata.annotations?.[RESERVATIONS_ANNOTATION] ?? '') as Reservations
      const text = JSON.stringify({ ...before, addressesVersion: version })
      const annotations = { [RESERVATIONS_ANNOTATION]: text, 'ipam-kit.dev/min-free': null }
      unwrap(await store.patch(blue, { metadata: { annotations }, spec: { preAllocatedFloatingIPs: [] } } as never))
    }
    const ready = async () => {
      const [found] = unwrap(await store.list(IPAddressClaim.info)).items.map((object) => IPAddressClaim.parse(object))
      const { reason, message } = findCondition(found?.status?.conditions, 'Ready') ?? {}
      return `${reason}: ${message}`
    }
    await write(addressesVersion)
    await store.create(claim('c1'))
    await timers.pass(50_000)
    expect(await ready()).toBe('undefined: undefined')
    await timers.pass(60_000)
    expect(await ready()).toBe(
      `PoolNotReady: the watch of IPAddress objects has not reached version ${addressesVersion}, which the annotation ${RESERVATIONS_ANNOTATION} names`,
    )
    await write('1')
    await timers.pass(60_000)
    expect(await ready()).toBe('AddressAllocated: ')
    await stop()
  })
})

describe('the annotations of a pool', () => {
  const many = (count: number) => Array.from({ length: count }, (_, n) => `10.0.${n >> 8}.${n & 255}`)

  test.each([
    [1000, {}, 1000],
    [50_000, {}, undefined],
    [50_000, { 'ipam-kit.dev/adopt-by-tag': 'true' }, 0],
  ])('with %i addresses in the status of another controller, and %o', async (count, annotations, adopted) => {
    const world = new World()
    await world.create(pool({}, { annotations }))
    const status = { claimedIPs: [], availableIPs: many(count) }
    unwrap(await world.store.patch(blue, { status } as never, { subresource: 'status' } as never))
    await world.create(claim('c1'))
    await world.run()
    const text = (await world.pool())?.metadata.annotations?.[RESERVATIONS_ANNOTATION]
    expect(text && ((JSON.parse(text) as Reservations).adopted ?? []).length).toBe(adopted)
    if (adopted === undefined)
      expect(await said(world)).toMatch(/^PoolNotReady: the status lists 50000 addresses, more /)
    else expect((await world.claims()).c1).toMatch(/^203\.0\.113\./)
  })

  test('without room for a claim say so, and the claim is served when there is room', async () => {
    const world = await withPool()
    await world.patch(blue, { metadata: { annotations: { notes: 'é'.repeat(130_500) } } })
    await world.create(claim('c1'))
    const planner = world.start()
    await world.runFor(60, planner)
    expect(await said(world)).toMatch(/^PoolNotReady: the annotations of the pool are as long as they may be/)
    await world.patch(blue, { metadata: { annotations: { notes: null } } })
    await world.runFor(60, planner)
    expect((await world.claims()).c1).toMatch(/^203\.0\.113\./)
  })

  test('have room for as many claims as fit, whatever their names', async () => {
    const addresses = Array.from({ length: 250 }, (_, n) => `203.0.113.${n + 3}`)
    const world = new World()
    for (const address of addresses) world.cloud.byHand.create({ network: world.network, address })
    await world.create(pool({ preAllocatedFloatingIPs: addresses }, { annotations: { notes: 'x'.repeat(200_000) } }))
    await world.create(...addresses.map((_, n) => claim(`${'n'.repeat(245)}-${n}`)))
    await world.runFor(120)
    expect(Object.values(await world.claims()).sort()).toEqual([...addresses].sort())
  })
})

test('an address that a call without an answer has created goes to its claim, also if that was paused meanwhile', async () => {
  const { store, timers, cloud, stop } = await running({}, { facts: { marker: 'after' }, metadata: {} })
  await timers.pass(10_000)
  cloud.inject('createAddress', 'lostAnswer')
  await store.create(claim('c1'))
  await timers.pass(2000)
  const ref = { apiVersion: IPAddressClaim.info.apiVersion, kind: 'IPAddressClaim', namespace: NAMESPACE, name: 'c1' }
  const pause = (text: string | null) =>
    store.patch(ref, { metadata: { annotations: { 'cluster.x-k8s.io/paused': text } } })
  await pause('')
  await timers.pass(8000)
  // the pool is planned while the claim does not wait
  await store.patch(blue, { metadata: { labels: { planned: 'again' } } })
  await timers.pass(1000)
  await pause(null)
  await timers.pass(400_000)
  const bound = unwrap(await store.list(IPAddress.info)).items.map((object) => IPAddress.parse(object).spec.address)
  expect(bound).toEqual(cloud.floatingIPs.map(({ address }) => address))
  expect(bound).toHaveLength(1)
  await stop()
})
