import { Address } from 'ipam-kit/cidr'
import type { IPAddress } from 'ipam-kit/crd/cluster-api'
import { type InClusterPool, poolModels } from 'ipam-kit/crd/in-cluster'
import { fail } from 'ipam-kit/errors'
import { inCluster } from 'ipam-kit/provider/in-cluster'
import { Controller } from 'ipam-kit/run'
import { storeOver } from 'ipam-kit/testing'
import { beforeEach, describe, expect, test } from 'vitest'
import { newIPAddress } from '../../../src/provider/in-cluster/claim.js'
import { VirtualTimers } from '../../run/controller/virtual-timers.js'
import { Host } from './host.js'
import { addressRef, claim, claimRef, cluster, clusterRef, poolOf, World } from './world.js'

interface Dialect {
  readonly kind: InClusterPool['kind']
  readonly spec: object
  /** The first three that it gives. */
  readonly gives: readonly [string, string, string]
  readonly prefix: number
}

const DIALECTS: readonly Dialect[] = [
  {
    kind: 'InClusterIPPool',
    spec: { addresses: ['10.0.0.10-10.0.0.17'], prefix: 24 },
    gives: ['10.0.0.10', '10.0.0.11', '10.0.0.12'],
    prefix: 24,
  },
  {
    kind: 'GlobalInClusterIPPool',
    spec: { addresses: ['fd00::10-fd00::17'], prefix: 64 },
    gives: ['fd00::10', 'fd00::11', 'fd00::12'],
    prefix: 64,
  },
  {
    kind: 'InClusterPrefixPool',
    spec: { prefixes: ['fd00::/61'], allocationPrefixLength: 64 },
    gives: ['fd00::', 'fd00:0:0:1::', 'fd00:0:0:2::'],
    prefix: 64,
  },
  {
    kind: 'GlobalInClusterPrefixPool',
    spec: { prefixes: ['10.0.0.0/25'], allocationPrefixLength: 28 },
    gives: ['10.0.0.0', '10.0.0.16', '10.0.0.32'],
    prefix: 28,
  },
]

