/**
 * The addresses that Pods of a cluster have or may get: `networkView`, a planner that publishes
 * them, and the configuration of kube-proxy, flannel, ip-masq-agent, kindnet, Calico, Cilium and
 * NetworkPolicies.
 *
 * @module ipam-kit/provider/network-view
 */

export type { Cover, PrefixValue, RangeSetValue } from '../../cidr/index.js'
export type { Node, NodeSpec, Pod } from '../../crd/core/index.js'
export type { ClusterNetwork, ClusterNetworkSpec, ClusterNetworkStatus } from '../../crd/ipam-kit/index.js'
export type { CrdModel, KubeObject } from '../../crd/meta/index.js'
export type { ClusterCIDR, ClusterCIDRSpec } from '../../crd/node-ipam/index.js'
export { acceptedRanges } from './acceptance.js'
export { type Assigner, type AssignerInput, type AssignerType, assigner } from './assigner.js'
export type { ConfiguredRanges } from './ledger-view.js'
export type { Loss as RenderLoss, Rendered } from './loss.js'
export { networkView, usedBeforeKnown } from './network-view.js'
export {
  type NetworkViewOptions,
  type NetworkViewOutcome,
  type NetworkViewPlanner,
  networkViewPlanner,
  type RangeSource,
} from './planner.js'
export {
  type CalicoIPPool,
  type CiliumOptions,
  type CiliumPodIPPool,
  type CiliumPoolFamily,
  renderCalico,
  renderCilium,
} from './pools.js'
export type { RangeRole } from './read.js'
export {
  type FlannelBackend,
  type FlannelContent,
  type IpBlockPeer,
  type IpMasqAgentContent,
  type KubeProxyContent,
  renderFlannel,
  renderIpMasqAgent,
  renderKindnet,
  renderKubeProxy,
  renderNetworkPolicy,
} from './render.js'
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
