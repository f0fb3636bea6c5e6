import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { OpenStackFloatingIPPool } from 'ipam-kit/crd/openstack'
import type { ExternalCaller } from 'ipam-kit/run'
import { describe, expect, test } from 'vitest'
import { planTwice } from '../../../src/testing/simulation/plan-twice.js'
import { running } from './running.js'
import { blue, claim, NAMESPACE, pool, unwrap, World } from './world.js'

// one part for each row of the table that says what an address is

const OTHER = '00000000-0000-4000-8000-0000000000ff'
const [LOW, MIDDLE, HIGH] = ['203.0.113.50', '203.0.113.60', '203.0.113.70'] as const

/** An IPAddress of a claim, as a process has left it that was interrupted. */
async function left(world: World, name: string, address: string, isControlled = true): Promise<void> {
  const made = unwrap(await world.store.create(claim(name)))
  const { apiVersion, kind } = IPAddress.info
  const { poolRef } = (made as unknown as IPAddressClaim).spec
  const owner = { apiVersion: made.apiVersion, kind: made.kind, name, uid: made.metadata.uid, controller: isControlled }
  await world.create({
    ...{ apiVersion, kind, metadata: { namespace: NAMESPACE, name, ownerReferences: [owner] } },
    spec: { address, prefix: 32, claimRef: { name }, poolRef },
  } as never as KubeObject)
}

