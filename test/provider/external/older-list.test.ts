import { Cluster, IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { type KubeObject, refOf } from 'ipam-kit/crd/meta'
import { OpenStackFloatingIPPool } from 'ipam-kit/crd/openstack'
import { type CloudFacts, RESERVATIONS_ANNOTATION, reservationsOf } from 'ipam-kit/provider/external'
import { describe, expect, test } from 'vitest'
import { running } from './running.js'
import { keyOf, Watcher } from './watcher.js'
import { claim, NAMESPACE, pool, unwrap, World } from './world.js'

const keyOfClaim = (name: string) => `IPAddressClaim ${NAMESPACE}/${name}`

const NO_ANSWER = { ok: false, failure: { message: 'no answer', retryable: true } } as const

function addressOf({ name, uid = '' }: KubeObject['metadata'], address: string): KubeObject {
  const { apiVersion, kind } = IPAddress.info
  const owner = { apiVersion: IPAddressClaim.info.apiVersion, kind: IPAddressClaim.info.kind, name, uid }
  const { poolRef } = (claim(name) as IPAddressClaim).spec
  return {
    apiVersion,
    kind,
    metadata: { namespace: NAMESPACE, name, ownerReferences: [owner] },
    spec: { address, prefix: 32, claimRef: { name }, poolRef },
  } as KubeObject
}

/** The second process lists the cloud, then the first one creates an address for `c1`. */
async function olderList(facts: Partial<CloudFacts>, maxIPs: number) {
  const world = new World(facts)
  await world.create(pool({ maxIPs, reclaimPolicy: 'Retain' }))
  const first = world.start()
  await world.run({ planner: first })
  const second = new Watcher(world)
  await second.hearsAll()
  await second.plan(keyOf('blue'))
  await world.create(claim('c1'))
  await world.run({ planner: first })
  return { world, first, second }
}

describe.each(['atomic', 'after', 'none'] as const)('a list older than an address, with markers: %s', (marker) => {
  test('an address that another process has created, and that was released, counts towards the limit', async () => {
    const { world, first, second } = await olderList({ marker }, 1)
    await second.hearsAll()
    await world.remove(IPAddressClaim, 'c1')
    await world.run({ planner: first })
    await world.create(claim('c2'))
    await second.hearsAll()
    await second.plan(keyOfClaim('c2'))
    expect(await second.reserves()).toBeUndefined()
    world.nowMs += 31_000
    // a list shows the address, and it is given
    expect((await second.writes())?.entries).toMatchObject([{ claim: 'c2', address: world.outside[0] }])
  })

  test('a process that starts creates nothing before a list shows what was created just before', async () => {
    const { world, first } = await olderList({ marker }, 1)
    await world.remove(IPAddressClaim, 'c1')
    await world.run({ planner: first })
    await world.create(claim('c2'))
    world.cloud.listLagMs = 5000
    world.nowMs += 1000
    const third = new Watcher(world)
    await third.hearsAll()
    await third.plan(keyOf('blue'))
    await third.plan(keyOfClaim('c2'))
    expect(await third.reserves()).toBeUndefined()
    world.nowMs += 31_000
    expect((await third.writes())?.entries).toMatchObject([{ claim: 'c2', address: world.outside[0] }])
  })
})

describe('a pool at its limit, of which another process creates the last address', () => {
  /** The cloud, with something that happens before each call of a kind. */
  function preceded(world: World, operation: string, action: () => Promise<void>): World['external'] {
    return async (call) => {
      if (call.operation === operation) await action()
      return world.external(call)
    }
  }

  async function listed(process: Watcher) {
    await process.hearsAll()
    await process.plan(keyOf('blue'))
  }

  async function expectNothing(process: Watcher, world: World) {
    await world.create(claim('c2'))
    await process.hearsAll()
    await process.plan(keyOfClaim('c2'))
    expect((await process.writes())?.entries).toBeUndefined()
    expect(world.outside).toHaveLength(1)
  }

  test('as a spare one', async () => {
    const world = new World()
    const spare = { annotations: { 'ipam-kit.dev/min-free': '1' } }
    await world.create(pool({ maxIPs: 1, reclaimPolicy: 'Retain' }, spare))
    const second = new Watcher(world)
    await world.run({ external: preceded(world, 'createAddress', () => listed(second)) })
    await expectNothing(second, world)
  })

  test('for a claim that is deleted, in a call without an answer', async () => {
    const world = new World()
    await world.create(pool({ maxIPs: 1, reclaimPolicy: 'Retain' }), claim('c1'))
    const second = new Watcher(world)
    const external = preceded(world, 'createAddress', () => listed(second))
    await world.run({
      external: async (call) => {
        const answer = await external(call)
        return call.operation === 'createAddress' ? NO_ANSWER : answer
      },
    })
    await world.remove(IPAddressClaim, 'c1')
    world.nowMs += 25_000
    await listed(second)
    // both lists are due at this time, and the other process has its answer first
    world.nowMs++
    await world.run()
    await expectNothing(second, world)
  })

  test('and marks it later', async () => {
    const world = new World({ marker: 'after' })
    await world.create(pool({ maxIPs: 1, reclaimPolicy: 'Retain' }), claim('c1'))
    const first = world.start()
    const second = new Watcher(world)
    await world.run({ planner: first, external: preceded(world, 'markAddress', () => listed(second)) })
    await second.hearsAll()
    await world.remove(IPAddressClaim, 'c1')
    await world.run({ planner: first })
    await expectNothing(second, world)
  })

  test('after a process that starts has listed pools', async () => {
    const world = new World()
    await world.create(pool({ maxIPs: 1, reclaimPolicy: 'Retain' }), claim('c1'))
    const first = world.start()
    const third = new Watcher(world)
    await world.run({
      planner: first,
      external: preceded(world, 'createAddress', () => third.hears(OpenStackFloatingIPPool)),
    })
    await world.remove(IPAddressClaim, 'c1')
    await world.run({ planner: first })
    for (const model of [Cluster, IPAddressClaim, IPAddress]) await third.hears(model)
    world.cloud.listLagMs = 5000
    world.nowMs += 1000
    await third.plan(keyOf('blue'))
    await expectNothing(third, world)
  })
})

test.each(['atomic', 'after', 'none'] as const)(
  'the own addresses of a process count before a list shows them, with markers: %s',
  async (marker) => {
    const { store, timers, cloud, remove, stop } = await running(
      { maxIPs: 1, reclaimPolicy: 'Retain' },
      { facts: { marker }, metadata: {} },
    )
    await timers.pass(2000)
    unwrap(await store.create(claim('c1')))
    await timers.pass(2000)
    await remove(IPAddressClaim, 'c1')
    await timers.pass(2000)
    unwrap(await store.create(claim('c2')))
    await timers.pass(2000)
    expect(cloud.calls.get('createAddress')).toBe(1)
    expect(unwrap(await store.list(IPAddress.info)).items.map(({ metadata }) => metadata.name)).toEqual(['c2'])
    await stop()
  },
)

test('a claim for a free address does not wait when the last list is older than half a minute', async () => {
  const world = new World()
  world.cloud.byHand.create({ network: world.network, address: '203.0.113.20' })
  await world.create(pool({ preAllocatedFloatingIPs: ['203.0.113.20'] }))
  await world.run()
  const process = new Watcher(world)
  await process.hearsAll()
  await process.plan(keyOf('blue'))
  world.nowMs += 45_000
  await world.create(claim('c1'))
  await process.hearsAll()
  await process.plan(keyOfClaim('c1'))
  expect(await process.reserves()).toEqual(['c1'])
})

describe('the addresses that a pool has created in a cloud without markers', () => {
  /** The pool has created .8 and .9, and .9 has the entry of a claim that has its IPAddress. */
  async function created(facts: { readonly isListed: boolean }) {
    const world = new World({ marker: 'none' })
    await world.create(pool({ reclaimPolicy: 'Retain' }))
    await world.run()
    const process = new Watcher(world)
    await process.hearsAll()
    await process.plan(keyOf('blue'))
    world.nowMs += 1000
    for (const address of ['203.0.113.8', '203.0.113.9'])
      if (facts.isListed || address !== '203.0.113.8') world.cloud.byHand.create({ network: world.network, address })
    await world.create(claim('c1'))
    const [{ metadata }] = (await world.list(IPAddressClaim)) as [IPAddressClaim]
    const stored = (await world.pool())!
    const entry = {
      claim: 'c1',
      uid: metadata.uid,
      by: 'another',
      atMs: world.nowMs,
      address: '203.0.113.9',
      isNew: true,
    }
    await world.create(addressOf(metadata, entry.address))
    const read = reservationsOf(stored)
    if (!read.ok) throw new Error(read.problem)
    const made = { created: ['203.0.113.8'], createdMs: world.nowMs, addressesVersion: '1000' }
    const reservations = { ...read.value, entries: [entry], ...made }
    const annotations = { [RESERVATIONS_ANNOTATION]: JSON.stringify(reservations) }
    await world.patch(refOf(stored), { metadata: { annotations } })
    await process.hearsAll()
    return { world, process }
  }

  test('stay in the annotation while a list may be older than they are', async () => {
    const { process } = await created({ isListed: true })
    expect((await process.writes())?.created).toEqual(['203.0.113.8', '203.0.113.9'])
  })

  test('go when a newer list does not show them', async () => {
    const { world, process } = await created({ isListed: false })
    expect((await process.writes())?.created).toEqual(['203.0.113.8', '203.0.113.9'])
    world.nowMs += 301_000
    await process.plan(keyOf('blue'))
    expect((await process.writes())?.created).toEqual(['203.0.113.9'])
  })
})
