export { Namespace } from './namespace.js'
export { Node, type NodeAddress, type NodeCondition, type NodeSpec, type NodeStatus, type NodeTaint } from './node.js'
export {
  matchesNodeSelector,
  type NodeSelector,
  type NodeSelectorRequirement,
  type NodeSelectorTerm,
  nodeSelectorErrors,
  nodeSelectorMatcher,
  nodeSelectorSchema,
  type SelectableNode,
} from './node-selector.js'
export { Pod, type PodSpec, type PodStatus } from './pod.js'
