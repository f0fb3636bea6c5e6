import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { OpenStackFloatingIPPool } from 'ipam-kit/crd/openstack'
import { IDENTITY_ANNOTATION, identityOf, type PoolIdentity } from 'ipam-kit/provider/external'
import { describe, expect, test } from 'vitest'
import { blue, claim, NAMESPACE, pool, unwrap, World } from './world.js'

const RESERVATIONS = 'ipam-kit.dev/reservations'
const OTHER = '00000000-0000-4000-8000-0000000000ff'
const [LOW, HIGH] = ['203.0.113.50', '203.0.113.60'] as const
const isChange = ({ operation }: World['sent'][number]) => /^(create|mark|delete)Address$/.test(operation)

/** The identity in the annotation of a pool. */
async function written(world: World, name = 'blue'): Promise<PoolIdentity> {
  const { annotations = {} } = (await world.pool(name))?.metadata ?? {}
  return JSON.parse(annotations[IDENTITY_ANNOTATION] ?? '{}') as PoolIdentity
}

test('the identity is written before the first address is created, with the network', async () => {
  const world = new World()
  await world.create(pool(), claim('c1'))
  let before: PoolIdentity | undefined
  await world.run({
    external: async (call) => {
      if (call.operation === 'createAddress') before ??= await written(world)
      return world.external(call)
    },
  })
  const uid = (await world.pool())?.metadata.uid ?? ''
  const identity = { pool: 'team-a/blue', ids: [uid], network: world.network }
  expect([before, await written(world)]).toEqual([identity, identity])
})

describe.each([IDENTITY_ANNOTATION, RESERVATIONS])('the annotation %s', (name) => {
  test.each([
    ['no JSON', '{'],
    ['a list', '[]'],
    ['null', 'null'],
    ['members of other types', JSON.stringify({ pool: 1, ids: [] })],
    ['no ids', JSON.stringify({ pool: 'team-a/blue' })],
    ['ids that are no texts', JSON.stringify({ pool: 'team-a/blue', ids: [1] })],
    ['an empty id', JSON.stringify({ pool: 'team-a/blue', ids: [''] })],
    ['an id with a slash', JSON.stringify({ pool: 'team-a/blue', ids: ['a/b'] })],
    ['an empty network', JSON.stringify({ pool: 'team-a/blue', ids: [], network: '' })],
    ['an address that is none', JSON.stringify({ pool: 'team-a/blue', ids: [], adopted: ['x'] })],
    ['an address in another form', JSON.stringify({ pool: 'team-a/blue', ids: [], adopted: ['2001:DB8:0::1'] })],
  ])('that cannot be read gives nothing until it is removed: %s', async (_, text) => {
    const world = new World()
    await world.create(pool({}, { annotations: { [name]: text } }), claim('c1'))
    const planner = world.start()
    await world.run({ planner })
    const message = `the annotation ${name} cannot be read: ${text.slice(0, 80)}`
    expect([await world.said(), await world.saidBy('c1')]).toEqual([
      `OpenStackError: ${message}`,
      `PoolNotReady: ${message}`,
    ])
    expect(world.sent).toEqual([])
    await world.patch(blue, { metadata: { annotations: { [name]: null } } })
    await world.runFor(60, planner)
    expect((await world.claims()).c1).toMatch(/^203\./)
  })
})

test('a copy of a pool under another name starts anew, and leaves what the first one has', async () => {
  const world = new World()
  await world.create(pool({ reclaimPolicy: 'Retain' }, { annotations: { 'ipam-kit.dev/min-free': '1' } }))
  const planner = world.start()
  await world.runFor(60, planner)
  const [first = ''] = world.outside
  const { annotations } = (await world.pool())!.metadata
  const copied = { [IDENTITY_ANNOTATION]: annotations?.[IDENTITY_ANNOTATION] ?? '' }
  await world.create(pool({}, { name: 'green', annotations: copied }), claim('g1', { pool: 'green' }))
  await world.runFor(60, planner)
  const uid = (await world.pool('green'))?.metadata.uid ?? ''
  expect(await written(world, 'green')).toMatchObject({ pool: 'team-a/green', ids: [uid] })
  expect((await world.claims()).g1).not.toBe(first)
  await world.remove(OpenStackFloatingIPPool, 'green')
  await world.remove(IPAddressClaim, 'g1')
  await world.runFor(100, planner)
  expect(world.outside).toEqual([first])
})

