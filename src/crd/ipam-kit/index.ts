/**
 * The kinds of `ipam-kit.dev/v1alpha1`: pools that many writers allocate from (IPPool, IPBlock,
 * IPDomain, IPHandle), ClusterNetwork, and SubnetReservations.
 *
 * @module ipam-kit/crd/ipam-kit
 */
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
export { type FamilyGrid, type FamilyGridWish, gridOf, gridProblem } from './grid.js'
export { admitIPHandle, type IPHandleAdmissionRequest } from './handle-admission.js'
export { IPBlock, type IPBlockRow, type IPBlockSpec } from './ip-block.js'
export { IPDomain, type IPDomainSpec, type IPDomainStatus } from './ip-domain.js'
export { handleName, IPHandle, type IPHandleSpec } from './ip-handle.js'
export * from './ip-pool.js'
export {
  API_VERSION,
  BLOCKS_FINALIZER,
  DEFAULT_BLOCK_SIZES,
  DEFAULT_DOMAIN,
  GROUP,
  MAX_ANSWERS,
  MAX_BLOCK_SIZE,
  MAX_CONSUMERS,
  MAX_ENDED,
  MAX_HANDLE_BLOCKS,
  MAX_HANDLE_INTERFACES,
  MAX_KNOWN_PREFIXES,
  MAX_NAME_LENGTH,
  MAX_RANGES,
  MAX_RESERVATIONS,
  MAX_STATUS_RANGES,
  RESERVATIONS_FINALIZER,
  ROWS_FINALIZER,
} from './names.js'
export { admitClusterNetwork, type ClusterNetworkAdmissionRequest } from './network-admission.js'
export { type PoolGrids, type PoolSpace, type PoolSubnet, poolSpace, subnetOf } from './space.js'
export {
  type SubnetReservation,
  SubnetReservations,
  type SubnetReservationsSpec,
} from './subnet-reservations.js'
