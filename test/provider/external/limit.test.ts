import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import type { KubeObject } from 'ipam-kit/crd/meta'
import type { ExternalCaller } from 'ipam-kit/run'
import { storeOver } from 'ipam-kit/testing'
import { describe, expect, test } from 'vitest'
import { running } from './running.js'
import { blue, claim, NAMESPACE, pool, unwrap, World } from './world.js'

const OTHER = '00000000-0000-4000-8000-0000000000ff'
const [LOW, HIGH] = ['203.0.113.50', '203.0.113.60'] as const
const created = (world: World) => world.cloud.created.filter(({ by }) => by === 'call').length

/** The condition of a pool that has as many addresses as it may have. */
const FULL = /^MaxIPsReached: /

describe('the limit counts', () => {
  test('an address once that is in the list, of an IPAddress and created', async () => {
    const world = new World()
    await world.create(pool({ maxIPs: 2 }))
    const planner = world.start()
    await world.create(claim('c1'))
    await world.runFor(100, planner)
    await world.create(claim('c2'), claim('c3'))
    await world.runFor(100, planner)
    expect(created(world)).toBe(2)
    expect((await world.claims()).c3).toBe('Error PoolExhausted')
  })

  test('an address once that two IPAddress objects have', async () => {
    const world = new World()
    await world.served({ maxIPs: 2 })
    await world.create(claim('c1'))
    const planner = world.start()
    await world.runFor(60, planner)
    const { c1 = '' } = await world.claims()
    const { apiVersion, kind } = IPAddress.info
    const { poolRef } = (claim('x') as IPAddressClaim).spec
    await world.create({
      ...{ apiVersion, kind, metadata: { namespace: NAMESPACE, name: 'by-hand' } },
      spec: { address: c1, prefix: 32, claimRef: { name: 'by-hand' }, poolRef },
    } as never as KubeObject)
    await world.create(claim('c2'))
    await world.run({ planner })
    expect(await world.claims()).toMatchObject({ c2: expect.stringMatching(/^203\./) })
    expect(created(world)).toBe(2)
  })

  test('addresses of claims that are preallocated, and none that is free', async () => {
    const world = new World()
    world.marked({ [LOW]: '', [HIGH]: '' })
    await world.create(pool({ maxIPs: 2, preAllocatedFloatingIPs: [LOW, HIGH] }), claim('c1'))
    const planner = world.start()
    await world.run({ planner })
    expect(await world.said()).toBe('Ready: ')
    await world.create(claim('c2'), claim('c3'))
    await world.runFor(60, planner)
    expect(await world.claims()).toEqual({ c1: LOW, c2: HIGH, c3: 'Error PoolExhausted' })
    expect(await world.said()).toMatch(FULL)
  })

  test.each(['spare', 'deleting'])(
    'addresses that the pool has created, also under an earlier id: %s',
    async (part) => {
      const world = new World()
      await world.served({ maxIPs: 1 }, { ids: [OTHER] })
      world.marked({ [LOW]: `${OTHER}/${part}` })
      await world.create(claim('c1'))
      await world.runFor(100)
      expect(await world.claims()).toEqual({ c1: 'Error PoolExhausted' })
    },
  )

  test('a call in flight', async () => {
    const { timers, store, cloud, stop } = await running({ maxIPs: 1 }, { metadata: {} })
    await timers.pass(2000)
    for (const name of ['c1', 'c2', 'c3']) await store.create(claim(name))
    await timers.pass(20_000)
    expect(cloud.calls.get('createAddress')).toBe(1)
    expect(unwrap(await store.list(IPAddress.info)).items).toHaveLength(1)
    await stop()
  })

  test.each(['down', 'lostAnswer', { kind: 'late', seconds: 10 }] as const)(
    'a call without an answer until a list shows what it has done: %o',
    async (trouble) => {
      const world = new World()
      world.cloud.inject('createAddress', trouble)
      await world.create(pool({ maxIPs: 1 }), claim('c1'))
      const planner = world.start()
      await world.run({ planner })
      expect(await world.saidBy('c1')).toMatch(
        /^AllocationFailed: it is not known yet whether an address was created: /,
      )
      await world.create(claim('c2'))
      await world.runFor(14, planner)
      expect(world.cloud.calls.get('createAddress')).toBe(1)
      await world.runFor(100, planner)
      expect([created(world), world.outside.length]).toEqual([1, 1])
      expect(Object.values(await world.claims()).sort()).toEqual([world.outside[0], 'Error PoolExhausted'])
    },
  )

  test('what was created for a claim that is deleted while its call is in flight, and gives it to the next one', async () => {
    const world = new World()
    await world.create(pool({ maxIPs: 1, reclaimPolicy: 'Retain' }), claim('c1'))
    const planner = world.start()
    const external: ExternalCaller = async (call) => {
      if (call.operation === 'createAddress') {
        await world.remove(IPAddressClaim, 'c1')
        await world.create(claim('c2'))
      }
      return world.external(call)
    }
    await world.run({ planner, external })
    await world.runFor(100, planner)
    expect(created(world)).toBe(1)
    expect(await world.claims()).toEqual({ c2: world.outside[0] })
  })

  test.each([
    ['an answer', undefined],
    ['no answer', 'lostAnswer'],
  ] as const)('what was created for a claim that was deleted, which is deleted after %s', async (_, trouble) => {
    const world = new World()
    await world.create(pool({ maxIPs: 1 }), claim('c1'))
    if (trouble !== undefined) world.cloud.inject('createAddress', trouble)
    const planner = world.start()
    const external: ExternalCaller = async (call) => {
      if (call.operation === 'createAddress') await world.remove(IPAddressClaim, 'c1')
      return world.external(call)
    }
    await world.run({ planner, external })
    await world.runFor(400, planner)
    expect([created(world), world.outside, await world.list(IPAddress)]).toEqual([1, [], []])
  })
})

