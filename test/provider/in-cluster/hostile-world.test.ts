import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { InClusterIPPool, InClusterPrefixPool } from 'ipam-kit/crd/in-cluster'
import type { KubeObject } from 'ipam-kit/crd/meta'
import { fail } from 'ipam-kit/errors'
import { inCluster, PoolLedger, planClaim } from 'ipam-kit/provider/in-cluster'
import { runPlan, runUntilQuiet } from 'ipam-kit/run'
import { storeOver } from 'ipam-kit/testing'
import { describe, expect, test } from 'vitest'
import { stored } from '../stored.js'
import {
  addressObject,
  addressRef,
  claim,
  claimRef,
  cluster,
  clusterRef,
  pool,
  poolOf,
  poolRef,
  World,
} from './world.js'

// Caches that lag, objects that do not fit, callers that mix things up: each of these has given an
// address away twice somewhere.

describe('a watch that lags behind the own writes', () => {
  test('never frees the address of a claim that was made again', async () => {
    const world = new World()
    const planner = inCluster()
    await world.create(pool(['10.0.0.5-10.0.0.6']), claim('a'))
    await world.run(world.store, planner)
    const late = (await world.address('a')).metadata.uid
    await world.delete('claim', 'a')
    await world.run(world.store, planner)
    await world.create(claim('a'))
    await world.run(world.store, planner)
    // only now the watch tells that the first address went
    planner.observe({ kind: 'absent', ref: addressRef('a'), uid: late })
    expect(planner.ledgerOf(poolRef()).next()?.address).toEqual({ family: 4, value: 0x0a000006 })
  })

  test('brings no claim back that is gone: no address is left for it', async () => {
    const world = new World()
    const planner = inCluster()
    await world.create(pool(['10.0.0.5']), claim('a'))
    await world.run(world.store, planner)
    const echo = await world.claim('a')
    await world.delete('claim', 'a')
    await world.run(world.store, planner)
    expect(planner.observe({ kind: 'present', object: echo })).toEqual([])
    expect(planner.plan('IPAddressClaim default/a', { nowMs: 0 })).toBeUndefined()
  })
})

describe('a planner that knows only an old claim', () => {
  /**
   * A claim that lives on an address, and a planner that still sees its predecessor of the same
   * name.
   */
  async function replaced(before: (world: World) => Promise<void>) {
    const world = new World()
    await world.create(pool(['10.0.0.5']), pool(['10.0.9.9'], {}, 'other'), claim('a'))
    await world.run()
    await before(world)
    const old = await world.claim('a')
    await world.patch(claimRef('a'), { metadata: { finalizers: null } })
    await world.store.delete(claimRef('a'))
    await world.create(claim('a', { poolRef: { name: 'other' } }))
    await world.run()
    const living = await world.address('a')
    const stale = inCluster()
    for (const object of [await world.pool(), await world.pool('other'), old, living]) {
      stale.observe({ kind: 'present', object })
    }
    const plan = stale.plan('IPAddressClaim default/a', { nowMs: world.nowMs })
    if (plan === undefined) throw new Error('nothing planned')
    return { world, living, ended: await runPlan(plan, world.store) }
  }

  test('removes nothing as left over that the living claim has', async () => {
    const { world, living, ended } = await replaced(async () => {})
    expect(ended.kind).toBe('conflict')
    expect(await world.address('a')).toEqual(living)
  })

  test('releases nothing that the living claim has', async () => {
    const { world, living, ended } = await replaced((it) => it.delete('claim', 'a'))
    expect(ended.kind).not.toBe('failed')
    expect(await world.address('a')).toEqual(living)
  })

  test('creates no address for it', async () => {
    const world = new World()
    await world.create(pool(['10.0.0.1'], { gateway: '10.0.0.1' }), claim('a'))
    await world.run()
    const old = await world.claim('a')
    await world.delete('claim', 'a')
    await world.run()
    await world.patch(poolRef(), { spec: { addresses: ['10.0.0.5'] } })
    const stale = inCluster()
    for (const object of [await world.pool(), old]) stale.observe({ kind: 'present', object })
    const plan = stale.plan('IPAddressClaim default/a', { nowMs: 0 })
    expect(plan && (await runPlan(plan, world.store)).kind).toBe('conflict')
    expect(await world.addresses()).toEqual([])
  })
})

