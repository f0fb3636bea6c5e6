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

const own = (name: string, kind: string, spec: object): KubeObject => ({
  apiVersion: 'ipam-kit.dev/v1alpha1',
  kind,
  metadata: { name },
  spec,
})
const subnets = [{ cidr: '10.0.0.0/24', ranges: ['10.0.0.8/29'], exclude: [], gateway: '10.0.0.1' }]
const ownPool = (name: string, spec: object) => own(name, 'IPPool', { subnets, ...spec })
const grid = (family: 4 | 6, change: object = {}) => ({
  [`ipv${family}`]: { blockPrefixLength: 20, allocationPrefixLength: 28, ...change },
})
const place = { cidr: '10.0.0.0/24', domain: 'lab', allocationPrefixLength: 32, pool: 'blue', sequence: 9 }
const holder = { owner: 'lab/web-0', uid: 'u-0' }
const row = { ...holder, sequence: 9 }
const block = (name: string, change: object) => own(name, 'IPBlock', { ...place, ...change })
const blockOf = (name: string, change: object) => block(name, { rows: { 0: row, 5: { ...row, ...change } } })
const range = (name: string, spec: unknown): KubeObject => ({
  ...{ apiVersion: 'networking.x-k8s.io/v1', kind: 'ClusterCIDR', metadata: { name } },
  ...(spec === undefined ? {} : { spec }),
})
const ipv4 = '10.1.0.0/16'

const openStack = (name: string, kind: string, spec: object, version = 'v1alpha1') =>
  named(name, `infrastructure.cluster.x-k8s.io/${version}`, kind, { spec })
const floatingPool = (name: string, spec: object) =>
  openStack(name, 'OpenStackFloatingIPPool', {
    ...{ identityRef: { name: 'cloud', cloudName: 'openstack' }, reclaimPolicy: 'Delete' },
    ...spec,
  })