test('a copy of a pool in a second cluster takes nothing from it', async () => {
  const [here, there] = [new World(), new World()]
  await here.create(pool({}, { annotations: { 'ipam-kit.dev/min-free': '1' } }), claim('c1'))
  const planner = here.start()
  await here.runFor(60, planner)
  const before = here.outside
  const { annotations } = (await here.pool())!.metadata
  there.nowMs = here.nowMs
  await there.create(pool({}, { annotations: { ...annotations } }), claim('d1'))
  const second = there.start()
  await there.runFor(100, second, here.external)
  expect(before).toHaveLength(2)
  expect(before).not.toContain((await there.claims()).d1)
  await there.remove(IPAddressClaim, 'd1')
  await there.remove(OpenStackFloatingIPPool, 'blue')
  await there.runFor(200, second, here.external)
  // the copy leaves the addresses of the first one, also at its end
  expect(await there.pool()).toBeUndefined()
  await here.runFor(300, planner)
  expect([here.outside, Object.keys(here.markers).length]).toEqual([before, 2])
})

describe('the reservations of earlier versions', () => {
  async function old(world: World, spec: object, rest: object): Promise<string> {
    const { uid = '' } = unwrap(await world.store.create(pool(spec))).metadata
    const entries = [{ claim: 'c1', uid: 'u', by: 'another', atMs: 0, address: LOW, isNew: true }]
    const reservations = { pool: `${NAMESPACE}/blue`, uids: [OTHER, uid], entries, ...rest }
    await world.patch(blue, { metadata: { annotations: { [RESERVATIONS]: JSON.stringify(reservations) } } })
    return uid
  }

  test('leave their ids, network and adopted addresses, and their entries are dropped', async () => {
    const world = new World()
    const uid = await old(world, {}, { network: world.network, adopted: [HIGH], created: [LOW], createdMs: 1 })
    await world.run()
    const { annotations } = (await world.pool())!.metadata
    expect(annotations?.[RESERVATIONS]).toBeUndefined()
    expect(await written(world)).toEqual({
      pool: 'team-a/blue',
      ids: [OTHER, uid],
      network: world.network,
      adopted: [HIGH],
    })
  })

  test('are of a pool that was served before: it waits for the fence, and finds what was created', async () => {
    const world = new World()
    const { uid: of = '' } = unwrap(await world.store.create(claim('c1'))).metadata
    const uid = await old(world, { maxIPs: 1 }, { network: world.network })
    world.marked({ [LOW]: `${uid}/${of}` })
    const planner = world.start()
    await world.runFor(14, planner)
    expect(world.sent.filter(isChange)).toEqual([])
    await world.runFor(60, planner)
    expect(await world.claims()).toEqual({ c1: LOW })
  })
})

describe('the addresses that another controller has listed', () => {
  const many = (count: number) => Array.from({ length: count }, (_, n) => `10.0.${n >> 8}.${n & 255}`)

  test.each([
    [1000, {}, 1000],
    [50_000, {}, undefined],
    [50_000, { 'ipam-kit.dev/adopt-by-tag': 'true' }, 0],
  ])('%i of them, with %o', async (count, annotations, adopted) => {
    const world = new World()
    await world.create(pool({}, { annotations }))
    const status = { claimedIPs: [], availableIPs: many(count) }
    unwrap(await world.store.patch(blue, { status } as never, { subresource: 'status' } as never))
    await world.create(claim('c1'))
    // a pool with a status was served before: it creates nothing before the fence
    await world.runFor(100)
    const identity = identityOf((await world.pool())!)
    expect(identity).toMatchObject({ ok: true, is: adopted === undefined ? 'new' : 'written' })
    if (adopted === undefined) {
      expect(await world.said()).toMatch(/^OpenStackError: the status lists 50000 addresses, more /)
      expect(await world.saidBy('c1')).toMatch(/^PoolNotReady: .*see the status of the pool$/)
    } else {
      expect(((await written(world)).adopted ?? []).length).toBe(adopted)
      expect((await world.claims()).c1).toMatch(/^203\./)
    }
  })

  test('are not those that the pool has created, when its annotation was removed', async () => {
    const world = new World()
    await world.create(pool({}, { annotations: { 'ipam-kit.dev/min-free': '2' } }), claim('c1'))
    const planner = world.start()
    await world.runFor(60, planner)
    await world.patch(blue, { metadata: { annotations: { [IDENTITY_ANNOTATION]: null } } })
    await world.runFor(400, planner)
    await world.remove(IPAddressClaim, 'c1')
    await world.remove(OpenStackFloatingIPPool, 'blue')
    await world.runFor(400, planner)
    expect([await world.pool(), world.outside]).toEqual([undefined, []])
  })

  test('are given, are never deleted, and stay when the pool ends', async () => {
    const world = new World()
    world.marked({ [LOW]: '' })
    await world.create(pool({ maxIPs: 0 }))
    const status = { claimedIPs: [], availableIPs: [LOW] }
    unwrap(await world.store.patch(blue, { status } as never, { subresource: 'status' } as never))
    await world.create(claim('c1'))
    const planner = world.start()
    await world.run({ planner })
    expect(await world.claims()).toEqual({ c1: LOW })
    await world.remove(IPAddressClaim, 'c1')
    await world.remove(OpenStackFloatingIPPool, 'blue')
    await world.runFor(200, planner)
    expect([await world.pool(), world.outside]).toEqual([undefined, [LOW]])
  })
})

