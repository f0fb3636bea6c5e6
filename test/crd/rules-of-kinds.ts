import * as ClusterApi from 'ipam-kit/crd/cluster-api'
import * as InCluster from 'ipam-kit/crd/in-cluster'
import * as IpamKit from 'ipam-kit/crd/ipam-kit'
import type { Admission, KubeObject, Model } from 'ipam-kit/crd/meta'
import * as Metal3 from 'ipam-kit/crd/metal3'
import * as Networking from 'ipam-kit/crd/networking'
import * as NodeIpam from 'ipam-kit/crd/node-ipam'
import * as OpenStack from 'ipam-kit/crd/openstack'
import { answerReview } from 'ipam-kit/provider/webhook'
import { memoryStore } from 'ipam-kit/store/memory'
import { groupOf } from '../../src/crd/meta/object.js'

const groups = { ...ClusterApi, ...InCluster, ...IpamKit, ...Metal3, ...Networking, ...NodeIpam, ...OpenStack }
/** The names of all functions that admit objects. */
export const functions = Object.keys(groups).filter((name) => name.startsWith('admit'))

interface Update {
  readonly operation: 'UPDATE'
  readonly object: KubeObject
  readonly oldObject: KubeObject
}

/** The rules of a kind, and objects that break them. */
export interface Rules {
  /** The function, as it is exported. */
  readonly admit: string
  readonly model: Model<KubeObject>
  readonly apiVersion?: string
  readonly name?: string
  readonly right: object
  /** A spec with an error, and what the warning of it contains. */
  readonly wrong: object
  readonly warning: string
  /** The spec with the same error, and another one that the first does not hide. */
  readonly worse: object
  /** A spec that is wrong in another way. */
  readonly other: object
  /** What the rules get beside the objects. */
  readonly more?: object
}

const identityRef = { name: 'cloud', cloudName: 'openstack' }
const poolRef = { kind: 'InClusterIPPool', name: 'blue' }
const grid = { blockPrefixLength: 24, allocationPrefixLength: 32 }
const grid6 = { blockPrefixLength: 120, allocationPrefixLength: 128 }
const block = { cidr: '10.0.0.0/24', domain: 'default', allocationPrefixLength: 32, pool: 'blue', sequence: 9 }
const row = (sequence: number) => ({ owner: 'lab/web-0', uid: 'u-0', sequence })
const consumers = [{ name: 'a' }]
const groupless = { floatingIPPoolRef: { kind: 'Pool', name: 'blue' } }
const grouped = { floatingIPPoolRef: { apiGroup: 'g', kind: 'Pool', name: 'blue' } }
const parentRef = { resource: 'services', namespace: 'a', name: 'b' }
const address3 = { claim: { name: 'a' }, pool: { name: 'b' }, prefix: 24 }

