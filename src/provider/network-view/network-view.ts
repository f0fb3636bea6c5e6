import { assertSet } from '../../cidr/internal.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import { check } from '../../errors/check.js'
import { LiveNetworkView } from './live.js'
import { assertView, CONFIGURED, type NetworkView, type NetworkViewInput, type NodeSubnet } from './view.js'

type RangeSet = RangeSet.RangeSet

/**
 * The Pod network as the objects of a cluster show it. `spec.podCIDRs` of Nodes is the source of
 * truth for subnets in use; ClusterCIDRs and other configuration for ranges that may be used.
 *
 * A range is known before its first use, and until its last use: an active or proposed range is
 * known without Nodes, a deleted range while a Node has a subnet of it, and a subnet while its Node
 * exists, also in no range.
 *
 * O(n log n) for n Nodes and ranges. The lists are made when they are read: O(n). For a series of
 * changes: {@link LiveNetworkView}.
 *
 * Source: KEP-2593, section Node Updated; the unfinished KEP that was to replace it
 * (`PodNetwork.status`).
 *
 * @example
 * import { ClusterCIDR } from 'ipam-kit/crd/node-ipam'
 * import { Node } from 'ipam-kit/crd/core'
 *
 * const range = { apiVersion: 'networking.x-k8s.io/v1', kind: 'ClusterCIDR', metadata: { name: 'a' }, spec: { perNodeHostBits: 8, ipv4: '10.0.0.0/23' } }
 * const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' }, spec: { podCIDRs: ['10.0.3.0/24'] } }
 * const view = networkView({ nodes: [Node.parse(node)], clusterCIDRs: [ClusterCIDR.parse(range)] })
 * RangeSet.prefixes(view.known).map(Prefix.format) // ['10.0.0.0/23', '10.0.3.0/24']
 * view.ipv4.orphans[0].node // 'n1'
 * view.ipv4.summary(1).added // 256n
 */
export function networkView(input: NetworkViewInput): NetworkView {
  check('networkView', 'input', input, ['open', { nodes: 'iterable', clusterCIDRs: 'iterable', ...CONFIGURED }])

  const view = new LiveNetworkView()
  const { nodes, clusterCIDRs, accepted, ...configured } = input
  for (const range of clusterCIDRs) view.setClusterCIDR(range)
  view.setConfigured(configured)
  view.setAccepted(accepted)
  for (const node of nodes) view.setNode(node)
  return view
}

/**
 * Subnets of a view that a published list of addresses lacks: in use before they were known. Empty
 * while the rule holds that an address is known before its first use and until its last use.
 *
 * O(subnets in use).
 */
export function usedBeforeKnown(published: RangeSet, view: NetworkView): readonly NodeSubnet[] {
  assertSet('usedBeforeKnown', 'published', published)
  assertView('usedBeforeKnown', view)

  return [...view.ipv4.inUse, ...view.ipv6.inUse].filter(({ prefix }) => !RangeSet.contains(published, prefix))
}