describe.each(DIALECTS)('two claims of $kind that have one address', ({ kind, spec, gives, prefix }) => {
  const [first, second] = gives
  let world: World
  let host: Host
  beforeEach(async () => {
    world = new World()
    host = new Host(world)
    await world.create(poolOf(kind, spec))
  })

  const make = (name: string, overrides: Parameters<typeof claim>[1] = {}) =>
    world.create(claim(name, { poolRef: { kind }, ...overrides }))

  /** The IPAddress that a former leader has sent for a claim, and that arrives now. */
  async function arrives(name: string, text: string, { owned = true } = {}): Promise<void> {
    const model = poolModels.find((candidate) => candidate.info.kind === kind)!
    const pool = (await world.store.list(model.info)) as { readonly value: { readonly items: readonly object[] } }
    const offer = { address: Address.parse(text), prefix }
    const object = newIPAddress(await world.claim(name), model.parse(pool.value.items[0]), offer)
    const { ownerReferences: _, ...metadata } = object.metadata
    await world.create(owned ? object : { ...object, metadata })
  }

  const condition = async (name: string, type: string) => {
    const {
      type: _,
      lastTransitionTime: _t,
      observedGeneration: _g,
      ...rest
    } = ((await world.claim(name)).status?.conditions?.find((one) => one.type === type) ?? {}) as {
      [field: string]: unknown
    }
    return rest
  }
  const events = (name: string) =>
    host.events
      .filter(({ about, type }) => about.name === name && type === 'Warning')
      .map(({ reason, message }) => `${reason}: ${message}`)
  const given = async () => {
    const addresses = await world.addresses()
    return Object.fromEntries(addresses.map(({ metadata, spec }) => [metadata.name, spec.address]))
  }
  const isBound = async (name: string) => (await world.claim(name)).status?.addressRef?.name === name

  test('one of them Bound: it keeps the address, and the other one gets another; both are told', async () => {
    await make('a')
    await host.run()
    await make('b')
    await arrives('b', first)
    await host.run()
    expect(await given()).toEqual({ a: first, b: second })
    expect([await isBound('a'), await isBound('b')]).toEqual([true, true])
    expect(events('a')).toEqual([`DuplicateAddress: ${first} is also that of default/b`])
    expect(events('b')).toEqual([
      `AllocationFailed: its address ${first} is also that of default/a, and the claim gets another one`,
    ])
    expect(await condition('a', 'AddressUnique')).toEqual({ status: 'True', reason: 'Unique', message: '' })
    expect(await condition('a', 'Ready')).toMatchObject({ status: 'True' })
    expect(await condition('b', 'AddressUnique')).toEqual({})
  })

  test.each(['a', 'z'])(
    'none of them Bound: the one whose address is older keeps it, also for the claim %s',
    async (older) => {
      const younger = 'm'
      for (const name of ['a', 'm', 'z']) if (name === older || name === younger) await make(name)
      await arrives(older, first)
      await arrives(younger, first)
      await host.run()
      expect(await given()).toEqual({ [older]: first, [younger]: second })
      expect([await isBound(older), await isBound(younger)]).toEqual([true, true])
      expect(events(younger)).toHaveLength(1)
    },
  )

  test('none of them Bound, of the same age: the older claim keeps it', async () => {
    await make('z')
    await make('a')
    const at = world.nowMs
    await arrives('a', first)
    world.nowMs = at
    await arrives('z', first)
    await host.run()
    expect(await given()).toEqual({ z: first, a: second })
  })

  test('of three one keeps it', async () => {
    for (const name of ['a', 'b', 'c']) await make(name)
    for (const name of ['b', 'c', 'a']) await arrives(name, first)
    await host.run()
    const all = await given()
    expect(all.b).toBe(first)
    expect(new Set(Object.values(all)).size).toBe(3)
    expect(await Promise.all(['a', 'b', 'c'].map(isBound))).toEqual([true, true, true])
  })

  test('the status is written before anything of the address is touched, so that a late write of it is refused', async () => {
    await make('a')
    await host.run()
    await make('b')
    await arrives('b', first)
    const stale = await world.claim('b')
    const writes: string[] = []
    const store = storeOver(world.store, {
      patch: (ref, patch, options) => {
        writes.push(`${ref.kind} ${ref.name} ${options?.subresource ?? ''}`.trim())
        return world.store.patch(ref, patch, options)
      },
      delete: async (ref, options) => {
        writes.push(`delete ${ref.name}`)
        // of a leader that stood still
        const { uid, resourceVersion } = stale.metadata
        const late = { status: { addressRef: { name: 'b' } } }
        const answer = await world.store.patch(claimRef('b'), late, { uid, resourceVersion, subresource: 'status' })
        expect(answer).toMatchObject({ ok: false, failure: { code: 'STORE_CONFLICT' } })
        return world.store.delete(ref, options)
      },
    })
    await host.run({ store })
    const ofB = writes.filter((write) => write.includes(' b'))
    expect(ofB.indexOf('IPAddressClaim b status')).toBeLessThan(ofB.indexOf('IPAddress b'))
    expect(ofB.indexOf('IPAddress b')).toBeLessThan(ofB.indexOf('delete b'))
    expect(await given()).toEqual({ a: first, b: second })
  })

  test('both of them Bound: both keep it and say so, until one of them is made again', async () => {
    await make('a')
    await host.run()
    await make('b')
    await arrives('b', first)
    const bind = { status: { addressRef: { name: 'b' } } }
    await world.store.patch(claimRef('b'), bind, { subresource: 'status' })
    await host.run()
    expect(await given()).toEqual({ a: first, b: first })
    expect([await isBound('a'), await isBound('b')]).toEqual([true, true])
    for (const [name, other] of [
      ['a', 'b'],
      ['b', 'a'],
    ] as const) {
      const message = `${first} is also that of default/${other}`
      expect(await condition(name, 'AddressUnique')).toEqual({ status: 'False', reason: 'DuplicateAddress', message })
      expect(await condition(name, 'Ready')).toMatchObject({ status: 'True' })
      expect(events(name)).toEqual([`DuplicateAddress: ${message}`])
    }
    // a second look says nothing twice
    const before = host.writes
    await host.run({ after: 60 })
    await new Host(world).run()
    expect([host.writes, host.events.filter(({ reason }) => reason === 'DuplicateAddress').length]).toEqual([before, 3])
    await world.delete('claim', 'b')
    await host.run()
    await make('b')
    await host.run()
    expect(await given()).toEqual({ a: first, b: second })
    for (const name of ['a', 'b']) expect((await condition(name, 'AddressUnique')).status ?? 'True').toBe('True')
  })

  test('N of them Bound: N Events, and one more for each condition whose other claim is deleted', async () => {
    const names = ['h', 'g', 'f', 'e', 'd', 'c', 'b', 'a']
    for (const name of names) {
      await make(name)
      await arrives(name, first)
      await world.store.patch(claimRef(name), { status: { addressRef: { name } } }, { subresource: 'status' })
      await host.run()
    }
    const toldOf = (name: string) => events(name).filter((text) => text.startsWith('DuplicateAddress'))
    const text = (other: string) => `DuplicateAddress: ${first} is also that of default/${other}`
    // each names the first by name at its time, and is told of once
    expect(names.map(toldOf)).toEqual(names.map((_, i) => [text(names[i === 0 ? 1 : i - 1]!)]))
    await world.delete('claim', 'g')
    await host.run()
    // these two named it
    for (const name of ['h', 'f']) expect(toldOf(name)).toEqual([text('g'), text('a')])
    for (const name of ['e', 'd', 'c', 'b', 'a']) expect(toldOf(name)).toHaveLength(1)
  })

  test('one of them restored, without owners: a new one gives way to it, and it is adopted', async () => {
    await make('restored')
    await make('new')
    await arrives('new', first)
    await arrives('restored', first, { owned: false })
    await host.run()
    expect(await given()).toEqual({ new: second, restored: first })
    expect([await isBound('new'), await isBound('restored')]).toEqual([true, true])
  })

  test('one of them Bound, and the other restored: that one waits, and both are told', async () => {
    await make('a')
    await host.run()
    await make('restored')
    await arrives('restored', first, { owned: false })
    await host.run()
    expect(await given()).toEqual({ a: first, restored: first })
    expect([await isBound('a'), await isBound('restored')]).toEqual([true, false])
    expect(await condition('restored', 'Ready')).toMatchObject({ status: 'False', reason: 'AllocationFailed' })
    expect(await condition('a', 'AddressUnique')).toMatchObject({ status: 'False', reason: 'DuplicateAddress' })
  })

  test.each(['paused', 'of a paused Cluster', 'of a Cluster that is gone', 'going', 'gone', 'unreadable'])(
    'the one that would give way is %s: the other one does not wait for it',
    async (what) => {
      const isOfCluster = what.includes('Cluster')
      if (isOfCluster) await world.create(cluster('c'))
      await make('a')
      await make('b', isOfCluster ? { clusterName: 'c' } : {})
      if (!isOfCluster) await world.patch(claimRef('b'), { metadata: { finalizers: ['example.com/hold'] } })
      await arrives('a', first)
      await arrives('b', first)
      if (what === 'paused')
        await world.patch(claimRef('b'), { metadata: { annotations: { 'cluster.x-k8s.io/paused': '' } } })
      if (what === 'of a paused Cluster') await world.patch(clusterRef('c'), { spec: { paused: true } })
      if (what === 'of a Cluster that is gone') await world.delete('cluster', 'c')
      if (what === 'going' || what === 'gone') await world.delete('claim', 'b')
      if (what === 'gone') await world.patch(claimRef('b'), { metadata: { finalizers: [] } })
      if (what === 'unreadable') await world.patch(addressRef('b'), { spec: { claimRef: { name: 7 } } })
      await host.run()
      expect(await isBound('a')).toBe(true)
      const all = await given().catch(() => ({}) as { [name: string]: string })
      if (what !== 'going' && what !== 'unreadable') expect(all).toEqual({ a: second, b: first })
    },
  )

  test('the one that keeps it is Bound as soon as the other one has given way', async () => {
    await make('a')
    await make('b')
    await arrives('a', first)
    await arrives('b', first)
    await host.run()
    expect(host.outcomeOf('a')).toMatchObject({ kind: 'bound', address: first })
    expect(await condition('a', 'Ready')).toMatchObject({ status: 'True' })
  })

  test('there is no room for the other one: it waits for that, and has no address', async () => {
    await make('a')
    await host.run()
    await make('b')
    await arrives('b', first)
    const patch = kind.includes('Prefix')
      ? { spec: { prefixes: [`${first}/${prefix}`] } }
      : { spec: { addresses: [first], allocateReservedIPAddresses: true } }
    const model = poolModels.find((candidate) => candidate.info.kind === kind)!.info
    const namespace = kind.startsWith('Global') ? {} : { namespace: 'default' }
    await world.patch({ apiVersion: model.apiVersion, kind, name: 'pool', ...namespace }, patch)
    await host.run()
    expect(await given()).toEqual({ a: first })
    expect(await condition('b', 'Ready')).toMatchObject({ status: 'False', reason: 'PoolExhausted' })
    expect(await isBound('b')).toBe(false)
  })
})

