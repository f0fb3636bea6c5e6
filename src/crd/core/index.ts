/**
 * Node, Pod, Namespace, Service and StatefulSet of Kubernetes, as far as IPAM reads them, and node
 * selectors.
 *
 * @module ipam-kit/crd/core
 */

export type { KubeObject, Model } from '../meta/index.js'
export { Namespace } from './namespace.js'
export { Node, type NodeAddress, type NodeCondition, type NodeSpec, type NodeStatus, type NodeTaint } from './node.js'
export {
  matchesNodeSelector,
  type NodeSelector,
  type NodeSelectorRequirement,
  type NodeSelectorTerm,
  type SelectableNode,
} from './node-selector.js'
export { type NodeSubnetProblem, type NodeSubnetReason, type NodeSubnets, nodeSubnets } from './node-subnets.js'
export { Pod, type PodSpec, type PodStatus } from './pod.js'
export { Service, type ServiceSpec } from './service.js'
export { StatefulSet, type StatefulSetSpec } from './stateful-set.js'
