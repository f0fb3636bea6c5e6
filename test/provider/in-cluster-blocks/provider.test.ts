import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { GlobalInClusterIPPool, InClusterIPPool } from 'ipam-kit/crd/in-cluster'
import { IPPool, poolSpace } from 'ipam-kit/crd/ipam-kit'
import { unwrap } from 'ipam-kit/errors'
import type { Plan } from 'ipam-kit/plan'
import { inClusterBlocks, ipPoolOf } from 'ipam-kit/provider/in-cluster-blocks'
import { Controller, runPlan, taskCaller } from 'ipam-kit/run'
import { beforeEach, describe, expect, test } from 'vitest'
import type { InClusterBlocks } from '../../../src/provider/in-cluster-blocks/provider.js'
import { VirtualTimers } from '../../run/controller/virtual-timers.js'
import { addressRef, claim, claimRef, pool, poolOf, poolRef, World } from '../in-cluster/world.js'
import { passResult } from '../pass-result.js'
import { BlocksWorld, outcomeOf } from './world.js'

let world: BlocksWorld
beforeEach(() => {
  world = new BlocksWorld()
})

/** What a claim has, or why it has nothing. */
async function state(name: string): Promise<string> {
  const { metadata, status } = await world.claim(name)
  const found = await world.store.get(addressRef(metadata.name))
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')
  if (!found.ok || status?.addressRef === undefined) return `${ready?.reason}: ${ready?.message}`
  const { address, prefix, gateway } = IPAddress.parse(found.value).spec
  return [`${address}/${prefix}`, ...(gateway === undefined ? [] : [gateway])].join(' via ')
}

/** An IPAddress as a provider has made it that knows no blocks. */
async function leave(
  name: string,
  address: string,
  {
    uid,
    kind: poolKind = 'InClusterIPPool',
    prefix = 24,
  }: { readonly uid?: string | undefined; readonly kind?: string; readonly prefix?: number } = {},
) {
  const { apiVersion, kind } = IPAddress.info
  const owner = { apiVersion: IPAddressClaim.info.apiVersion, kind: 'IPAddressClaim', name, controller: true }
  await world.create({
    apiVersion,
    kind,
    metadata: {
      name,
      namespace: 'default',
      finalizers: ['ipam.cluster.x-k8s.io/ProtectAddress'],
      ...(uid === undefined ? {} : { ownerReferences: [{ ...owner, uid }] }),
    },
    spec: {
      claimRef: { name },
      poolRef: { apiGroup: 'ipam.cluster.x-k8s.io', kind: poolKind, name: 'pool' },
      address,
      prefix,
    },
  })
}

