import { Prefix } from 'ipam-kit/cidr'
import { Meta } from 'ipam-kit/crd'
import { Node, nodeSubnets } from 'ipam-kit/crd/core'
import { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import { unwrap } from 'ipam-kit/errors'
import type { EventEffect } from 'ipam-kit/plan'
import { type NetworkView, networkView } from 'ipam-kit/provider/network-view'
import { type NodeIPAMOutcome, readRange } from 'ipam-kit/provider/node-ipam'
import type { Store } from 'ipam-kit/store'
import type { Said } from '../steps.js'

/** How the cluster is after a step. */
export interface Snapshot {
  readonly title: string
  readonly events: readonly EventEffect[]
  readonly nodes: readonly NodeView[]
  readonly ranges: readonly RangeView[]
  /** What the components of the network have to know. */
  readonly view: NetworkView
}

export interface NodeView {
  readonly name: string
  readonly subnets: readonly Prefix[]
  /** What its last plan came to. */
  readonly state: NodeIPAMOutcome['kind'] | null
  /** The range of its subnets. */
  readonly range: string | null
}

export interface RangeView {
  readonly name: string
  readonly prefixes: readonly Prefix[]
  /** Subnets in all. */
  readonly total: number
  readonly state: NodeIPAMOutcome['kind'] | null
  readonly isDeleting: boolean
  /** The subnets of Nodes in it. */
  readonly inUse: readonly Prefix[]
}

export async function snapshot(
  store: Pick<Store, 'list'>,
  { title, events, outcomes }: Said<NodeIPAMOutcome>,
): Promise<Snapshot> {
  const listed = async (kind: Meta.KindInfo) => unwrap(await store.list(kind)).items
  const found = (await listed(Node.info)).map((object) => Node.parse(object))
  const held = found.flatMap((node) => nodeSubnets(node).subnets)
  const clusterCIDRs = (await listed(ClusterCIDR.info)).map((object) => ClusterCIDR.parse(object))
  const ranges = clusterCIDRs.flatMap((object): RangeView[] => {
    const read = readRange(object)
    if (!read.ok) return []
    const { name, spaces, capacity } = read.value
    const prefixes = spaces.map(({ prefix }) => prefix)
    const inUse = held.filter((subnet) => prefixes.some((prefix) => Prefix.contains(prefix, subnet)))
    const state = outcomes.get(`ClusterCIDR ${name}`)?.kind ?? null
    return [{ name, prefixes, total: Number(capacity), state, isDeleting: Meta.isDeleting(object), inUse }]
  })
  const nodes = found.map((node): NodeView => {
    const { name } = node.metadata
    const { subnets } = nodeSubnets(node)
    const range = ranges.find(({ prefixes }) =>
      prefixes.some((prefix) => subnets.some((s) => Prefix.contains(prefix, s))),
    )
    return { name, subnets, state: outcomes.get(`Node ${name}`)?.kind ?? null, range: range?.name ?? null }
  })
  return { title, events, nodes, ranges, view: networkView({ nodes: found, clusterCIDRs }) }
}
