/**
 * The addresses that Pods of a cluster have or may get: `networkView`, a planner that publishes
 * it, and the configuration of kube-proxy, flannel, ip-masq-agent, kindnet, Calico, Cilium and
 * NetworkPolicies.
 *
 * @module ipam-kit/provider/network-view
 */
export { acceptedRanges } from './acceptance.js'
export { type Assigner, type AssignerInput, type AssignerType, assigner } from './assigner.js'
export { type ConfiguredRanges, LiveNetworkView, type RangeRole } from './live.js'
export { networkView, usedBeforeKnown } from './network-view.js'
export {
  type NetworkViewOptions,
  type NetworkViewOutcome,
  type NetworkViewPlanner,
  networkViewPlanner,
  type RangeSource,
} from './planner.js'
export * from './render.js'
export type {
  ConflictParty,
  FamilyView,
  NamedRanges,
  NetworkConflict,
  NetworkNode,
  NetworkRange,
  NetworkView,
  NetworkViewInput,
  NodeSubnet,
  RangePhase,
  ViewProblem,
  ViewProblemReason,
} from './view.js'
