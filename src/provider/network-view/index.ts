/**
 * The addresses that Pods of a cluster have or may get: `networkView`, a planner that publishes
 * them, and the configuration of kube-proxy, flannel, ip-masq-agent, kindnet, Calico, Cilium and
 * NetworkPolicies.
 *
 * @module ipam-kit/provider/network-view
 */
export { acceptedRanges } from './acceptance.js'
export { assigner } from './assigner.js'
export { LiveNetworkView } from './live.js'
export type { Rendered } from './loss.js'
export { networkView, usedBeforeKnown } from './network-view.js'
export { type NetworkViewOptions, type NetworkViewOutcome, networkViewPlanner } from './planner.js'
export { renderCalico, renderCilium } from './pools.js'
export {
  renderFlannel,
  renderIpMasqAgent,
  renderKindnet,
  renderKubeProxy,
  renderNetworkPolicy,
} from './render.js'
export type { FamilyView, NetworkConflict, NetworkRange, NetworkView } from './view.js'