describe('pools on blocks', () => {
  test('give addresses with their prefix and gateway, count them, and get them back', async () => {
    await world.create(pool(['10.0.0.0/30'], { gateway: '10.0.0.1' }), claim('a'), claim('b'))
    await world.runOnBlocks()
    expect(await state('a')).toBe('10.0.0.2/24 via 10.0.0.1')
    // the network of the pool is the /24: its last address is not in these four
    expect(await state('b')).toBe('10.0.0.3/24 via 10.0.0.1')
    expect((await world.pool()).status?.ipAddresses).toEqual({ total: 2, free: 0, used: 2, outOfRange: 0 })
    expect(await world.rows()).toEqual([
      'inclusterippools.default.pool-4-0a000000-24 2 default/a',
      'inclusterippools.default.pool-4-0a000000-24 3 default/b',
    ])
    await world.create(claim('c'))
    await world.runOnBlocks()
    expect(await state('c')).toBe('PoolExhausted: no IPv4 available in InClusterIPPool default/pool')
    await world.delete('claim', 'a')
    await world.runOnBlocks()
    expect(await state('c')).toBe('10.0.0.2/24 via 10.0.0.1')
    expect((await world.address('c')).metadata.annotations).toBeUndefined()
  })

  test('that have the same addresses both give them', async () => {
    await world.create(pool(['10.0.0.5']), pool(['10.0.0.5'], {}, 'other'))
    await world.create(claim('a'), claim('b', { poolRef: { name: 'other' } }))
    await world.runOnBlocks()
    expect([await state('a'), await state('b')]).toEqual(['10.0.0.5/24', '10.0.0.5/24'])
  })

  test('of which nothing can be given say so', async () => {
    await world.create(pool(['10.0.0.4/31'], { prefix: 31 }), pool(['nonsense'], {}, 'bad'))
    await world.create(claim('a'), claim('b', { poolRef: { name: 'bad' } }))
    await world.runOnBlocks()
    expect(await state('a')).toBe('PoolExhausted: no IPv4 available in InClusterIPPool default/pool')
    expect(await state('b')).toMatch(/^PoolNotReady: InClusterIPPool default\/bad is invalid: spec\.addresses/)
  })

  test('keep an address for the grace period of the pool', async () => {
    await world.create(pool(['10.0.0.5'], { addressReuseGracePeriodSeconds: 60 }), claim('a'))
    await world.runOnBlocks()
    await world.delete('claim', 'a')
    await world.create(claim('b'))
    await world.runOnBlocks()
    expect(await world.rows()).toHaveLength(1)
    expect(await state('b')).toMatch(/^PoolExhausted/)
    world.nowMs += 61_000
    await world.runOnBlocks()
    // as long as the claim waits after a refusal
    world.nowMs += 5_000
    await world.runOnBlocks()
    expect(await state('b')).toBe('10.0.0.5/24')
  })

  test('have their blocks under their names, or their uid where that is too long for one', async () => {
    const long = 'x'.repeat(200)
    await world.create(pool(['10.0.0.5'], {}, long), claim('a', { poolRef: { name: long } }))
    await world.runOnBlocks()
    const { uid } = (await world.pool(long)).metadata
    expect(await state('a')).toBe('10.0.0.5/24')
    expect(await world.rows()).toEqual([`uid-${uid}.inclusterippools-4-0a000000-24 5 default/a`])
  })

  test('have no block in common with a pool that has the uid of the other one as its name', async () => {
    const long = 'x'.repeat(200)
    const kind = 'GlobalInClusterIPPool'
    await world.create(poolOf(kind, { addresses: ['10.0.0.5'], prefix: 24 }, long))
    const { uid } = (await world.get({ ...GlobalInClusterIPPool.info, name: long })).metadata
    await world.create(poolOf(kind, { addresses: ['10.6.6.6'], prefix: 24 }, `uid-${uid}`))
    await world.create(claim('a', { poolRef: { kind, name: long } }))
    await world.create(claim('b', { poolRef: { kind, name: `uid-${uid}` } }))
    await world.runOnBlocks()
    expect([await state('a'), await state('b')]).toEqual(['10.0.0.5/24', '10.6.6.6/24'])
  })
})

