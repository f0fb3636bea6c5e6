/**
 * The kinds of `ipam-kit.dev/v1alpha1`: pools that many writers allocate from (IPPool, IPBlock,
 * IPDomain, IPHandle), and ClusterNetwork.
 *
 * @module ipam-kit/crd/ipam-kit
 */

export type { PrefixValue } from '../../cidr/index.js'
export type { Result } from '../../errors/index.js'
export type { Admit, CrdModel, KubeObject } from '../meta/index.js'
export { admitIPDomain, admitIPPool, type IPDomainAdmissionRequest, type IPPoolAdmissionRequest } from './admission.js'
export { admitIPBlock, type IPBlockAdmissionRequest } from './block-admission.js'
export { blockName, parseBlockName } from './block-name.js'
export {
  ClusterNetwork,
  type ClusterNetworkAnswer,
  type ClusterNetworkFamily,
  type ClusterNetworkRange,
  type ClusterNetworkSpec,
  type ClusterNetworkStatus,
} from './cluster-network.js'
export type { FamilyGrid, FamilyGridPreferences } from './grid.js'
export { admitIPHandle, type IPHandleAdmissionRequest } from './handle-admission.js'
export { IPBlock, type IPBlockRow, type IPBlockSpec } from './ip-block.js'
export { IPDomain, type IPDomainSpec, type IPDomainStatus } from './ip-domain.js'
export { IPHandle, type IPHandleSpec } from './ip-handle.js'
export {
  IPPool,
  type IPPoolAffinity,
  type IPPoolFamilyStatus,
  type IPPoolSpec,
  type IPPoolStatus,
  type IPPoolSticky,
  type IPPoolSubnet,
} from './ip-pool.js'
export { admitClusterNetwork, type ClusterNetworkAdmissionRequest } from './network-admission.js'
export { type PoolGrids, type PoolSpace, type PoolSubnet, poolSpace } from './space.js'
