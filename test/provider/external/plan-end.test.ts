import { OpenStackFloatingIPPool } from 'ipam-kit/crd/openstack'
import { cloudCaller } from 'ipam-kit/provider/external'
import { Controller } from 'ipam-kit/run'
import { memoryStore } from 'ipam-kit/store/memory'
import { FakeCloud } from 'ipam-kit/testing'
import { expect, test } from 'vitest'
import { VirtualTimers } from '../../run/controller/virtual-timers.js'
import { kinds, NAMESPACE, pool, unwrap, World } from './world.js'

const spares = { annotations: { 'ipam-kit.dev/min-free': '3' } }

test('a pool that is deleted between two full seconds comes to its end', async () => {
  const world = new World()
  const timers = new VirtualTimers()
  const store = memoryStore({ now: () => timers.now(), kinds })
  const cloud = new FakeCloud({ now: () => timers.now() })
  cloud.addNetwork({ name: 'public', cidrs: ['203.0.113.0/24'] })
  const thrown: unknown[] = []
  const controller = new Controller({
    ...{ store, timers, planners: [world.start()], external: cloudCaller(cloud) },
    onProblem: (problem) => thrown.push(problem),
  })
  const ended = controller.run()
  await store.create(pool({}, spares))
  await timers.pass(60_345)
  expect(cloud.floatingIPs).toHaveLength(3)
  const { apiVersion, kind } = OpenStackFloatingIPPool.info
  await store.delete({ apiVersion, kind, namespace: NAMESPACE, name: 'blue' })
  await timers.pass(20_000)
  expect(unwrap(await store.list(OpenStackFloatingIPPool.info)).items).toEqual([])
  expect([cloud.floatingIPs, thrown]).toEqual([[], []])
  controller.stop()
  await ended
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
