import { Prefix, RangeSet } from 'ipam-kit/cidr'
import { Node } from 'ipam-kit/crd/core'
import { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import {
  type FamilyView,
  type NetworkView,
  type NetworkViewOptions,
  networkViewPlanner,
} from 'ipam-kit/provider/network-view'
import { formatRef, type KindInfo, type KubeObject, type ObjectRef, refOf } from '../../../src/crd/meta/object.js'

export interface NodeTraits {
  readonly podCIDR?: string
  readonly deleting?: boolean
  readonly address?: string
}

const DELETED = '2026-01-01T00:00:00Z'

export function node(name: string, podCIDRs: readonly string[], traits: NodeTraits = {}): Node {
  const { podCIDR, deleting, address } = traits
  return Node.parse({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, uid: `uid-${name}`, ...(deleting === true ? { deletionTimestamp: DELETED } : {}) },
    spec: { podCIDRs, ...(podCIDR === undefined ? {} : { podCIDR }) },
    ...(address === undefined ? {} : { status: { addresses: [{ type: 'InternalIP', address }] } }),
  })
}

export interface RangeTraits {
  readonly deleting?: boolean
  readonly uid?: string
}

/** A ClusterCIDR of one range, or of one of each family with a comma. */
export function clusterCIDR(name: string, cidrs: string, { deleting, uid = `uid-${name}` }: RangeTraits = {}) {
  const [ipv4, ipv6] = [false, true].map((is6) => cidrs.split(',').find((cidr) => cidr.includes(':') === is6))
  return ClusterCIDR.parse({
    apiVersion: ClusterCIDR.info.apiVersion,
    kind: 'ClusterCIDR',
    metadata: { name, uid, ...(deleting === true ? { deletionTimestamp: DELETED } : {}) },
    spec: { perNodeHostBits: 4, ipv4, ipv6 },
  })
}

export function texts(prefixes: readonly Prefix[]): string[] {
  return prefixes.map(Prefix.format)
}

export function known(view: NetworkView): string[] {
  return texts(RangeSet.prefixes(view.known))
}

/** All of a view as plain data: two views that say the same are equal. */
export function plain(view: NetworkView): unknown {
  const { ipv4, ipv6, problems } = view
  return { ipv4: plainFamily(ipv4), ipv6: plainFamily(ipv6), problems, known: RangeSet.format(view.known) }
}

function plainFamily(view: FamilyView): unknown {
  const { active, proposed, terminating, drained, inUse, orphans, conflicts, hasMoreConflicts, nodes } = view
  return { active, proposed, terminating, drained, inUse, orphans, conflicts, hasMoreConflicts, nodes }
}

/** A planner that is told of changes one by one, and its view. */
export function followed(options: NetworkViewOptions = {}) {
  const planner = networkViewPlanner(options)
  let version = 0
  const lives = new Map<string, number>()
  const lifeOf = (ref: ObjectRef) => lives.get(formatRef(ref)) ?? 0
  return {
    get view(): NetworkView {
      return planner.view
    },
    /** Creates or updates an object. Returns whether the view has changed. */
    set(object: KubeObject): boolean {
      const ref = refOf(object)
      const uid = `${formatRef(ref)} ${lifeOf(ref)}`
      const metadata = { ...object.metadata, uid, resourceVersion: String(++version) }
      return planner.observe({ kind: 'present', object: { ...object, metadata } }).length > 0
    },
    delete({ apiVersion, kind }: KindInfo, name: string): boolean {
      const ref = { apiVersion, kind, name }
      lives.set(formatRef(ref), lifeOf(ref) + 1)
      return planner.observe({ kind: 'absent', ref }).length > 0
    },
  }
}

export type Followed = ReturnType<typeof followed>
