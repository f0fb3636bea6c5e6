import { findCondition } from 'ipam-kit/claim'
import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { OpenStackFloatingIPPool } from 'ipam-kit/crd/openstack'
import type { EventEffect } from 'ipam-kit/plan'
import type { ExternalCaller } from 'ipam-kit/run'
import { describe, expect, test } from 'vitest'
import { running } from './running.js'
import { claim, NAMESPACE, pool, unwrap, World } from './world.js'

const READY = 'OpenstackFloatingIPPoolReadyCondition'
const { apiVersion, kind } = OpenStackFloatingIPPool.info
const blue = { apiVersion, kind, namespace: NAMESPACE, name: 'blue' }

/** The condition of the pool and that of a claim, each as `reason: message`. */
async function said(world: World, name = 'c1') {
  const found = await world.pool()
  const claims = await world.list(IPAddressClaim)
  const ready = findCondition(claims.find(({ metadata }) => metadata.name === name)?.status?.conditions, 'Ready')
  return { pool: textOf(findCondition(found?.status?.conditions, READY)), claim: textOf(ready) }
}

function textOf(
  condition: { readonly reason?: string | undefined; readonly message?: string | undefined } | undefined,
) {
  return condition && `${condition.reason}: ${condition.message}`
}

/** A caller whose answer to one operation is another one. */
function answering(world: World, operation: string, answer: unknown): ExternalCaller {
  return async (call) => (call.operation === operation ? (answer as never) : world.external(call))
}

const value = (of: unknown) => ({ ok: true, value: of })
const MAX = 'MaxIPsReached: Maximum number of IPs reached, we will not allocate more IPs for this pool'
const FULL = 'PoolExhausted: no free address: the pool has 0 addresses, which is its limit'

describe('a preallocated address', () => {
  test.each([
    ['that is none', ['203.0.113.999'], 'spec.preAllocatedFloatingIPs[0]: is not a valid IP address'],
    ['that is empty', [''], 'spec.preAllocatedFloatingIPs[0]: is not a valid IP address'],
    [
      'that is there twice',
      ['203.0.113.9', '203.0.113.9'],
      'spec.preAllocatedFloatingIPs[1]: is the address of spec.preAllocatedFloatingIPs[0]',
    ],
  ])('%s: the pool gives the others first, and says which one it is', async (_, wrong, message) => {
    const world = new World()
    for (const address of ['203.0.113.9', '203.0.113.10']) {
      world.cloud.byHand.create({ network: world.network, address })
    }
    const preAllocatedFloatingIPs = [...wrong, '203.0.113.10']
    await world.create(pool({ preAllocatedFloatingIPs, maxIPs: 0 }), claim('c1'), claim('c2'), claim('c3'))
    const events: string[] = []
    const planner = world.start()
    const onEvent = ({ about, message: text }: EventEffect) => void events.push(`${about.kind}: ${text}`)
    const run = () => world.run({ planner, onEvent })
    await run()
    const given = [...new Set(preAllocatedFloatingIPs)].filter((text) => /^203\.0\.113\.\d\d?$/.test(text))
    expect((await world.list(IPAddress)).map(({ spec }) => spec.address)).toEqual(given)
    expect((await said(world)).pool).toContain(message)
    const told = () => events.filter((text) => text.startsWith(`OpenStackFloatingIPPool: ${message}`))
    expect(told()).toHaveLength(1)
    await run()
    expect(told()).toHaveLength(1)
  })

  test('with a number below 0 as the limit: the pool creates none, and says so', async () => {
    const world = new World()
    await world.create(pool({ maxIPs: -1 }), claim('c1'))
    await world.run()
    expect(await said(world)).toEqual({ pool: `${MAX}; spec.maxIPs: must be a whole number, 0 or more`, claim: FULL })
    expect(world.cloud.calls.get('createAddress')).toBeUndefined()
  })

  test.each<[string, string, (world: World) => void]>([
    ['that the cloud does not have', '203.0.113.9', () => {}],
    ['of IPv6 in a network of IPv4', '2001:db8::9', () => {}],
    [
      'that is attached',
      '203.0.113.9',
      (world) => {
        const id = world.cloud.byHand.create({ network: world.network, address: '203.0.113.9' })
        world.cloud.byHand.attach(id, world.cloud.addPort({ device: 'other', network: world.network, fixedIPs: [] }).id)
      },
    ],
    [
      'of another network',
      '198.51.100.9',
      (world) => {
        const cidrs = ['198.51.100.0/24']
        const { id } = world.cloud.addNetwork({ name: 'second', cidrs, isExternal: true })
        world.cloud.byHand.create({ network: id, address: '198.51.100.9' })
      },
    ],
  ])('%s is one that has failed, and is given to no claim', async (_, address, prepare) => {
    const world = new World()
    prepare(world)
    const floatingIPNetwork = { id: world.network }
    await world.create(pool({ floatingIPNetwork, preAllocatedFloatingIPs: [address], maxIPs: 0 }), claim('c1'))
    await world.run()
    expect((await world.pool())?.status?.failedIPs).toEqual([address])
    expect(await said(world)).toEqual({ pool: MAX, claim: FULL })
  })
})

