import type { KubeObject } from '../../../src/crd/meta/object.js'

const GROUP = 'ipam.cluster.x-k8s.io'
const poolRef = { apiGroup: GROUP, kind: 'InClusterIPPool', name: 'blue' }
const ready = { type: 'Ready', status: 'True', reason: 'Up', message: '', lastTransitionTime: '2026-01-01T00:00:00Z' }
const legacy = { type: 'Ready', status: 'False', severity: 'Error', lastTransitionTime: '2026-01-01T00:00:00Z' }

function named(name: string, apiVersion: string, kind: string, fields: object): KubeObject {
  return { apiVersion, kind, metadata: { name, namespace: 'default' }, ...fields }
}

const claim = (name: string, version: string, fields: object) =>
  named(name, `${GROUP}/${version}`, 'IPAddressClaim', fields)
const address = (name: string, spec: object, version = 'v1beta2') =>
  named(name, `${GROUP}/${version}`, 'IPAddress', {
    spec: { claimRef: { name: 'web' }, poolRef, address: '10.0.0.1', prefix: 24, ...spec },
  })
const pool = (name: string, version: string, kind: string, spec: object) =>
  named(name, `${GROUP}/${version}`, kind, { spec })
const metal3 = (name: string, kind: string, spec: object) => named(name, 'ipam.metal3.io/v1alpha1', kind, { spec })

/** Objects with something wrong, each in another way. */
export const wrongObjects: readonly KubeObject[] = [
  claim('no-spec', 'v1beta2', {}),
  claim('null-spec', 'v1beta2', { spec: null }),
  claim('no-pool', 'v1beta2', { spec: {} }),
  claim('no-pool-old', 'v1beta1', { spec: {} }),
  claim('empty-group', 'v1beta2', { spec: { poolRef: { ...poolRef, apiGroup: '' } } }),
  claim('group-and-version', 'v1beta2', { spec: { poolRef: { ...poolRef, apiGroup: `${GROUP}/v1alpha2` } } }),
  claim('long-name', 'v1beta2', { spec: { poolRef: { ...poolRef, name: 'a'.repeat(254) } } }),
  claim('long-and-wrong', 'v1beta2', { spec: { poolRef: { ...poolRef, name: `${'a'.repeat(254)}!` } } }),
  claim('kind-of-digits', 'v1beta2', { spec: { poolRef: { ...poolRef, kind: '1' } } }),
  claim('number-for-text', 'v1beta2', { spec: { poolRef: { ...poolRef, name: 7 } } }),
  claim('half-for-text', 'v1beta2', { spec: { poolRef: { ...poolRef, name: 7.5 } } }),
  claim('flag-for-text', 'v1beta2', { spec: { poolRef: { ...poolRef, name: true } } }),
  claim('list-for-object', 'v1beta2', { spec: { poolRef: [] } }),
  claim('text-for-object', 'v1beta2', { spec: 'x' }),
  claim('cluster-name', 'v1beta2', { spec: { poolRef, clusterName: 'c'.repeat(64) } }),
  claim('empty-cluster-name', 'v1beta1', { spec: { poolRef, clusterName: '' } }),
  address('prefix-129', { prefix: 129 }),
  address('prefix-below', { prefix: -1 }),
  address('prefix-text', { prefix: '24' }),
  address('prefix-half', { prefix: 24.5 }),
  address('prefix-half-old', { prefix: 24.5 }, 'v1beta1'),
  address('no-prefix', { prefix: undefined }),
  address('no-prefix-old', { prefix: undefined }, 'v1beta1'),
  address('empty-gateway', { gateway: '' }),
  address('long-address', { address: 'a'.repeat(40) }),
  address('no-claim-name', { claimRef: {} }),
  pool('wrong-address', 'v1alpha2', 'InClusterIPPool', { addresses: ['10.0.0.1', null, 7], prefix: 24 }),
  pool('wrong-prefix', 'v1alpha2', 'InClusterIPPool', { addresses: [], prefix: 129 }),
  pool('grace', 'v1alpha2', 'InClusterIPPool', { addresses: [], prefix: 24, addressReuseGracePeriodSeconds: -1 }),
  pool('long-grace', 'v1alpha2', 'InClusterIPPool', {
    addresses: [],
    prefix: 24,
    addressReuseGracePeriodSeconds: 2 ** 31,
  }),
  pool('flag', 'v1alpha2', 'InClusterIPPool', { addresses: [], prefix: 24, allocateReservedIPAddresses: 'yes' }),
  pool('old-prefix', 'v1alpha1', 'InClusterIPPool', { prefix: 129 }),
  pool('no-prefixes', 'v1alpha2', 'InClusterPrefixPool', {}),
  pool('length', 'v1alpha2', 'InClusterPrefixPool', { prefixes: [], allocationPrefixLength: 0 }),
  metal3('strategy', 'IPPool', { namePrefix: 'a', allocationStrategy: 'any' }),
  metal3('prefix', 'IPPool', { namePrefix: '', pools: [{ start: 'x', prefix: 129 }, 5], preAllocations: { web: 'x' } }),
  metal3('no-pool', 'IPClaim', {}),
]

/** Statuses of a claim of v1beta2 with something wrong. */
export const wrongStatuses: readonly object[] = [
  { conditions: [{ ...ready, reason: '' }] },
  { conditions: [{ ...ready, reason: 'Pool Exhausted' }] },
  { conditions: [{ ...ready, status: 'Yes' }] },
  { conditions: [{ ...ready, lastTransitionTime: 'now' }] },
  { conditions: [{ ...ready, observedGeneration: -1 }] },
  { conditions: [{ type: 'Ready' }] },
  { conditions: [ready, { ...ready, status: 'False' }] },
  { conditions: Array.from({ length: 33 }, (_, index) => ({ ...ready, type: `T${index}` })) },
  { addressRef: {} },
  { addressRef: { name: 'A' } },
]

/** Objects that are right, in every version. */
export const rightObjects: readonly KubeObject[] = [
  claim('in-v1alpha1', 'v1alpha1', { spec: { poolRef } }),
  claim('in-v1beta1', 'v1beta1', { spec: { poolRef, clusterName: 'c1' } }),
  claim('in-v1beta2', 'v1beta2', { spec: { poolRef, clusterName: 'c1' } }),
  address('in-v1alpha1', {}, 'v1alpha1'),
  address('in-v1beta2', { gateway: '10.0.0.254' }),
  pool('in-v1alpha1', 'v1alpha1', 'InClusterIPPool', { subnet: '10.0.0.0/24', gateway: '10.0.0.1' }),
  pool('in-v1alpha2', 'v1alpha2', 'InClusterIPPool', {
    addresses: ['10.0.0.0/24'],
    prefix: 24,
    excludedAddresses: ['10.0.0.9'],
  }),
]

/** What a controller says of a claim, in v1beta2. */
export const status = {
  conditions: [ready],
  addressRef: { name: 'web' },
  deprecated: { v1beta1: { conditions: [legacy] } },
}
