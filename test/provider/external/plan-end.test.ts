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
  await timers.pass(20_000)
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
  world.cloud.inject('deleteAddress', 'down', 'down')
  await world.runFor(20, planner)
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
  await world.runFor(60)
  expect(await world.pool()).toBeUndefined()
  expect(world.outside).toEqual([])
})
