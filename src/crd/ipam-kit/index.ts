/**
 * The kinds of `ipam-kit.dev/v1alpha1`: pools that many writers allocate from (IPPool, IPBlock,
 * IPDomain, IPHandle), ClusterNetwork, and SubnetReservations.
 *
 * @module ipam-kit/crd/ipam-kit
 */
export { admitIPDomain, admitIPPool } from './admission.js'
export { admitIPBlock } from './block-admission.js'
export { blockName, parseBlockName } from './block-name.js'
export { ClusterNetwork } from './cluster-network.js'
export { admitIPHandle } from './handle-admission.js'
export { IPBlock } from './ip-block.js'
export { IPDomain } from './ip-domain.js'
export { IPHandle } from './ip-handle.js'
export { IPPool } from './ip-pool.js'
export { admitClusterNetwork } from './network-admission.js'
export { poolSpace } from './space.js'
export { SubnetReservations } from './subnet-reservations.js'
