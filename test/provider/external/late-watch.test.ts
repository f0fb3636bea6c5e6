import { Cluster, IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { refOf } from 'ipam-kit/crd/meta'
import { OpenStackFloatingIPPool } from 'ipam-kit/crd/openstack'
import { RESERVATIONS_ANNOTATION } from 'ipam-kit/provider/external'
import { expect, test } from 'vitest'
import { keyOf, Watcher } from './watcher.js'
import { claim, NAMESPACE, pool, World } from './world.js'

const NO_ANSWER = { ok: false, failure: { message: 'no answer', retryable: true } } as const

test('a process whose watch of IPAddress objects is late reserves nothing', async () => {
  const world = new World()
  world.cloud.byHand.create({ network: world.network, address: '203.0.113.20' })
  const policy = { maxIPs: 0, reclaimPolicy: 'Retain', preAllocatedFloatingIPs: ['203.0.113.20'] } as const
  await world.create(pool(policy), claim('c1'))
  const first = world.start()
  await world.run({ planner: first })
  expect(await world.claims()).toEqual({ c1: '203.0.113.20' })
  await world.create(claim('c2'))

  const second = new Watcher(world)
  for (const model of [Cluster, OpenStackFloatingIPPool, IPAddressClaim]) await second.hears(model)
  await second.hears(IPAddress, { isLate: true })
  await second.plan(`IPAddressClaim ${NAMESPACE}/c2`)
  // the entry of c1 has gone, and its IPAddress is not known yet
  expect(await second.reserves()).toBeUndefined()
  await second.hears(IPAddress)
  expect(await second.reserves()).toBeUndefined()
})

test('a process sends no call for an entry of another one', async () => {
  const world = new World()
  await world.create(pool(), claim('c1'))
  const lost: World['external'] = async (call) =>
    call.operation === 'createAddress'
      ? { ok: false, failure: { message: 'no answer', retryable: true } }
      : world.external(call)
  await world.run({ external: lost })
  const second = new Watcher(world)
  await second.hearsAll()
  await second.plan(keyOf('blue'))
  expect(await second.plan(`IPAddressClaim ${NAMESPACE}/c1`)).toEqual([])
  expect(world.cloud.calls.get('createAddress')).toBeUndefined()
})

test('of two pools that name an address the younger one reserves it for nothing, whatever the older one has done', async () => {
  const world = new World()
  world.cloud.byHand.create({ network: world.network, address: '203.0.113.20' })
  const policy = { maxIPs: 0, preAllocatedFloatingIPs: ['203.0.113.20'] }
  for (const name of ['blue', 'green']) {
    await world.create(pool(policy, { name }), claim(`of-${name}`, { pool: name }))
    world.nowMs += 1000
  }
  // what each pool begins with
  for (const _ of [1, 2]) await world.run({ planner: new World().start(), external: async () => NO_ANSWER })
  const second = new Watcher(world)
  await second.hearsAll()
  for (const name of ['blue', 'green']) await second.plan(keyOf(name))
  await second.plan(`IPAddressClaim ${NAMESPACE}/of-green`)
  expect(await second.reserves('green')).toBeUndefined()
  await second.plan(`IPAddressClaim ${NAMESPACE}/of-blue`)
  expect(await second.reserves('blue')).toEqual(['of-blue'])
})

test('a process whose watch of IPAddress objects is late gives no address to an entry that it has made before', async () => {
  const world = new World()
  await world.create(pool({ reclaimPolicy: 'Retain' }))
  const first = world.start()
  await world.run({ planner: first })
  await world.create(claim('c1'))
  const second = new Watcher(world)
  await second.hearsAll()
  await second.plan(keyOf('blue'))
  await second.plan(`IPAddressClaim ${NAMESPACE}/c1`)
  const annotations = { [RESERVATIONS_ANNOTATION]: JSON.stringify(await second.writes()) }
  const stored = (await world.pool())!
  await world.patch(refOf(stored), { metadata: { annotations } })
  await second.hearsAll()
  world.cloud.inject('createAddress', 'quota')
  await second.plan(`IPAddressClaim ${NAMESPACE}/c1`)
  await world.create(claim('c2'))
  await world.run({ planner: first })
  expect(await world.claims()).toMatchObject({ c2: '203.0.113.2' })
  // a list shows the address of c2, whose IPAddress is not known yet
  world.nowMs += 301_000
  for (const model of [OpenStackFloatingIPPool, IPAddressClaim]) await second.hears(model)
  world.cloud.inject('createAddress', 'quota')
  await second.plan(`IPAddressClaim ${NAMESPACE}/c1`)
  const entries = (await second.writes())?.entries ?? []
  expect(entries.filter(({ address }) => address !== undefined)).toEqual([])
})

test('a process whose watch of IPAddress objects is late takes no address without a marker for that of a call without an answer', async () => {
  const world = new World({ marker: 'after' })
  await world.create(pool({ reclaimPolicy: 'Retain' }), claim('c1'))
  // the call for c1 has no effect, and no answer
  await world.run({
    external: async (call) => (call.operation === 'createAddress' ? NO_ANSWER : world.external(call)),
  })
  world.nowMs += 10_000
  const second = new Watcher(world)
  await second.hearsAll()
  const first = world.start()
  await world.create(claim('c2'))
  // the address of c2 is listed before it has its marker
  const external: World['external'] = async (call) => {
    if (call.operation === 'markAddress') {
      world.nowMs += 16_000
      await second.plan(keyOf('blue'))
    }
    return world.external(call)
  }
  await world.run({ planner: first, external })
  for (const model of [OpenStackFloatingIPPool, IPAddressClaim]) await second.hears(model)
  await second.plan(`IPAddressClaim ${NAMESPACE}/c1`)
  const entries = (await second.writes())?.entries ?? []
  expect(entries.filter(({ address }) => address !== undefined)).toEqual([])
})
