import { PrefixMap } from '../../cidr/internal.js'
import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import type { Node } from '../../crd/core/node.js'
import type { Pod } from '../../crd/core/pod.js'
import type { ObjectRef } from '../../crd/meta/object.js'
import { check, type KindOf } from '../../errors/check.js'
import { networkView } from './network-view.js'
import { CONFIGURED, type FamilyView, type NetworkNode, type NetworkRange, type NetworkViewInput } from './view.js'

/**
 * How Pods get their addresses. The names are those of the KEP that was to replace KEP-2593
 * (`networkType` of a PodNetwork).
 *
 * | type | what it means |
 * |---|---|
 * | `NodeCIDRs` | ranges of the cluster are divided among Nodes: `spec.podCIDRs` |
 * | `ClusterCIDR` | ranges of the cluster are for Pods only, and not divided among Nodes |
 * | `Shared` | Pods have addresses of ranges that Nodes have addresses of, too |
 * | `Unknown` | the objects do not show it |
 */
export type AssignerType = 'NodeCIDRs' | 'ClusterCIDR' | 'Shared' | 'Unknown'

export interface Assigner {
  readonly type: AssignerType
  /** The evidence: sentences without a final full stop, the strongest first. */
  readonly evidence: readonly string[]
  /** The objects that configure the ranges, each once. */
  readonly configuredBy: readonly ObjectRef[]
}

export interface AssignerInput extends Pick<NetworkViewInput, 'clusterCIDRs' | 'extraCIDRs'> {
  readonly nodes: Iterable<NetworkNode & Pick<Node, 'status'>>
  /**
   * Pods are the best evidence: a cluster may have podCIDRs that its network plugin does not use.
   * Left out: the answer is from Nodes and ranges.
   */
  readonly pods?: Iterable<Pod> | undefined
}

const INPUT: KindOf<AssignerInput> = [
  'open',
  {
    nodes: 'iterable',
    clusterCIDRs: 'iterable',
    extraCIDRs: CONFIGURED.extraCIDRs,
    pods: ['iterable?', ['open', { spec: 'object', status: ['open?', { podIPs: ['list?', 'object'] }] }]],
  },
]

type AssignedRange = Pick<NetworkRange, 'name' | 'source' | 'prefix'>

/** The facts for {@link decideAssigner}. */
export interface AssignerFacts {
  readonly nodes: number
  readonly nodesWithSubnets: number
  readonly ranges: readonly AssignedRange[]
  /** An address of a Node that lies in a range. */
  readonly sharedBy: string | undefined
  readonly pods: PodFacts | undefined
}

/** The number of Pod addresses by place. */
interface PodFacts {
  /** In a subnet of the Node that the Pod runs on. */
  readonly inSubnet: number
  /** Otherwise, in a range. */
  readonly inRange: number
  readonly elsewhere: number
}

/**
 * Finds how Pods get their addresses. Addresses of Pods count most, then subnets of Nodes, then
 * ranges.
 *
 * O(n log n) for n Nodes, ranges and Pods.
 *
 * @example
 * import { Node } from 'ipam-kit/crd/core'
 *
 * const node = Node.parse({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n1' }, spec: { podCIDRs: ['10.0.3.0/24'] } })
 * assigner({ nodes: [node], clusterCIDRs: [] })
 * // { type: 'NodeCIDRs', evidence: ['1 of 1 Nodes have podCIDRs'], configuredBy: [] }
 */
export function assigner(input: AssignerInput): Assigner {
  check('assigner', 'input', input, INPUT)
  const { nodes, clusterCIDRs, extraCIDRs, pods } = input

  const all = [...nodes]
  const view = networkView({ nodes: all, clusterCIDRs, extraCIDRs })
  const families = [view.ipv4, view.ipv6]
  const ranges = families.flatMap(rangesOf)
  const withSubnets = new Set(families.flatMap(({ inUse }) => inUse.map(({ node }) => node)))
  return decideAssigner({
    nodes: all.length,
    nodesWithSubnets: withSubnets.size,
    ranges,
    sharedBy: sharedBy(all, ranges),
    pods: pods && podFacts(pods, families, ranges),
  })
}

/** The configured ranges of a family, with deleted ones that are in use. */
function rangesOf({ active, proposed, terminating }: FamilyView): readonly NetworkRange[] {
  return [...active, ...proposed, ...terminating]
}