describe('IPAddress objects that are there already', () => {
  test('keep their addresses, also before their claims have rows for them', async () => {
    await world.create(pool(['10.0.0.2-10.0.0.5']), claim('old'))
    const { uid } = (await world.claim('old')).metadata
    await leave('old', '10.0.0.2', { uid })
    await leave('orphan', '10.0.0.3')
    await world.create(claim('new'), { ...claim('paused', { annotations: { 'cluster.x-k8s.io/paused': '' } }) })
    await leave('paused', '10.0.0.4', { uid: (await world.claim('paused')).metadata.uid })
    await world.runOnBlocks()
    expect(await state('old')).toBe('10.0.0.2/24')
    expect(await state('new')).toBe('10.0.0.5/24')
    expect((await world.rows()).map((row) => row.split(' ')[2])).toEqual(['default/old', 'default/new'])
    await world.create(claim('late'))
    await world.runOnBlocks()
    expect(await state('late')).toMatch(/^PoolExhausted/)
  })

  test('stay where the pool gives their addresses no more, or where they are none', async () => {
    await world.create(pool(['10.0.0.2-10.0.0.5']), claim('out'), claim('odd'))
    await leave('out', '10.9.9.9', { uid: (await world.claim('out')).metadata.uid })
    await leave('odd', 'nonsense', { uid: (await world.claim('odd')).metadata.uid })
    await world.runOnBlocks()
    expect([await state('out'), await state('odd')]).toEqual(['10.9.9.9/24', 'nonsense/24'])
    const row = 'inclusterippools.default.pool-4-0a090900-24 9 default/out'
    expect(await world.rows()).toEqual([row])
    // and when it gives them again
    await world.patch(poolRef(), { spec: { addresses: ['10.9.9.9-10.9.9.10'] } })
    await world.create(claim('new'))
    await world.runOnBlocks()
    expect([await state('out'), await state('new')]).toEqual(['10.9.9.9/24', '10.9.9.10/24'])
    expect(await world.rows()).toEqual([row, expect.stringMatching(/ 10 default\/new$/)])
    // and when its claim goes
    await world.delete('claim', 'out')
    await world.runOnBlocks()
    expect(await world.rows()).toHaveLength(1)
  })

  test.each([
    ['of which nothing is given any more', { excludedAddresses: ['10.0.0.0/24'] }, 1],
    ['of another family', { addresses: ['fd00::1-fd00::9'], prefix: 64 }, 0],
  ])('stay in a pool %s', async (_, spec, rows) => {
    await world.create(pool(['10.0.0.2-10.0.0.5'], spec), claim('a'))
    await leave('a', '10.0.0.3', { uid: (await world.claim('a')).metadata.uid })
    await world.runOnBlocks()
    expect(await state('a')).toBe('10.0.0.3/24')
    expect(await world.rows()).toHaveLength(rows)
    await world.patch(poolRef(), { spec: { addresses: ['10.0.0.2-10.0.0.5'], excludedAddresses: [], prefix: 24 } })
    await world.runOnBlocks()
    expect(await world.rows()).toEqual([expect.stringMatching(/ 3 default\/a$/)])
  })

  test('stay without a row where a block of another grid is in the way', async () => {
    const kind = 'GlobalInClusterPrefixPool'
    const of = { poolRef: { kind } }
    await world.create(poolOf(kind, { prefixes: ['10.0.0.0/16'], allocationPrefixLength: 28 }), claim('a', of))
    await world.runOnBlocks()
    const { apiVersion } = poolRef()
    await world.patch(
      { apiVersion, kind, name: 'pool' },
      { spec: { prefixes: ['10.64.0.0/16'], allocationPrefixLength: 26 } },
    )
    await world.create(claim('b', of))
    await leave('b', '10.0.0.64', { uid: (await world.claim('b')).metadata.uid, kind, prefix: 28 })
    await world.runOnBlocks()
    expect(await state('b')).toBe('10.0.0.64/28')
    expect(await world.rows()).toEqual([expect.stringMatching(/default\/a$/)])
  })

  test('of which two have one address: the claim with the row keeps it, and the other one gets another', async () => {
    await world.create(pool(['10.0.0.2-10.0.0.5']), claim('a'), claim('b'))
    for (const name of ['a', 'b']) await leave(name, '10.0.0.2', { uid: (await world.claim(name)).metadata.uid })
    await world.runOnBlocks()
    const states = await Promise.all(['a', 'b'].map(state))
    expect(states.sort()).toEqual(['10.0.0.2/24', '10.0.0.3/24'])
    await world.create(claim('c'))
    await world.runOnBlocks()
    expect(await state('c')).toBe('10.0.0.4/24')
  })

  test('that a client removes: the claim gets the same address again', async () => {
    await world.create(pool(['10.0.0.2-10.0.0.5']), claim('a'), claim('b'))
    await world.runOnBlocks()
    await world.patch(addressRef('b'), { metadata: { finalizers: [] } })
    await world.delete('address', 'b')
    await world.delete('claim', 'a')
    await world.runOnBlocks()
    expect(await state('b')).toBe('10.0.0.3/24')
  })
})

