/**
 * IPPool, IPClaim and IPAddress of metal3's IP address manager, with the rules of its webhooks.
 *
 * @module ipam-kit/crd/metal3
 */
export { admitIPAddress, admitIPClaim, admitIPPool, type Metal3AdmissionRequest } from './admission.js'
export { IPAddress, type IPAddressSpec } from './ip-address.js'
export { IPClaim, type IPClaimStatus } from './ip-claim.js'
export { IPPool, type IPPoolEntry, type IPPoolSettings, type IPPoolSpec, type IPPoolStatus } from './ip-pool.js'
export { API_VERSION, GROUP, IP_POOL_FINALIZER, REQUESTED_ADDRESS_ANNOTATION } from './names.js'
export type { ObjectReference } from './references.js'