describe('the network in the identity', () => {
  async function second(world: World): Promise<string> {
    return world.cloud.addNetwork({ name: 'second', cidrs: ['198.51.100.0/24'], isExternal: true }).id
  }

  test('is the one in which a pool releases, when its spec names another one', async () => {
    const world = new World()
    const id = await second(world)
    const floatingIPNetwork = { id: world.network }
    await world.create(pool({ floatingIPNetwork }, { annotations: { 'ipam-kit.dev/min-free': '1' } }), claim('c1'))
    const planner = world.start()
    await world.runFor(60, planner)
    await world.patch(blue, { spec: { floatingIPNetwork: { id } } })
    await world.remove(IPAddressClaim, 'c1')
    await world.remove(OpenStackFloatingIPPool, 'blue')
    await world.runFor(200, planner)
    expect([await world.pool(), world.outside]).toEqual([undefined, []])
  })

  test.each(['found', 'resolved'])('is the one in which a pool releases, when its spec cannot be %s', async (what) => {
    const world = new World()
    await world.create(pool({}, { annotations: { 'ipam-kit.dev/min-free': '1' } }), claim('c1'))
    const planner = world.start()
    await world.runFor(60, planner)
    if (what === 'found') await world.patch(blue, { spec: { floatingIPNetwork: { filter: { name: 'none' } } } })
    await world.remove(IPAddressClaim, 'c1')
    await world.remove(OpenStackFloatingIPPool, 'blue')
    const message = 'no external network'
    const failure = { message, retryable: true, nothingDone: true, reason: 'PoolNotReady' } as const
    await world.runFor(200, what === 'found' ? planner : world.start(), async (call) =>
      call.operation === 'findNetwork' ? { ok: false, failure } : world.external(call),
    )
    expect([await world.pool(), world.outside]).toEqual([undefined, []])
  })

  test('is changed though a claim waits for what was created in it: that is deleted', async () => {
    const world = new World()
    const id = await second(world)
    const { uid: of } = unwrap(await world.store.create(claim('c1'))).metadata
    const uid = await world.served({ floatingIPNetwork: { id } })
    world.marked({ [LOW]: `${uid}/${of}` })
    await world.runFor(700)
    expect([(await written(world)).network, await world.claims()]).toEqual([id, { c1: expect.stringMatching(/^198/) }])
  })

  test('stays under Retain while the pool has a spare address, and changes when that is deleted by hand', async () => {
    const world = new World()
    const id = await second(world)
    const floatingIPNetwork = { id: world.network }
    await world.create(pool({ floatingIPNetwork, reclaimPolicy: 'Retain' }), claim('c1'))
    const planner = world.start()
    await world.runFor(60, planner)
    const { c1 = '' } = await world.claims()
    await world.remove(IPAddressClaim, 'c1')
    await world.patch(blue, { spec: { floatingIPNetwork: { id } } })
    await world.runFor(700, planner)
    expect([(await written(world)).network, world.outside]).toEqual([world.network, [c1]])
    expect(await world.said()).toMatch(/the pool has addresses in the network .*: it changes to .* when it has none/)
    world.cloud.byHand.delete(world.idOf(c1))
    await world.runFor(700, planner)
    expect((await written(world)).network).toBe(id)
  })

  test('is changed when the pool is empty, and nothing is given before', async () => {
    const world = new World()
    const id = await second(world)
    const spec = { floatingIPNetwork: { id: world.network }, preAllocatedFloatingIPs: [LOW] }
    world.marked({ [LOW]: '' })
    await world.create(pool(spec, { annotations: { 'ipam-kit.dev/min-free': '2' } }), claim('c1'))
    const planner = world.start()
    await world.runFor(60, planner)
    expect(await world.claims()).toEqual({ c1: LOW })
    await world.patch(blue, { spec: { floatingIPNetwork: { id } } })
    await world.create(claim('c2'))
    await world.runFor(200, planner)
    expect((await world.claims()).c2).toBe('Pending PoolNotReady')
    expect((await written(world)).network).toBe(world.network)
    await world.remove(IPAddressClaim, 'c1')
    await world.runFor(200, planner)
    expect((await written(world)).network).toBe(id)
    expect((await world.claims()).c2).toMatch(/^198\.51\./)
    expect(world.outside).toEqual(expect.arrayContaining([LOW]))
    expect((await world.list(IPAddress)).map(({ spec: { address } }) => address)).toHaveLength(1)
  })
})
