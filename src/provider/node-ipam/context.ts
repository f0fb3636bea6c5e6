import type { Address, Prefix, PrefixMap } from '../../cidr/index.js'
import type { ClusterNetwork } from '../../crd/ipam-kit/index.js'
import type { KubeObject } from '../../crd/meta/object.js'
import type { PlannerContext, TrimmedWatch, Watch } from '../../plan/index.js'
import { plannerKeys } from '../../plan/planner-keys.js'
import type { NodeFacts } from './node.js'
import type { NodeRange, ReadRange } from './range.js'
import type { RangeOrder } from './rank.js'
import type { ServiceFacts } from './service-range.js'

export const KEYS = plannerKeys('Node', 'ClusterCIDR', 'ServiceCIDR')

/** A ClusterCIDR and the range that it is. */
export interface RangeFacts {
  readonly object: KubeObject
  readonly read: ReadRange
  /**
   * The prefixes that it names, also if it gives no subnets of them: another controller may have
   * given some.
   */
  readonly prefixes: readonly Prefix[]
}

/**
 * What node IPAM watches: `ranges` where ClusterCIDRs give the ranges, `services` where
 * ServiceCIDRs are watched.
 */
export type NodeIPAMWatches = {
  readonly nodes: TrimmedWatch<NodeFacts>
  readonly ranges?: Watch<RangeFacts>
  readonly services?: Watch<ServiceFacts>
  readonly network?: Watch<ClusterNetwork>
}

/**
 * Where the search in each range begins: behind the last subnet that was given. By the name of the
 * range and the number of the space. A hint, never the truth.
 */
export type SubnetCursors = Map<string, Address>

/** The range of the options, or those of all ClusterCIDRs. */
export interface Ranges {
  /** Those that give subnets, in the order that does not depend on a Node. */
  readonly ordered: readonly NodeRange[]
  /** The prefixes of all of them, also of those that give no subnets. */
  readonly prefixes: PrefixMap<true>
}

/** The state of the planner beside the objects: what its options say, and what it remembers. */
export interface NodeIPAMState {
  readonly order: RangeOrder
  /** The range of the options. */
  readonly range: NodeRange | undefined
  /** The service ranges of the options. */
  readonly serviceCIDRs: readonly Prefix[]
  readonly cursors: SubnetCursors
  /** The names of the Nodes for which no subnets were found. */
  readonly waiting: Set<string>
  /** The names of the ClusterCIDRs whose finalizer the store has refused, until they change. */
  readonly refused: Set<string>
  /** Made when they are read first after a change of a ClusterCIDR. */
  ranges: Ranges | undefined
}

export type NodeIPAMContext = PlannerContext<NodeIPAMWatches, NodeIPAMState>

/** The ClusterCIDRs that are being deleted. */
export function endingRanges({ cache }: NodeIPAMContext): readonly RangeFacts[] {
  return cache.ranges?.by('ending', 'yes') ?? []
}

/**
 * The keys of the Nodes for which no subnets were free, the oldest first. Without Nodes whose patch
 * was refused: they would wake each other forever.
 */
export function waitingNodes({ cache: { nodes }, state: { waiting } }: NodeIPAMContext): readonly string[] {
  if (waiting.size === 0) return []
  const open = nodes.by('bare', 'yes').filter(({ name }) => waiting.has(name))
  return open.map(({ name }) => KEYS.format('Node', name))
}
