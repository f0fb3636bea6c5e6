import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { OpenStackFloatingIPPool } from 'ipam-kit/crd/openstack'
import { expect, test } from 'vitest'
import { running, spares } from './running.js'
import { claim, pool, unwrap, World } from './world.js'

test('a pool that is deleted between two full seconds comes to its end', async () => {
  const { timers, cloud, remove, pools, stop } = await running()
  await timers.pass(60_345)
  expect(cloud.floatingIPs).toHaveLength(3)
  await remove(OpenStackFloatingIPPool, 'blue')
  await timers.pass(60_000)
  expect([await pools(), cloud.floatingIPs]).toEqual([[], []])
  await stop()
})

test('an address that was attached when the pool was deleted is given back when it is not', async () => {
  const { timers, store, cloud, network, remove, pools, stop } = await running()
  await store.create(claim('c1'))
  await timers.pass(10_000)
  const [bound] = unwrap(await store.list(IPAddress.info)).items.map((object) => IPAddress.parse(object))
  const { id } = cloud.floatingIPs.find(({ address }) => address === bound?.spec.address)!
  cloud.byHand.attach(id, cloud.addPort({ device: 'server', network, fixedIPs: [] }).id)
  // the next list shows that
  await timers.pass(310_500)
  await remove(OpenStackFloatingIPPool, 'blue')
  await remove(IPAddressClaim, 'c1')
  await timers.pass(60_000)
  expect(await pools()).toHaveLength(1)
  cloud.byHand.detach(id)
  await timers.pass(90_000)
  expect([await pools(), cloud.floatingIPs]).toEqual([[], []])
  await stop()
})

test('a call of its end that has failed is made again after its pause, and not with the next list', async () => {
  const world = new World()
  await world.create(pool({}, spares))
  const planner = world.start()
  await world.runFor(60, planner)
  await world.remove(OpenStackFloatingIPPool, 'blue')
  world.cloud.inject('deleteAddress', 'rateLimited', 'rateLimited')
  // one list shows the marks, and the next one would come 30 seconds later
  await world.runFor(60, planner)
  expect(world.sent.filter(({ operation }) => operation === 'listAddresses').length).toBeLessThanOrEqual(3)
  expect(await world.pool()).toBeUndefined()
  expect(world.outside).toEqual([])
})

test('a pool gives back what another process has created a moment before its end', async () => {
  const world = new World()
  world.cloud.listLagMs = 5000
  await world.create(pool({}, spares))
  await world.run()
  const [created] = world.outside
  expect(created).toBeDefined()
  await world.remove(OpenStackFloatingIPPool, 'blue')
  // the list of this process does not show it yet
  world.nowMs += 1000
  await world.runFor(100)
  expect(await world.pool()).toBeUndefined()
  expect(world.outside).toEqual([])
})

const OTHER = '00000000-0000-4000-8000-0000000000ff'
const [LOW, MIDDLE, HIGH] = ['203.0.113.50', '203.0.113.60', '203.0.113.70'] as const

test.each([
  ['Delete', { [LOW]: '', [HIGH]: `${OTHER}/spare` }],
  ['Retain', { [LOW]: '', [MIDDLE]: '', [HIGH]: `${OTHER}/spare` }],
] as const)(
  'at its end a pool leaves what it may not delete, without its markers, and inherited ones: %s',
  async (reclaimPolicy, left) => {
    const world = new World()
    const uid = await world.served({ reclaimPolicy, preAllocatedFloatingIPs: [LOW] }, { ids: [OTHER] })
    const planner = world.start()
    await world.run({ planner })
    world.marked({ [LOW]: `${uid}/spare`, [MIDDLE]: `${uid}/spare`, [HIGH]: `${OTHER}/spare` })
    await world.remove(OpenStackFloatingIPPool, 'blue')
    await world.runFor(200, planner)
    expect([await world.pool(), world.markers]).toEqual([undefined, left])
  },
)

test('a retained address that is attached does not hold the pool', async () => {
  const world = new World()
  const uid = await world.served({ reclaimPolicy: 'Retain' })
  const planner = world.start()
  await world.run({ planner })
  const [id = ''] = world.marked({ [LOW]: `${uid}/spare` })
  world.attach(id)
  await world.remove(OpenStackFloatingIPPool, 'blue')
  await world.runFor(200, planner)
  expect([await world.pool(), world.markers]).toEqual([undefined, { [LOW]: '' }])
})

test.each(['lostAnswer', 'down', { kind: 'late', seconds: 10 }] as const)(
  'a pool does not end before it is known what its last creation has done: %o',
  async (trouble) => {
    const world = new World()
    await world.create(pool(), claim('c1'))
    world.cloud.inject('createAddress', trouble)
    const planner = world.start()
    await world.run({ planner })
    await world.remove(IPAddressClaim, 'c1')
    await world.remove(OpenStackFloatingIPPool, 'blue')
    await world.runFor(10, planner)
    expect(await world.pool()).toBeDefined()
    await world.runFor(200, planner)
    expect([await world.pool(), world.outside]).toEqual([undefined, []])
  },
)

test('a pool with an address in use stays, and ends when the claim is deleted', async () => {
  const world = new World()
  await world.create(pool({}, spares), claim('c1'))
  const planner = world.start()
  await world.runFor(60, planner)
  await world.remove(OpenStackFloatingIPPool, 'blue')
  await world.runFor(400, planner)
  const { c1 } = await world.claims()
  expect(await world.pool()).toBeDefined()
  expect(world.outside).toContain(c1)
  await world.remove(IPAddressClaim, 'c1')
  await world.runFor(100, planner)
  expect([await world.pool(), world.outside]).toEqual([undefined, []])
})

test('a pool whose network was never found ends, since it has created nothing', async () => {
  const world = new World()
  await world.create(pool({ floatingIPNetwork: { id: '00000000-0000-4000-8000-00000000dead' } }), claim('c1'))
  const planner = world.start()
  await world.runFor(60, planner)
  await world.remove(OpenStackFloatingIPPool, 'blue')
  await world.runFor(60, planner)
  expect((await world.pool())?.metadata.deletionTimestamp).toBeDefined()
  await world.remove(IPAddressClaim, 'c1')
  await world.runFor(400, planner)
  expect(await world.pool()).toBeUndefined()
})