describe('a reference to a pool', () => {
  test.each([
    ['without a group', { apiGroup: undefined }],
    ['to another kind', { kind: 'OpenStackCluster' }],
    ['to another group', { apiGroup: 'ipam.cluster.x-k8s.io' }],
  ])('%s is not for this provider: nothing is written', async (_, part) => {
    const world = new World()
    const made = claim('c1') as IPAddressClaim
    await world.create(pool(), { ...made, spec: { poolRef: { ...made.spec.poolRef, ...part } } } as never)
    await world.run()
    const { name, namespace } = made.metadata
    const stored = unwrap(await world.store.get({ ...IPAddressClaim.info, namespace, name } as never))
    expect('status' in stored).toBe(false)
    expect(world.outside).toEqual([])
  })

  test('that does not exist, or is being deleted, is said', async () => {
    const world = new World()
    await world.create(claim('c1', { pool: 'none' }), pool({ reclaimPolicy: 'Retain' }), claim('holder'))
    const planner = world.start()
    await world.run({ planner })
    await world.remove(OpenStackFloatingIPPool, 'blue')
    await world.create(claim('c2'))
    await world.run({ planner })
    expect((await said(world, 'c1')).claim).toMatch(/^PoolNotReady: OpenStackFloatingIPPool team-a\/none /)
    expect(await said(world, 'c2')).toEqual({
      pool: 'OpenStackError: the pool is being deleted',
      claim: expect.stringMatching(/^PoolNotReady: OpenStackFloatingIPPool team-a\/blue is being deleted/),
    })
  })
})

test('maxIPs that is lowered below what is in use takes no address from a claim', async () => {
  const world = new World()
  await world.create(pool(), claim('c1'), claim('c2'))
  const planner = world.start()
  await world.run({ planner })
  const before = await world.claims()
  await world.patch(blue, { spec: { maxIPs: 1 } })
  await world.create(claim('c3'))
  await world.runFor(100, planner)
  expect(await said(world, 'c3')).toEqual({
    pool: MAX,
    claim: 'PoolExhausted: no free address: the pool has 1 addresses, which is its limit',
  })
  expect(await world.claims()).toEqual({ ...before, c3: 'Error PoolExhausted' })
  expect(world.cloud.deleted).toEqual([])
})

test.each([
  ['none', { filter: { name: 'unknown' } }, 'no external network'],
  ['two', undefined, '2 external networks'],
])('a network filter that matches %s', async (_, floatingIPNetwork, message) => {
  const world = new World()
  world.cloud.addNetwork({ name: 'second', cidrs: ['198.51.100.0/24'], isExternal: true })
  await world.create(pool({ ...(floatingIPNetwork && { floatingIPNetwork }) }), claim('c1'))
  const planner = world.start()
  await world.run({ planner })
  const text = `unable to find the network: ${message}`
  expect(await said(world)).toEqual({
    pool: expect.stringContaining(`UnableToFindNetwork: ${text}`),
    claim: expect.stringContaining(`PoolNotReady: ${text}`),
  })
  // it is looked for again when the pool says something else
  await world.patch(blue, { spec: { floatingIPNetwork: { id: world.network, filter: null } } })
  await world.runFor(60, planner)
  expect((await world.claims()).c1).toMatch(/^203\./)
})

test('a network that is created after its pool is found, and nothing has to be changed', async () => {
  const { timers, store, cloud, stop } = await running({ floatingIPNetwork: { filter: { name: 'second' } } })
  await timers.pass(60_000)
  cloud.addNetwork({ name: 'second', cidrs: ['198.51.100.0/24'], isExternal: true })
  await store.create(claim('c1'))
  await timers.pass(400_000)
  const [address] = unwrap(await store.list(IPAddress.info)).items.map((object) => IPAddress.parse(object))
  expect(address?.spec.address).toMatch(/^198\.51\./)
  await stop()
})

