/**
 * Pod subnets for Nodes, from ClusterCIDRs or from the flags of kube-controller-manager:
 * `nodeIPAM`.
 *
 * @module ipam-kit/provider/node-ipam
 */

export type {
  Ledger,
  LedgerCounts,
  LedgerEntry,
  LedgerHolder,
  LedgerOptions,
  LedgerQuery,
  LedgerSpec,
} from '../../allocator/index.js'
export type { PrefixValue, RangeSetValue } from '../../cidr/index.js'
export type { SelectableNode } from '../../crd/core/index.js'
export type { CrdModel, KubeObject } from '../../crd/meta/index.js'
export type { ClusterCIDR, ClusterCIDRSpec } from '../../crd/node-ipam/index.js'
export type { EventEffect } from '../../plan/index.js'
export type { EventCause, SentEvents } from '../../plan/sent-events.js'
export type { NodeIPAMState, NodeIPAMWatches, RangeFacts, Ranges, SubnetCursors } from './context.js'
export {
  defaultClusterCIDR,
  type FlagRanges,
  type FlagResult,
  flagRange,
  type NodeIPAMFlags,
  readFlags,
} from './flags.js'
export type { NodeFacts } from './node.js'
export type {
  NodeIPAMEventReason,
  NodeIPAMOutcome,
  NodeOutcome,
  RangeOutcome,
  ServiceOutcome,
  SubnetProblem,
} from './outcome.js'
export { type NodeIPAMDecision, type NodeIPAMInput, planNodeIPAM } from './plan.js'
export { type NodeIPAMOptions, type NodeIPAMPlanner, nodeIPAM } from './planner.js'
export { type NodeRange, type ReadRange, readRange, type SubnetSpace } from './range.js'
export { compareRanges, type RangeOrder, type RankedRange, rankClusterCIDRs } from './rank.js'
export type { ServiceFacts } from './service-range.js'
export type { SubnetChoice } from './subnets.js'
