/**
 * IPPool, IPClaim and IPAddress of metal3's IP address manager, with the rules of its webhooks.
 *
 * @module ipam-kit/crd/metal3
 */
export { admitMetal3IPAddress, admitMetal3IPClaim, admitMetal3IPPool } from './admission.js'
export { IPAddress } from './ip-address.js'
export { IPClaim } from './ip-claim.js'
export { IPPool } from './ip-pool.js'