describe('an address that an IPAddress has', () => {
  test.each(['deleting', 'spare', ''])('is neither given nor deleted, whatever its marker says: %j', async (part) => {
    const world = new World()
    const uid = await world.served()
    const planner = world.start()
    await world.create(claim('c1'))
    await world.runFor(60, planner)
    const { c1 = '' } = await world.claims()
    world.cloud.byHand.describe(world.idOf(c1), part === '' ? '' : `ipam-kit ${uid}/${part}`)
    await world.create(claim('c2'))
    await world.runFor(400, planner)
    const { c2 } = await world.claims()
    expect(await world.claims()).toEqual({ c1, c2: expect.stringMatching(/^203\./) })
    expect(c2).not.toBe(c1)
    expect(world.cloud.deleted).toEqual([])
  })

  test('and another one too, is kept by the claim that is Bound, and the other claim gets another one', async () => {
    const world = new World()
    await world.served()
    const planner = world.start()
    await world.create(claim('c1'))
    await world.runFor(60, planner)
    const { c1 = '' } = await world.claims()
    await left(world, 'c2', c1)
    await world.runFor(100, planner)
    const { c2 } = await world.claims()
    expect([(await world.claims()).c1, c2 === c1]).toEqual([c1, false])
    expect([...world.outside].sort()).toEqual([c1, c2].sort())
  })

  test('and another one too, stays that of both claims if they are Bound, and they say so', async () => {
    const world = new World()
    await world.served()
    const planner = world.start()
    await world.create(claim('c1'))
    await world.runFor(60, planner)
    const { c1 = '' } = await world.claims()
    await left(world, 'c2', c1)
    const ref = { ...IPAddressClaim.info, namespace: NAMESPACE, name: 'c2' }
    const status = { addressRef: { name: 'c2' } }
    unwrap(await world.store.patch(ref, { status } as never, { subresource: 'status' } as never))
    await world.runFor(400, planner)
    expect([await world.claims(), world.outside]).toEqual([{ c1, c2: c1 }, [c1]])
    const conditions = (await world.list(IPAddressClaim)).flatMap((each) => each.status?.conditions ?? [])
    expect(conditions.filter(({ type, status }) => type === 'AddressUnique' && status === 'False')).toHaveLength(2)
    // the address stays while one of them has it
    await world.remove(IPAddressClaim, 'c2')
    await world.runFor(100, planner)
    expect([await world.claims(), world.outside]).toEqual([{ c1 }, [c1]])
  })

  test('and that a list lacks, is given back by a claim that is not Bound', async () => {
    const world = new World()
    await world.served()
    const planner = world.start()
    await world.runFor(60, planner)
    const pause = (value: '' | null) =>
      world.patch(
        { ...IPAddressClaim.info, namespace: NAMESPACE, name: 'c1' },
        { metadata: { annotations: { 'cluster.x-k8s.io/paused': value } } },
      )
    await left(world, 'c1', LOW)
    await pause('')
    await world.runFor(400, planner)
    await pause(null)
    await world.run({ planner })
    expect(await world.claims()).toEqual({ c1: expect.stringMatching(/^203\.0\.113\.[2-9]$/) })
    expect(await world.claims()).toEqual({ c1: world.outside[0] })
  })

  test('and that only an older list lacks, stays that of the claim: another leader may have created it', async () => {
    const world = new World()
    await world.served()
    const planner = world.start()
    await world.runFor(60, planner)
    world.marked({ [LOW]: `${(await world.pool())?.metadata.uid}/spare` })
    await left(world, 'c1', LOW)
    await world.run({ planner })
    expect([await world.claims(), await world.said()]).toEqual([{ c1: LOW }, 'Ready: '])
  })

  test('and that was created while a list was read, is not told as missing', async () => {
    const { timers, store, cloud, pools, stop } = await running({}, { metadata: {}, listMs: 2000 })
    while (cloud.calls.get('listAddresses') !== 2) await timers.pass(500)
    await store.create(claim('c1'))
    await timers.pass(3000)
    expect(cloud.calls.get('listAddresses')).toBe(2)
    expect(JSON.stringify(await pools())).toMatch(/"claimedIPs":\["203/)
    expect(JSON.stringify(await pools())).not.toMatch(/does not have these addresses/)
    await stop()
  })

  test('and that a list lacks, stays that of a Bound claim, which says so until it is back', async () => {
    const world = new World()
    await world.served({ preAllocatedFloatingIPs: [LOW], maxIPs: 1 })
    world.marked({ [LOW]: '' })
    const planner = world.start()
    await world.create(claim('c1'))
    await world.runFor(60, planner)
    world.cloud.byHand.delete(world.idOf(LOW))
    await world.runFor(301, planner)
    expect(await world.claims()).toEqual({ c1: LOW })
    const missing = `the cloud does not have the address ${LOW} in the network of the pool`
    expect(await world.saidBy('c1')).toBe(`AllocationFailed: ${missing}`)
    expect(await world.said()).toBe(`Ready: The cloud does not have these addresses of claims: ${LOW}`)
    world.marked({ [LOW]: '' })
    await world.runFor(301, planner)
    expect([await world.claims(), await world.saidBy('c1')]).toEqual([{ c1: LOW }, 'AddressAllocated: '])
    expect(await world.said()).toBe('Ready: ')
  })

  test('and that a list lacks, is told by each claim that has it', async () => {
    const world = new World()
    await world.served({ preAllocatedFloatingIPs: [LOW], maxIPs: 1 })
    world.marked({ [LOW]: '' })
    const planner = world.start()
    await world.create(claim('c1'))
    await world.runFor(60, planner)
    await left(world, 'by-hand', LOW, false)
    await world.runFor(60, planner)
    world.cloud.byHand.delete(world.idOf(LOW))
    await world.runFor(301, planner)
    expect(await world.saidBy('c1')).toBe(
      `AllocationFailed: the cloud does not have the address ${LOW} in the network of the pool`,
    )
  })

  test('before the fence counts as there: a list may not show it yet', async () => {
    const world = new World()
    await world.served()
    await left(world, 'c1', LOW)
    await world.run()
    expect(await world.claims()).toEqual({ c1: LOW })
  })
})

describe('a preallocated address', () => {
  test.each(['', 'spare', 'deleting'])('is given, and never deleted, also with the marker %j', async (part) => {
    const world = new World()
    const uid = await world.served({ preAllocatedFloatingIPs: [LOW], maxIPs: 0 })
    world.marked({ [LOW]: part === '' ? '' : `${uid}/${part}` })
    const planner = world.start()
    await world.create(claim('c1'))
    await world.runFor(60, planner)
    expect(await world.claims()).toEqual({ c1: LOW })
    await world.remove(IPAddressClaim, 'c1')
    await world.runFor(400, planner)
    expect([world.outside, world.cloud.deleted]).toEqual([[LOW], []])
  })

  test('is not given while it is attached, or outside of the network', async () => {
    const world = new World()
    const { id } = world.cloud.addNetwork({ name: 'second', cidrs: ['198.51.100.0/24'], isExternal: true })
    const [attached = ''] = world.marked({ [LOW]: '' })
    world.attach(attached)
    world.marked({ '198.51.100.9': '' }, id)
    const floatingIPNetwork = { id: world.network }
    await world.served({ floatingIPNetwork, preAllocatedFloatingIPs: [LOW, '198.51.100.9'], maxIPs: 0 })
    const planner = world.start()
    await world.create(claim('c1'))
    await world.runFor(60, planner)
    expect(await world.claims()).toEqual({ c1: 'Error PoolExhausted' })
    expect((await world.pool())?.status?.failedIPs).toEqual([LOW, '198.51.100.9'])
    world.cloud.byHand.detach(attached)
    await world.runFor(100, planner)
    expect(await world.claims()).toEqual({ c1: LOW })
  })

  test('that is adopted by its tag is given, and never deleted', async () => {
    const world = new World()
    await world.served({ maxIPs: 0 }, { annotations: { 'ipam-kit.dev/adopt-by-tag': 'true' } })
    const [id = ''] = world.marked({ [LOW]: '' })
    world.cloud.byHand.tag(id, 'cluster-api-provider-openstack-fip-pool-blue')
    const planner = world.start()
    await world.create(claim('c1'))
    await world.run({ planner })
    expect(await world.claims()).toEqual({ c1: LOW })
    await world.remove(IPAddressClaim, 'c1')
    await world.runFor(400, planner)
    expect(world.outside).toEqual([LOW])
  })
})

test('a preallocated address that the pool has created keeps the pool in its network', async () => {
  const world = new World()
  const second = world.cloud.addNetwork({ name: 'second', cidrs: ['198.51.100.0/24'], isExternal: true })
  const uid = await world.served({ preAllocatedFloatingIPs: [LOW] })
  world.marked({ [LOW]: `${uid}/spare` })
  const planner = world.start()
  await world.runFor(60, planner)
  await world.patch(blue, { spec: { floatingIPNetwork: { id: second.id } } })
  await world.runFor(400, planner)
  expect((await world.pool())?.status?.availableIPs).toEqual([LOW])
  expect(await world.said()).toMatch(/the pool has addresses in the network/)
  await world.patch(blue, { spec: { preAllocatedFloatingIPs: [] } })
  await world.runFor(400, planner)
  expect([world.outside, await world.said()]).toEqual([[], 'Ready: '])
})

describe('an address whose marker says that it is being deleted', () => {
  test.each(['Delete', 'Retain'] as const)('is given to no claim, and deleted, under %s', async (reclaimPolicy) => {
    const world = new World()
    const uid = await world.served({ reclaimPolicy })
    world.marked({ [LOW]: `${uid}/deleting` })
    await world.create(claim('c1'))
    await world.runFor(100)
    const { c1 } = await world.claims()
    expect(world.outside).toEqual([c1])
    expect(c1).not.toBe(LOW)
  })

  test('and that is attached, stays until it is not', async () => {
    const world = new World()
    const uid = await world.served()
    const [id = ''] = world.marked({ [LOW]: `${uid}/deleting` })
    world.attach(id)
    const planner = world.start()
    await world.runFor(400, planner)
    expect(world.outside).toEqual([LOW])
    expect(world.cloud.calls.get('deleteAddress')).toBeUndefined()
    world.cloud.byHand.detach(id)
    await world.runFor(310, planner)
    expect(world.outside).toEqual([])
  })
})

test('an address that the pool has created, and that is attached, is not given or deleted, and counts', async () => {
  const world = new World()
  const uid = await world.served({ maxIPs: 1 })
  const [id = ''] = world.marked({ [LOW]: `${uid}/spare` })
  world.attach(id)
  await world.create(claim('c1'))
  await world.runFor(400)
  expect([await world.claims(), world.outside]).toEqual([{ c1: 'Error PoolExhausted' }, [LOW]])
})

describe('an address that was created for a claim that waits', () => {
  test('goes to that claim, of several the lowest, and an older claim gets another one', async () => {
    const world = new World()
    const uid = await world.served()
    await world.create(claim('older'))
    world.nowMs += 1000
    const { uid: of } = unwrap(await world.store.create(claim('c1'))).metadata
    world.marked({ [HIGH]: `${uid}/${of}`, [LOW]: `${uid}/${of}` })
    await world.runFor(100)
    const { older, c1 } = await world.claims()
    expect(c1).toBe(LOW)
    // the other one is spare when its claim is served
    expect(older).toMatch(/^203\./)
    expect(older).not.toBe(LOW)
  })

  test('is spare when its claim is deleted or of another pool', async () => {
    const world = new World()
    const uid = await world.served({ reclaimPolicy: 'Retain', maxIPs: 2 })
    const { uid: of } = unwrap(await world.store.create(claim('other', { pool: 'green' }))).metadata
    world.marked({ [LOW]: `${uid}/${of}`, [HIGH]: `${uid}/00000000-0000-4000-8000-0000000000aa` })
    await world.create(claim('c1'), claim('c2'))
    await world.runFor(100)
    expect(await world.claims()).toMatchObject({ c1: LOW, c2: HIGH })
  })
})

describe('a spare address', () => {
  test('goes to the oldest claim that waits', async () => {
    const world = new World()
    const uid = await world.served({ maxIPs: 2 })
    world.marked({ [LOW]: `${uid}/spare`, [MIDDLE]: `${uid}/spare` })
    for (const name of ['c3', 'c2', 'c1']) {
      await world.create(claim(name))
      world.nowMs += 1000
    }
    await world.runFor(100)
    expect(await world.claims()).toEqual({ c3: LOW, c2: MIDDLE, c1: 'Error PoolExhausted' })
  })

  test.each([
    ['Delete', [LOW]],
    ['Retain', [LOW, MIDDLE, HIGH]],
  ] as const)(
    'is kept as one of those in advance, and the surplus goes under Delete alone: %s',
    async (reclaimPolicy, kept) => {
      const world = new World()
      const uid = await world.served({ reclaimPolicy }, { annotations: { 'ipam-kit.dev/min-free': '1' } })
      world.marked({ [HIGH]: `${uid}/spare`, [LOW]: `${uid}/spare`, [MIDDLE]: `${uid}/spare` })
      await world.runFor(400)
      expect(world.outside).toEqual(kept)
      expect(world.cloud.calls.get('createAddress')).toBeUndefined()
    },
  )

  test.each(['Delete', 'Retain'] as const)(
    'follows a reclaim policy that is switched from %s',
    async (reclaimPolicy) => {
      const world = new World()
      const uid = await world.served({ reclaimPolicy })
      world.marked({ [LOW]: `${uid}/spare` })
      const planner = world.start()
      // the call that marks it has no answer, but an effect
      world.cloud.inject('markAddress', 'lostAnswer')
      await world.runFor(31, planner)
      const next = reclaimPolicy === 'Delete' ? 'Retain' : 'Delete'
      await world.patch(blue, { spec: { reclaimPolicy: next } })
      world.marked({ [HIGH]: `${uid}/spare` })
      await world.runFor(400, planner)
      // what was begun is finished
      expect(world.outside).toEqual(next === 'Delete' ? [] : [HIGH])
    },
  )
})

describe('an address that an earlier id of the pool has created', () => {
  test('is not given or deleted, and the status names it, until the operator confirms the move', async () => {
    const world = new World()
    const uid = await world.served({ maxIPs: 2, reclaimPolicy: 'Retain' }, { ids: [OTHER] })
    world.marked({ [LOW]: `${OTHER}/spare`, [HIGH]: `${OTHER}/deleting` })
    const planner = world.start()
    await world.create(claim('c1'))
    await world.runFor(400, planner)
    expect([await world.claims(), world.outside]).toEqual([{ c1: 'Error PoolExhausted' }, [LOW, HIGH]])
    expect(await world.said()).toMatch(
      /^MaxIPsReached: .*An earlier pool has created these, .*203.0.113.50, 203.0.113.70/,
    )
    await world.patch(blue, { spec: { floatingIPNetwork: { id: OTHER } } })
    await world.runFor(40, planner)
    expect(await world.said()).toMatch(/^UnableToFindNetwork: .*An earlier pool has created these/)
    await world.patch(blue, { spec: { floatingIPNetwork: { id: world.network } } })
    await world.patch(blue, { metadata: { annotations: { 'ipam-kit.dev/earlier-uid': OTHER } } })
    await world.remove(IPAddressClaim, 'c1')
    await world.runFor(100, planner)
    expect(world.markers).toEqual({ [LOW]: `${uid}/spare`, [HIGH]: `${uid}/spare` })
    expect(await world.said()).toBe('Ready: ')
    await world.create(claim('c2'))
    await world.runFor(100, planner)
    expect(await world.claims()).toEqual({ c2: LOW })
  })

  test('that was moved twice has several earlier ids, which the operator confirms with commas', async () => {
    const world = new World()
    const [FIRST, SECOND] = [OTHER, `${OTHER.slice(0, -1)}e`]
    const uid = await world.served({ maxIPs: 2, reclaimPolicy: 'Retain' }, { ids: [FIRST, SECOND] })
    world.marked({ [LOW]: `${FIRST}/spare`, [HIGH]: `${SECOND}/spare` })
    await world.patch(blue, { metadata: { annotations: { 'ipam-kit.dev/earlier-uid': `${FIRST}, ${SECOND}` } } })
    await world.runFor(100)
    expect(world.markers).toEqual({ [LOW]: `${uid}/spare`, [HIGH]: `${uid}/spare` })
  })

  test('is that of the claim whose IPAddress has it, and inherited when that releases it', async () => {
    const world = new World()
    await world.served({}, { ids: [OTHER] })
    world.marked({ [LOW]: `${OTHER}/spare` })
    await left(world, 'c1', LOW)
    const planner = world.start()
    await world.runFor(60, planner)
    expect(await world.claims()).toEqual({ c1: LOW })
    await world.remove(IPAddressClaim, 'c1')
    await world.runFor(100, planner)
    expect(world.outside).toEqual([LOW])
    expect(await world.said()).toMatch(/An earlier pool has created these, .*203.0.113.50/)
  })

  test('and that the spec names with the marker of another pool, is of no use to the pool', async () => {
    const world = new World()
    await world.served({ preAllocatedFloatingIPs: [LOW], maxIPs: 0 })
    world.marked({ [LOW]: `${OTHER}/spare` })
    await world.create(claim('c1'))
    await world.runFor(100)
    expect([await world.claims(), world.outside]).toEqual([{ c1: 'Error PoolExhausted' }, [LOW]])
  })
})

test.each([
  ['without a marker', ''],
  ['of another pool', `${OTHER}/spare`],
  ['of another pool that deletes it', `${OTHER}/deleting`],
])('an address %s is not touched, and does not count', async (_, marker) => {
  const world = new World()
  await world.served({ maxIPs: 1 })
  world.marked({ [LOW]: marker })
  await world.create(claim('c1'))
  await world.runFor(400)
  const { c1 } = await world.claims()
  expect(c1).toMatch(/^203\./)
  expect(c1).not.toBe(LOW)
  expect(world.markers[LOW]).toBe(marker)
})

describe('an address that the cloud gives again, after it was deleted by hand', () => {
  /** A pool with a claim. Its address is deleted, and the cloud gives it in the next creation. */
  async function again() {
    const world = new World()
    await world.create(pool(), claim('c1'))
    const planner = world.start()
    await world.run({ planner })
    const { c1 = '' } = await world.claims()
    world.cloud.byHand.delete(world.idOf(c1))
    world.cloud.inject('createAddress', 'sameAddress')
    return { world, planner, c1 }
  }

  test('and of which a claim was given the one before, is no spare one: another one is created', async () => {
    const world = new World()
    await world.create(pool({}, { annotations: { 'ipam-kit.dev/min-free': '1' } }))
    const planner = world.start()
    await world.run({ planner })
    const [first = ''] = world.outside
    world.cloud.byHand.delete(world.idOf(first))
    world.cloud.inject('createAddress', 'sameAddress')
    await world.create(claim('c1'))
    await world.run({ planner })
    expect(await world.claims()).toEqual({ c1: first })
    expect(world.outside).toEqual([first, expect.not.stringMatching(first)])
  })

  test.each([0, 1])(
    'to another pool, stays that of its claim, and is deleted after that: min-free %d',
    async (minFree) => {
      const { world, planner, c1 } = await again()
      await world.create(pool({}, { name: 'green', annotations: { 'ipam-kit.dev/min-free': String(minFree) } }))
      if (minFree > 0) await world.run({ planner })
      await world.create(claim('c2', { pool: 'green' }))
      await world.runFor(200, planner)
      const { c2 = '' } = await world.claims()
      expect(await world.claims()).toEqual({ c1, c2: expect.stringMatching(/^203/) })
      expect(c2).not.toBe(c1)
      expect(world.outside).toContain(c1)
      // the next list shows it
      await world.runFor(200, planner)
      expect(await world.said('green')).toContain(`an IPAddress of another pool has ${c1}`)
      await world.remove(IPAddressClaim, 'c1')
      await world.runFor(700, planner)
      expect(world.outside).toHaveLength(1 + minFree)
    },
  )

  test('to another pool, holds that pool until its claim ends', async () => {
    const { world, planner, c1 } = await again()
    await world.create(pool({}, { name: 'green' }), claim('c2', { pool: 'green' }))
    await world.runFor(100, planner)
    await world.remove(IPAddressClaim, 'c2')
    await world.remove(OpenStackFloatingIPPool, 'green')
    await world.runFor(400, planner)
    const isEnded = async () => (await world.pool('green')) === undefined
    expect([await world.claims(), world.outside, await isEnded()]).toEqual([{ c1 }, [c1], false])
    await world.remove(IPAddressClaim, 'c1')
    await world.runFor(400, planner)
    expect([world.outside, await isEnded()]).toEqual([[], true])
  })
})

test('an address that a mark of another leader has begun to delete, is told no more after the next list', async () => {
  const world = new World()
  const uid = await world.served()
  const [id = ''] = world.marked({ [LOW]: `${uid}/spare` })
  const planner = world.start()
  const external: ExternalCaller = (call) => {
    if (call.operation === 'markAddress') world.cloud.byHand.describe(id, `ipam-kit ${uid}/deleting`)
    return world.external(call)
  }
  const untilTold = async () => {
    while (!/is not deleted/.test(await world.said())) await world.runFor(1, planner, external)
  }
  await untilTold()
  world.attach(id)
  await world.runFor(400, planner)
  expect([world.outside, await world.said()]).toEqual([[LOW], 'Ready: '])
})

test('an address whose deletion has failed, and that is attached since then, is told no more', async () => {
  const world = new World()
  const uid = await world.served()
  const [id = ''] = world.marked({ [LOW]: `${uid}/deleting` })
  const planner = world.start()
  const external: ExternalCaller = async (call) =>
    call.operation === 'deleteAddress'
      ? { ok: false, failure: { message: 'down', retryable: false } }
      : world.external(call)
  while (!/is not deleted: down/.test(await world.said())) await world.runFor(1, planner, external)
  world.attach(id)
  await world.runFor(400, planner, external)
  expect([world.outside, await world.said()]).toEqual([[LOW], 'Ready: '])
})

test.each([true, false])(
  'a pool of which a creation was refused makes the same plan again, with a claim that has ended: %s',
  async (isEnded) => {
    const world = new World()
    await world.create(pool(), claim('c1'))
    const problems: string[] = []
    const planner = planTwice(world.start(), (problem) => problems.push(problem))
    const failure = { message: 'quota', retryable: true, reason: 'BackendExhausted', retryAfterSeconds: 600 } as const
    const external: ExternalCaller = async (call) =>
      call.operation === 'createAddress'
        ? { ok: false, failure: { ...failure, nothingDone: isEnded } }
        : world.external(call)
    await world.run({ planner: planner as never, external })
    expect((await world.claims()).c1).toMatch(/^Error /)
    if (isEnded) await world.remove(IPAddressClaim, 'c1')
    await world.runFor(100, planner as never, external)
    expect(problems).toEqual([])
  },
)

test('a cloud that asks for a pause gets no call that changes anything until the pause has ended', async () => {
  const world = new World()
  const annotations = { 'ipam-kit.dev/min-free': '2' }
  await world.create(pool({}, { annotations }), ...['c1', 'c2', 'c3'].map((name) => claim(name)))
  const failure = { message: 'too many requests', retryable: true, nothingDone: true, retryAfterSeconds: 60 } as const
  let endsMs = Number.POSITIVE_INFINITY
  const early: string[] = []
  await world.runFor(400, world.start(), async (call) => {
    if (!/^(create|mark|delete)Address$/.test(call.operation)) return world.external(call)
    if (endsMs === Number.POSITIVE_INFINITY) {
      endsMs = world.nowMs + 60_000
      return { ok: false, failure }
    }
    if (world.nowMs < endsMs) early.push(call.operation)
    return world.external(call)
  })
  expect(early).toEqual([])
  expect([world.outside.length, Object.values(await world.claims())]).toEqual([
    5,
    Array.from({ length: 3 }, () => expect.stringMatching(/^203/)),
  ])
})

describe('a creation that fails', () => {
  const failing = (world: World, failure: object, of: 'createAddress' = 'createAddress'): ExternalCaller => {
    return async (call) => {
      const answer = call.operation === of ? ({ ok: false, failure } as never) : await world.external(call)
      if (call.operation === of) world.sent.push({ operation: of, atMs: world.nowMs, input: call.input })
      return answer
    }
  }
  const creations = (world: World) => world.sent.filter(({ operation }) => operation === 'createAddress').length

  test.each([
    ['without a known outcome', { message: 'time-out', retryable: true }, 1, 20],
    ['without a known outcome, for 20 claims', { message: 'time-out', retryable: true }, 20, 400],
    [
      'with a pause, for 20 claims',
      { message: 'slow down', retryable: true, nothingDone: true, retryAfterSeconds: 60 },
      20,
      120,
    ],
  ])('is made again after longer and longer waits, or one at a time: %s', async (_, failure, count, most) => {
    const world = new World()
    await world.create(pool(), ...Array.from({ length: count }, (__, n) => claim(`c${n}`)))
    await world.runFor(3600, world.start(), failing(world, failure))
    expect(creations(world)).toBeGreaterThanOrEqual(10)
    expect(creations(world)).toBeLessThanOrEqual(most)
  })

  test('since the quota is used up, changes the condition of the pool once', async () => {
    const world = new World()
    await world.create(pool({}, { annotations: { 'ipam-kit.dev/min-free': '1' } }))
    const planner = world.start()
    const failure = { message: 'quota', retryable: true, nothingDone: true, reason: 'BackendExhausted' }
    await world.runFor(100, planner, failing(world, failure))
    const { resourceVersion } = (await world.pool())!.metadata
    const before = creations(world)
    await world.runFor(1800, planner, failing(world, failure))
    expect(creations(world)).toBeGreaterThan(before)
    expect((await world.pool())!.metadata.resourceVersion).toBe(resourceVersion)
  })

  test('since the quota is used up, changes the condition of each claim once, also below the limit of the pool', async () => {
    const { timers, store, cloud, pools, stop } = await running({ maxIPs: 1 }, { metadata: {}, createMs: 9000 })
    cloud.inject('createAddress', ...Array.from({ length: 100 }, () => 'quota' as const))
    for (const name of ['c1', 'c2']) await store.create(claim(name))
    await timers.pass(100_000)
    const versions = async () =>
      [...(await pools()), ...unwrap(await store.list(IPAddressClaim.info)).items].map(
        (it) => it.metadata.resourceVersion,
      )
    const [first, calls] = [await versions(), cloud.calls.get('createAddress') ?? 0]
    await timers.pass(1_800_000)
    expect(cloud.calls.get('createAddress')).toBeGreaterThan(calls)
    expect(await versions()).toEqual(first)
    await stop()
  })
})

test.each(['Delete', 'Retain'] as const)(
  'an address of an earlier id that is confirmed is released with the pool, under %s',
  async (reclaimPolicy) => {
    const world = new World()
    await world.served({ reclaimPolicy }, { ids: [OTHER] })
    world.marked({ [LOW]: `${OTHER}/spare` })
    await left(world, 'c1', LOW)
    await world.patch(blue, { metadata: { annotations: { 'ipam-kit.dev/earlier-uid': OTHER } } })
    const planner = world.start()
    await world.runFor(100, planner)
    expect(await world.claims()).toEqual({ c1: LOW })
    await world.remove(IPAddressClaim, 'c1')
    await world.remove(OpenStackFloatingIPPool, 'blue')
    await world.runFor(400, planner)
    expect(await world.pool()).toBeUndefined()
    expect(world.markers).toEqual(reclaimPolicy === 'Delete' ? {} : { [LOW]: expect.not.stringContaining(OTHER) })
  },
)