describe('what claims want', () => {
  const options = { requestedAddress: {}, preallocations: {} }
  const wants = (address: string) => ({ annotations: { 'ipam-kit.dev/address': address } })

  test('they get, or nothing', async () => {
    world.restart(options)
    await world.create(pool(['10.0.0.2-10.0.0.9']), claim('a', wants('10.0.0.7')), claim('b'))
    await world.runOnBlocks()
    await world.create(claim('c', wants('10.0.0.7')), claim('d', wants('10.0.1.7')), claim('e', wants('x')))
    await world.runOnBlocks()
    expect([await state('a'), await state('b')]).toEqual(['10.0.0.7/24', '10.0.0.2/24'])
    expect(await state('c')).toBe(
      'AllocationFailed: the requested 10.0.0.7 of InClusterIPPool default/pool is in use by default/a',
    )
    expect(await state('d')).toMatch(/^AllocationFailed: the requested 10\.0\.1\.7 is not one that/)
    expect(await state('e')).toMatch(/^AllocationFailed: the requested "x" is not what/)
  })

  test('is kept for them where the pool says so', async () => {
    world.restart(options)
    const kept = JSON.stringify({ a: '10.0.0.2' })
    const made = pool(['10.0.0.2-10.0.0.3'])
    await world.create(
      { ...made, metadata: { ...made.metadata, annotations: { 'ipam-kit.dev/preallocations': kept } } },
      claim('b'),
      claim('c'),
    )
    await world.runOnBlocks()
    await world.create(claim('a'))
    await world.runOnBlocks()
    expect([await state('a'), await state('b')]).toEqual(['10.0.0.2/24', '10.0.0.3/24'])
    expect(await state('c')).toMatch(/^PoolExhausted/)
  })

  test('is kept for them by an annotation that comes later, and they get that and not the lowest', async () => {
    world.restart(options)
    await world.create(pool(['10.0.0.2-10.0.0.9']))
    await world.runOnBlocks()
    const kept = JSON.stringify({ a: '10.0.0.5', c: '10.0.0.2' })
    await world.patch(poolRef(), { metadata: { annotations: { 'ipam-kit.dev/preallocations': kept } } })
    await world.create(claim('a'), claim('b'))
    await world.runOnBlocks()
    expect([await state('a'), await state('b')]).toEqual(['10.0.0.5/24', '10.0.0.3/24'])
  })

  test('is kept for no claim any more when the annotation is removed, and a waiting claim gets it at once', async () => {
    const timers = new VirtualTimers(world.nowMs)
    const provider = inClusterBlocks(options)
    const controller = new Controller({
      store: world.store,
      planners: [provider],
      timers,
      external: taskCaller({ store: world.store, now: () => timers.now(), tasks: provider.tasks }),
      onProblem: (problem) => {
        throw problem
      },
    })
    const made = pool(['10.0.0.2'])
    const annotations = { 'ipam-kit.dev/preallocations': JSON.stringify({ a: '10.0.0.2' }) }
    await world.create({ ...made, metadata: { ...made.metadata, annotations } }, claim('b'))
    const running = controller.run()
    await timers.pass(600_000)
    expect(await state('b')).toMatch(/^PoolExhausted/)
    await world.patch(poolRef(), { metadata: { annotations: null } })
    await timers.pass(0)
    expect(await state('b')).toBe('10.0.0.2/24')
    controller.stop()
    await running
  })

  test.each([
    [{ sweepAfterSeconds: 0 }, /sweepAfterSeconds/],
    [{ poolConditions: 'yes' }, /poolConditions/],
  ])('options that mean nothing are refused: %j', (wrong, message) => {
    expect(() => inClusterBlocks(wrong as object)).toThrow(message)
  })
})

