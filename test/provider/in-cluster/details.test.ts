import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { GlobalInClusterPrefixPool, InClusterIPPool, InClusterPrefixPool } from 'ipam-kit/crd/in-cluster'
import { type KubeObject, type OwnerReference, refOf } from 'ipam-kit/crd/meta'
import { inCluster, PoolLedger, planClaim, planPool } from 'ipam-kit/provider/in-cluster'
import { describe, expect, test, vi } from 'vitest'
import { isJsonPatch } from '../../../src/plan/field-guards.js'
import { stored } from '../stored.js'
import { claim, cluster, clusterRef, pool, poolOf, poolRef } from './world.js'

// What a single plan says about single fields: the rules that a whole life of a claim seldom shows.

const label = { 'cluster.x-k8s.io/cluster-name': 'c1' }
const PROTECT = 'ipam.cluster.x-k8s.io/ProtectAddress'

const owners: readonly OwnerReference[] = [
  {
    apiVersion: 'ipam.cluster.x-k8s.io/v1beta2',
    kind: 'IPAddressClaim',
    name: 'web',
    uid: 'uid-IPAddressClaim-web',
    controller: true,
    blockOwnerDeletion: true,
  },
  {
    apiVersion: 'ipam.cluster.x-k8s.io/v1alpha2',
    kind: 'InClusterIPPool',
    name: 'pool',
    uid: 'uid-InClusterIPPool-pool',
    controller: false,
    blockOwnerDeletion: true,
  },
]

const address = (metadata: object = {}, spec: object = {}): IPAddress =>
  IPAddress.parse({
    apiVersion: 'ipam.cluster.x-k8s.io/v1beta2',
    kind: 'IPAddress',
    metadata: {
      name: 'web',
      namespace: 'default',
      uid: 'uid-IPAddress',
      resourceVersion: '9',
      finalizers: [PROTECT],
      ownerReferences: owners,
      ...metadata,
    },
    spec: {
      claimRef: { name: 'web' },
      poolRef: { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name: 'pool' },
      address: '10.0.0.5',
      prefix: 24,
      ...spec,
    },
  })

