/**
 * IPAddressClaim, IPAddress, Cluster and Machine of Cluster API in all served versions, with
 * conversion and admission.
 *
 * @module ipam-kit/crd/cluster-api
 */
export {
  type AddressAdmissionRequest,
  admitIPAddress,
  admitIPAddressClaim,
  type ClaimAdmissionRequest,
  type ClaimLookup,
} from './admission.js'
export { Cluster, hasPausedAnnotation, isClusterPaused } from './cluster.js'
export { IPAddress, type IPAddressSpec } from './ip-address.js'
export { IPAddressClaim, type IPAddressClaimSpec, type IPAddressClaimStatus } from './ip-address-claim.js'
export {
  type InfrastructureReference,
  Machine,
  type MachineAddress,
  type MachineSpec,
  type MachineStatus,
} from './machine.js'
export {
  API_VERSION,
  CLUSTER_NAME_LABEL,
  GROUP,
  PAUSED_ANNOTATION,
  PROTECT_ADDRESS_FINALIZER,
  PROTECT_POOL_FINALIZER,
  READY_CONDITION,
  RELEASE_ADDRESS_FINALIZER,
} from './names.js'
export { type IPPoolReference, type LocalReference, samePool } from './references.js'
