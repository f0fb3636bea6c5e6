/**
 * Pod subnets for Nodes, from ClusterCIDRs or from the flags of kube-controller-manager:
 * `nodeIPAM`.
 *
 * @module ipam-kit/provider/node-ipam
 */
export { CLUSTER_CIDR_FINALIZER } from '../../crd/node-ipam/index.js'
export {
  DEFAULT_CLUSTER_CIDR,
  defaultClusterCIDR,
  type FlagRanges,
  type FlagResult,
  flagRange,
  type NodeIPAMFlags,
  readFlags,
} from './flags.js'
export type {
  NodeIPAMEventReason,
  NodeIPAMOutcome,
  NodeOutcome,
  RangeOutcome,
  ReservationOutcome,
  ServiceOutcome,
  SubnetProblem,
} from './outcome.js'
export { type NodeIPAMDecision, type NodeIPAMInput, planNodeIPAM } from './plan.js'
export { type NodeIPAMOptions, type NodeIPAMPlanner, nodeIPAM } from './planner.js'
export { type NodeRange, type ReadRange, readRange, type SubnetSpace } from './range.js'
export { compareRanges, type RangeOrder, type RankedRange, rankClusterCIDRs } from './rank.js'
export type { SharedNodeIPAM } from './reservations.js'
export type { SubnetChoice, SubnetCursors, SubnetHolder } from './subnets.js'