describe('an IPAddress that does not fit its schema', () => {
  test.each<[string, KubeObject]>([
    ['a claimRef without a name', addressObject('x', { claimRef: {} })],
    ['an empty claim name', addressObject('x', { claimRef: { name: '' } })],
    ['a prefix that is a text', addressObject('x', { prefix: '24' })],
    ['a label that is a number', addressObject('x', {}, { labels: { n: 5 } })],
    ['an odd timestamp', addressObject('x', {}, { creationTimestamp: '2026-01-01 00:00:00' })],
    ['an unknown version', { ...addressObject('x'), apiVersion: 'ipam.cluster.x-k8s.io/v1beta3' }],
    ['no group in its pool reference', addressObject('x', { poolRef: { kind: 'InClusterIPPool', name: 'pool' } })],
    ['an empty group', addressObject('x', { poolRef: { apiGroup: '', kind: 'InClusterIPPool', name: 'pool' } })],
  ])('holds its address all the same: %s', (_, object) => {
    const planner = inCluster()
    for (const it of [pool(['10.0.0.5-10.0.0.6']), object]) planner.observe({ kind: 'present', object: stored(it) })
    expect(planner.ledgerOf(poolRef()).next()?.address).toEqual({ family: 4, value: 0x0a000006 })
    expect(planner.ledgerOf(poolRef()).size).toBe(1)
    planner.observe({ kind: 'absent', ref: addressRef('x') })
    expect(planner.ledgerOf(poolRef()).size).toBe(0)
  })

  test('any more holds what it held before', () => {
    const planner = inCluster()
    for (const it of [pool(['10.0.0.5-10.0.0.6']), addressObject('x')])
      planner.observe({ kind: 'present', object: stored(it) })
    planner.observe({
      kind: 'present',
      object: stored({ ...addressObject('x'), spec: 'broken' }, { resourceVersion: '8' }),
    })
    expect(planner.ledgerOf(poolRef()).next()?.address).toEqual({ family: 4, value: 0x0a000006 })
  })

  test('keeps its claim from being released: it may still stand for the address', async () => {
    const world = new World()
    await world.create(pool(['10.0.0.5']), claim('a'))
    await world.run()
    await world.patch(addressRef('a'), { spec: { claimRef: { name: null } } })
    await world.delete('claim', 'a')
    const result = await world.run()
    expect(result.outcomes.get('IPAddressClaim default/a')?.message).toContain('not released')
    await world.patch(addressRef('a'), { spec: { claimRef: { name: 'a' } } })
    await world.run()
    expect(await world.claims()).toEqual([])
    expect(await world.addresses()).toEqual([])
  })

  test.each([
    ['no prefix', { prefix: undefined }],
    ['prefix 0, as an older API makes of a missing one', { prefix: 0 }],
    ['a prefix that is too long', { prefix: 200 }],
    ['a zone', { address: 'fd00::%eth0' }],
  ])('of a prefix pool holds the child around it, no more and no less: %s', (_, spec) => {
    const owner = InClusterPrefixPool.parse(stored(poolOf('InClusterPrefixPool', { prefixes: ['fd00::/62'] })))
    const odd = IPAddress.parse(stored(addressObject('x', { address: 'fd00::', prefix: 64, ...spec })))
    const ledger = PoolLedger.build(owner, [odd])
    expect(ledger.next()?.address).toMatchObject({ w0: 0xfd000000, w1: 1 })
    expect(ledger.counts()).toMatchObject({ total: 4, free: 3 })
  })
})

