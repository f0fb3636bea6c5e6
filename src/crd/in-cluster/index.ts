/**
 * The four pool kinds of Cluster API's in-cluster provider: InClusterIPPool, GlobalInClusterIPPool
 * and both prefix pools, with conversion and admission.
 *
 * @module ipam-kit/crd/in-cluster
 */
export { admitPool, type PoolAdmissionOptions, type PoolAdmissionRequest } from './admission.js'
export {
  API_VERSION,
  DEFAULT_ALLOCATION_PREFIX_LENGTH,
  DRAIN_ANNOTATION,
  GROUP,
  SKIP_DELETE_VALIDATION_ANNOTATION,
} from './names.js'
export {
  type AddressPoolObject,
  GlobalInClusterIPPool,
  GlobalInClusterPrefixPool,
  InClusterIPPool,
  type InClusterIPPoolSpec,
  type InClusterPool,
  type InClusterPoolCounts,
  type InClusterPoolStatus,
  InClusterPrefixPool,
  type InClusterPrefixPoolSpec,
  isPrefixPool,
  isPrefixPoolKind,
  type PrefixPoolObject,
  poolModels,
  withPoolConditions,
} from './pools.js'
export {
  type AddressSpace,
  addressSpace,
  clampCount,
  effectivePrefixLength,
  isAllocatablePrefix,
  type PrefixSpace,
  prefixOf,
  prefixSpace,
} from './space.js'