export const table: readonly Rules[] = [
  ...InCluster.poolModels.flatMap((model): readonly Rules[] =>
    model.info.kind.includes('Prefix')
      ? [
          {
            ...{ admit: 'admitInClusterPool', model, more: { inUse: [] } },
            right: { prefixes: ['fd00::/48'] },
            wrong: { prefixes: ['fd00::/48', 'x'] },
            warning: 'spec.prefixes: Invalid value: "x"',
            worse: { prefixes: ['fd00::/48', 'x'], gateway: '10.0.0.1' },
            other: { prefixes: ['fd00::/48', 'y'] },
          },
          {
            ...{ admit: 'admitInClusterPool', model, more: { inUse: [] } },
            right: { prefixes: ['fd00::/48'] },
            wrong: { prefixes: [] },
            warning: 'spec.prefixes: Invalid value: []string{}: prefixes is required',
            worse: { prefixes: [], gateway: 'x' },
            other: { prefixes: ['10.0.0.0/24'] },
          },
        ]
      : [
          {
            ...{ admit: 'admitInClusterPool', model, more: { inUse: [] } },
            right: { addresses: ['10.0.0.0/24'], prefix: 24 },
            wrong: { addresses: ['10.0.0.0/24', 'x'], prefix: 24 },
            warning: 'spec.addresses: Invalid value: "x"',
            // upstream looks at subnets only if nothing else is wrong
            worse: { addresses: ['10.0.0.0/24', 'x', '10.1.0.0/24'], prefix: 24 },
            other: { addresses: ['10.0.0.0/24', 'y'], prefix: 24 },
          },
        ],
  ),
  {
    ...{ admit: 'admitIPAddressClaim', model: ClusterApi.IPAddressClaim, apiVersion: 'ipam.cluster.x-k8s.io/v1beta1' },
    right: { poolRef: { ...poolRef, apiGroup: 'ipam.cluster.x-k8s.io' } },
    wrong: { poolRef },
    warning: 'the pool reference needs to contain a group',
    worse: { poolRef, clusterName: 'a' },
    other: { poolRef: { ...poolRef, name: 'red' } },
  },
  {
    ...{ admit: 'admitIPAddress', model: ClusterApi.IPAddress, more: { claim: { kind: 'absent' } } },
    right: { claimRef: { name: 'a' }, poolRef: { ...poolRef, apiGroup: 'g' }, address: '10.0.0.1', prefix: 24 },
    wrong: { claimRef: { name: 'a' }, poolRef: { ...poolRef, apiGroup: 'g' }, address: '10.0.0.01', prefix: 24 },
    warning: 'spec.address: Invalid value: "10.0.0.01"',
    worse: { claimRef: { name: 'a' }, poolRef: { ...poolRef, apiGroup: 'g' }, address: '10.0.0.01', prefix: -1 },
    other: { claimRef: { name: 'a' }, poolRef: { ...poolRef, apiGroup: 'g' }, address: 'x', prefix: 24 },
  },
  {
    ...{ admit: 'admitIPPool', model: IpamKit.IPPool },
    right: { subnets: [{ cidr: '10.0.0.0/24' }] },
    wrong: { subnets: [{ cidr: '10.0.0.0/24', gateway: '10.0.1.1' }] },
    warning: 'spec.subnets[0].gateway: Invalid value: "10.0.1.1"',
    worse: { subnets: [{ cidr: '10.0.0.0/24', gateway: '10.0.1.1' }], reuseAfterSeconds: -1 },
    other: { subnets: [{ cidr: '10.0.0.0/24', exclude: ['x'] }] },
  },
  {
    // what the schema finds hides nothing
    ...{ admit: 'admitIPPool', model: IpamKit.IPPool },
    right: { subnets: [{ cidr: '10.0.0.0/24' }] },
    wrong: { subnets: [{ cidr: '10.0.0.0/24' }], reuseAfterSeconds: -1 },
    warning: 'spec.reuseAfterSeconds: Invalid value: -1',
    worse: { subnets: [{ cidr: '10.0.0.0/24', gateway: '10.0.1.1' }], reuseAfterSeconds: -1 },
    other: { subnets: [{ cidr: '10.0.0.1/24' }] },
  },
  {
    ...{ admit: 'admitIPBlock', model: IpamKit.IPBlock, name: 'default-4-0a000000-24' },
    right: block,
    wrong: { ...block, rows: { 0: row(10) } },
    warning: 'spec.rows.0.sequence: Invalid value: 10: is above spec.sequence',
    worse: { ...block, rows: { 0: row(10), 1: row(11) } },
    other: { ...block, rows: { 0: { ...row(10), uid: 'u-1' } } },
  },
  {
    ...{ admit: 'admitIPDomain', model: IpamKit.IPDomain },
    right: { ipv4: grid, ipv6: grid6 },
    wrong: { ipv4: { ...grid, blockPrefixLength: 16 }, ipv6: grid6 },
    warning: 'spec.ipv4',
    worse: { ipv4: { ...grid, blockPrefixLength: 16 }, ipv6: { ...grid6, blockPrefixLength: 64 } },
    other: { ipv4: { ...grid, blockPrefixLength: 15 }, ipv6: grid6 },
  },
  {
    ...{ admit: 'admitIPHandle', model: IpamKit.IPHandle, name: 'odd' },
    right: { owner: 'web/front-0', uid: '4f1c', blocks: {} },
    wrong: { owner: 'web/front-0', uid: '4f1c', blocks: {} },
    warning: 'metadata.name: Invalid value: "odd"',
    worse: { owner: 'web/front-0', uid: '', blocks: {} },
    other: { owner: 'web/front-1', uid: '4f1c', blocks: {} },
  },
  {
    ...{ admit: 'admitClusterNetwork', model: IpamKit.ClusterNetwork },
    right: { consumers, acceptanceSeconds: 5 },
    wrong: { consumers, acceptanceSeconds: 0 },
    warning: 'spec.acceptanceSeconds: Invalid value: 0',
    worse: { consumers: [...consumers, ...consumers], acceptanceSeconds: 0 },
    other: { consumers, acceptanceSeconds: -1 },
  },
  {
    ...{ admit: 'admitMetal3IPPool', model: Metal3.IPPool },
    right: { namePrefix: 'a', pools: [{ start: '10.0.0.1', end: '10.0.0.9' }] },
    wrong: { namePrefix: 'a', pools: [{ start: '10.0.0.9', end: '10.0.0.1' }] },
    warning: 'spec.pools[0]: Invalid value: "": end IP 10.0.0.1 is before start IP 10.0.0.9',
    worse: { namePrefix: 'a', pools: [{ start: '10.0.0.9', end: '10.0.0.1', gateway: 'x' }] },
    other: { namePrefix: 'a', pools: [{}] },
  },
  {
    // an entry that cannot be read hides no other one
    ...{ admit: 'admitMetal3IPPool', model: Metal3.IPPool },
    right: { namePrefix: 'a', allocationStrategy: 'random', pools: [{ start: '10.0.0.1', end: '10.0.0.9' }] },
    wrong: {
      ...{ namePrefix: 'a', allocationStrategy: 'random' },
      pools: [{ start: '10.0.0.1', end: '10.0.0.9', gateway: 'x' }],
    },
    warning: 'spec.pools[0].gateway: Invalid value: "x"',
    worse: { namePrefix: 'a', allocationStrategy: 'random', pools: [{ start: '10.0.0.1', gateway: 'x' }] },
    other: { namePrefix: 'a', allocationStrategy: 'random', pools: [{ start: '10.0.0.1' }] },
  },
  {
    ...{ admit: 'admitMetal3IPClaim', model: Metal3.IPClaim },
    right: { pool: { name: 'b' } },
    wrong: { pool: { name: '' } },
    warning: 'spec.pool.name: Invalid value: "": cannot be empty',
    worse: { pool: { name: '', kind: 'IPPool' } },
    other: { pool: { name: 'c' } },
  },
  {
    ...{ admit: 'admitMetal3IPAddress', model: Metal3.IPAddress },
    right: { ...address3, address: '10.0.0.1' },
    wrong: { ...address3, address: 'x' },
    warning: 'spec.address: Invalid value: "x"',
    worse: { ...address3, address: 'x', claim: { name: '' } },
    other: { ...address3, address: 'y' },
  },
  {
    ...{ admit: 'admitServiceCIDR', model: Networking.ServiceCIDR },
    right: { cidrs: ['10.0.0.0/24'] },
    wrong: { cidrs: ['10.0.0.1/24'] },
    warning: 'spec.cidrs[0]: Invalid value: "10.0.0.1/24"',
    worse: { cidrs: ['10.0.0.1/24', 'x'] },
    other: { cidrs: ['10.0.0.2/24'] },
  },
  {
    ...{ admit: 'admitServiceIPAddress', model: Networking.IPAddress, name: 'web' },
    right: { parentRef },
    wrong: { parentRef: { ...parentRef, resource: '' } },
    warning: 'spec.parentRef.resource: Required value',
    worse: { parentRef: { ...parentRef, resource: '', name: 'a/b' } },
    other: { parentRef: { ...parentRef, resource: '..' } },
  },
  {
    ...{ admit: 'admitClusterCIDR', model: NodeIpam.ClusterCIDR },
    right: { perNodeHostBits: 8, ipv4: '10.0.0.0/16' },
    wrong: { perNodeHostBits: 17, ipv4: '10.0.0.0/16' },
    warning: 'spec.perNodeHostBits: Invalid value: 17',
    worse: { perNodeHostBits: 17, ipv4: '10.0.0.0/16', ipv6: 'x' },
    other: { perNodeHostBits: 2, ipv4: '10.0.0.0/16' },
  },
  {
    ...{ admit: 'admitOpenStackFloatingIPPool', model: OpenStack.OpenStackFloatingIPPool },
    right: { identityRef, reclaimPolicy: 'Delete' },
    wrong: { identityRef, reclaimPolicy: 'Delete', preAllocatedFloatingIPs: ['192.0.2.1', '192.0.2.1'] },
    warning: 'spec.preAllocatedFloatingIPs[1]: Duplicate value: "192.0.2.1"',
    worse: { identityRef, reclaimPolicy: 'Delete', preAllocatedFloatingIPs: ['192.0.2.1', '192.0.2.1', '192.0.2.1'] },
    other: { identityRef, reclaimPolicy: 'Delete', maxIPs: -1 },
  },
  {
    ...{ admit: 'admitOpenStackServer', model: OpenStack.OpenStackServer },
    right: grouped,
    wrong: groupless,
    warning: 'spec.floatingIPPoolRef.apiGroup: Required value',
    worse: { ...groupless, flavor: 'a' },
    other: { floatingIPPoolRef: { ...groupless.floatingIPPoolRef, name: 'red' } },
  },
  {
    ...{ admit: 'admitOpenStackMachine', model: OpenStack.OpenStackMachine },
    right: grouped,
    wrong: groupless,
    warning: 'spec.floatingIPPoolRef.apiGroup: Required value',
    worse: { ...groupless, flavor: 'a' },
    other: { floatingIPPoolRef: { ...groupless.floatingIPPoolRef, name: 'red' } },
  },
  {
    ...{ admit: 'admitOpenStackMachineTemplate', model: OpenStack.OpenStackMachineTemplate },
    right: { template: { spec: grouped } },
    wrong: { template: { spec: groupless } },
    warning: 'spec.template.spec.floatingIPPoolRef.apiGroup: Required value',
    worse: { template: { spec: { ...groupless, flavor: 'a' } } },
    other: { template: { spec: { floatingIPPoolRef: { ...groupless.floatingIPPoolRef, name: 'red' } } } },
  },
]