const network = '6c90b532-7ba0-418a-a276-5ae55060b5b0'

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
  own('no-subnets', 'IPPool', {}),
  ownPool('empty-subnets', { subnets: [] }),
  ownPool('too-many-subnets', { subnets: Array.from({ length: 257 }, (_, index) => ({ cidr: `10.${index}.0.0/24` })) }),
  ownPool('subnet-twice', { subnets: [...subnets, ...subnets] }),
  ownPool('texts', { subnets: [{ cidr: '1', ranges: [], exclude: ['x'], reserved: [7], gateway: '' }] }),
  ownPool('words', { domain: 'Lab', skipEdges: 'no', order: '', disabled: 'yes' }),
  ownPool('numbers', { reuseAfterSeconds: -1, priority: 2 ** 31, sticky: { by: 'mac', forSeconds: 31_622_401 } }),
  ownPool('policy', { sticky: { by: 'name' }, affinity: { by: 'zone', maxBlocksPerNode: 0, borrow: 1 } }),
  ownPool('grid', { ...grid(4, { blockPrefixLength: 33 }), ...grid(6, { allocationPrefixLength: 0 }) }),
  ownPool('selectors', {
    namespaceSelector: { matchLabels: { a: 'b'.repeat(64) } },
    nodeSelector: { matchExpressions: [{ key: '', operator: 'Gt', values: [5] }, {}] },
  }),
  own('no-spec-of-a-block', 'IPBlock', {}),
  block('place', { cidr: '10', domain: '', allocationPrefixLength: 0, pool: 'a b', node: 'N', sequence: -1 }),
  block('rows-as-a-list', { rows: [row] }),
  block('too-many-rows', { rows: Object.fromEntries(Array.from({ length: 1025 }, (_, unit) => [unit, row])) }),
  blockOf('row-without', { owner: undefined, uid: undefined, sequence: undefined }),
  blockOf('row-names', { owner: 'lab/wëb', uid: '"', kind: '<', interface: 'eth 0', container: '', pool: 'A' }),
  blockOf('row-lengths', { owner: 'a'.repeat(318), uid: 'a'.repeat(37), kind: 'a'.repeat(64), pool: 'a'.repeat(201) }),
  blockOf('row-more', { mac: '02-00-00-00-00-01', count: 1025, sequence: 1.5, state: 'bound', released: 'now' }),
  own('no-spec-of-a-handle', 'IPHandle', {}),
  own('handle-words', 'IPHandle', { ...holder, uid: '', owner: 'a b', blocks: [] }),
  own('handle-blocks', 'IPHandle', { ...holder, blocks: { eth0: Array.from({ length: 65 }, () => 'b'), net1: [''] } }),
  own('no-grid', 'IPDomain', grid(4)),
  range('no-spec-of-a-range', undefined),
  range('no-bits', { ipv4 }),
  range('text-for-bits', { ipv4, perNodeHostBits: '8' }),
  range('half-a-bit', { ipv4, perNodeHostBits: 8.5 }),
  range('zero-bits', { ipv4, perNodeHostBits: 0 }),
  range('negative-bits', { ipv4, perNodeHostBits: -1 }),
  range('no-terms', { ipv4, perNodeHostBits: 8, nodeSelector: {} }),
  range('no-operator', {
    ...{ ipv4, perNodeHostBits: 8 },
    nodeSelector: { nodeSelectorTerms: [{ matchFields: [{ key: 7, values: [1] }] }] },
  }),
  floatingPool('no-policy', { reclaimPolicy: undefined, identityRef: {} }),
  floatingPool('words', { reclaimPolicy: 'Keep', identityRef: { type: 'File', name: '', cloudName: '' } }),
  floatingPool('numbers', { maxIPs: 1.5, preAllocatedFloatingIPs: [7] }),
  floatingPool('network-of-none', { floatingIPNetwork: {} }),
  floatingPool('network-of-two', { floatingIPNetwork: { id: network, filter: { name: 'ext' } } }),
  floatingPool('network-id', { floatingIPNetwork: { id: 'ext' } }),
  floatingPool('network-filter', { floatingIPNetwork: { filter: {} } }),
  floatingPool('network-tags', { floatingIPNetwork: { filter: { tags: ['a', 'b,c', '', 'a'] } } }),
  openStack('no-kind', 'OpenStackServer', { floatingIPPoolRef: { name: 'blue' }, flavor: 'm1' }),
  openStack('no-name', 'OpenStackMachine', { floatingIPPoolRef: { kind: 'Pool' } }, 'v1beta1'),
  openStack('no-template', 'OpenStackMachineTemplate', {}, 'v1beta2'),
  own('consumers', 'ClusterNetwork', { consumers: [{ name: 'A b' }, { name: '' }, {}] }),
  own('consumer-twice', 'ClusterNetwork', { consumers: [{ name: 'a' }, { name: 'b' }, { name: 'a' }] }),
  own('too-many-consumers', 'ClusterNetwork', {
    consumers: Array.from({ length: 9 }, (_, index) => ({ name: `c${index}` })),
  }),
  own('seconds', 'ClusterNetwork', { acceptanceSeconds: 0 }),
  own('wrong-grid', 'IPDomain', { ...grid(4, { blockPrefixLength: 0 }), ...grid(6, { allocationPrefixLength: 129 }) }),
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
  ownPool('own-pool', {
    ...grid(4),
    sticky: { by: 'owner', forSeconds: 60 },
    affinity: { by: 'node' },
    nodeSelector: { matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }] },
  }),
  block('lab-4-0a000000-24', { rows: { 255: { ...row, state: 'held', released: ready.lastTransitionTime } } }),
  own('uid-u-0', 'IPHandle', { ...holder, blocks: { '': ['lab-4-0a000000-24'], eth0: [] } }),
  own('own-domain', 'IPDomain', { ...grid(4), ...grid(6) }),
  own('own-network', 'ClusterNetwork', { consumers: [{ name: 'flannel' }], acceptanceSeconds: 60 }),
  floatingPool('floating-pool', {
    ...{ maxIPs: 5, preAllocatedFloatingIPs: ['203.0.113.1'] },
    floatingIPNetwork: { id: network.replaceAll('-', '').toUpperCase() },
  }),
  openStack('floating-server', 'OpenStackServer', { flavor: 'm1', floatingIPPoolRef: poolRef, ports: [{ any: 1 }] }),
  openStack(
    'floating-machine',
    'OpenStackMachine',
    { flavor: { filter: { name: 'm1' } }, floatingIPPoolRef: poolRef },
    'v1beta2',
  ),
  openStack(
    'floating-template',
    'OpenStackMachineTemplate',
    { template: { spec: { image: 'a', floatingIPPoolRef: poolRef } } },
    'v1beta1',
  ),
  range('rack-1', {
    ...{ ipv4, ipv6: 'fd00::/64', perNodeHostBits: 8 },
    nodeSelector: { nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }] }] },
  }),
]

/** What a controller says of a claim, in v1beta2. */
export const status = {
  conditions: [ready],
  addressRef: { name: 'web' },
  deprecated: { v1beta1: { conditions: [legacy] } },
}
