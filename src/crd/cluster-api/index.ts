/**
 * IPAddressClaim, IPAddress, Cluster and Machine of Cluster API in all served versions, with
 * conversion and admission.
 *
 * @module ipam-kit/crd/cluster-api
 */
export { admitIPAddress, admitIPAddressClaim, type ClaimLookup } from './admission.js'
export { Cluster } from './cluster.js'
export { IPAddress } from './ip-address.js'
export { IPAddressClaim } from './ip-address-claim.js'
export { Machine } from './machine.js'
export { CLUSTER_NAME_LABEL, PAUSED_ANNOTATION, RELEASE_ADDRESS_FINALIZER } from './names.js'