test('prefixes of both families', async () => {
  await world.create(
    poolOf('InClusterPrefixPool', { prefixes: ['fd00::/62'], excludedPrefixes: ['fd00:0:0:1::5'] }, 'six'),
    poolOf('GlobalInClusterPrefixPool', { prefixes: ['10.0.0.0/26'], allocationPrefixLength: 28, gateway: '10.9.9.9' }),
  )
  const six = { poolRef: { kind: 'InClusterPrefixPool', name: 'six' } }
  const four = { poolRef: { kind: 'GlobalInClusterPrefixPool' } }
  await world.create(claim('a', six), claim('b', six), claim('c', four), claim('d', four))
  await world.runOnBlocks()
  expect(await Promise.all(['a', 'b', 'c', 'd'].map(state))).toEqual([
    'fd00::/64',
    'fd00:0:0:2::/64',
    '10.0.0.0/28 via 10.9.9.9',
    '10.0.0.16/28 via 10.9.9.9',
  ])
})

test('three processes serve 60 claims of one pool at once, and none of them leads', async () => {
  const timers = new VirtualTimers(world.nowMs)
  const problems: unknown[] = []
  await world.create(pool(['10.0.0.0/26'], { prefix: 26 }))
  const controllers = [1, 2, 3].map(() => {
    const provider = inClusterBlocks()
    return new Controller({
      store: world.store,
      planners: [provider],
      timers,
      external: taskCaller({ store: world.store, now: () => timers.now(), tasks: provider.tasks }),
      onProblem: (problem) => void problems.push(problem),
    })
  })
  const running = controllers.map((controller) => controller.run())
  for (let n = 0; n < 60; n++) unwrap(await world.store.create(claim(`c${n}`)))
  await timers.pass(120_000)
  const claims = await world.claims()
  expect(claims.filter(({ status }) => status?.addressRef !== undefined)).toHaveLength(60)
  const all = Object.values(await world.bindings())
  expect([all.length, new Set(all).size, new Set(await world.rows()).size]).toEqual([60, 60, 60])
  for (const name of claims.map(({ metadata }) => metadata.name)) await world.delete('claim', name)
  await timers.pass(600_000)
  expect([await world.claims(), await world.addresses(), await world.rows()]).toEqual([[], [], []])
  for (const controller of controllers) controller.stop()
  await Promise.all(running)
  expect(problems).toEqual([])
})

describe('a claim that is deleted', () => {
  /** A process that has seen all, but these kinds. */
  async function processWithout(kinds: readonly string[]): Promise<InClusterBlocks> {
    const provider = inClusterBlocks()
    for (const { apiVersion, kind } of provider.watches) {
      if (kinds.includes(kind)) continue
      const { items } = unwrap(await world.store.list({ apiVersion, kind }))
      for (const object of items) provider.observe({ kind: 'present', object })
    }
    return provider
  }

  /** Carries out what a process plans for the claim `a`. */
  function runOnce(provider: InClusterBlocks, meanwhile: () => Promise<unknown> = async () => {}) {
    const call = taskCaller({ store: world.store, now: () => world.nowMs, tasks: provider.tasks })
    return runPlan(provider.plan('IPAddressClaim default/a', { nowMs: world.nowMs }) as Plan, world.store, {
      external: async (asked) => {
        await meanwhile()
        return call(asked)
      },
      onChange: (change) => provider.observe(change),
      onCallResult: (asked, answer) => passResult(provider, { call: asked, answer, atMs: world.nowMs }),
    })
  }

  beforeEach(async () => {
    await world.create(pool(['10.0.0.2']), claim('a'))
    await world.runOnBlocks()
  })

  test('stays while its IPAddress is there, also where a process has seen neither that nor its row', async () => {
    unwrap(await world.store.delete(claimRef('a')))
    const provider = await processWithout(['IPAddress', 'IPBlock'])
    expect(await runOnce(provider)).toMatchObject({ kind: 'conflict' })
    expect(await world.bindings()).toEqual({ 'default/a': '10.0.0.2' })
    await world.runOnBlocks()
    expect([await world.claims(), await world.bindings(), await world.rows()]).toEqual([[], {}, []])
  })

  test('stays for its IPAddress that comes while its row is given back', async () => {
    const { metadata, ...rest } = unwrap(await world.store.get(addressRef('a')))
    await world.patch(addressRef('a'), { metadata: { finalizers: [] } })
    await world.delete('address', 'a')
    unwrap(await world.store.delete(claimRef('a')))
    const { name, namespace, finalizers, ownerReferences } = metadata
    const late = { ...rest, metadata: { name, namespace, finalizers, ownerReferences } }
    const provider = await processWithout([])
    expect(await runOnce(provider, () => world.create(late))).toMatchObject({ kind: 'done' })
    expect(await runOnce(provider)).toMatchObject({ kind: 'conflict' })
    await world.runOnBlocks()
    expect([await world.claims(), await world.bindings(), await world.rows()]).toEqual([[], {}, []])
  })
})

