import { Address, Prefix } from 'ipam-kit/cidr'
import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { InClusterIPPool } from 'ipam-kit/crd/in-cluster'
import { blockName, IPBlock } from 'ipam-kit/crd/ipam-kit'
import type { KindInfo, KubeObject } from 'ipam-kit/crd/meta'
import { ClusterCIDR } from 'ipam-kit/crd/node-ipam'

/** What a controller finds when it starts: everything has what it asks for, and nothing is written. */
export const SYSTEMS = {
  'in-cluster': claimsAndAddresses,
  blocks: claimsOnBlocks,
  'node-ipam': nodes,
} as const

export type System = keyof typeof SYSTEMS

const GROUP = 'ipam.cluster.x-k8s.io'
const NAMESPACE = 'default'
const POOL = 'pool'
const poolRef = { apiGroup: GROUP, kind: InClusterIPPool.info.kind, name: POOL }
/** The pool and its domain, as blocks name them. */
const DOMAIN = `${InClusterIPPool.info.plural}.${NAMESPACE}.${POOL}`
const NETWORK = Address.parse('10.0.0.0')
/** The number of addresses of a /14 without its edges and the gateway, and the place of the first one. */
const TOTAL = 2 ** 18 - 3
const FIRST = 2
const UNITS = 256
const CREATED = Date.UTC(2026, 0, 1)

/** Claims and their addresses, half of the objects each, of one pool. */
function* claimsAndAddresses(count: number): Generator<KubeObject> {
  const claims = count / 2
  yield objectOf(InClusterIPPool.info, POOL, 0, {
    metadata: { namespace: NAMESPACE, finalizers: [`${GROUP}/ProtectPool`] },
    spec: { addresses: ['10.0.0.0/14'], prefix: 14, gateway: '10.0.0.1' },
    status: { ipAddresses: { total: TOTAL, free: TOTAL - claims, used: claims, outOfRange: 0 } },
  })
  for (let nth = 0; nth < claims; nth++) {
    const name = `claim-${nth}`
    const ready = { type: 'Ready', status: 'True', reason: 'AddressAllocated', message: '', observedGeneration: 1 }
    yield objectOf(IPAddressClaim.info, name, nth, {
      metadata: { namespace: NAMESPACE, finalizers: [`${GROUP}/ReleaseAddress`] },
      spec: { poolRef },
      status: { addressRef: { name }, conditions: [{ ...ready, lastTransitionTime: createdAt(nth) }] },
    })
    const owners = [
      ownerOf(IPAddressClaim.info, name, nth, { controller: true }),
      ownerOf(InClusterIPPool.info, POOL, 0, { controller: false }),
    ]
    const address = Address.format(Address.add(NETWORK, FIRST + nth))
    yield objectOf(IPAddress.info, name, nth, {
      metadata: { namespace: NAMESPACE, finalizers: [`${GROUP}/ProtectAddress`], ownerReferences: owners },
      spec: { claimRef: { name }, poolRef, address, prefix: 14, gateway: '10.0.0.1' },
    })
  }
}

/** The same, with their rows in blocks. */
function* claimsOnBlocks(count: number): Generator<KubeObject> {
  yield* claimsAndAddresses(count)
  const claims = count / 2
  const sequence = CREATED * 1000
  for (let block = 0; block * UNITS < FIRST + claims; block++) {
    const rows: { [unit: string]: object } = {}
    for (let unit = 0; unit < UNITS; unit++) {
      const nth = block * UNITS + unit - FIRST
      if (nth < 0 || nth >= claims) continue
      const owner = `${NAMESPACE}/claim-${nth}`
      const kind = `${IPAddressClaim.info.kind}.${GROUP}`
      rows[unit] = { owner, uid: uidOf(IPAddressClaim.info, nth), kind, sequence: sequence + nth }
    }
    const prefix = Prefix.of(Address.add(NETWORK, block * UNITS), 24)
    yield objectOf(IPBlock.info, blockName(DOMAIN, prefix), block, {
      metadata: { finalizers: ['ipam-kit.dev/rows'] },
      spec: {
        ...{ domain: DOMAIN, allocationPrefixLength: 32, pool: DOMAIN, cidr: Prefix.format(prefix) },
        ...{ sequence: sequence + claims, last: UNITS - 1, rows },
      },
    })
  }
}

/** Nodes with a subnet each, of one range. */
function* nodes(count: number): Generator<KubeObject> {
  yield objectOf(ClusterCIDR.info, 'range', 0, {
    metadata: { finalizers: ['networking.x-k8s.io/cluster-cidr-finalizer'] },
    spec: { perNodeHostBits: 7, ipv4: '10.0.0.0/8' },
  })
  const info: KindInfo = { apiVersion: 'v1', kind: 'Node', plural: 'nodes', namespaced: false, statusSubresource: true }
  for (let nth = 0; nth < count; nth++) {
    const podCIDR = Prefix.format(Prefix.of(Address.add(NETWORK, nth * 128), 25))
    const labels = { 'kubernetes.io/hostname': `node-${nth}`, 'topology.kubernetes.io/zone': `zone-${nth % 3}` }
    const images = Array.from({ length: 10 }, (_, image) => ({ names: [`example.com/image-${image}:1.2.3`] }))
    yield objectOf(info, `node-${nth}`, nth, {
      metadata: { labels },
      spec: { podCIDR, podCIDRs: [podCIDR] },
      status: { images },
    })
  }
}

function objectOf(
  { apiVersion, kind }: KindInfo,
  name: string,
  nth: number,
  { metadata, ...rest }: { readonly metadata: object; readonly spec: object; readonly status?: object },
): KubeObject {
  const own = { name, uid: uidOf({ kind }, nth), resourceVersion: `${nth + 1}`, generation: 1 }
  return {
    apiVersion,
    kind,
    metadata: { ...own, creationTimestamp: createdAt(nth), ...metadata },
    ...rest,
  } as KubeObject
}

function uidOf({ kind }: Pick<KindInfo, 'kind'>, nth: number): string {
  return `${kind.toLowerCase()}-${nth}`.padStart(36, '0')
}

/** In no order of the names, as objects of an API server. */
function createdAt(nth: number): string {
  return new Date(CREATED + ((nth * 7919) % 86_400) * 1000).toISOString().replace('.000Z', 'Z')
}

function ownerOf(
  { apiVersion, kind }: KindInfo,
  name: string,
  nth: number,
  { controller }: { readonly controller: boolean },
): object {
  return { apiVersion, kind, name, uid: uidOf({ kind }, nth), controller, blockOwnerDeletion: true }
}