test('a pool that names another network keeps its own while it has addresses in it', async () => {
  const world = new World()
  const { id } = world.cloud.addNetwork({ name: 'second', cidrs: ['198.51.100.0/24'], isExternal: true })
  await world.create(pool({ floatingIPNetwork: { id: world.network } }), claim('c1'))
  const planner = world.start()
  await world.run({ planner })
  await world.patch(blue, { spec: { floatingIPNetwork: { id } } })
  await world.create(claim('c2'))
  await world.runFor(60, planner)
  const message = `the pool has addresses in the network ${world.network}: it changes to ${id} when it has none of them any more`
  expect(await said(world, 'c2')).toEqual({ pool: `OpenStackError: ${message}`, claim: `PoolNotReady: ${message}` })
  await world.remove(IPAddressClaim, 'c1')
  await world.runFor(120, planner)
  // what was created in the first network is deleted there
  expect(world.outside).toEqual([expect.stringMatching(/^198\.51\./)])
  expect((await world.claims()).c2).toBe(world.outside[0])
})

test('credentials that are missing while a pool is deleted keep it, and say so, until they are back', async () => {
  const world = new World()
  await world.create(pool({}, { annotations: { 'ipam-kit.dev/min-free': '1' } }))
  await world.runFor(60)
  await world.remove(OpenStackFloatingIPPool, 'blue')
  const message = 'the Secret team-a/cloud does not exist'
  const failure = { message, retryable: true, nothingDone: true, reason: 'BackendDenied' }
  const planner = world.start()
  const external: ExternalCaller = async () => ({ ok: false, failure }) as never
  await world.run({ planner, external })
  const conditions = (await world.pool())?.status?.conditions
  expect(textOf(findCondition(conditions, 'OpenStackAuthenticationSucceeded'))).toBe(
    `OpenStackAuthenticationFailed: Failed to create OpenStack client scope: ${message}`,
  )
  expect(world.outside).toHaveLength(1)
  await world.runFor(400, planner)
  expect(await world.pool()).toBeUndefined()
  expect(world.outside).toEqual([])
})

