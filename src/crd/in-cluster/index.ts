export { admitInClusterPool } from './admission.js'
export { DRAIN_ANNOTATION } from './names.js'
export {
  GlobalInClusterIPPool,
  GlobalInClusterPrefixPool,
  InClusterIPPool,
  type InClusterPool,
  InClusterPrefixPool,
  isPrefixPool,
  poolModels,
  withPoolConditions,
} from './pools.js'
export { addressSpace, isAllocatablePrefix, prefixOf, prefixSpace } from './space.js'