describe('nothing is released on what cannot be read', () => {
  async function deletedClaim(world: World, breaking: () => Promise<void>): Promise<string | undefined> {
    await world.run()
    await world.delete('claim', 'a')
    await breaking()
    const result = await world.run()
    expect(await world.bindings()).toEqual({ 'default/a': '10.0.0.5' })
    return result.outcomes.get('IPAddressClaim default/a')?.message
  }

  test('a pool: it may be paused, or want a grace period', async () => {
    const world = new World()
    await world.create(pool(['10.0.0.5']), claim('a'))
    const broken = { spec: { addresses: 'all' } }
    expect(await deletedClaim(world, () => world.patch(poolRef(), broken))).toContain('not released')
  })

  test('a Cluster: it may be paused', async () => {
    const world = new World()
    await world.create(pool(['10.0.0.5']), cluster('c1'), claim('a', { clusterName: 'c1' }))
    const broken = { spec: { paused: 'yes' } }
    expect(await deletedClaim(world, () => world.patch(clusterRef('c1'), broken))).toContain('cannot be read')
  })
})

describe('an IPAddress on its way out', () => {
  test('that only others hold is not bound to: it would go away under the claim', async () => {
    const world = new World()
    await world.create(pool(['10.0.0.4-10.0.0.5']), addressObject('a', {}, { finalizers: ['example.com/dns'] }))
    await world.delete('address', 'a')
    await world.create(claim('a'))
    const waiting = await world.run()
    expect(waiting.outcomes.get('IPAddressClaim default/a')).toMatchObject({
      kind: 'waiting',
      reason: 'AllocationFailed',
    })
    expect((await world.run()).written).toBe(0)
    await world.patch(addressRef('a'), { metadata: { finalizers: null } })
    await world.run()
    expect(await world.bindings()).toEqual({ 'default/a': '10.0.0.4' })
  })
})

describe('an IPAddress of an earlier claim of the name', () => {
  const earlier = (controller: boolean, spec: object = {}) =>
    addressObject('a', spec, {
      ownerReferences: [
        { apiVersion: 'ipam.cluster.x-k8s.io/v1beta2', kind: 'IPAddressClaim', name: 'a', uid: 'earlier', controller },
      ],
    })
  const elsewhere = { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name: 'other' }

  test.each<[string, KubeObject, string]>([
    ['of the same pool is adopted, not removed', earlier(true), '10.0.0.5'],
    ['that does not control it is in the way, not removed', earlier(false, { poolRef: elsewhere }), '10.0.0.5'],
    [
      'from a pool of others is in the way, not removed',
      earlier(true, { poolRef: { ...elsewhere, kind: 'FooPool' } }),
      '10.0.0.5',
    ],
    ['from another pool here is removed', earlier(true, { poolRef: elsewhere }), '10.0.0.4'],
  ])('%s', async (_, object, expected) => {
    const world = new World()
    await world.create(pool(['10.0.0.4-10.0.0.6']), object, claim('a'))
    await world.run()
    expect((await world.address('a')).spec.address).toBe(expected)
  })

  test('two owner entries of one name become one: an object has one controller', async () => {
    const world = new World()
    await world.create(pool(['10.0.0.5']), claim('a'))
    const { uid } = (await world.claim('a')).metadata
    const owner = { apiVersion: 'ipam.cluster.x-k8s.io/v1beta2', kind: 'IPAddressClaim', name: 'a' }
    const ownerReferences = [
      { ...owner, uid: 'earlier', controller: false },
      { ...owner, uid, controller: true },
    ]
    await world.create(addressObject('a', {}, { ownerReferences }))
    expect((await world.run()).failures).toEqual([])
    const owners = (await world.address('a')).metadata.ownerReferences
    expect(owners?.filter((it) => it.kind === 'IPAddressClaim')).toMatchObject([{ uid, controller: true }])
  })
})

test('a claim whose pool was changed by hand still releases the address that it controls', async () => {
  const world = new World()
  await world.create(pool(['10.0.0.5']), claim('a'))
  await world.run()
  await world.patch(claimRef('a'), { spec: { poolRef: { name: 'other' } } })
  await world.delete('claim', 'a')
  await world.run()
  expect(await world.addresses()).toEqual([])
})