export const GOING = { deletionTimestamp: '2026-01-01T00:00:00Z' }

export function rawOf(
  { model, apiVersion = model.info.apiVersion, name = 'a' }: Rules,
  spec: object,
  metadata: object = {},
) {
  const { kind, namespaced } = model.info
  const namespace = namespaced ? { namespace: 'lab' } : {}
  return { apiVersion, kind, metadata: { name, ...namespace, ...metadata }, spec } as KubeObject
}

/** An update by the function of the kind. Cluster API takes objects of any version. */
export function updated(rules: Rules, before: KubeObject, after: KubeObject): Admission {
  const read = (object: KubeObject) => (rules.apiVersion === undefined ? rules.model.parse(object) : object)
  const request: Update = { operation: 'UPDATE', object: read(after), oldObject: read(before) }
  const admit = (groups as unknown as { [name: string]: (request: object) => Admission })[rules.admit]!
  return admit({ ...request, ...rules.more })
}

/** The same update, as a review of an API server. No look-up succeeds. */
export async function reviewed(rules: Rules, before: KubeObject, after: KubeObject): Promise<boolean> {
  const { kind } = rules.model.info
  const [group, version] = [groupOf(after.apiVersion), after.apiVersion.split('/')[1]]
  const request = { uid: 'u', kind: { group, version, kind }, operation: 'UPDATE', object: after, oldObject: before }
  const failing = memoryStore({ now: () => 0 })
  const store = { get: failing.get, list: () => Promise.reject(new Error('down')) }
  const review = await answerReview({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request }, store)
  return (review.response as { readonly allowed: boolean }).allowed
}
