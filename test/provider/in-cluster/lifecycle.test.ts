import { phaseOf } from 'ipam-kit/claim'
import { hasFinalizer } from 'ipam-kit/crd/meta'
import { describe, expect, test } from 'vitest'
import { addressRef, claim, claimRef, cluster, clusterRef, pool, poolOf, poolRef, World } from './world.js'

const RELEASE = 'ipam.cluster.x-k8s.io/ReleaseAddress'
const PROTECT = 'ipam.cluster.x-k8s.io/ProtectAddress'
const PROTECT_POOL = 'ipam.cluster.x-k8s.io/ProtectPool'
const PAUSED = { 'cluster.x-k8s.io/paused': '' }

async function readyOf(world: World, name: string) {
  return (await world.claim(name)).status?.conditions?.find((condition) => condition.type === 'Ready')
}

describe('a claim that binds', () => {
  test('gets the lowest free address, and everything the contract wants on it', async () => {
    const world = new World()
    await world.create(pool(['10.0.0.1-10.0.0.9'], { gateway: '10.0.0.1' }))
    await world.create(claim('web', { labels: { 'cluster.x-k8s.io/cluster-name': 'c1' } }), cluster('c1'))
    await world.run()

    const bound = await world.claim('web')
    const address = await world.address('web')
    const { uid: poolUid } = (await world.pool()).metadata
    expect(bound.metadata.finalizers).toEqual([RELEASE])
    expect(bound.status?.addressRef).toEqual({ name: 'web' })
    expect(phaseOf(bound)).toBe('Bound')
    expect(address.metadata.labels).toEqual({ 'cluster.x-k8s.io/cluster-name': 'c1' })
    expect(address.metadata.finalizers).toEqual([PROTECT])
    expect(address.metadata.ownerReferences).toEqual([
      {
        apiVersion: 'ipam.cluster.x-k8s.io/v1beta2',
        kind: 'IPAddressClaim',
        name: 'web',
        uid: bound.metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
      {
        apiVersion: 'ipam.cluster.x-k8s.io/v1alpha2',
        kind: 'InClusterIPPool',
        name: 'pool',
        uid: poolUid,
        controller: false,
        blockOwnerDeletion: true,
      },
    ])
    expect(address.spec).toEqual({
      claimRef: { name: 'web' },
      poolRef: { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name: 'pool' },
      address: '10.0.0.2',
      prefix: 24,
      gateway: '10.0.0.1',
    })
  })

  test('has a true Ready condition of its generation', async () => {
    const world = new World()
    await world.create(pool(['10.0.0.5']), claim('web'))
    await world.run()
    expect(await readyOf(world, 'web')).toEqual({
      type: 'Ready',
      status: 'True',
      reason: 'AddressAllocated',
      message: '',
      observedGeneration: 1,
      lastTransitionTime: '2026-01-01T00:00:02Z',
    })
  })

  test('carries no gateway and no label where pool and claim have none', async () => {
    const world = new World()
    await world.create(pool(['10.0.0.5']), claim('web'))
    await world.run()
    const address = await world.address('web')
    expect(address.spec).not.toHaveProperty('gateway')
    expect(address.metadata).not.toHaveProperty('labels')
  })

  test('is served in the order of creation, from a global pool over namespaces', async () => {
    const world = new World()
    await world.create(poolOf('GlobalInClusterIPPool', { addresses: ['10.0.0.0/24'], prefix: 24 }))
    const poolRef = { kind: 'GlobalInClusterIPPool' }
    await world.create(claim('z', { poolRef }), claim('a', { poolRef, namespace: 'other' }), claim('a', { poolRef }))
    await world.run()
    expect(await world.bindings()).toEqual({ 'default/z': '10.0.0.1', 'other/a': '10.0.0.2', 'default/a': '10.0.0.3' })
  })

  test('gets a prefix from a prefix pool', async () => {
    const world = new World()
    await world.create(poolOf('InClusterPrefixPool', { prefixes: ['fd00::/62'], gateway: 'fd10::1' }))
    const poolRef = { kind: 'InClusterPrefixPool' }
    await world.create(claim('a', { poolRef }), claim('b', { poolRef }))
    await world.run()
    expect((await world.address('b')).spec).toMatchObject({ address: 'fd00:0:0:1::', prefix: 64, gateway: 'fd10::1' })
  })
})

describe('a claim that waits', () => {
  test('for room: Error(PoolExhausted), and bound when the address of another claim is free', async () => {
    const world = new World()
    await world.create(pool(['10.0.0.5']), claim('first'), claim('second'))
    await world.run()
    expect(phaseOf(await world.claim('second'))).toBe('Error')
    expect(await readyOf(world, 'second')).toMatchObject({
      status: 'False',
      reason: 'PoolExhausted',
      message: 'no address available in InClusterIPPool default/pool',
    })
    await world.delete('claim', 'first')
    await world.run()
    expect(await world.bindings()).toEqual({ 'default/second': '10.0.0.5' })
    expect(phaseOf(await world.claim('second'))).toBe('Bound')
  })

  test('for room: the oldest is served first', async () => {
    const world = new World()
    await world.create(pool(['10.0.0.5']), claim('holder'), claim('z-older'), claim('a-younger'))
    await world.run()
    await world.delete('claim', 'holder')
    await world.run()
    expect(await world.bindings()).toEqual({ 'default/z-older': '10.0.0.5' })
  })

  test('for room: a pool that grows serves it', async () => {
    const world = new World()
    await world.create(pool(['10.0.0.5']), claim('first'), claim('second'))
    await world.run()
    await world.patch(poolRef(), { spec: { addresses: ['10.0.0.5-10.0.0.6'] } })
    await world.run()
    expect((await world.bindings())['default/second']).toBe('10.0.0.6')
  })

  test('for its pool: Pending(PoolNotReady), and bound when the pool is there', async () => {
    const world = new World()
    await world.create(claim('web'))
    await world.run()
    expect(phaseOf(await world.claim('web'))).toBe('Pending')
    expect(await readyOf(world, 'web')).toMatchObject({
      reason: 'PoolNotReady',
      message: 'InClusterIPPool default/pool not found',
    })
    await world.create(pool(['10.0.0.5']))
    await world.run()
    expect(phaseOf(await world.claim('web'))).toBe('Bound')
  })

  test.each([
    ['an entry that does not parse', { addresses: ['nonsense'], prefix: 24 }, 'spec.addresses: "nonsense"'],
    ['a prefix too long for the family', { addresses: ['10.0.0.1'], prefix: 64 }, 'spec.prefix: 64'],
    ['no addresses', { addresses: [], prefix: 24 }, 'addresses is required'],
    [
      'an exclusion that does not parse',
      { addresses: ['10.0.0.5'], prefix: 24, excludedAddresses: ['x'] },
      'spec.excludedAddresses: "x"',
    ],
    ['a gateway that does not parse', { addresses: ['10.0.0.5'], prefix: 24, gateway: 'x' }, 'spec.gateway: "x"'],
    ['a schema error', { addresses: 'all', prefix: 24 }, 'spec.addresses'],
    [
      'a grace period beyond 32 bits',
      { addresses: ['10.0.0.5'], prefix: 24, addressReuseGracePeriodSeconds: 2 ** 31 },
      'spec.addressReuseGracePeriodSeconds',
    ],
  ])('for a pool with %s, and says what is wrong with it', async (_, spec, words) => {
    const world = new World()
    await world.create(poolOf('InClusterIPPool', spec), claim('web'))
    await world.run()
    const ready = await readyOf(world, 'web')
    expect(ready?.reason).toBe('PoolNotReady')
    expect(ready?.message).toContain(words)
    expect(await world.addresses()).toEqual([])
  })

  test('for a pool that is being deleted: nothing is allocated from it', async () => {
    const world = new World()
    await world.create(pool(['10.0.0.5-10.0.0.9']), claim('bound'))
    await world.run()
    await world.delete('pool', 'pool')
    await world.create(claim('late'))
    await world.run()
    expect((await readyOf(world, 'late'))?.message).toBe('InClusterIPPool default/pool is being deleted')
    expect(phaseOf(await world.claim('bound'))).toBe('Bound')
    await world.delete('claim', 'bound')
    await world.run()
    expect((await world.store.get(poolRef())).ok).toBe(false)
  })

  test('for its Cluster: nothing at all is written', async () => {
    const world = new World()
    await world.create(pool(['10.0.0.5']), claim('web', { clusterName: 'c1' }))
    const before = await world.claim('web')
    const result = await world.run()
    expect(await world.claim('web')).toEqual(before)
    expect(result.outcomes.get('IPAddressClaim default/web')).toMatchObject({
      kind: 'waiting',
      reason: 'ClusterNotFound',
    })
    await world.create(cluster('c1'))
    await world.run()
    expect(phaseOf(await world.claim('web'))).toBe('Bound')
  })
})

describe('pause', () => {
  test('of the Cluster by spec: nothing is written; unpaused it binds', async () => {
    const world = new World()
    await world.create(pool(['10.0.0.5']), cluster('c1', { paused: true }), claim('web', { clusterName: 'c1' }))
    const before = await world.claim('web')
    await world.run()
    expect(await world.claim('web')).toEqual(before)
    await world.patch(clusterRef('c1'), { spec: { paused: false } })
    await world.run()
    expect(phaseOf(await world.claim('web'))).toBe('Bound')
  })

  test('of the Cluster: a deleted claim waits', async () => {
    const world = new World()
    await world.create(pool(['10.0.0.5']), cluster('c1'), claim('web', { clusterName: 'c1' }))
    await world.run()
    await world.patch(clusterRef('c1'), { metadata: { annotations: PAUSED } })
    await world.delete('claim', 'web')
    await world.run()
    expect(await world.bindings()).toEqual({ 'default/web': '10.0.0.5' })
    await world.patch(clusterRef('c1'), { metadata: { annotations: null } })
    await world.run()
    expect(await world.claims()).toEqual([])
  })

  test('of the Cluster: a deleted claim of a Cluster that is gone is released', async () => {
    const world = new World()
    await world.create(pool(['10.0.0.5']), cluster('c1'), claim('web', { clusterName: 'c1' }))
    await world.run()
    await world.delete('cluster', 'c1')
    await world.delete('claim', 'web')
    await world.run()
    expect(await world.claims()).toEqual([])
    expect(await world.addresses()).toEqual([])
  })

  test('of the claim: not even the finalizer', async () => {
    const world = new World()
    await world.create(pool(['10.0.0.5']), claim('web', { annotations: PAUSED }))
    await world.run()
    expect(hasFinalizer(await world.claim('web'), RELEASE)).toBe(false)
  })

  test('of the pool: the finalizer and nothing else; deletion waits', async () => {
    const world = new World()
    await world.create(pool(['10.0.0.5-10.0.0.6']), claim('bound'))
    await world.run()
    await world.patch(poolRef(), { metadata: { annotations: PAUSED } })
    await world.create(claim('web'))
    await world.delete('claim', 'bound')
    await world.run()
    expect((await world.claim('web')).metadata.finalizers).toEqual([RELEASE])
    expect((await world.claim('web')).status).toBeUndefined()
    expect(await world.bindings()).toEqual({ 'default/bound': '10.0.0.5' })
    await world.patch(poolRef(), { metadata: { annotations: null } })
    await world.run()
    expect(Object.keys(await world.bindings())).toEqual(['default/web'])
  })
})

describe('a claim that is deleted', () => {
  test('frees its address for the next one', async () => {
    const world = new World()
    await world.create(pool(['10.0.0.5-10.0.0.6']), claim('a'), claim('b'))
    await world.run()
    await world.delete('claim', 'a')
    await world.run()
    expect(await world.bindings()).toEqual({ 'default/b': '10.0.0.6' })
    await world.create(claim('c'))
    await world.run()
    expect((await world.bindings())['default/c']).toBe('10.0.0.5')
  })

  test('before it was bound leaves nothing behind', async () => {
    const world = new World()
    await world.create(pool(['10.0.0.5']), claim('a'), claim('b'))
    await world.run()
    await world.delete('claim', 'b')
    await world.run()
    expect((await world.claims()).map((it) => it.metadata.name)).toEqual(['a'])
  })

  test('without its pool is released all the same', async () => {
    const world = new World()
    await world.create(pool(['10.0.0.5']), claim('a'))
    await world.run()
    await world.patch(poolRef(), { metadata: { finalizers: null } })
    await world.delete('pool', 'pool')
    await world.delete('claim', 'a')
    await world.run()
    expect(await world.claims()).toEqual([])
    expect(await world.addresses()).toEqual([])
  })

  test('keeps its address for the grace period of the pool', async () => {
    const world = new World()
    await world.create(pool(['10.0.0.5'], { addressReuseGracePeriodSeconds: 60 }), claim('a'), claim('next'))
    await world.run()
    await world.delete('claim', 'a')
    world.nowMs += 20_000
    const waiting = await world.run()
    expect(waiting.requeueAfterSeconds).toBe(40)
    expect(await world.bindings()).toEqual({ 'default/a': '10.0.0.5' })
    world.nowMs += 40_000
    await world.run()
    expect(await world.bindings()).toEqual({ 'default/next': '10.0.0.5' })
  })

  test('skips the grace period when the pool is going too', async () => {
    const world = new World()
    await world.create(pool(['10.0.0.5'], { addressReuseGracePeriodSeconds: 300 }), claim('a'))
    await world.run()
    await world.delete('pool', 'pool')
    await world.delete('claim', 'a')
    await world.run()
    expect(await world.claims()).toEqual([])
    expect((await world.store.get(poolRef())).ok).toBe(false)
  })
})

describe('an IPAddress that is there already', () => {
  const foreign = (spec: object, metadata: object = {}) => ({
    apiVersion: 'ipam.cluster.x-k8s.io/v1beta2',
    kind: 'IPAddress',
    metadata: { name: 'web', namespace: 'default', ...metadata },
    spec: {
      claimRef: { name: 'web' },
      poolRef: { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name: 'pool' },
      address: '10.0.0.7',
      prefix: 24,
      ...spec,
    },
  })

  test('for the claim is adopted as it is, with owners and finalizer put right', async () => {
    const world = new World()
    const dummy = { apiVersion: 'example.com/v1', kind: 'Dummy', name: 'dummy', uid: 'abc-123' }
    await world.create(pool(['10.0.0.5-10.0.0.9']), foreign({}, { ownerReferences: [dummy] }), claim('web'), claim('x'))
    await world.run()
    const address = await world.address('web')
    expect(address.spec.address).toBe('10.0.0.7')
    expect(address.metadata.finalizers).toEqual([PROTECT])
    expect(address.metadata.ownerReferences?.map((owner) => owner.kind)).toEqual([
      'Dummy',
      'IPAddressClaim',
      'InClusterIPPool',
    ])
    expect((await world.address('x')).spec.address).toBe('10.0.0.5')
  })

  test('with another controller keeps it, and gets the pool as owner only', async () => {
    const world = new World()
    const controller = { apiVersion: 'example.com/v1', kind: 'Dummy', name: 'dummy', uid: 'abc-123', controller: true }
    await world.create(pool(['10.0.0.5-10.0.0.9']), foreign({}, { ownerReferences: [controller] }), claim('web'))
    await world.run()
    const owners = (await world.address('web')).metadata.ownerReferences
    expect(owners?.map((owner) => owner.kind)).toEqual(['Dummy', 'InClusterIPPool'])
    expect(phaseOf(await world.claim('web'))).toBe('Bound')
  })

  test.each([
    ['another pool', { poolRef: { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name: 'other' } }],
    ['another pool kind', { poolRef: { apiGroup: 'example.com', kind: 'FooPool', name: 'pool' } }],
    ['another claim', { claimRef: { name: 'somebody-else' } }],
  ])('of %s is never touched, neither by binding nor by release', async (_, spec) => {
    const world = new World()
    await world.create(pool(['10.0.0.5-10.0.0.9']), foreign(spec), claim('web'))
    const before = await world.address('web')
    await world.run()
    expect(await world.address('web')).toEqual(before)
    expect(await readyOf(world, 'web')).toMatchObject({ status: 'False', reason: 'AllocationFailed' })
    await world.delete('claim', 'web')
    await world.run()
    expect(await world.claims()).toEqual([])
    expect(await world.address('web')).toEqual(before)
  })

  test('and cannot be read does not stop the pool', async () => {
    const world = new World()
    await world.create(pool(['10.0.0.5-10.0.0.9']), foreign({ address: 'garbage' }, { name: 'broken' }), claim('ok'))
    await world.create(foreign({ poolRef: 7 }), claim('web'))
    const result = await world.run()
    expect(result.failures).toEqual([])
    expect((await world.address('ok')).spec.address).toBe('10.0.0.5')
    expect((await world.pool()).status?.ipAddresses).toEqual({ total: 5, free: 4, used: 2, outOfRange: 0 })
    expect((await readyOf(world, 'web'))?.message).toContain('IPAddress default/web is in the way')
  })

  test.each([
    ['from another pool', { name: 'other' }, '10.0.9.9'],
    ['and on its way out', {}, '10.0.0.5'],
  ])(
    'left behind by an earlier claim of the name %s is removed, and the claim gets one of its own',
    async (how, poolRef, text) => {
      const world = new World()
      await world.create(pool(['10.0.0.5']), pool(['10.0.9.9'], {}, 'other'), claim('web'), claim('next'))
      await world.run()
      await world.patch(claimRef('web'), { metadata: { finalizers: null } })
      await world.delete('claim', 'web')
      if (how === 'and on its way out') await world.delete('address', 'web')
      await world.create(claim('web', { poolRef }))
      await world.run()
      const address = await world.address('web')
      expect(address.spec.address).toBe(text)
      expect(address.metadata.deletionTimestamp).toBeUndefined()
      expect(address.metadata.ownerReferences?.[0]?.uid).toBe((await world.claim('web')).metadata.uid)
      expect(phaseOf(await world.claim('web'))).toBe('Bound')
      expect(phaseOf(await world.claim('next'))).toBe(text === '10.0.0.5' ? 'Error' : 'Bound')
    },
  )

  test('left behind and held by others is waited for, without a write each time', async () => {
    const world = new World()
    await world.create(pool(['10.0.0.5']), pool(['10.0.9.9'], {}, 'other'), claim('web'))
    await world.run()
    await world.patch(addressRef('web'), { metadata: { finalizers: [PROTECT, 'example.com/hold'] } })
    await world.patch(claimRef('web'), { metadata: { finalizers: null } })
    await world.delete('claim', 'web')
    await world.create(claim('web', { poolRef: { name: 'other' } }))
    await world.run()
    expect(await readyOf(world, 'web')).toMatchObject({ reason: 'AllocationFailed' })
    expect((await world.run()).written).toBe(0)
    await world.patch(addressRef('web'), { metadata: { finalizers: null } })
    await world.run()
    expect(await world.bindings()).toEqual({ 'default/web': '10.0.9.9' })
  })

  test('and is removed by force is made again; the claim says so in between', async () => {
    const world = new World()
    await world.create(pool(['10.0.0.5-10.0.0.9']), claim('web'))
    await world.run()
    await world.patch(addressRef('web'), { metadata: { finalizers: null } })
    await world.delete('address', 'web')
    await world.run()
    expect(await world.bindings()).toEqual({ 'default/web': '10.0.0.5' })
  })

  test('and whose claim is deleted before it: release order is address first', async () => {
    const world = new World()
    await world.create(pool(['10.0.0.5']), claim('web'))
    await world.run()
    await world.delete('address', 'web')
    await world.run()
    expect((await world.address('web')).metadata.deletionTimestamp).toBeDefined()
    await world.delete('claim', 'web')
    await world.run()
    expect(await world.addresses()).toEqual([])
    expect(await world.claims()).toEqual([])
  })

  test('by hand is put right after tampering', async () => {
    const world = new World()
    await world.create(pool(['10.0.0.5']), claim('web'))
    await world.run()
    const before = await world.state()
    await world.patch(addressRef('web'), { metadata: { finalizers: null, ownerReferences: null } })
    await world.patch(claimRef('web'), { metadata: { finalizers: null } })
    await world.patch(poolRef(), { metadata: { finalizers: null } })
    await world.run()
    expect(await world.state()).toEqual(before)
  })
})

describe('a claim of another provider', () => {
  test.each([
    ['another kind', { kind: 'InfobloxIPPool' }],
    ['another group', { apiGroup: 'example.com' }],
    ['an empty group', { apiGroup: '' }],
  ])('with %s is ignored, and said so', async (_, poolRef) => {
    const world = new World()
    await world.create(pool(['10.0.0.5']), claim('web', { poolRef }))
    const before = await world.claim('web')
    const result = await world.run()
    expect(await world.claim('web')).toEqual(before)
    expect(result.outcomes.get('IPAddressClaim default/web')?.kind).toBe('ignored')
  })
})

describe('a pool', () => {
  test('counts what is in use, out of range, and still free', async () => {
    const world = new World()
    await world.create(pool(['10.0.0.10-10.0.0.20']))
    await world.create(claim('a'), claim('b'), claim('c'), claim('d'), claim('e'))
    await world.run()
    expect((await world.pool()).status?.ipAddresses).toEqual({ total: 11, free: 6, used: 5, outOfRange: 0 })
    await world.patch(poolRef(), { spec: { addresses: ['10.0.0.13-10.0.0.15'] } })
    await world.run()
    expect((await world.pool()).status?.ipAddresses).toEqual({ total: 3, free: 1, used: 5, outOfRange: 3 })
  })

  test('is protected while addresses refer to it, also ones that are not its own', async () => {
    const world = new World()
    await world.create(pool(['10.0.0.10']), claim('a'))
    await world.run()
    expect((await world.pool()).metadata.finalizers).toEqual([PROTECT_POOL])
    await world.delete('pool', 'pool')
    const result = await world.run()
    expect(result.outcomes.get('InClusterIPPool default/pool')).toMatchObject({ kind: 'protected', addresses: 1 })
    await world.delete('claim', 'a')
    await world.run()
    expect((await world.store.get(poolRef())).ok).toBe(false)
  })

  test('never hands out an address that two objects hold, until both are gone', async () => {
    const world = new World()
    const duplicate = (name: string) => ({
      apiVersion: 'ipam.cluster.x-k8s.io/v1beta2',
      kind: 'IPAddress',
      metadata: { name, namespace: 'default' },
      spec: {
        claimRef: { name },
        poolRef: { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name: 'pool' },
        address: '10.0.0.5',
        prefix: 24,
      },
    })
    await world.create(pool(['10.0.0.5-10.0.0.6']), duplicate('one'), duplicate('two'), claim('web'))
    await world.run()
    expect((await world.bindings())['default/web']).toBe('10.0.0.6')
    await world.delete('address', 'one')
    await world.create(claim('next'))
    await world.run()
    expect(phaseOf(await world.claim('next'))).toBe('Error')
    await world.delete('address', 'two')
    await world.run()
    expect((await world.bindings())['default/next']).toBe('10.0.0.5')
  })

  test('made again under its name takes its addresses back', async () => {
    const world = new World()
    await world.create(pool(['10.0.0.5-10.0.0.6']), claim('a'))
    await world.run()
    await world.patch(poolRef(), { metadata: { finalizers: null } })
    await world.delete('pool', 'pool')
    await world.run()
    await world.create(pool(['10.0.0.5-10.0.0.6']), claim('b'))
    await world.run()
    expect(await world.bindings()).toEqual({ 'default/a': '10.0.0.5', 'default/b': '10.0.0.6' })
    const owner = (await world.address('a')).metadata.ownerReferences?.find((it) => it.kind === 'InClusterIPPool')
    expect(owner?.uid).toBe((await world.pool()).metadata.uid)
  })
})

test('running again changes nothing', async () => {
  const world = new World()
  await world.create(pool(['10.0.0.5-10.0.0.6']), claim('a'), claim('b'), claim('c'))
  await world.run()
  const before = await world.state()
  const again = await world.run()
  expect(again.written).toBe(0)
  expect(await world.state()).toEqual(before)
})

test('costs three writes a claim, and two a pool, however many claims there are', async () => {
  const world = new World()
  await world.create(pool(['10.0.0.0/22'], { prefix: 22 }))
  await world.create(...Array.from({ length: 200 }, (_, index) => claim(`web-${index}`)))
  const result = await world.run()
  expect(result.written).toBe(3 * 200 + 2)
  expect((await world.pool()).status?.ipAddresses).toMatchObject({ used: 200, free: 822 })
})
