import type { Prefix } from '../../cidr/index.js'
import type { ClusterNetwork } from '../../crd/ipam-kit/index.js'
import type { KubeObject } from '../../crd/meta/object.js'
import type { PlannerContext, TrimmedWatch, Watch } from '../../plan/index.js'
import type { SentEvents } from '../../plan/sent-events.js'
import type { NodeFacts } from './node.js'
import type { ReadRange } from './range.js'
import type { ServiceFacts } from './service-range.js'
import type { NodeSubnets } from './subnets.js'

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

/** The state of the planner beside the objects. */
export interface NodeIPAMState {
  readonly subnets: NodeSubnets
  readonly sent: SentEvents
  /** The names of the Nodes for which no subnets were found. */
  readonly waiting: Set<string>
}

export type NodeIPAMContext = PlannerContext<NodeIPAMWatches, NodeIPAMState>

export function nodeKey(name: string): string {
  return `Node ${name}`
}

export function rangeKey(name: string): string {
  return `ClusterCIDR ${name}`
}

export function serviceKey(name: string): string {
  return `ServiceCIDR ${name}`
}

/**
 * The keys of the Nodes for which no subnets were free, the oldest first. Without Nodes whose patch
 * was refused: they would wake each other forever.
 */
export function waitingNodes({ cache: { nodes }, state: { waiting } }: NodeIPAMContext): readonly string[] {
  if (waiting.size === 0) return []
  const open = nodes.by('bare', 'yes').filter(({ name }) => waiting.has(name))
  return open.map(({ name }) => nodeKey(name))
}
