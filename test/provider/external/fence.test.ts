import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { OpenStackFloatingIPPool } from 'ipam-kit/crd/openstack'
import type { ExternalCaller } from 'ipam-kit/run'
import { describe, expect, test } from 'vitest'
import { blue, claim, NAMESPACE, pool, World } from './world.js'

// callSeconds is 10 and listLagSeconds 5
const FENCE_MS = 15_000
const [LOW, HIGH] = ['203.0.113.50', '203.0.113.60'] as const

const sentOf = (world: World, operation: string) => world.sent.filter((call) => call.operation === operation)
const isChange = ({ operation }: World['sent'][number]) => /^(create|mark|delete)Address$/.test(operation)

/** What a start has called: the first change comes after a list that was requested after the fence. */
function expectFenced(world: World, startMs: number): void {
  const at = world.sent.findIndex((call) => isChange(call) && call.atMs >= startMs)
  expect(at).toBeGreaterThan(0)
  const lists = world.sent.slice(0, at).filter(({ operation }) => operation === 'listAddresses')
  expect(lists.at(-1)?.atMs).toBeGreaterThanOrEqual(startMs + FENCE_MS)
}

describe('before a list that shows all calls of the process before', () => {
  test.each<[string, { readonly [name: string]: string }, (world: World, uid: string) => unknown]>([
    ['nothing is created', {}, (world) => world.create(claim('c1'))],
    ['no spare address is deleted', {}, (world, uid) => world.marked({ [LOW]: `${uid}/spare` })],
    ['no deletion is finished', {}, (world, uid) => world.marked({ [LOW]: `${uid}/deleting` })],
    ['nothing is created in advance', { 'ipam-kit.dev/min-free': '1' }, () => {}],
  ])('%s', async (_, annotations, prepare) => {
    const world = new World()
    const uid = await world.served({}, { annotations })
    await prepare(world, uid)
    const startMs = world.nowMs
    const planner = world.start()
    await world.runFor(29, planner)
    expect(world.sent.filter(isChange)).toEqual([])
    await world.runFor(60, planner)
    expectFenced(world, startMs)
  })

  test('no spare address is given, and the claim says what it waits for', async () => {
    const world = new World()
    const uid = await world.served()
    world.marked({ [LOW]: `${uid}/spare` })
    await world.create(claim('c1'))
    const planner = world.start()
    await world.runFor(29, planner)
    expect(await world.saidBy('c1')).toBe(
      'PoolNotReady: waiting for a list that shows all calls of the process before this one',
    )
    await world.runFor(10, planner)
    expect(await world.claims()).toEqual({ c1: LOW })
  })

  test('a pool that is being deleted gives nothing back, and stays', async () => {
    const world = new World()
    const uid = await world.served()
    world.marked({ [LOW]: `${uid}/spare` })
    const planner = world.start()
    // the finalizer of the pool comes first
    await world.run({ planner })
    const startMs = world.nowMs
    await world.remove(OpenStackFloatingIPPool, 'blue')
    await world.runFor(14, world.start())
    expect(world.sent.filter(isChange)).toEqual([])
    expect(await world.pool()).toBeDefined()
    await world.runFor(100, planner)
    expectFenced(world, startMs)
    expect([await world.pool(), world.outside]).toEqual([undefined, []])
  })

  test('a preallocated address is given at once', async () => {
    const world = new World()
    await world.served({ preAllocatedFloatingIPs: [LOW] })
    world.marked({ [LOW]: '' })
    await world.create(claim('c1'))
    await world.run()
    expect(await world.claims()).toEqual({ c1: LOW })
  })
})

test('a pool that no process has served before does not wait', async () => {
  const world = new World()
  await world.create(pool(), claim('c1'))
  await world.run()
  expect(await world.claims()).toEqual({ c1: world.outside[0] })
})

test('a new term of the same process waits as well', async () => {
  const world = new World()
  await world.create(pool(), claim('c1'))
  const planner = world.start()
  await world.run({ planner })
  await world.create(claim('c2'))
  const startMs = world.nowMs
  // another planner beside it: the planners are reset
  const next = world.start()
  await world.runFor(29, next)
  expect((await world.claims()).c2).toBe('Pending PoolNotReady')
  await world.runFor(60, next)
  expect((await world.claims()).c2).toMatch(/^203\./)
  expect(sentOf(world, 'createAddress').at(-1)?.atMs).toBeGreaterThanOrEqual(startMs + FENCE_MS)
})

