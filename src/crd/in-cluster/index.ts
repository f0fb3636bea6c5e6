/**
 * The four pool kinds of Cluster API's in-cluster provider: InClusterIPPool, GlobalInClusterIPPool
 * and both prefix pools, with conversion and admission.
 *
 * @module ipam-kit/crd/in-cluster
 */
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
