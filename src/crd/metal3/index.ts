/**
 * IPPool, IPClaim and IPAddress of metal3's IP address manager, with the rules of its webhooks.
 *
 * @module ipam-kit/crd/metal3
 */

export type { Admit, CrdModel, KubeObject } from '../meta/index.js'
export {
  admitMetal3IPAddress,
  admitMetal3IPClaim,
  admitMetal3IPPool,
  type Metal3AdmissionRequest,
} from './admission.js'
export { IPAddress, type IPAddressSpec } from './ip-address.js'
export { IPClaim, type IPClaimStatus } from './ip-claim.js'
export { IPPool, type IPPoolEntry, type IPPoolSettings, type IPPoolSpec, type IPPoolStatus } from './ip-pool.js'
export type { ObjectReference } from './references.js'
