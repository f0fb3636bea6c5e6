/**
 * IPAddressClaim, IPAddress, Cluster and Machine of Cluster API in all served versions, with
 * conversion and admission.
 *
 * @module ipam-kit/crd/cluster-api
 */

export type { Admission, CrdModel, FieldValidationOptions, KubeObject, Model } from '../meta/index.js'
export {
  type AddressAdmissionRequest,
  admitIPAddress,
  admitIPAddressClaim,
  type ClaimAdmissionRequest,
  type ClaimLookup,
} from './admission.js'
export { Cluster } from './cluster.js'
export { IPAddress, type IPAddressSpec } from './ip-address.js'
export { IPAddressClaim, type IPAddressClaimSpec, type IPAddressClaimStatus } from './ip-address-claim.js'
export {
  type InfrastructureReference,
  Machine,
  type MachineAddress,
  type MachineSpec,
  type MachineStatus,
} from './machine.js'
export { CLUSTER_NAME_LABEL, PAUSED_ANNOTATION, RELEASE_ADDRESS_FINALIZER } from './names.js'
export type { IPPoolReference, LocalReference } from './references.js'