test('a creation of the process before, that a late list shows, is given and not repeated', async () => {
  const world = new World()
  await world.create(pool({ maxIPs: 1 }), claim('c1'))
  // the process ends before it has the answer, and the effect comes as late as it may
  world.cloud.inject('createAddress', { kind: 'late', seconds: 10 })
  await world.run()
  await world.runFor(100)
  expect(world.cloud.created).toHaveLength(1)
  expect(await world.claims()).toEqual({ c1: world.outside[0] })
})

describe('a list says nothing about an address', () => {
  test.each([0, 5000])('after a release, until one that was requested the lag later: %i ms', async (listLagMs) => {
    const world = new World()
    const planner = world.start()
    await world.create(pool({ reclaimPolicy: 'Retain', maxIPs: 1 }), claim('c1'))
    await world.run({ planner })
    world.cloud.listLagMs = listLagMs
    await world.runFor(28, planner)
    const releasedMs = world.nowMs
    await world.remove(IPAddressClaim, 'c1')
    await world.create(claim('c2'))
    let boundMs = 0
    for (let seconds = 0; seconds < 90 && boundMs === 0; seconds++) {
      await world.runFor(1, planner)
      if ((await world.claims()).c2?.startsWith('203.') === true) boundMs = world.nowMs
    }
    const lists = sentOf(world, 'listAddresses').filter(({ atMs }) => atMs <= boundMs)
    expect(lists.at(-1)?.atMs).toBeGreaterThan(releasedMs + 5000)
    expect(boundMs - releasedMs).toBeLessThanOrEqual(40_000)
  })

  test('that it lacks, when a later call has created it', async () => {
    const world = new World()
    const planner = world.start()
    await world.create(pool({ maxIPs: 1 }))
    await world.run({ planner })
    world.cloud.listLagMs = 5000
    world.nowMs += 29_000
    await world.create(claim('c1'))
    await world.run({ planner })
    const { c1 } = await world.claims()
    // this list is newer than the creation, and its content older
    world.nowMs += 2000
    await world.run({ planner })
    await world.runFor(4, planner)
    expect([await world.claims(), await world.saidBy('c1')]).toEqual([{ c1 }, 'AddressAllocated: '])
    expect(await world.said()).toBe('Ready: ')
  })

  test('that it shows, when a later call has deleted it', async () => {
    const world = new World()
    const uid = await world.served()
    world.marked({ [LOW]: `${uid}/deleting`, [HIGH]: `${uid}/spare` })
    const planner = world.start()
    await world.runFor(62, planner)
    expect(world.outside).toEqual([])
    await world.create(claim('c1'))
    await world.run({ planner })
    expect(await world.claims()).toEqual({ c1: expect.stringMatching(/^203\.0\.113\.\d$/) })
  })
})

