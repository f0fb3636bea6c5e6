import { Address, Prefix } from 'ipam-kit/cidr'
import { Pod } from 'ipam-kit/crd/core'
import { IPPool as BlockPool, IPBlock } from 'ipam-kit/crd/ipam-kit'
import type { KindInfo, KubeObject } from 'ipam-kit/crd/meta'
import { NetworkAttachmentDefinition } from 'ipam-kit/crd/multinet'
import { leaseName, OverlappingRangeIPReservation, IPPool as WhereaboutsPool } from 'ipam-kit/crd/whereabouts'
import { unwrap } from 'ipam-kit/errors'
import type { Store } from 'ipam-kit/store'
import type { Place } from './command.js'
import { copyOf } from './copy-of.js'
import { type Networks, readNetworks } from './networks.js'

/** In the namespace of the pools. */
const OLD_KINDS = [WhereaboutsPool, OverlappingRangeIPReservation].map(({ info }) => info)
const BLOCK_KINDS = [BlockPool, IPBlock].map(({ info }) => info)

/** What the commands read. */
export function kindsOf(hasBlocks: boolean): readonly KindInfo[] {
  return [NetworkAttachmentDefinition.info, ...OLD_KINDS, ...(hasBlocks ? BLOCK_KINDS : []), Pod.info]
}

/**
 * A copy in memory of all that the commands read.
 *
 * @param single kinds of which they read the Lease of upstream alone
 */
export async function copyOfCluster(
  { store, namespace, hasBlocks, now }: Place,
  single: readonly KindInfo[] = [],
): Promise<Store> {
  const objects: KubeObject[] = []
  for (const kind of kindsOf(hasBlocks)) {
    const of = OLD_KINDS.includes(kind) ? namespace : undefined
    objects.push(...unwrap(await store.list({ apiVersion: kind.apiVersion, kind: kind.kind, namespace: of })).items)
  }
  for (const { apiVersion, kind } of single) {
    const found = await store.get({ apiVersion, kind, namespace, name: unwrap(leaseName()) })
    if (found.ok) objects.push(found.value)
  }
  return copyOf(objects, [...kindsOf(hasBlocks), ...single], now)
}

/** What is stored about networks of whereabouts, and their Pods. */
export interface Cluster {
  readonly networks: Networks
  readonly pools: readonly KubeObject[]
  readonly reservations: readonly KubeObject[]
  readonly blockRows: readonly BlockRow[]
  /** By `namespace/name`. */
  readonly pods: ReadonlyMap<string, KubeObject>
}

/** A row of a block that is not released. */
export interface BlockRow {
  readonly address: Address
  /** The IPPool of ipam-kit.dev. */
  readonly pool: string
  readonly block: string
  readonly owner: string
  readonly kind: string
  readonly uid: string
  readonly interface?: string | undefined
  readonly container?: string | undefined
  readonly sequence: number
}

export async function readCluster({ store, namespace, hasBlocks }: Place): Promise<Cluster> {
  const listed = async ({ apiVersion, kind }: KindInfo, of?: string) =>
    unwrap(await store.list({ apiVersion, kind, namespace: of })).items
  const definitions = await listed(NetworkAttachmentDefinition.info)
  const pools = await listed(WhereaboutsPool.info, namespace)
  const reservations = await listed(OverlappingRangeIPReservation.info, namespace)
  const blocks = hasBlocks ? await listed(IPBlock.info) : []
  // a row is older than the state of its Pod
  const pods = await listed(Pod.info)
  return {
    networks: readNetworks(definitions),
    pools,
    reservations,
    blockRows: blocks.flatMap((object) => rowsOfBlock(IPBlock.parse(object))),
    pods: new Map(pods.map((pod) => [`${pod.metadata.namespace}/${pod.metadata.name}`, pod])),
  }
}

function rowsOfBlock({ metadata, spec }: IPBlock): readonly BlockRow[] {
  const { cidr, allocationPrefixLength: length } = spec
  const first = Prefix.first(Prefix.parse(cidr))
  const size = 2n ** BigInt(Address.bitsOf(first.family) - length)
  return Object.entries(spec.rows).flatMap(([unit, { state, kind = 'Pod', pool = spec.pool, ...row }]) =>
    state === undefined
      ? [{ ...row, kind, pool, block: metadata.name, address: Address.add(first, BigInt(unit) * size) }]
      : [],
  )
}

/** Whether the Pod with this uid exists. A static Pod has the uid of its mirror. */
export function isThere(pod: KubeObject | undefined, uid: string): boolean {
  if (pod === undefined) return false
  const { uid: own, annotations } = pod.metadata
  return own === uid || annotations?.['kubernetes.io/config.mirror'] === uid
}