/** An address of a Node that lies in a range, as a sentence. O(addresses of Nodes). */
export function sharedBy(
  nodes: Iterable<NetworkNode & Pick<Node, 'status'>>,
  ranges: readonly AssignedRange[],
): string | undefined {
  const byPrefix = new PrefixMap(ranges.map(({ prefix, name }) => [prefix, name]))
  for (const { metadata, status } of nodes) {
    for (const { address } of status?.addresses ?? []) {
      const read = Address.safeParse(address)
      const match = read.ok ? byPrefix.longestMatch(read.value) : undefined
      if (match === undefined) continue
      return `address ${address} of Node ${metadata.name} is in range ${Prefix.format(match.prefix)} of ${match.value}`
    }
  }
  return undefined
}

export function decideAssigner(facts: AssignerFacts): Assigner {
  const { nodes, nodesWithSubnets, ranges, sharedBy: shared, pods } = facts
  const configuredBy = new Map<string, ObjectRef>()
  for (const { source } of ranges) if (source !== undefined) configuredBy.set(JSON.stringify(source), source)
  const evidence: string[] = []
  if (pods !== undefined && pods.inSubnet + pods.inRange + pods.elsewhere > 0) {
    const { inSubnet, inRange, elsewhere } = pods
    evidence.push(
      `addresses of Pods: ${inSubnet} in a subnet of their Node, ${inRange} elsewhere in a range, ${elsewhere} in no range`,
    )
  }
  if (nodesWithSubnets > 0) evidence.push(`${nodesWithSubnets} of ${nodes} Nodes have podCIDRs`)
  else if (nodes > 0) evidence.push(`none of ${nodes} Nodes has podCIDRs`)
  for (const { name, prefix, source } of ranges.slice(0, MAX_SHOWN)) {
    evidence.push(`${Prefix.format(prefix)} is configured by ${source === undefined ? name : `${source.kind} ${name}`}`)
  }
  if (ranges.length > MAX_SHOWN) evidence.push(`${ranges.length - MAX_SHOWN} more ranges are configured`)
  if (shared !== undefined) evidence.push(shared)
  return { type: typeOf(facts), evidence, configuredBy: [...configuredBy.values()] }
}

/** How many ranges the evidence names. */
const MAX_SHOWN = 5

function typeOf({ nodes, nodesWithSubnets, ranges, sharedBy: shared, pods }: AssignerFacts): AssignerType {
  const together = shared === undefined ? 'ClusterCIDR' : 'Shared'
  const { inSubnet = 0, inRange = 0, elsewhere = 0 } = pods ?? {}
  if (inSubnet + inRange + elsewhere > 0) {
    if (elsewhere > 0) return 'Unknown'
    return inRange > 0 ? together : 'NodeCIDRs'
  }
  if (nodesWithSubnets > 0) return 'NodeCIDRs'
  // a ClusterCIDR is always divided among Nodes, also before the first Node has a subnet
  if (ranges.some(({ source }) => source?.kind === 'ClusterCIDR')) return 'NodeCIDRs'
  return ranges.length === 0 || nodes === 0 ? 'Unknown' : together
}

function podFacts(pods: Iterable<Pod>, families: readonly FamilyView[], ranges: readonly NetworkRange[]): PodFacts {
  const byRange = new PrefixMap(ranges.map(({ prefix }) => [prefix, true]))
  const bySubnet = new PrefixMap<Set<string>>()
  for (const { node, prefix } of families.flatMap(({ inUse }) => inUse)) {
    bySubnet.set(prefix, (bySubnet.get(prefix) ?? new Set()).add(node))
  }
  const facts = { inSubnet: 0, inRange: 0, elsewhere: 0 }
  for (const { spec, status } of pods) {
    // a Pod in the network of its Node has the addresses of the Node
    if (spec.hostNetwork === true) continue
    for (const text of new Set([...(status?.podIPs ?? []).map(({ ip }) => ip), status?.podIP ?? ''])) {
      const address = Address.safeParse(text)
      if (!address.ok) continue
      const isOwn = bySubnet.covering(address.value).some(({ value }) => value.has(spec.nodeName ?? ''))
      if (isOwn) facts.inSubnet++
      else if (byRange.longestMatch(address.value) !== undefined) facts.inRange++
      else facts.elsewhere++
    }
  }
  return facts
}