/** One that has its address. */
const bound = IPAddressClaim.parse({
  ...stored(claim('web')),
  status: {
    addressRef: { name: 'web' },
    conditions: [
      {
        type: 'Ready',
        status: 'True',
        reason: 'AddressAllocated',
        message: '',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
    ],
  },
})

/** What a plan would repair on an IPAddress that the claim adopts. */
function repair(adopted: IPAddress, labels = {}): unknown {
  const owner = stored(pool(['10.0.0.5-10.0.0.9']))
  const plan = planClaim(
    {
      claim: IPAddressClaim.parse(stored(claim('web', { labels }))),
      address: adopted,
      pool: owner,
      cluster: cluster('c1'),
      ledger: PoolLedger.build(owner, [adopted]),
    },
    { nowMs: 0 },
  )
  expect(plan.outcome.kind).toBe('bound')
  const effect = plan.effects.find((it) => it.kind === 'patch' && it.ref.kind === 'IPAddress')
  return effect?.kind === 'patch' && !isJsonPatch(effect) ? effect.patch.metadata : undefined
}

describe('an adopted IPAddress', () => {
  test('that has everything is left alone', () => {
    expect(repair(address())).toBeUndefined()
    expect(repair(address({ labels: label }), label)).toBeUndefined()
  })

  test.each<[string, number, Partial<OwnerReference>]>([
    ['an older apiVersion of the claim', 0, { apiVersion: 'ipam.cluster.x-k8s.io/v1beta1' }],
    ['the uid of an earlier claim', 0, { uid: 'an-earlier-one' }],
    ['a claim that is no controller', 0, { controller: false }],
    ['a claim that does not block', 0, { blockOwnerDeletion: false }],
    ['the uid of an earlier pool', 1, { uid: 'an-earlier-one' }],
    ['a pool that is the controller beside the claim', 1, { controller: true }],
  ])('with %s in its owners gets that one renewed, in its place', (_, index, wrong) => {
    const broken = owners.with(index, { ...(owners[index] as OwnerReference), ...wrong })
    const renewed = (repair(address({ ownerReferences: broken })) as { ownerReferences: OwnerReference[] })
      .ownerReferences
    // a foreign controller keeps the claim from being made one, and here the pool poses as such: it
    // is put right first
    expect(renewed[1]).toEqual(owners[1])
    expect(renewed).toHaveLength(2)
    if (index === 0) expect(renewed).toEqual(owners)
  })

  test('keeps an owner of the same kind and name in another group', () => {
    const foreign = { apiVersion: 'example.com/v1', kind: 'InClusterIPPool', name: 'pool', uid: 'x' }
    expect(repair(address({ ownerReferences: [foreign, ...owners] }))).toBeUndefined()
    expect(repair(address({ ownerReferences: [foreign] }))).toEqual({ ownerReferences: [foreign, ...owners] })
  })

  test('gets the finalizer and the label that it lacks, beside those of others', () => {
    const other = { finalizers: ['example.com/hold'], labels: { team: 'a' } }
    expect(repair(address(other), label)).toEqual({ finalizers: ['example.com/hold', PROTECT], labels: label })
    expect(repair(address({ labels: { 'cluster.x-k8s.io/cluster-name': 'c2' } }), label)).toEqual({ labels: label })
  })

  test('that is being deleted gets no finalizer: the API server would refuse it', () => {
    const dying = { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['example.com/hold'] }
    const kept = { ...dying, finalizers: [PROTECT, 'example.com/hold'] }
    expect(repair(address(kept))).toBeUndefined()
  })
})

describe('an IPAddress whose address another one has as well', () => {
  const owner = stored(pool(['10.0.0.5-10.0.0.9']))
  const mine = address({ ownerReferences: [] })
  const twin = address({ name: 'twin', uid: 'another' }, { claimRef: { name: 'twin' } })
  const planFrom = (from: typeof owner | undefined, adopted: IPAddress, by: IPAddressClaim) =>
    planClaim(
      { claim: by, address: adopted, pool: from, ledger: PoolLedger.build(from, [adopted, twin]) },
      { nowMs: 0 },
    )
  const fresh = IPAddressClaim.parse(stored(claim('web')))

  test('is not adopted, and not touched', () => {
    const { outcome, effects } = planFrom(owner, mine, fresh)
    const message = 'IPAddress default/web is in the way: its address 10.0.0.5 is also that of default/twin'
    expect(outcome).toEqual({ kind: 'waiting', reason: 'AllocationFailed', message })
    expect(effects.filter((effect) => effect.kind === 'patch' && effect.ref.kind === 'IPAddress')).toEqual([])
  })

  test('is not that of the claim that it was made for either: that write may have come late', () => {
    const { outcome } = planFrom(owner, address(), fresh)
    expect(outcome).toMatchObject({ kind: 'waiting', reason: 'AllocationFailed' })
  })

  test('stays that of a claim that is Bound to it', () => {
    expect(planFrom(owner, mine, bound).outcome.kind).toBe('bound')
  })

  test.each([
    ['missing', undefined],
    ['invalid', stored(pool(['garbage']))],
  ])('is not adopted while the pool is %s either', (_, from) => {
    for (const adopted of [mine, address()]) {
      const { outcome, effects } = planFrom(from, adopted, fresh)
      expect(outcome).toMatchObject({ kind: 'waiting', reason: 'AllocationFailed' })
      expect(outcome.message).toContain('is also that of default/twin')
      expect(effects.filter((effect) => effect.kind === 'patch' && effect.ref.kind === 'IPAddress')).toEqual([])
      expect(planFrom(from, adopted, bound).outcome.kind).toBe('bound')
    }
  })
})

describe('a claim whose address is lost', () => {
  test.each([
    ['the pool is gone', undefined, undefined, 'PoolNotReady'],
    ['the pool is full', stored(pool(['10.0.0.1'], { gateway: '10.0.0.1' })), undefined, 'PoolExhausted'],
    [
      'another object has its name',
      stored(pool(['10.0.0.9'])),
      address({}, { claimRef: { name: 'x' } }),
      'AllocationFailed',
    ],
  ])('and %s: its reference to the address goes, and Ready says why', (_, owner, inTheWay, reason) => {
    const plan = planClaim(
      { claim: bound, pool: owner, address: inTheWay, ledger: PoolLedger.build(owner, []) },
      { nowMs: Date.UTC(2026, 0, 2) },
    )
    const status = plan.effects.find((it) => it.kind === 'patch' && it.subresource === 'status')
    expect(status).toMatchObject({
      patch: {
        status: {
          addressRef: null,
          conditions: [{ status: 'False', reason, lastTransitionTime: '2026-01-02T00:00:00Z' }],
        },
      },
    })
  })
})

describe('a ledger', () => {
  let version = 9
  const show = (planner: ReturnType<typeof inCluster>, ...objects: readonly KubeObject[]) => {
    for (const object of objects) {
      const { metadata } = object
      const own = { uid: `uid-${metadata.name}`, resourceVersion: `${++version}` }
      planner.observe({ kind: 'present', object: { ...object, metadata: { ...metadata, ...own } } })
    }
  }
  const forget = (planner: ReturnType<typeof inCluster>, object: KubeObject) =>
    planner.observe({ kind: 'absent', ref: refOf(object) })
  /** The ledger of `owner` in a planner that observes these IPAddress objects. */
  const watching = (owner: KubeObject, ...addresses: readonly IPAddress[]) => {
    const planner = inCluster()
    show(planner, owner, ...addresses.map((one) => withPoolKind(one, owner.kind)))
    return { planner, ledger: planner.ledgerOf(refOf(owner)) }
  }

  test('holds an address that was written with a zone', () => {
    const owner = stored(pool(['fe80::1-fe80::2'], { prefix: 64 }))
    const ledger = PoolLedger.build(owner, [address({}, { address: 'fe80::1%eth0' })])
    expect(ledger.next()?.address).toMatchObject({ family: 6, w3: 2 })
  })

  test('offers no gateway where the pool has an empty one', () => {
    expect(PoolLedger.build(stored(pool(['10.0.0.5'], { gateway: '' })), []).next()).not.toHaveProperty('gateway')
  })

  test('follows a prefix that is made longer or shorter by hand', () => {
    const owner = poolOf('InClusterPrefixPool', { prefixes: ['fd00::/62'] })
    const { planner, ledger } = watching(owner, address({}, { address: 'fd00::', prefix: 64 }))
    expect(ledger.counts()).toEqual({ total: 4, free: 3, used: 1, outOfRange: 0 })
    show(planner, withPoolKind(address({}, { address: 'fd00::', prefix: 63 }), owner.kind))
    expect(ledger.counts()).toEqual({ total: 4, free: 2, used: 1, outOfRange: 1 })
    expect(ledger.next()?.address).toMatchObject({ w1: 2 })
  })

  test('counts a prefix that cannot be read as used and out of range', () => {
    const owner = GlobalInClusterPrefixPool.parse(
      stored(poolOf('GlobalInClusterPrefixPool', { prefixes: ['fd00::/62'] })),
    )
    const ledger = PoolLedger.build(owner, [address({}, { address: 'garbage', prefix: 64 })])
    expect(ledger.counts()).toEqual({ total: 4, free: 4, used: 1, outOfRange: 1 })
  })

  test('says which others hold the same address, however it is written', () => {
    const owner = stored(pool(['fd00::1-fd00::9'], { prefix: 64 }))
    const [one, same, other] = ['fd00::1', 'fd00:0::0:1', 'fd00::2'].map((text, index) =>
      address({ name: `a${index}` }, { address: text }),
    ) as [IPAddress, IPAddress, IPAddress]
    const ledger = PoolLedger.build(owner, [one, same, other])
    expect(ledger.othersHolding(one)).toEqual(['default/a1'])
    expect(ledger.othersHolding(other)).toEqual([])
    expect(ledger.othersHolding(address({}, { address: 'fd00::2' }))).toEqual(['default/a2'])
    expect(ledger.othersHolding(address({}, { address: 'garbage' }))).toEqual([])
    const zoned = PoolLedger.build(owner, [one, address({ name: 'a9' }, { address: 'fd00::1%eth0' })])
    expect(zoned.othersHolding(one)).toEqual(['default/a9'])
    expect(zoned.othersHolding(address({ name: 'a9' }, { address: 'fd00::1%eth0' }))).toEqual(['default/a0'])
    for (const unusable of [undefined, pool(['garbage'])]) {
      const planner = inCluster()
      show(planner, ...(unusable === undefined ? [] : [unusable]), one, same, other)
      const blind = planner.ledgerOf(poolRef())
      expect(blind.othersHolding(one)).toEqual(['default/a1'])
      expect(blind.othersHolding(other)).toEqual([])
      expect([blind.next(), blind.counts(), blind.holdings.ledger.entries().length]).toEqual([undefined, undefined, 3])
      forget(planner, same)
      expect(blind.othersHolding(one)).toEqual([])
      // it has all of them when the pool exists
      show(planner, owner)
      expect([blind.holdings.ledger.entries().length, blind.counts()?.used]).toEqual([2, 2])
      forget(planner, owner)
      show(planner, same)
      expect(blind.othersHolding(one)).toEqual(['default/a1'])
    }
  })

  test('compares the holders of one address once for each IPAddress that leaves', () => {
    const names = Array.from({ length: 60 }, (_, nth) => `a${nth}`)
    const held = names.map((name, nth) => address({ name }, { address: nth % 2 === 0 ? 'fd00::1' : 'fd00:0::0:1' }))
    const { planner, ledger } = watching(pool(['fd00::1-fd00::9'], { prefix: 64 }), ...held)
    const sort = vi.spyOn(Array.prototype, 'sort')
    expect(ledger.duplicates().map(({ holders }) => holders.length)).toEqual([60])
    for (const one of held.slice(1)) forget(planner, one)
    const sorted = sort.mock.calls.length
    sort.mockRestore()
    expect(ledger.duplicates()).toEqual([])
    expect(sorted).toBeLessThan(10 * held.length)
  })

  test('says which others hold a part of the same prefix, or more than it', () => {
    const owner = InClusterPrefixPool.parse(stored(poolOf('InClusterPrefixPool', { prefixes: ['fd00::/62'] })))
    const [wide, narrow, apart] = [
      { address: 'fd00::', prefix: 63 },
      { address: 'fd00:0:0:1::7', prefix: 64 },
      { address: 'fd00:0:0:2::', prefix: 64 },
    ].map((spec, index) => address({ name: `a${index}` }, spec)) as [IPAddress, IPAddress, IPAddress]
    const ledger = PoolLedger.build(owner, [wide, narrow, apart])
    const held = [wide, narrow, apart]
    const others = [['default/a1'], ['default/a0'], []]
    expect(held.map((one) => ledger.othersHolding(one))).toEqual(others)
    const ofKind = held.map((one) => withPoolKind(one, 'InClusterPrefixPool'))
    const blind = PoolLedger.build(undefined, ofKind)
    expect(ofKind.map((one) => blind.othersHolding(one))).toEqual(others)
    const old = ['10.0.0.0', '10.0.0.8'].map((text, index) =>
      withPoolKind(address({ name: `v${index}` }, { address: text, prefix: 28 + index }), 'GlobalInClusterPrefixPool'),
    )
    const blind4 = PoolLedger.build(undefined, old)
    expect(old.map((one) => blind4.othersHolding(one))).toEqual([['default/v1'], ['default/v0']])
    // of no length that can be used: the child around its address
    expect(ledger.othersHolding(address({}, { address: 'fd00:0:0:2::9', prefix: 0 }))).toEqual(['default/a2'])
  })

  test('gives every free unit of a wider prefix that was released when nothing else is free', () => {
    const owner = poolOf('InClusterPrefixPool', { prefixes: ['fd00::/62'] })
    const { planner, ledger } = watching(owner, address({ name: 'b' }, { address: 'fd00:0:0:2::', prefix: 63 }))
    ledger.avoid('default/a', { address: 'fd00::', prefix: 63 })
    expect(ledger.next()?.address).toMatchObject({ w1: 0 })
    show(planner, withPoolKind(address({ name: 'c' }, { address: 'fd00::', prefix: 64 }), owner.kind))
    expect([ledger.counts()?.free, ledger.next()?.address]).toMatchObject([1, { w1: 1 }])
  })

  test('names the prefixes in use with their holders, host bits cleared', () => {
    const owner = InClusterPrefixPool.parse(stored(poolOf('InClusterPrefixPool', { prefixes: ['fd00::/62'] })))
    const ledger = PoolLedger.build(owner, [address({}, { address: 'fd00:0:0:1::99', prefix: 64 })])
    const prefix = { address: { family: 6, w0: 0xfd000000, w1: 1, w2: 0, w3: 0 }, length: 64 }
    expect(ledger.holdings.ledger.entries()).toMatchObject([
      {
        prefix,
        reason: 'held',
        holder: { key: 'IPAddressClaim default/web', uid: 'uid-IPAddress', owner: 'default/web' },
      },
    ])
  })

  test('says since when an IPAddress exists, unless its time cannot be read', () => {
    const since = (creationTimestamp: string) =>
      PoolLedger.build(undefined, [{ ...address(), metadata: { ...address().metadata, creationTimestamp } }])
        .holdings.ledger.entries()
        .map(({ sinceMs }) => sinceMs)
    expect(since('2026-01-01T00:00:00Z')).toEqual([Date.UTC(2026, 0, 1)])
    expect(since('long ago')).toEqual([undefined])
  })
})

describe('a plan for a pool', () => {
  test('writes when only what is out of range changes', () => {
    const status = { ipAddresses: { total: 1, free: 1, used: 1, outOfRange: 0 } }
    const owner = { ...stored(pool(['10.0.0.9']), { finalizers: ['ipam.cluster.x-k8s.io/ProtectPool'] }), status }
    const plan = planPool({ pool: owner, ledger: PoolLedger.build(owner, [address()]) })
    expect(plan.effects).toMatchObject([{ patch: { status: { ipAddresses: { outOfRange: 1 } } } }])
  })

  test('adds no finalizer to a pool that is being deleted: the API server would refuse it', () => {
    const dying = stored(pool(['10.0.0.5']), {
      deletionTimestamp: '2026-01-01T00:00:00Z',
      finalizers: ['example.com/hold'],
    })
    const plan = planPool({ pool: dying, ledger: PoolLedger.build(dying, [address()]) })
    expect(plan.effects.filter((it) => it.kind === 'patch' && it.subresource === undefined)).toEqual([])
  })
})

describe('a planner wakes', () => {
  const web = 'IPAddressClaim default/web'
  let version = 9
  const show = (planner: ReturnType<typeof inCluster>, object: KubeObject, metadata: object = {}) =>
    planner.observe({
      kind: 'present',
      object: stored(object, { resourceVersion: `${++version}`, ...metadata }),
    })
  const withClaim = (...objects: readonly KubeObject[]) => {
    const planner = inCluster()
    for (const object of [...objects, claim('web')]) show(planner, object)
    return planner
  }
  const plain = pool(['10.0.0.5'])

  test.each<[string, KubeObject, object]>([
    ['made again under another uid', plain, { uid: 'another' }],
    ['being deleted', plain, { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['x'] }],
    ['paused', plain, { annotations: { 'cluster.x-k8s.io/paused': '' } }],
    ['unreadable', { ...plain, spec: { addresses: 7 } }, {}],
  ])('the claims of a pool that is now %s', (_, object, metadata) => {
    const planner = withClaim(plain)
    expect(show(planner, plain)).not.toContain(web)
    expect(show(planner, object, metadata)).toContain(web)
    // and when that is over
    expect(
      show(planner, plain, { uid: metadata && 'uid' in metadata ? 'a-third' : 'uid-InClusterIPPool-pool' }),
    ).toContain(web)
  })

  test('the claims of a pool that cannot be read for another reason than before: their conditions repeat it', () => {
    const planner = withClaim({ ...plain, spec: { addresses: 7 } })
    expect(show(planner, { ...plain, spec: { addresses: ['10.0.0.5'], prefix: 'x' } })).toContain(web)
    const ready = planner.plan(web, { nowMs: 0 })
    expect(ready?.outcome.message).toContain('spec.prefix')
  })

  test('the claims of a pool that could not be read and is gone now: it is missing, no longer invalid', () => {
    const planner = withClaim({ ...plain, spec: { addresses: 7 } })
    expect(planner.observe({ kind: 'absent', ref: poolRef() })).toContain(web)
    expect(planner.plan(web, { nowMs: 0 })?.outcome.message).toBe('InClusterIPPool default/pool not found')
  })

  test('and serves a pool that has become readable again', () => {
    const planner = withClaim({ ...plain, spec: { addresses: 7 } })
    expect(planner.plan(web, { nowMs: 0 })?.outcome.kind).toBe('waiting')
    show(planner, plain)
    expect(planner.plan(web, { nowMs: 0 })?.outcome).toMatchObject({ kind: 'bound', address: '10.0.0.5' })
    expect(planner.ledgerOf(poolRef()).problems).toEqual([])
  })

  test('those that wait for a prefix when one in use is made smaller', () => {
    const planner = inCluster()
    show(planner, poolOf('InClusterPrefixPool', { prefixes: ['fd00::/63'] }))
    const poolRef = { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterPrefixPool', name: 'pool' }
    const wide = address({ name: 'x' }, { claimRef: { name: 'x' }, poolRef, address: 'fd00::', prefix: 63 })
    planner.observe({ kind: 'present', object: wide })
    show(planner, claim('web', { poolRef }))
    expect(planner.plan(web, { nowMs: 0 })?.outcome).toMatchObject({ reason: 'PoolExhausted' })
    const narrow = {
      ...wide,
      spec: { ...wide.spec, prefix: 64 },
      metadata: { ...wide.metadata, resourceVersion: '10' },
    }
    expect(planner.observe({ kind: 'present', object: narrow })).toContain(web)
  })

  test('a new pool before its claims, and one that is protected after them', () => {
    const planner = inCluster()
    const key = 'InClusterIPPool default/pool'
    expect(planner.isAggregate(key)).toBe(false)
    show(planner, claim('web'))
    expect(planner.isAggregate(key)).toBe(true)
    show(planner, pool(['10.0.0.1']))
    expect(planner.isAggregate(key)).toBe(false)
    expect(planner.plan(key, { nowMs: 0 })?.effects[0]).toMatchObject({ patch: { metadata: { finalizers: [/./] } } })
    // also if that is not seen yet: what it takes comes again with every change
    expect(planner.isAggregate(key)).toBe(true)
    const finalizers = ['ipam.cluster.x-k8s.io/ProtectPool']
    planner.observe({
      kind: 'present',
      object: stored(pool(['10.0.0.1']), { uid: 'another', resourceVersion: '99', finalizers }),
    })
    expect(planner.isAggregate(key)).toBe(true)
  })

  test('no claim for room in a pool that it no longer waits for', () => {
    const planner = withClaim(pool(['10.0.0.1'], { gateway: '10.0.0.1' }))
    planner.plan(web, { nowMs: 0 })
    const gone = () => {
      planner.observe({ kind: 'present', object: address({ name: 'x' }, { claimRef: { name: 'x' } }) })
      return planner.observe({
        kind: 'absent',
        ref: { ...poolRef('x'), kind: 'IPAddress', apiVersion: 'ipam.cluster.x-k8s.io/v1beta2' },
      })
    }
    expect(gone()).toContain(web)
    show(planner, claim('web', { poolRef: { name: 'other' } }))
    expect(gone()).not.toContain(web)
  })

  test('no claim that has been bound since', () => {
    const planner = withClaim(pool(['10.0.0.1'], { gateway: '10.0.0.1' }))
    planner.plan(web, { nowMs: 0 })
    show(planner, pool(['10.0.0.5']))
    expect(planner.plan(web, { nowMs: 0 })?.outcome.kind).toBe('bound')
    planner.observe({
      kind: 'present',
      object: address({ name: 'x' }, { claimRef: { name: 'x' }, address: '10.0.0.9' }),
    })
    const ref = { apiVersion: 'ipam.cluster.x-k8s.io/v1beta2', kind: 'IPAddress', namespace: 'default', name: 'x' }
    expect(planner.observe({ kind: 'absent', ref })).not.toContain(web)
  })

  test('no claim of a Cluster that it no longer names, and none after a reset', () => {
    const planner = inCluster()
    show(planner, claim('web', { clusterName: 'c1' }))
    show(planner, claim('web', { clusterName: 'c2' }))
    expect(show(planner, cluster('c1'))).toEqual([])
    planner.reset()
    expect(show(planner, cluster('c2'))).toEqual([])
    expect(planner.observe({ kind: 'absent', ref: clusterRef('c2') })).toEqual([])
  })

  test('after a reset nothing unreadable is remembered', () => {
    const planner = inCluster()
    show(planner, { ...claim('web'), spec: 7 })
    planner.reset()
    expect(planner.plan(web, { nowMs: 0 })).toBeUndefined()
  })
})

test('a grace period ends when its last second ends, not before', () => {
  const owner = InClusterIPPool.parse(stored(pool(['10.0.0.5'], { addressReuseGracePeriodSeconds: 10 })))
  const dying = IPAddressClaim.parse(stored(claim('web'), { deletionTimestamp: '1970-01-01T00:00:00Z' }))
  const at = (nowMs: number) =>
    planClaim(
      { claim: dying, pool: owner, address: address(), ledger: PoolLedger.build(owner, [address()]) },
      { nowMs },
    )
  expect(at(9_001)).toMatchObject({ outcome: { kind: 'releasing' }, requeueAfterSeconds: 1 })
  expect(at(10_000).outcome.kind).toBe('released')
})

function withPoolKind(held: IPAddress, kind: string): IPAddress {
  return { ...held, spec: { ...held.spec, poolRef: { ...held.spec.poolRef, kind } } }
}
