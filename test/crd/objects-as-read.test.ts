import { admitInClusterPool } from 'ipam-kit/crd/in-cluster'
import { admitServiceCIDR } from 'ipam-kit/crd/networking'
import { admitOpenStackMachine } from 'ipam-kit/crd/openstack'
import { addressesOfPool } from 'ipam-kit/provider/consumer'
import { PoolLedger } from 'ipam-kit/provider/in-cluster'
import { describe, expect, test } from 'vitest'
import { machine } from './openstack/objects.js'

describe('rules of admission see an object as its model reads it', () => {
  test('null in a field that may be left out counts as absent', () => {
    const read = machine()
    const object = { ...read, spec: { ...read.spec, floatingIPPoolRef: null } } as unknown as typeof read
    expect(admitOpenStackMachine({ operation: 'CREATE', object })).toEqual({ allowed: true, warnings: [] })
  })

  test('a field that has a default has its default', () => {
    const object = { apiVersion: 'networking.k8s.io/v1', kind: 'ServiceCIDR', metadata: { name: 'more' } }
    const request = { operation: 'CREATE', object } as Parameters<typeof admitServiceCIDR>[0]
    expect(admitServiceCIDR(request)).toMatchObject({ allowed: false, errors: [{ path: 'spec.cidrs' }] })
  })
})

test('fields are unknown to the version in which the object was sent', () => {
  const metadata = { name: 'lab', namespace: 'default' }
  const spec = { subnet: '10.0.0.0/24', excludedAddresses: ['10.0.0.9'] }
  const object = { apiVersion: 'ipam.cluster.x-k8s.io/v1alpha1', kind: 'InClusterIPPool', metadata, spec }
  const request = { operation: 'CREATE', object } as unknown as Parameters<typeof admitInClusterPool>[0]
  expect(admitInClusterPool(request).warnings).toEqual(['unknown field "spec.excludedAddresses"'])
})

describe('functions that take objects name the field of the object that is wrong', () => {
  test('of a list', () => {
    const address = { apiVersion: 'ipam.cluster.x-k8s.io/v1beta2', kind: 'IPAddress', metadata: { name: 'web' } }
    const addresses = [address] as unknown as Parameters<typeof addressesOfPool>[1]
    expect(() => addressesOfPool({ apiGroup: 'g', kind: 'Pool', name: 'p' }, addresses)).toThrow(
      'addressesOfPool: argument addresses[0].spec: expected an object, got undefined',
    )
  })

  test('of the spec that the kind of a pool has', () => {
    const metadata = { name: 'lab', namespace: 'default' }
    const spec = { prefixes: ['fd00::/48', 5] }
    const pool = { apiVersion: 'ipam.cluster.x-k8s.io/v1alpha2', kind: 'InClusterPrefixPool', metadata, spec }
    const given = pool as unknown as Parameters<typeof PoolLedger.build>[0]
    expect(() => PoolLedger.build(given, [])).toThrow(
      'PoolLedger.build: argument pool.spec.prefixes[1]: expected a text, got 5',
    )
  })
})
