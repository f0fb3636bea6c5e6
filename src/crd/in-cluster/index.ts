/**
 * The four pool kinds of Cluster API's in-cluster provider: InClusterIPPool, GlobalInClusterIPPool
 * and both prefix pools, with conversion and admission.
 *
 * @module ipam-kit/crd/in-cluster
 */

export type { PrefixValue } from '../../cidr/index.js'
export type { Result } from '../../errors/index.js'
export type { IPAddressSpec } from '../cluster-api/index.js'
export type { Admission, CrdModel, KubeObject } from '../meta/index.js'
export { admitInClusterPool, type PoolAdmissionOptions, type PoolAdmissionRequest } from './admission.js'
export { DRAIN_ANNOTATION } from './names.js'
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
  type PrefixPoolObject,
  poolModels,
  withPoolConditions,
} from './pools.js'
export {
  type AddressSpace,
  addressSpace,
  isAllocatablePrefix,
  type PrefixSpace,
  prefixOf,
  prefixSpace,
} from './space.js'
