import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { OpenStackFloatingIPPool } from 'ipam-kit/crd/openstack'
import { fail } from 'ipam-kit/errors'
import { storeOver } from 'ipam-kit/testing'
import { describe, expect, test } from 'vitest'
import { running } from './running.js'
import { claim, pool, unwrap, World } from './world.js'

describe('a claim', () => {
  test('gets a new address where none is free, with one call, and it is deleted with two', async () => {
    const world = new World()
    await world.create(pool(), claim('c1'))
    const planner = world.start()
    await world.run({ planner })
    const { c1 } = await world.claims()
    expect(world.outside).toEqual([c1])
    expect(world.cloud.calls.get('createAddress')).toBe(1)
    const [address] = await world.list(IPAddress)
    expect(address?.spec.prefix).toBe(32)
    expect(address?.metadata.finalizers).toContain(
      'openstackfloatingippool.infrastructure.cluster.x-k8s.io/delete-floating-ip',
    )
    await world.remove(IPAddressClaim, 'c1')
    await world.runFor(80, planner)
    expect(await world.claims()).toEqual({})
    expect(world.outside).toEqual([])
    expect(['markAddress', 'deleteAddress'].map((name) => world.cloud.calls.get(name as never))).toEqual([1, 1])
  })

  test.each(['the finalizer', 'the identity'])(
    'says that %s of its pool is refused, and gets an address when it is written',
    async (what) => {
      const world = new World()
      await world.create(pool(), claim('c1'))
      const isRefused = (patch: object) =>
        what === 'the finalizer' || 'annotations' in ((patch as { metadata?: object }).metadata ?? {})
      const refusing = storeOver(world.store, {
        patch: async (ref, patch, options) =>
          ref.kind === 'OpenStackFloatingIPPool' && options?.subresource === undefined && isRefused(patch)
            ? fail('STORE_INVALID', { object: 'the pool', path: 'metadata', problem: 'not on a Friday' })
            : world.store.patch(ref, patch, options),
      })
      const { failures } = await world.run({ store: refusing })
      expect(failures.map(({ key }) => key)).toEqual(['OpenStackFloatingIPPool team-a/blue'])
      const [waiting] = await world.list(IPAddressClaim)
      expect(waiting?.status?.conditions).toMatchObject([
        { type: 'Ready', status: 'False', reason: 'PoolNotReady', message: expect.stringContaining('not on a Friday') },
      ])
      await world.run()
      expect((await world.claims()).c1).toMatch(/^203/)
    },
  )

  test('is never given an address that was deleted a moment ago', async () => {
    const { timers, store, cloud, remove, stop } = await running()
    await store.create(claim('c1'))
    await timers.pass(10_000)
    const addresses = async () =>
      unwrap(await store.list(IPAddress.info)).items.map((object) => IPAddress.parse(object).spec.address)
    // the list is older than the deletion of the surplus
    expect(await addresses()).toHaveLength(1)
    await remove(IPAddressClaim, 'c1')
    await timers.pass(80_000)
    const deleted = cloud.deleted.map(({ address }) => address)
    expect(deleted).toHaveLength(1)
    await store.create(claim('c2'))
    await timers.pass(5000)
    const [second] = await addresses()
    expect(cloud.floatingIPs.map(({ address }) => address)).toContain(second)
    expect(deleted).not.toContain(second)
    await stop()
  })

  test('says when the cloud loses its address, and that it is back, without anything else that happens', async () => {
    const address = '203.0.113.50'
    const { timers, store, cloud, network, stop } = await running(
      { preAllocatedFloatingIPs: [address], maxIPs: 1 },
      { metadata: {} },
    )
    const byHand = () => cloud.byHand.create({ network, address })
    const first = byHand()
    await store.create(claim('c1'))
    const ready = async () => {
      const [found] = unwrap(await store.list(IPAddressClaim.info)).items.map((object) => IPAddressClaim.parse(object))
      return found?.status?.conditions?.find(({ type }) => type === 'Ready')?.status
    }
    await timers.pass(60_000)
    expect(await ready()).toBe('True')
    cloud.byHand.delete(first)
    await timers.pass(310_000)
    expect(await ready()).toBe('False')
    byHand()
    await timers.pass(340_000)
    expect(await ready()).toBe('True')
    await stop()
  })

  test('gets a preallocated address first, in the order of the spec, then free ones, then a new one', async () => {
    const world = new World()
    world.cloud.byHand.create({ network: world.network, address: '203.0.113.20' })
    world.cloud.byHand.create({ network: world.network, address: '203.0.113.10' })
    await world.create(pool({ preAllocatedFloatingIPs: ['203.0.113.20', '203.0.113.10'] }))
    for (const name of ['c1', 'c2', 'c3']) {
      await world.create(claim(name))
      world.nowMs += 1000
    }
    await world.run()
    const { c1, c2, c3 } = await world.claims()
    expect([c1, c2]).toEqual(['203.0.113.20', '203.0.113.10'])
    expect(c3).toMatch(/^203/)
    expect(world.cloud.created.filter(({ by }) => by === 'call')).toHaveLength(1)
  })

  test('behind the limit says that the pool is exhausted, and is served when an address is given back', async () => {
    const world = new World()
    await world.create(pool({ maxIPs: 1, reclaimPolicy: 'Retain' }), claim('c1'))
    const planner = world.start()
    await world.run({ planner })
    world.nowMs += 1000
    await world.create(claim('c2'))
    await world.run({ planner })
    const { c1, c2 } = await world.claims()
    expect(c2).toBe('Error PoolExhausted')
    expect((await world.pool())?.status?.conditions).toContainEqual(
      expect.objectContaining({
        type: 'OpenstackFloatingIPPoolReadyCondition',
        status: 'False',
        reason: 'MaxIPsReached',
      }),
    )
    await world.remove(IPAddressClaim, 'c1')
    // the next list shows it
    await world.runFor(40, planner)
    expect(await world.claims()).toEqual({ c2: c1 })
    expect((await world.pool())?.status?.conditions).toContainEqual(expect.objectContaining({ reason: 'Ready' }))
    expect(world.cloud.created).toHaveLength(1)
  })
})

describe('a pool that is deleted', () => {
  test.each(['Delete', 'Retain'] as const)('with %s', async (reclaimPolicy) => {
    const world = new World()
    const address = '203.0.113.20'
    world.cloud.byHand.create({ network: world.network, address })
    await world.create(
      pool({ reclaimPolicy, preAllocatedFloatingIPs: [address] }, { annotations: { 'ipam-kit.dev/min-free': '3' } }),
    )
    const planner = world.start()
    await world.runFor(60, planner)
    expect(world.outside).toHaveLength(3)
    await world.remove(OpenStackFloatingIPPool, 'blue')
    await world.runFor(120, planner)
    expect(await world.pool()).toBeUndefined()
    expect(world.outside).toHaveLength(reclaimPolicy === 'Delete' ? 1 : 3)
    expect(world.outside).toContain(address)
  })
})
