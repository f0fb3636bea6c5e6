export { acceptedRanges } from './acceptance.js'
export { assigner } from './assigner.js'
export { LiveNetworkView } from './live.js'
export { networkView, usedBeforeKnown } from './network-view.js'
export { type NetworkViewOptions, type NetworkViewOutcome, networkViewPlanner } from './planner.js'
export {
  type Rendered,
  renderCalico,
  renderCilium,
  renderFlannel,
  renderIpMasqAgent,
  renderKindnet,
  renderKubeProxy,
  renderNetworkPolicy,
} from './render.js'
export type { FamilyView, NetworkConflict, NetworkRange, NetworkView } from './view.js'
