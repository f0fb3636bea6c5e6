import type { InClusterIPPool } from 'ipam-kit/crd/in-cluster'
import { type KubeObject, type ObjectRef, refOf } from 'ipam-kit/crd/meta'
import { inCluster } from 'ipam-kit/provider/in-cluster'
import { beforeEach, describe, expect, test } from 'vitest'
import type { InClusterPlanner } from '../../../src/provider/in-cluster/planner.js'
import { addressRef, claim, cluster, pool, poolOf, poolRef } from './world.js'

// One planner that lives on while the world changes, as in a controller: nothing is reset between
// the events.
let planner: InClusterPlanner
let version = 0

beforeEach(() => {
  planner = inCluster()
  version = 0
})

function show(object: KubeObject, metadata: object = {}): readonly string[] {
  const stored = {
    uid: `uid-${object.kind}-${object.metadata.name}`,
    resourceVersion: String(++version),
    generation: 1,
  }
  return planner.observe({
    kind: 'present',
    object: { ...object, metadata: { ...object.metadata, ...stored, ...metadata } },
  })
}

const gone = (ref: ObjectRef) => planner.observe({ kind: 'absent', ref })
const plan = (key: string) => planner.plan(key, { nowMs: 0 })
const created = (name: string) => ({ creationTimestamp: `2026-01-01T00:00:0${name.length}Z` })

/** Plans a claim and shows the planner the address that it would create, as a host does. */
function bind(name: string): string | undefined {
  const effect = plan(`IPAddressClaim default/${name}`)?.effects.find((it) => it.kind === 'create')
  if (effect?.kind !== 'create') return undefined
  show(effect.object)
  return (effect.object.spec as { address: string }).address
}

describe('a claim of a pool that was not seen yet', () => {
  const pools = () => planner.watches.find(({ kind }) => kind === 'InClusterIPPool')!
  const key = 'IPAddressClaim default/a'

  test('waits without an event and a status until pools were listed', () => {
    show(claim('a'))
    expect(plan(key)).toEqual({
      outcome: {
        kind: 'waiting',
        reason: 'PoolNotReady',
        message: 'InClusterIPPool default/pool is not known yet: pools of its kind are being listed',
      },
      effects: [],
      requeueAfterSeconds: 30,
    })
    planner.complete?.(pools())
    expect(plan(key)?.outcome).toMatchObject({ message: 'InClusterIPPool default/pool not found' })
    expect(plan(key)?.effects.map(({ kind }) => kind)).toEqual(['patch', 'patch', 'event'])
  })

  test('is woken by its pool, and served', () => {
    show(claim('a'))
    plan(key)
    expect(show(pool(['10.0.0.5']))).toContain(key)
    expect(bind('a')).toBe('10.0.0.5')
  })

  test('says that there is no pool where the planner was told so of this one', () => {
    show(claim('a'))
    gone(poolRef())
    expect(plan(key)?.outcome).toMatchObject({ message: 'InClusterIPPool default/pool not found' })
  })

  test('gives nothing back when it is deleted: its pool may have a grace period, or be paused', () => {
    const deleted = { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['ipam.cluster.x-k8s.io/ReleaseAddress'] }
    show(ofPool('pool', '10.0.0.5'))
    show(claim('a'), deleted)
    expect(plan(key)).toMatchObject({ outcome: { kind: 'waiting', reason: 'PoolNotReady' }, effects: [] })
    planner.complete?.(pools())
    expect(plan(key)?.effects).not.toEqual([])
  })

  test('begins anew after a reset', () => {
    planner.complete?.(pools())
    planner.reset()
    show(claim('a'))
    expect(plan(key)?.effects).toEqual([])
  })
})