describe('maxIPs that is lowered', () => {
  test.each(['of a claim', 'in advance'])('between a plan and its call stops the call: %s', async (what) => {
    const world = new World()
    const annotations = what === 'of a claim' ? {} : { 'ipam-kit.dev/min-free': '1' }
    await world.create(pool({ maxIPs: 1 }, { annotations }))
    if (what === 'of a claim') await world.create(claim('c1'))
    let isLowered = false
    // the plan with the call comes after the first list
    const store = storeOver(world.store, {
      patch: async (ref, patch, options) => {
        const hasListed = world.sent.some(({ operation }) => operation === 'listAddresses')
        const isOfClaim = what === 'of a claim' && options?.subresource !== undefined
        if (hasListed && ref.kind === blue.kind && !isOfClaim && !isLowered) {
          isLowered = true
          await world.patch(blue, { spec: { maxIPs: 0 } })
        }
        return world.store.patch(ref, patch, options)
      },
    })
    const planner = world.start()
    await world.run({ planner, store })
    await world.runFor(100, planner)
    expect([isLowered, created(world)]).toEqual([true, 0])
  })

  test('takes no address from a claim, and spare ones are still given', async () => {
    const world = new World()
    await world.create(pool({ maxIPs: 3 }, { annotations: { 'ipam-kit.dev/min-free': '2' } }), claim('c1'))
    const planner = world.start()
    await world.runFor(100, planner)
    expect(world.outside).toHaveLength(3)
    await world.patch(blue, { spec: { maxIPs: 1 } })
    const { c1 } = await world.claims()
    await world.create(claim('c2'))
    await world.runFor(200, planner)
    const { c2 } = await world.claims()
    expect((await world.claims()).c1).toBe(c1)
    expect(c2).toMatch(/^203\./)
    expect(created(world)).toBe(3)
  })
})

test('a pool that is full says so only while a claim waits, and lists the cloud no more often at rest', async () => {
  const world = new World()
  await world.create(pool({ maxIPs: 1 }), claim('c1'))
  const planner = world.start()
  await world.runFor(1000, planner)
  expect(await world.said()).toBe('Ready: ')
  expect(world.cloud.calls.get('listAddresses')).toBeLessThanOrEqual(5)
  await world.create(claim('c2'))
  await world.run({ planner })
  expect(await world.said()).toMatch(FULL)
  await world.remove(IPAddressClaim, 'c2')
  await world.run({ planner })
  expect(await world.said()).toBe('Ready: ')
})

test('a claim that waits for the limit says so without a break when the next process starts', async () => {
  const world = new World()
  await world.create(pool({ maxIPs: 1 }), claim('c1'), claim('c2'))
  await world.runFor(100)
  const waiting = async () => {
    const [found] = (await world.list(IPAddressClaim)).filter(({ status }) => status?.addressRef === undefined)
    return found
  }
  const before = await waiting()
  expect(before?.status?.conditions?.[0]).toMatchObject({
    reason: 'PoolExhausted',
    message: expect.stringMatching(/its limit/),
  })
  const planner = world.start()
  for (let second = 0; second < 100; second++) {
    await world.runFor(1, planner)
    expect((await waiting())?.metadata.resourceVersion).toBe(before?.metadata.resourceVersion)
  }
})
