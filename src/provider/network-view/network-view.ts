import { assertSet } from '../../cidr/internal.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import { HAS_META, isDeleting, type KubeObject, refOf } from '../../crd/meta/object.js'
import { check } from '../../errors/check.js'
import type { ViewFacts } from './family.js'
import { LedgerView, newLedger, record, recordConfigured } from './ledger-view.js'
import { DELETED, familiesOf, holdingsIn, NODES, type Reading, readClusterCIDR, readNode } from './read.js'
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
 * changes: `view` of a {@link networkViewPlanner}, which follows them.
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

  const { nodes, clusterCIDRs, accepted, ...configured } = input
  const ledgers = {
    nodes: newLedger(),
    pods: newLedger(),
    deleted: newLedger(),
    services: newLedger(),
    pools: newLedger(),
  }
  const ledger: ViewFacts['ledger'] = (pool) => ledgers[pool]
  const problems = [...recordConfigured(ledger, configured)]
  const counts = { 4: 0, 6: 0 }
  const add = (pool: keyof typeof ledgers, object: KubeObject, reading: Reading) => {
    const { name } = object.metadata
    record(ledger, name, holdingsIn(pool, name, reading), refOf(object))
    if (reading.problems.length > 0) problems.push(reading.problems)
  }
  for (const range of byName('clusterCIDRs', clusterCIDRs)) {
    check('networkView', 'clusterCIDRs', range, ['open', { spec: 'object' }])
    add(isDeleting(range) ? DELETED : 'pods', range, readClusterCIDR(range))
  }
  for (const node of byName('nodes', nodes)) {
    const reading = readNode(node)
    add(NODES, node, reading)
    for (const family of familiesOf(reading)) counts[family]++
  }
  const view = new LedgerView({ ledger, nodesOf: (family) => counts[family], accepted }, () => problems)
  view.touch(ledgers.nodes.entries().map(({ prefix }) => ({ pool: NODES, prefix })))
  return view
}

/** Of objects with one name the last one. */
function byName<T extends KubeObject>(name: string, objects: Iterable<T>): Iterable<T> {
  const all = [...objects]
  for (const object of all) check<unknown>('networkView', name, object, HAS_META)
  return new Map(all.map((object) => [object.metadata.name, object])).values()
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