test('an IPAddress that names no maker stays, and its claim of another pool says so', async () => {
  const world = new World()
  await world.create(pool(['10.0.0.5-10.0.0.6']), pool(['10.1.0.5'], {}, 'other'), claim('a'))
  await world.run()
  await world.patch(addressRef('a'), { metadata: { finalizers: null, ownerReferences: null } })
  await world.patch(claimRef('a'), { metadata: { finalizers: null } })
  await world.delete('claim', 'a')
  await world.create(claim('a', { poolRef: { name: 'other' } }))
  const before = await world.address('a')
  await world.run()
  expect(await world.address('a')).toEqual(before)
  expect((await world.claim('a')).status).toMatchObject({
    conditions: [{ type: 'Ready', status: 'False', reason: 'AllocationFailed' }],
  })
  await world.delete('claim', 'a')
  await world.run()
  expect(await world.address('a')).toEqual(before)
  // it is in use all the same, until a claim of its own pool has it again
  await world.create(claim('b'), claim('a'))
  await world.run()
  expect(await world.bindings()).toEqual({ 'default/a': '10.0.0.5', 'default/b': '10.0.0.6' })
  expect((await world.claim('a')).status?.addressRef).toEqual({ name: 'a' })
  expect((await world.address('a')).metadata.ownerReferences).toHaveLength(2)
})

test('a create whose outcome is unknown, and that is done later, leads to no duplicate', async () => {
  const world = new World()
  await world.create(pool(['10.0.0.5-10.0.0.7']), claim('a'), claim('b'))
  const failure = fail('STORE_OUTCOME_UNKNOWN', { operation: 'create', object: 'a', problem: 'reset' }).failure
  let late: KubeObject | undefined
  const losing = storeOver(world.store, {
    create: async (object) => {
      if (late !== undefined || object.kind !== 'IPAddress') return world.store.create(object)
      late = object
      return { ok: false, failure }
    },
  })
  await world.run(losing)
  await world.store.create(late as KubeObject)
  await world.run()
  const given = Object.values(await world.bindings())
  expect(new Set(given).size).toBe(given.length)
  expect(given).toHaveLength(2)
})

describe('after a create whose outcome is unknown', () => {
  const unknown = fail('STORE_OUTCOME_UNKNOWN', { operation: 'create', object: 'a', problem: 'reset' }).failure
  const down = fail('STORE_IO', { operation: 'any', problem: 'down' }).failure

  /**
   * The first create of an address is done, and its answer is lost; the next `outage` requests
   * fail.
   */
  function losing(world: World, outage: number) {
    let left = -1
    const fails = () => left > 0 && left-- > 0
    return storeOver(world.store, {
      create: async (object) => {
        if (fails()) return { ok: false, failure: down }
        if (left >= 0 || object.kind !== 'IPAddress') return world.store.create(object)
        left = outage
        await world.store.create(object)
        return { ok: false, failure: unknown }
      },
      get: async (ref) => (fails() ? { ok: false, failure: down } : world.store.get(ref)),
      patch: async (...parameters) => (fails() ? { ok: false, failure: down } : world.store.patch(...parameters)),
    })
  }

  test.each([0, 1, 2, 3])('and an outage of %i requests no address is given twice', async (outage) => {
    const world = new World()
    await world.create(pool(['10.0.0.5-10.0.0.7']), claim('a'), claim('b'))
    const planner = inCluster()
    // a run that cannot find out what is stored ends; one that can goes on, also if only the first
    // way to find out has failed
    if (outage <= 1) await world.run(losing(world, outage), planner)
    else
      await expect(world.run(losing(world, outage), planner)).rejects.toMatchObject({
        code: 'STORE_OUTCOME_UNKNOWN',
        cause: { code: 'STORE_IO' },
      })
    await world.run()
    expect(await world.bindings()).toEqual({ 'default/a': '10.0.0.5', 'default/b': '10.0.0.6' })
  })

  test('a claim that is given up is looked at all the same', async () => {
    const world = new World()
    await world.create(pool(['10.0.0.5-10.0.0.7']), claim('a'), claim('b'))
    await runUntilQuiet(losing(world, 0), [inCluster()], { now: () => world.nowMs, maxConflicts: 0 })
    expect(await world.bindings()).toEqual({ 'default/a': '10.0.0.5', 'default/b': '10.0.0.6' })
  })
})