test('a claim that never shared its address says nothing of it', async () => {
  const world = new World()
  await world.create(poolOf('InClusterIPPool', { addresses: ['10.0.0.5'], prefix: 24 }), claim('a'))
  await new Host(world).run()
  const { conditions } = (await world.claim('a')).status ?? {}
  expect(conditions?.map(({ type }) => type)).toEqual(['Ready'])
})

/**
 * A pool, claims for it, and an IPAddress of each with the same address: as many writes of a former
 * leader that arrive late.
 */
async function manyWithOne(count: number, { isFirstBound }: { readonly isFirstBound: boolean }): Promise<World> {
  const world = new World()
  await world.create(poolOf('InClusterIPPool', { addresses: ['10.0.0.0-10.0.255.255'], prefix: 8 }))
  const names = Array.from({ length: count }, (_, nth) => `c${nth}`)
  await world.create(...names.slice(0, 1).map((name) => claim(name)))
  if (isFirstBound) await world.run()
  await world.create(...names.slice(1).map((name) => claim(name)))
  const text = isFirstBound ? (await world.address('c0')).spec.address : '10.0.0.7'
  const pool = await world.pool()
  for (const name of isFirstBound ? names.slice(1) : names) {
    await world.create(newIPAddress(await world.claim(name), pool, { address: Address.parse(text), prefix: 8 }))
  }
  return world
}