describe('an IPAddress that arrives after its address was given to another claim', () => {
  test('takes nothing from that claim, and is removed after a time', async () => {
    await world.create(pool(['10.0.0.2-10.0.0.3']), claim('b'))
    await world.runOnBlocks()
    await leave('a', '10.0.0.2', { uid: 'gone' })
    await world.runOnBlocks()
    expect(await state('b')).toBe('10.0.0.2/24')
    const provider = inClusterBlocks({ sweepAfterSeconds: 60 })
    for (const ref of [poolRef(), addressRef('a')]) provider.observe({ kind: 'present', object: await world.get(ref) })
    const outcomeAt = (nowMs: number) => provider.plan('IPAddressClaim default/a', { nowMs })?.outcome.kind
    expect([outcomeAt(0), outcomeAt(60_000)]).toEqual(['orphaned', 'swept'])
  })

  test('is not given to a new claim of its name, which gets another one when the garbage collector deletes it', async () => {
    await world.create(pool(['10.0.0.2-10.0.0.3']), claim('b'))
    await world.runOnBlocks()
    await leave('a', '10.0.0.2', { uid: 'gone' })
    await world.create(claim('a'))
    await world.runOnBlocks()
    expect(await state('a')).toMatch(/^AllocationFailed: .* its address 10\.0\.0\.2 is also that of default\/b$/)
    unwrap(await world.store.delete(addressRef('a')))
    await world.runOnBlocks()
    expect([await state('a'), await state('b')]).toEqual(['10.0.0.3/24', '10.0.0.2/24'])
  })

  test('is replaced where its claim lives and is not Bound', async () => {
    await world.create(pool(['10.0.0.2']), claim('b'))
    await world.runOnBlocks()
    await world.create(claim('a'))
    await world.runOnBlocks()
    expect(await state('a')).toMatch(/^PoolExhausted/)
    await leave('a', '10.0.0.2', { uid: (await world.claim('a')).metadata.uid })
    await world.runOnBlocks()
    await world.patch(poolRef(), { spec: { addresses: ['10.0.0.2-10.0.0.3'] } })
    await world.runOnBlocks()
    expect([await state('a'), await state('b')]).toEqual(['10.0.0.3/24', '10.0.0.2/24'])
  })
})

test('a pool that is deleted goes with its last address, and comes again with nothing in use', async () => {
  await world.create(pool(['10.0.0.2']), claim('a'))
  await world.runOnBlocks()
  await world.delete('pool', 'pool')
  await world.runOnBlocks()
  expect((await world.pool()).metadata.deletionTimestamp).toBeDefined()
  await world.delete('claim', 'a')
  await world.runOnBlocks()
  expect((await world.store.get(poolRef())).ok).toBe(false)
  expect(await world.blocks()).toEqual([])
  await world.create(pool(['10.0.0.2']), claim('b'))
  await world.runOnBlocks()
  expect(await state('b')).toBe('10.0.0.2/24')
})