test.each([null, 5, ['10.0.0.5'], 'garbage', ''])('an address whose text becomes %j stays in use', async (text) => {
  const planner = inCluster()
  for (const it of [pool(['10.0.0.5-10.0.0.6']), addressObject('x')])
    planner.observe({ kind: 'present', object: stored(it) })
  planner.observe({ kind: 'present', object: stored(addressObject('x', { address: text }), { resourceVersion: '8' }) })
  expect(planner.ledgerOf(poolRef()).next()?.address).toEqual({ family: 4, value: 0x0a000006 })
})

test('an address whose end was told without a uid is in use again when it is seen again', () => {
  const planner = inCluster()
  for (const it of [pool(['10.0.0.5-10.0.0.6']), addressObject('x')])
    planner.observe({ kind: 'present', object: stored(it) })
  planner.observe({ kind: 'absent', ref: addressRef('x') })
  planner.observe({ kind: 'present', object: stored(addressObject('x')) })
  expect(planner.ledgerOf(poolRef()).next()?.address).toEqual({ family: 4, value: 0x0a000006 })
})

test('a claim that is kept in an older version is not written to for ever, and says so', async () => {
  const world = new World()
  await world.create(pool(['10.0.0.5']), { ...claim('a'), apiVersion: 'ipam.cluster.x-k8s.io/v1beta1' })
  const result = await world.run()
  expect(result.outcomes.get('IPAddressClaim default/a')).toMatchObject({ kind: 'unreadable' })
  expect(result.outcomes.get('IPAddressClaim default/a')?.message).toContain('v1beta2')
})

describe('planClaim refuses objects that were mixed up', () => {
  const own = InClusterIPPool.parse(stored(pool(['10.0.0.5'])))
  const other = InClusterIPPool.parse(stored(pool(['10.9.9.9'], {}, 'other')))
  const wanted = IPAddressClaim.parse(stored(claim('a')))
  const ledger = PoolLedger.build(own, [])

  test.each<[string, object, object]>([
    ['another pool', { pool: other, ledger: PoolLedger.build(other, []) }, {}],
    ['the ledger of another pool', { ledger: PoolLedger.build(other, []) }, {}],
    ['an empty ledger', { ledger: new PoolLedger() }, {}],
    [
      'an address of another namespace',
      { address: IPAddress.parse(stored(addressObject('a', {}, { namespace: 'b' }))) },
      {},
    ],
    ['an address of another name', { address: IPAddress.parse(stored(addressObject('b'))) }, {}],
    ['a time that is none', {}, { nowMs: Number.NaN }],
  ])('%s', (_, input, time) => {
    const call = () => planClaim({ claim: wanted, pool: own, ledger, ...input }, { nowMs: 0, ...time })
    expect(call).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
  })

  test('and takes the whole grace period where a timestamp cannot be read', () => {
    const patient = InClusterIPPool.parse(stored(pool(['10.0.0.5'], { addressReuseGracePeriodSeconds: 300 })))
    const dying = { ...wanted, metadata: { ...wanted.metadata, deletionTimestamp: 'garbage' } }
    const address = IPAddress.parse(stored(addressObject('a')))
    const plan = planClaim(
      { claim: dying, pool: patient, address, ledger: PoolLedger.build(patient, [address]) },
      { nowMs: 0 },
    )
    expect(plan.outcome).toMatchObject({ kind: 'releasing', remainingSeconds: 300 })
  })
})