describe('an answer of the cloud', () => {
  const wrong = [null, 'text', '<html>', {}, [], { id: 1 }, 'x'.repeat(1_000_000)].map(value)
  const noResults = [undefined, null, 'text', {}, { ok: 'yes' }, { ok: false }, { ok: true }]

  test.each([...wrong, ...noResults])('that names no network is said, and asked for again: no. %#', async (answer) => {
    const world = new World()
    await world.create(pool(), claim('c1'))
    const planner = world.start()
    await world.run({ planner, external: answering(world, 'findNetwork', answer) })
    expect(await said(world)).toEqual({
      pool: expect.stringMatching(/^UnableToFindNetwork: .*answered.{0,130}not a (network|result)$/s),
      claim: expect.stringMatching(/^PoolNotReady: .*answered/s),
    })
    await world.runFor(60, planner)
    expect((await world.claims()).c1).toMatch(/^203\./)
  })

  test.each([...wrong, ...noResults, value({ addresses: 'text' })])(
    'that is no list is said, and asked for again: no. %#',
    async (answer) => {
      const world = new World()
      await world.create(pool(), claim('c1'))
      const planner = world.start()
      await world.run({ planner, external: answering(world, 'listAddresses', answer) })
      expect(await said(world)).toEqual({
        pool: expect.stringMatching(/^OpenStackError: .*answered.{0,130}not a (list of addresses|result)$/s),
        claim: expect.stringMatching(/^PoolNotReady: .*answered/s),
      })
      await world.runFor(60, planner)
      expect((await world.claims()).c1).toMatch(/^203\./)
    },
  )

  test('with items that are no addresses says which, and serves with the others', async () => {
    const world = new World()
    const whole = { id: 'i', address: '203.0.113.77', network: world.network, marker: '', isAttached: false }
    const addresses = [
      null,
      'text',
      {},
      { ...whole, address: 'x' },
      { ...whole, marker: null },
      { ...whole, tags: {} },
      whole,
    ]
    const problems = ['198.51.100.1 is in no subnet']
    await world.create(pool({ preAllocatedFloatingIPs: ['203.0.113.77'] }), claim('c1'))
    await world.run({ external: answering(world, 'listAddresses', value({ addresses, problems })) })
    const { pool: message } = await said(world)
    expect(message).toMatch(/^Ready: the cloud has listed null as an address; .*198\.51\.100\.1 is in no subnet$/)
    expect(message?.match(/has listed/g)).toHaveLength(6)
    expect(await world.claims()).toEqual({ c1: '203.0.113.77' })
  })

  test.each([...wrong, ...noResults])(
    'that names no address that was created is looked into, and the claim is served: no. %#',
    async (answer) => {
      const world = new World()
      await world.create(pool(), claim('c1'))
      const planner = world.start()
      await world.run({ planner, external: answering(world, 'createAddress', answer) })
      expect((await said(world)).claim).toMatch(
        /^AllocationFailed: it is not known yet.*: (the cloud has answered|createAddress was)/,
      )
      await world.runFor(120, planner)
      const { c1 } = await world.claims()
      expect(c1).toMatch(/^203\./)
      expect(world.outside).toEqual([c1])
    },
  )

  test.each([...wrong, ...noResults])('to a deletion does not hold anything up: no. %#', async (answer) => {
    const world = new World()
    await world.create(pool(), claim('c1'))
    const planner = world.start()
    await world.run({ planner })
    await world.remove(IPAddressClaim, 'c1')
    await world.run({ planner, external: answering(world, 'deleteAddress', answer) })
    await world.runFor(400, planner)
    expect(await world.list(IPAddress)).toEqual([])
  })

  const failures = [
    {},
    { message: 5 },
    { message: null, retryable: true },
    { message: 'x'.repeat(1_000_000), retryable: true },
    { message: 'm', retryable: true, reason: 'no reason' },
    { message: 'm', retryable: true, reason: 5 },
    { message: 'm', retryable: 'yes', nothingDone: 'yes' },
    ...[1e12, Number.POSITIVE_INFINITY, Number.NaN, -1, 0, '5', {}, null].map((retryAfterSeconds) => ({
      ...{ message: 'm', retryable: true, retryAfterSeconds },
    })),
  ]

  test.each(failures)('that is a failure of another form is said, and asked for again: no. %#', async (failure) => {
    for (const operation of ['findNetwork', 'listAddresses', 'createAddress']) {
      const world = new World()
      await world.create(pool(), claim('c1'))
      const planner = world.start()
      const external = answering(world, operation, { ok: false, failure })
      const { requeueAfterSeconds } = await world.run({ planner, external })
      expect(requeueAfterSeconds).toBeLessThanOrEqual(3600)
      const { claim: text = '' } = await said(world)
      expect(text).toMatch(/^(PoolNotReady|AllocationFailed): ./)
      expect(text.length).toBeLessThan(1200)
      await world.runFor(3700, planner)
      expect((await world.claims()).c1).toMatch(/^203\./)
    }
  })

  test('with problems that are no texts, or long ones, does not stop the pool', async () => {
    const world = new World()
    await world.create(pool(), claim('c1'))
    const problems = [{ toString: 1 }, 'x'.repeat(1_000_000), 5]
    await world.run({ external: answering(world, 'listAddresses', value({ addresses: [], problems })) })
    const { pool: message = '' } = await said(world)
    expect(message).toMatch(/^Ready: \{"toString":1\}; x+…; 5$/)
    expect(message.length).toBeLessThan(600)
  })

  test('with an address of another network is said, and the next one is given', async () => {
    const world = new World()
    world.cloud.inject('createAddress', 'otherNetwork')
    await world.create(pool(), claim('c1'))
    const planner = world.start()
    await world.run({ planner })
    expect((await said(world)).claim).toMatch(/^AllocationFailed: .* is in no subnet of network /)
    await world.runFor(120, planner)
    expect((await world.claims()).c1).toMatch(/^203\./)
    expect(world.outside).toHaveLength(1)
  })

  test('with the address of another claim is said, and the next one is given', async () => {
    const world = new World()
    await world.create(pool(), claim('c1'))
    const planner = world.start()
    await world.run({ planner })
    world.cloud.inject('createAddress', 'sameAddress')
    await world.create(claim('c2'))
    await world.run({ planner })
    const { c1 } = await world.claims()
    expect((await said(world, 'c2')).claim).toBe(`PoolNotReady: the cloud has given ${c1}, which another IPAddress has`)
    await world.runFor(120, planner)
    const { c2 } = await world.claims()
    expect([c1, c2]).toEqual([expect.stringMatching(/^203\./), expect.stringMatching(/^203\./)])
    expect(c2).not.toBe(c1)
  })
})