test('a deleted pool stays for a row whose IPAddress is deleted: another pool of its name would give that', async () => {
  await world.create(pool(['10.0.0.2']), claim('a'))
  await world.runOnBlocks()
  await world.delete('pool', 'pool')
  await world.patch(addressRef('a'), { metadata: { finalizers: [] } })
  await world.delete('address', 'a')
  await world.runOnBlocks()
  expect((await world.store.get(poolRef())).ok).toBe(true)
  await world.delete('claim', 'a')
  await world.runOnBlocks()
  expect((await world.store.get(poolRef())).ok).toBe(false)
})

test('a claim gets its row as soon as its pool gives its address again', async () => {
  await world.create(pool(['10.0.0.2-10.0.0.9']), claim('a'))
  await world.run()
  const { addresses } = (await world.pool()).spec
  await world.patch(poolRef(), { spec: { addresses: ['fd00::2-fd00::9'], prefix: 64 } })
  const timers = new VirtualTimers(world.nowMs)
  const provider = inClusterBlocks()
  const external = taskCaller({ store: world.store, now: () => timers.now(), tasks: provider.tasks })
  const onProblem = (problem: unknown) => expect(problem).toBeUndefined()
  const controller = new Controller({ store: world.store, planners: [provider], timers, external, onProblem })
  const running = controller.run()
  await timers.pass(10_000)
  expect([await world.bindings(), await world.rows()]).toEqual([{ 'default/a': '10.0.0.2' }, []])
  await world.patch(poolRef(), { spec: { addresses, prefix: 24 } })
  await timers.pass(10_000)
  expect(await world.rows()).toHaveLength(1)
  controller.stop()
  await running
})

test('a deleted pool is one of blocks no more: what is asked of it by then is not given', async () => {
  await world.create(pool(['10.0.0.2']))
  const provider = inClusterBlocks()
  const object = await world.get(poolRef())
  provider.observe({ kind: 'present', object })
  const { name } = ipPoolOf(await world.pool()).metadata
  expect(provider.known.pool(name)).toMatchObject({ name })
  provider.observe({ kind: 'absent', ref: poolRef(), uid: object.metadata.uid })
  expect(provider.known.pool(name)).toBe('absent')
})

test('a claim whose pool is deleted gives its row back all the same', async () => {
  await world.create(pool(['10.0.0.2']), claim('a'))
  await world.runOnBlocks()
  for (const ref of [addressRef('a'), poolRef()]) {
    await world.patch(ref, { metadata: { finalizers: [] } })
    unwrap(await world.store.delete(ref))
  }
  await world.runOnBlocks()
  expect(await state('a')).toMatch(/^PoolNotReady/)
  expect(await world.rows()).toEqual(['inclusterippools.default.pool-4-0a000000-24 2 default/a'])
  unwrap(await world.store.delete(claimRef('a')))
  await world.runOnBlocks()
  expect([await world.rows(), await world.claims()]).toEqual([[], []])
})

test('a pool of many ranges is one of blocks too', () => {
  const addresses = Array.from({ length: 5000 }, (_, n) => `10.${n >> 7}.${(n & 127) * 2}.7`)
  const read = InClusterIPPool.parse({ ...pool(addresses), metadata: { name: 'pool', namespace: 'default', uid: 'u' } })
  const { spec } = ipPoolOf(read)
  expect(spec.subnets).toHaveLength(20)
  expect(new Set(spec.subnets.map(({ cidr }) => cidr)).size).toBe(20)
  expect(poolSpace(spec).ok).toBe(true)
  const texts = [...addresses].sort(byNumber).map((text) => `${text}-${text}`)
  expect(spec.subnets.flatMap(({ ranges = [] }) => ranges)).toEqual(texts)
  expect(IPPool.safeParse(ipPoolOf(read)).ok).toBe(true)
})