test.each([true, false])(
  'many claims with one address are planned a few times each, one of them Bound: %s',
  async (isFirstBound) => {
    for (const count of [20, 80]) {
      const world = await manyWithOne(count, { isFirstBound })
      const planner = inCluster()
      const { observe } = planner
      let woken = 0
      planner.observe = (change) => {
        const keys = observe.call(planner, change)
        woken += keys.length
        return keys
      }
      const { planned, failures } = await world.run(world.store, planner)
      expect(failures).toEqual([])
      expect(new Set(Object.values(await world.bindings())).size).toBe(count)
      // of each claim: that it gives way, that it has none, that it has another one. The claim that
      // keeps the address and the pool: as often as one leaves
      expect(planned / count).toBeLessThan(6)
      expect(woken / count).toBeLessThan(20)
      const { conditions = [] } = (await world.claim('c0')).status ?? {}
      const told = conditions.map(({ type, status }) => `${type} ${status}`)
      expect(told).toEqual(isFirstBound ? ['Ready True', 'AddressUnique True'] : ['Ready True'])
    }
  },
)

test('a claim gives way also where a claim of another provider is Bound under the name of the other IPAddress', async () => {
  const world = new World()
  await world.create(poolOf('InClusterIPPool', { addresses: ['10.0.0.5-10.0.0.9'], prefix: 24 }))
  await world.create(claim('foreign', { poolRef: { apiGroup: 'other.example.com', kind: 'OtherPool' } }))
  const ready = {
    type: 'Ready',
    status: 'True',
    reason: 'AddressAllocated',
    message: '',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  }
  const status = { addressRef: { name: 'foreign' }, conditions: [ready] }
  await world.store.patch(claimRef('foreign'), { status }, { subresource: 'status' })
  await world.create(claim('mine'))
  const offer = { address: Address.parse('10.0.0.5'), prefix: 24 }
  const object = newIPAddress(await world.claim('mine'), await world.pool(), offer)
  await world.create(object)
  const { ownerReferences: _, ...metadata } = object.metadata
  await world.create({
    ...object,
    metadata: { ...metadata, name: 'foreign' },
    spec: { ...object.spec, claimRef: { name: 'foreign' } },
  } as IPAddress)
  await new Host(world).run()
  expect(await world.bindings()).toEqual({ 'default/foreign': '10.0.0.5', 'default/mine': '10.0.0.6' })
  expect((await world.claim('mine')).status?.addressRef).toEqual({ name: 'mine' })
})

test('a claim waits for a limited time for the other one to say that it shares its address', async () => {
  const world = await manyWithOne(2, { isFirstBound: true })
  const timers = new VirtualTimers()
  const store = storeOver(world.store, {
    patch: async (ref, patch, options) =>
      ref.name === 'c0' && options?.subresource === 'status'
        ? fail('STORE_IO', { operation: 'patch', problem: '403: no' })
        : world.store.patch(ref, patch, options),
  })
  const controller = new Controller({ store, planners: [inCluster()], timers, onProblem: () => {} })
  const running = controller.run()
  const [first] = Object.values(await world.bindings())
  const given = async () => (await world.bindings())['default/c1']
  await timers.pass(20_000)
  expect(await given()).toBe(first)
  await timers.pass(120_000)
  expect(await given()).not.toBe(first)
  expect((await world.claim('c1')).status?.addressRef).toEqual({ name: 'c1' })
  controller.stop()
  await timers.pass(60_000)
  await running
})