describe('a planner that lives on', () => {
  test('never gives two claims one address, however soon they come', () => {
    show(pool(['10.0.0.5-10.0.0.7']))
    for (const name of ['a', 'b', 'c', 'd']) show(claim(name))
    expect(['a', 'b', 'c', 'd'].map(bind)).toEqual(['10.0.0.5', '10.0.0.6', '10.0.0.7', undefined])
  })

  test('takes a new spec of a pool in, and wakes its claims', () => {
    show(pool(['10.0.0.5']))
    show(claim('a'))
    show(claim('b'))
    bind('a')
    expect(plan('IPAddressClaim default/b')?.outcome).toMatchObject({ kind: 'waiting', reason: 'PoolExhausted' })
    expect(show(pool(['10.0.0.5', '10.0.0.9']), { generation: 2 })).toContain('IPAddressClaim default/b')
    expect(bind('b')).toBe('10.0.0.9')
  })

  test('keeps an address that falls out of the pool in use, and counts it apart', () => {
    show(pool(['10.0.0.5-10.0.0.6']))
    show(claim('a'))
    bind('a')
    show(pool(['10.0.0.6']))
    expect(planner.ledgerOf(poolRef()).counts()).toEqual({ total: 1, free: 1, used: 1, outOfRange: 1 })
    show(pool(['10.0.0.5-10.0.0.6']))
    expect(planner.ledgerOf(poolRef()).next()?.address).toEqual({ family: 4, value: 0x0a000006 })
  })

  test('does not wake the claims of a pool whose status changes', () => {
    show(pool(['10.0.0.5']))
    show(claim('a'))
    const counted = { ...pool(['10.0.0.5']), status: { ipAddresses: { total: 1, free: 1, used: 0, outOfRange: 0 } } }
    expect(show(counted)).toEqual(['InClusterIPPool default/pool'])
  })

  test('wakes those that wait for room when an address goes, the oldest first', () => {
    show(pool(['10.0.0.5']))
    show(claim('holder'))
    bind('holder')
    for (const name of ['aaa', 'zz']) show(claim(name), created(name))
    for (const name of ['aaa', 'zz']) plan(`IPAddressClaim default/${name}`)
    expect(gone(addressRef('holder'))).toEqual([
      'IPAddressClaim default/holder',
      'InClusterIPPool default/pool',
      'IPAddressClaim default/zz',
      'IPAddressClaim default/aaa',
    ])
  })

  test('frees the old address, and holds the new one, of an IPAddress that was changed by hand', () => {
    show(pool(['10.0.0.5-10.0.0.6']))
    show(claim('a'))
    bind('a')
    const address = plan('IPAddressClaim default/a')
    expect(address?.outcome).toMatchObject({ kind: 'bound', address: '10.0.0.5' })
    const changed = {
      ...ofPool('pool', '10.0.0.6'),
      metadata: { name: 'a', namespace: 'default' },
    }
    expect(show(changed)).toContain('InClusterIPPool default/pool')
    expect(planner.entries()).toMatchObject([
      {
        holder: { key: 'IPAddressClaim default/a' },
        reason: 'held',
        prefix: { address: { value: 0x0a000006 }, length: 32 },
      },
    ])
  })

  test('moves an IPAddress whose pool reference changes from one ledger to the other', () => {
    show(pool(['10.0.0.5']))
    show(pool(['10.0.0.5'], {}, 'other'))
    show(ofPool('pool', '10.0.0.5'))
    expect(show(ofPool('other', '10.0.0.5'))).toEqual(
      expect.arrayContaining(['InClusterIPPool default/pool', 'InClusterIPPool default/other']),
    )
    expect(planner.ledgerOf(poolRef()).size).toBe(0)
    expect(planner.ledgerOf(poolRef('other')).next()).toBeUndefined()
  })

  test('follows a claim whose pool reference changes', () => {
    show(pool(['10.0.0.5']))
    show(pool(['10.0.9.9'], {}, 'other'))
    show(claim('a'))
    show(claim('a', { poolRef: { name: 'other' } }))
    expect(show(pool(['10.0.0.5-10.0.0.6']))).not.toContain('IPAddressClaim default/a')
    expect(bind('a')).toBe('10.0.9.9')
  })

  test('wakes the claims of a Cluster that is paused, unpaused, made or gone, and of no other', () => {
    show(claim('a', { clusterName: 'c1' }))
    show(claim('b', { labels: { 'cluster.x-k8s.io/cluster-name': 'c1' } }))
    show(claim('c', { clusterName: 'c2' }))
    const both = ['IPAddressClaim default/a', 'IPAddressClaim default/b']
    expect(show(cluster('c1', { paused: true }))).toEqual(both)
    expect(show(cluster('c1', { paused: true }), { labels: { any: 'thing' } })).toEqual([])
    expect(show(cluster('c1'))).toEqual(both)
    expect(gone(refOf(cluster('c1')))).toEqual(both)
  })

  test('keeps pools of one name apart by kind and namespace', () => {
    show(pool(['10.0.0.5']))
    show({ ...pool(['10.0.0.6']), metadata: { name: 'pool', namespace: 'other' } })
    show(poolOf('GlobalInClusterIPPool', { addresses: ['10.0.0.7'], prefix: 24 }))
    show(claim('a'))
    show(claim('b', { poolRef: { kind: 'GlobalInClusterIPPool' } }))
    expect([bind('a'), bind('b')]).toEqual(['10.0.0.5', '10.0.0.7'])
  })

  test('plans nothing for what is gone, and forgets everything on reset', () => {
    show(claim('a'))
    gone(refOf(claim('a')))
    expect(plan('IPAddressClaim default/a')).toBeUndefined()
    show(pool(['10.0.0.5']))
    planner.reset()
    expect(plan('InClusterIPPool default/pool')).toBeUndefined()
  })

  test('says of a claim or pool that it cannot read what is wrong with it', () => {
    show({ ...claim('a'), spec: { poolRef: 'pool' } })
    expect(plan('IPAddressClaim default/a')).toMatchObject({ outcome: { kind: 'unreadable' }, effects: [] })
    show({ ...claim('a') })
    expect(plan('IPAddressClaim default/a')?.outcome.kind).toBe('waiting')
  })

  test('makes the same plan whatever the order in which it was shown things, and however often', () => {
    const objects: KubeObject[] = [
      pool(['10.0.0.5-10.0.0.7']),
      claim('a'),
      claim('b'),
      ofPool('pool', '10.0.0.5'),
      cluster('c1'),
    ]
    const plansOf = (order: readonly KubeObject[]) => {
      planner.reset()
      version = 0
      for (const object of order) show(object, { resourceVersion: '7' })
      return ['a', 'b'].map((name) => plan(`IPAddressClaim default/${name}`))
    }
    const expected = plansOf(objects)
    expect(plansOf([...objects].reverse())).toEqual(expected)
    expect(plansOf([...objects, ...objects])).toEqual(expected)
  })

  test('ignores kinds that it does not serve', () => {
    expect(show({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x', namespace: 'default' } })).toEqual([])
  })
})

test('refuses objects that no store has given a uid: a plan could not name them', () => {
  planner.observe({ kind: 'present', object: pool(['10.0.0.5']) })
  planner.observe({ kind: 'present', object: claim('a') })
  expect(() => plan('IPAddressClaim default/a')).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
})

test('a pool on its way out is planned until nothing refers to it', () => {
  const dying: InClusterIPPool = pool(['10.0.0.5'])
  show(dying)
  show(ofPool('pool', '10.0.0.5'))
  const metadata = { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['ipam.cluster.x-k8s.io/ProtectPool'] }
  show(dying, metadata)
  expect(plan('InClusterIPPool default/pool')?.outcome).toMatchObject({ kind: 'protected', addresses: 1 })
  gone(addressRef('x'))
  const last = plan('InClusterIPPool default/pool')
  expect(last?.outcome.kind).toBe('unprotected')
  expect(last?.effects.at(-1)).toMatchObject({ kind: 'patch', patch: { metadata: { finalizers: [] } } })
})

function ofPool(name: string, address: string): KubeObject {
  return {
    apiVersion: 'ipam.cluster.x-k8s.io/v1beta2',
    kind: 'IPAddress',
    metadata: { name: 'x', namespace: 'default' },
    spec: {
      claimRef: { name: 'x' },
      poolRef: { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name },
      address,
      prefix: 24,
    },
  }
}