function byNumber(left: string, right: string): number {
  const [a, b] = [left, right].map((text) => text.split('.').map(Number)) as [number[], number[]]
  for (let at = 0; at < 4; at++) if (a[at] !== b[at]) return (a[at] as number) - (b[at] as number)
  return 0
}

describe('a process is told', () => {
  test('what finalizers it puts on claims and addresses', async () => {
    world.restart({ finalizers: { claim: 'example.com/claim', address: 'example.com/address' } })
    await world.create(pool(['10.0.0.2']), claim('a'))
    await world.runOnBlocks()
    expect((await world.claim('a')).metadata.finalizers).toEqual(['example.com/claim'])
    expect((await world.address('a')).metadata.finalizers).toEqual(['example.com/address'])
  })

  test('to say in conditions how its pools are', async () => {
    world.restart({ poolConditions: true })
    await world.create(pool(['10.0.0.2']), claim('a'))
    await world.runOnBlocks()
    const conditions = (await world.pool()).status?.conditions ?? []
    expect(conditions.map(({ type, reason }) => `${type} ${reason}`)).toEqual([
      'Ready PoolExhausted',
      'AddressesUnique Unique',
    ])
  })

  test('when to remove an IPAddress whose claim is gone', async () => {
    await world.create(pool(['10.0.0.2']), claim('a'))
    await world.runOnBlocks()
    const provider = inClusterBlocks({ sweepAfterSeconds: 60 })
    for (const ref of [poolRef(), addressRef('a')]) provider.observe({ kind: 'present', object: await world.get(ref) })
    const outcomeAt = (nowMs: number) => provider.plan('IPAddressClaim default/a', { nowMs })?.outcome.kind
    expect([outcomeAt(0), outcomeAt(59_000), outcomeAt(60_000)]).toEqual(['orphaned', 'orphaned', 'swept'])
  })
})

test('a pool is the same one in blocks, and is being deleted there when it is', async () => {
  await world.create(pool(['10.0.0.2']), claim('a'))
  await world.runOnBlocks()
  await world.delete('pool', 'pool')
  const found = await world.pool()
  const { uid, deletionTimestamp } = found.metadata
  expect(deletionTimestamp).toBeDefined()
  expect(ipPoolOf(found)).toMatchObject({ metadata: { uid, deletionTimestamp }, status: { domainUID: uid } })
})

test('says the same of its pools as the provider without blocks', async () => {
  await world.create(pool(['10.0.0.2-10.0.0.4']), claim('a'), claim('b'))
  await world.runOnBlocks()
  expect(await outcomeOf(world)).toMatchObject({
    'InClusterIPPool pool': { ipAddresses: { total: 3, free: 1, used: 2, outOfRange: 0 } },
  })
})

test('costs one write more than without blocks for a claim, and one more when it goes', async () => {
  const plain = new World()
  const writes = async (one: World, run: () => Promise<unknown>) => {
    const before = await version(one)
    await run()
    return (await version(one)) - before
  }
  const counts: number[] = []
  for (const [one, run] of [
    [plain, () => plain.run()],
    [world, () => world.runOnBlocks()],
  ] as const) {
    await one.create(pool(['10.0.0.2-10.0.0.9']), claim('first'))
    await run()
    await one.create(claim('a'))
    counts.push(await writes(one, run))
    await one.delete('claim', 'a')
    counts.push(await writes(one, run))
  }
  const [given, back, givenByRow, backByRow] = counts as [number, number, number, number]
  expect([givenByRow - given, backByRow - back]).toEqual([1, 1])
})

/** Goes up by one with each write. */
async function version(one: World): Promise<number> {
  return Number(unwrap(await one.store.list({ ...kindOfClaims })).resourceVersion)
}

const kindOfClaims = { apiVersion: IPAddressClaim.info.apiVersion, kind: IPAddressClaim.info.kind }
