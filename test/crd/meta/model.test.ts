import { Cluster, IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { InClusterIPPool, InClusterPrefixPool } from 'ipam-kit/crd/in-cluster'
import { describe, expect, test } from 'vitest'

const claim = {
  apiVersion: 'ipam.cluster.x-k8s.io/v1beta2',
  kind: 'IPAddressClaim',
  metadata: { name: 'web', namespace: 'default' },
  spec: { poolRef: { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'InClusterIPPool', name: 'pool' } },
}
const pool = {
  apiVersion: 'ipam.cluster.x-k8s.io/v1alpha2',
  kind: 'InClusterIPPool',
  metadata: { name: 'pool', namespace: 'default' },
  spec: { addresses: ['10.0.0.0/24'], prefix: 24 },
}

describe('reading an object', () => {
  test('keeps fields that the model does not know, at every level', () => {
    const unknown = {
      ...claim,
      extra: 1,
      metadata: { ...claim.metadata, managedFields: [{ manager: 'kubectl' }] },
      spec: { ...claim.spec, future: { deep: ['kept'] }, poolRef: { ...claim.spec.poolRef, future: true } },
    }
    expect(IPAddressClaim.parse(unknown)).toEqual(unknown)
  })

  test('takes null for absent, as the API server does', () => {
    const read = InClusterIPPool.parse({
      ...pool,
      spec: { ...pool.spec, gateway: null, excludedAddresses: null },
      status: null,
    })
    expect(read.spec).toEqual(pool.spec)
    expect(read).not.toHaveProperty('status')
  })

  test('takes Date objects, as some clients hand them out, for timestamps', () => {
    const read = IPAddressClaim.parse({
      ...claim,
      metadata: { ...claim.metadata, creationTimestamp: new Date(Date.UTC(2026, 0, 2, 3, 4, 5)) },
    })
    expect(read.metadata.creationTimestamp).toBe('2026-01-02T03:04:05.000Z')
  })

  test('names every field that is wrong, with its path', () => {
    const wrong = { ...pool, metadata: { namespace: 'default' }, spec: { addresses: ['a', 7], prefix: '24' } }
    const read = InClusterIPPool.safeParse(wrong)
    if (read.ok || read.failure.code !== 'INVALID_OBJECT') return expect.unreachable()
    expect(read.failure.context.issues.map((issue) => issue.path)).toEqual([
      'metadata.name',
      'spec.addresses[1]',
      'spec.prefix',
    ])
  })

  test.each([
    ['another kind', { ...claim, kind: 'IPAddress' }, 'ipam.cluster.x-k8s.io/v1beta2 IPAddress'],
    ['a version that is not read', { ...claim, apiVersion: 'ipam.cluster.x-k8s.io/v9' }, 'v9 IPAddressClaim'],
    ['a list', [], 'a list'],
    ['null', null, 'null'],
    ['a text', 'x', 'a text: pass the parsed JSON'],
    ['an object without kind', {}, 'an object without apiVersion and kind'],
  ])('refuses %s, and says what it got', (_, json, words) => {
    const read = IPAddressClaim.safeParse(json)
    if (read.ok || read.failure.code !== 'OBJECT_KIND_MISMATCH') return expect.unreachable()
    expect(read.failure.context.got).toContain(words)
  })

  test('survives an object that nests deeper than any real one', () => {
    let deep: unknown = null
    for (let depth = 0; depth < 50_000; depth++) deep = { deep }
    expect(IPAddressClaim.safeParse({ ...claim, extra: deep }).ok).toBe(true)
  })

  test('parse throws the failure that safeParse returns', () => {
    expect(() => IPAddress.parse(claim)).toThrow(expect.objectContaining({ code: 'OBJECT_KIND_MISMATCH' }))
  })

  test('does not change what it is given', () => {
    const frozen = JSON.parse(JSON.stringify({ ...claim, status: null }))
    const before = JSON.stringify(frozen)
    IPAddressClaim.parse(Object.freeze(frozen))
    expect(JSON.stringify(frozen)).toBe(before)
  })
})

describe('v1beta1', () => {
  const v1beta1 = { ...claim, apiVersion: 'ipam.cluster.x-k8s.io/v1beta1' }

  test('claims become v1beta2; a missing group becomes an empty one', () => {
    const read = IPAddressClaim.parse({ ...v1beta1, spec: { poolRef: { kind: 'InClusterIPPool', name: 'pool' } } })
    expect(read.apiVersion).toBe('ipam.cluster.x-k8s.io/v1beta2')
    expect(read.spec.poolRef).toEqual({ apiGroup: '', kind: 'InClusterIPPool', name: 'pool' })
  })

  test('conditions of the two worlds never mix', () => {
    const legacy = { type: 'Ready', status: 'False', severity: 'Error', lastTransitionTime: '2026-01-01T00:00:00Z' }
    const modern = {
      type: 'Ready',
      status: 'True',
      reason: 'Up',
      message: '',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    }
    const status = { addressRef: { name: 'web' }, conditions: [legacy], v1beta2: { conditions: [modern] } }
    expect(IPAddressClaim.parse({ ...v1beta1, status }).status).toEqual({
      addressRef: { name: 'web' },
      conditions: [modern],
      deprecated: { v1beta1: { conditions: [legacy] } },
    })
  })

  test('an empty list of old conditions leaves nothing behind', () => {
    expect(IPAddressClaim.parse({ ...v1beta1, status: { conditions: [] } })).not.toHaveProperty('status')
  })

  test('addresses get an explicit prefix', () => {
    const address = {
      apiVersion: 'ipam.cluster.x-k8s.io/v1beta1',
      kind: 'IPAddress',
      metadata: { name: 'web', namespace: 'default' },
      spec: { claimRef: { name: 'web' }, poolRef: { kind: 'InClusterIPPool', name: 'pool' }, address: '10.0.0.1' },
    }
    expect(IPAddress.parse(address).spec).toMatchObject({ prefix: 0, poolRef: { apiGroup: '' } })
  })

  test('Clusters are read in both versions', () => {
    const cluster = { kind: 'Cluster', metadata: { name: 'c1', namespace: 'default' }, spec: { paused: true } }
    for (const version of ['v1beta1', 'v1beta2']) {
      expect(Cluster.parse({ ...cluster, apiVersion: `cluster.x-k8s.io/${version}` }).spec?.paused).toBe(true)
    }
  })
})

test('is() knows a kind by its group, whatever the version', () => {
  expect(IPAddressClaim.is({ apiVersion: 'ipam.cluster.x-k8s.io/v1alpha1', kind: 'IPAddressClaim' })).toBe(true)
  expect(IPAddressClaim.is({ apiVersion: 'example.com/v1beta2', kind: 'IPAddressClaim' })).toBe(false)
  expect(InClusterPrefixPool.is({ apiVersion: 'ipam.cluster.x-k8s.io/v1alpha2', kind: 'InClusterIPPool' })).toBe(false)
})
