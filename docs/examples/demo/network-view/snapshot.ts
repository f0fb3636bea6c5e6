import { Prefix, RangeSet } from 'ipam-kit/cidr'
import { Node, nodeSubnets } from 'ipam-kit/crd/core'
import { ClusterNetwork } from 'ipam-kit/crd/ipam-kit'
import { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import { unwrap } from 'ipam-kit/errors'
import type { Outcome } from 'ipam-kit/plan'
import { networkView, renderCilium, renderKubeProxy } from 'ipam-kit/provider/network-view'
import { asciiMap } from 'ipam-kit/render'
import type { Store } from 'ipam-kit/store'
import type { Check } from '../checks.js'
import type { Said } from '../steps.js'
import { cell, type Detail, joinSections, limited, section } from '../text.js'

/** What is published, and what Nodes have, after a step. */
export interface Snapshot {
  readonly title: string
  /** As the ClusterNetwork has them. */
  readonly ranges: readonly RangeView[]
  /** The published addresses of Pods. */
  readonly known: readonly Prefix[]
  readonly nodes: readonly NodeView[]
  /** What the consumers get: plain data. */
  readonly kubeProxy: unknown
  readonly cilium: unknown
}

export interface RangeView {
  readonly name: string
  readonly cidr: string
  readonly state: 'Proposed' | 'Active' | 'Terminating'
}

export interface NodeView {
  readonly name: string
  readonly subnets: readonly Prefix[]
}

export async function snapshot(store: Pick<Store, 'list'>, { title }: Said<Outcome>): Promise<Snapshot> {
  const nodes = unwrap(await store.list(Node.info)).items.map((object) => Node.parse(object))
  const clusterCIDRs = unwrap(await store.list(ClusterCIDR.info)).items.map((object) => ClusterCIDR.parse(object))
  const [network] = unwrap(await store.list(ClusterNetwork.info)).items.map((object) => ClusterNetwork.parse(object))
  const { ranges = [], families = [] } = network?.status ?? {}
  const view = networkView({ nodes, clusterCIDRs })
  return {
    title,
    ranges: ranges.map(({ source, cidr, state }) => ({ name: source.name, cidr, state: state as RangeView['state'] })),
    known: families.flatMap((family) => family.known.map((cidr) => Prefix.parse(cidr))),
    nodes: nodes.map((node) => ({ name: node.metadata.name, subnets: nodeSubnets(node).subnets })),
    kubeProxy: renderKubeProxy(view).content,
    cilium: renderCilium(view, { maskSizes: { ipv4: 26 } }).content,
  }
}

/** A step as text for people. */
export function formatStep(seen: Snapshot, detail: Detail): string {
  const rows = seen.ranges.map(({ name, cidr, state }) => [name, cidr, state, holdersOf(cidr, seen)].map(cell))
  const ranges = limited(['RANGE', 'CIDR', 'STATE', 'NODES'], rows, detail.limit)
  return section(seen.title, joinSections([ranges, ...(detail.isVerbose ? detailsOf(seen, detail) : [])]))
}

/** Nodes, the map of the published addresses, and the settings of consumers. */
function detailsOf({ nodes, known, ranges, kubeProxy, cilium }: Snapshot, { limit }: Detail): readonly string[] {
  const addresses = RangeSet.fromPrefixes(known)
  const active = ranges.filter(({ state }) => state === 'Active').map(({ cidr }) => cidr)
  const inUse = RangeSet.fromPrefixes(nodes.flatMap(({ subnets }) => subnets))
  const map = asciiMap({ addresses, available: RangeSet.parse(active), inUse }, { columns: 16, maxRows: 4 })
  const rows = nodes.map(({ name, subnets }) => [name, subnets.map(Prefix.format).join(', ') || null].map(cell))
  return [
    rows.length === 0 ? 'There is no Node.' : limited(['NODE', 'SUBNETS'], rows, limit),
    section('Published', map.join('\n')),
    section('kube-proxy', JSON.stringify(kubeProxy)),
    section('Cilium', JSON.stringify(cilium)),
  ]
}

function holdersOf(cidr: string, { nodes }: Snapshot): number {
  const range = Prefix.parse(cidr)
  return nodes.filter(({ subnets }) => subnets.some((subnet) => Prefix.contains(range, subnet))).length
}

/** The same for programs. */
export function documentOf(snapshots: readonly Snapshot[], checks: readonly Check[]): object {
  const steps = snapshots.map(({ nodes, known, ...seen }) => ({
    ...seen,
    known: known.map(Prefix.format),
    nodes: nodes.map(({ name, subnets }) => ({ name, subnets: subnets.map(Prefix.format) })),
  }))
  return { steps, checks }
}
