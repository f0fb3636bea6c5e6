/**
 * IPAMClaim: addresses of an interface that outlive its Pods. The names of claims of KubeVirt are
 * here too.
 *
 * @module ipam-kit/crd/ipamclaims
 */

export type { AddressValue, Result } from '../../cidr/index.js'
export type { Condition, CrdModel, KubeObject, MergePatch } from '../meta/index.js'
export {
  type ClaimAddress,
  claimAddresses,
  claimStatusPatch,
  IPAMClaim,
  type IPAMClaimOwnerPod,
  type IPAMClaimSpec,
  type IPAMClaimStatus,
  IPAMClaimWithRequests,
  requestedClaimAddresses,
} from './ipam-claim.js'
export {
  PRIMARY_CLAIM_ANNOTATION,
  VM_CLAIM_FINALIZER,
  VM_LABEL,
  type VMClaimNameParts,
  vmClaimName,
} from './names.js'