describe('a deletion is two calls', () => {
  test('each with the marker and the revision that the list has shown', async () => {
    const world = new World()
    const uid = await world.served()
    const [id] = world.marked({ [LOW]: `${uid}/spare` })
    await world.runFor(60)
    expect(world.sent.filter(isChange).map(({ operation, input }) => ({ operation, ...(input as object) }))).toEqual([
      expect.objectContaining({
        operation: 'markAddress',
        seen: { id, marker: `${uid}/spare`, revision: '1' },
        marker: `${uid}/deleting`,
      }),
      expect.objectContaining({
        operation: 'deleteAddress',
        seen: { id, marker: `${uid}/deleting`, revision: '2' },
        address: LOW,
      }),
    ])
  })

  test.each(['markAddress', 'deleteAddress'])(
    'an address that was attached before %s arrives is not deleted',
    async (operation) => {
      const world = new World()
      const uid = await world.served()
      const [id = ''] = world.marked({ [LOW]: `${uid}/spare` })
      let isAttached = false
      const external: ExternalCaller = (call) => {
        if (call.operation === operation && !isAttached) {
          world.attach(id)
          isAttached = true
        }
        return world.external(call)
      }
      await world.runFor(400, world.start(), external)
      expect([isAttached, world.outside]).toEqual([true, [LOW]])
    },
  )

  test('also when a claim of the name of the last one has another address', async () => {
    const world = new World()
    await world.create(pool(), claim('c1'))
    const planner = world.start()
    await world.run({ planner })
    const { c1: first } = await world.claims()
    await world.remove(IPAddressClaim, 'c1')
    await world.run({ planner })
    await world.create(claim('c1'))
    await world.run({ planner })
    const { c1: second } = await world.claims()
    expect(second).not.toBe(first)
    await world.runFor(60, planner)
    expect(world.outside).toEqual([second])
  })

  test('no answer to one of them leaves it to the next list', async () => {
    for (const operation of ['markAddress', 'deleteAddress'] as const) {
      for (const trouble of ['lostAnswer', 'down', { kind: 'late', seconds: 10 }] as const) {
        const world = new World()
        const uid = await world.served()
        world.marked({ [LOW]: `${uid}/spare` })
        world.cloud.inject(operation, trouble)
        await world.runFor(200)
        expect(world.outside).toEqual([])
      }
    }
  })

  test('an address whose mark is refused, as another leader has changed it, is given after the next list', async () => {
    const world = new World()
    const uid = await world.served({ maxIPs: 1 })
    const [id = ''] = world.marked({ [LOW]: `${uid}/spare` })
    const planner = world.start()
    // another leader marks it before
    let isMarked = false
    await world.runFor(31, planner, async (call) => {
      if (call.operation === 'markAddress' && !isMarked) {
        isMarked = true
        world.cloud.byHand.describe(id, `ipam-kit ${uid}/deleting`)
      }
      return world.external(call)
    })
    expect(isMarked).toBe(true)
    await world.create(claim('c1'))
    await world.run({ planner })
    expect((await world.claims()).c1).not.toBe(LOW)
    world.cloud.byHand.delete(id)
    await world.runFor(100, planner)
    expect((await world.claims()).c1).toMatch(/^203/)
  })

  test('one that a suspended leader sends late deletes nothing that was named and given since', async () => {
    const world = new World()
    const uid = await world.served()
    const [id = ''] = world.marked({ [LOW]: `${uid}/deleting` })
    const seen = { id, marker: `${uid}/deleting`, revision: String(world.cloud.floatingIPs[0]?.revision ?? '') }
    await world.patch(blue, { spec: { preAllocatedFloatingIPs: [LOW], maxIPs: 1 } })
    await world.create(claim('c1'))
    await world.runFor(100)
    expect(await world.claims()).toEqual({ c1: LOW })
    const input = { pool: { namespace: NAMESPACE, name: 'blue' }, access: null, seen, address: LOW }
    const answer = await world.cloud.deleteAddress(input)
    expect([answer.ok, world.outside]).toEqual([false, [LOW]])
  })

  test('one that a suspended leader sends late deletes nothing that the next one has given', async () => {
    const world = new World()
    const uid = await world.served()
    world.marked({ [LOW]: `${uid}/spare` })
    // the first leader is suspended before its first call
    const late: (() => Promise<unknown>)[] = []
    const suspended: ExternalCaller = async (call) => {
      if (!isChange({ operation: call.operation } as never)) return world.external(call)
      late.push(() => world.external(call))
      return { ok: false, failure: { message: 'suspended', retryable: true } }
    }
    await world.runFor(31, world.start(), suspended)
    expect(late).toHaveLength(1)
    const second = world.start()
    await world.create(claim('c1'))
    await world.runFor(31, second)
    expect(await world.claims()).toEqual({ c1: LOW })
    await late[0]?.()
    expect(world.markers).toEqual({ [LOW]: `${uid}/deleting` })
    await world.runFor(400, second)
    expect([await world.claims(), world.outside, await world.said()]).toEqual([{ c1: LOW }, [LOW], 'Ready: '])
    // and it is deleted when the claim has released it
    await world.remove(IPAddressClaim, 'c1')
    await world.runFor(100, second)
    expect([await world.list(IPAddress), world.outside]).toEqual([[], []])
  })
})
