/**
 * Addresses that stay with a workload: the networks that have them, and what Pods ask of those.
 *
 * @module ipam-kit/provider/persistent-ip
 */

export type { AddressValue, PrefixValue, RangeSetValue, Result } from '../../cidr/index.js'
export type { ClaimCondition, ConditionUpdate } from '../../claim/index.js'
export type { Pod } from '../../crd/core/index.js'
export type { IPAMClaim, IPAMClaimStatus } from '../../crd/ipamclaims/index.js'
export type { VirtualMachine, VirtualMachineInstance, VMInterface } from '../../crd/kubevirt/index.js'
export type { Admission, KindInfo, KubeObject, ObjectMeta, ObjectRef, OwnerReference } from '../../crd/meta/index.js'
export type { InterfaceAddress, NetworkAttachmentDefinition } from '../../crd/multinet/index.js'
export type { ClusterUserDefinedNetwork, UserDefinedNetwork } from '../../crd/ovn/index.js'
export type { Planner } from '../../plan/index.js'
export type { Netplan, NetplanEthernet, RouteText } from '../consumer/index.js'
export type { ReviewRule } from '../webhook/index.js'
export {
  type DefaultRoute,
  type GuestInterface,
  type GuestNetwork,
  type GuestNetworkOptions,
  type GuestProblem,
  type GuestProblemReason,
  guestNetwork,
} from './guest/guest-network.js'
export { type GuestRoute, type GuestSettings, readGuestSettings } from './guest/guest-settings.js'
export { type DatedDefinition, type Disagreement, type Network, networkOfDefinitions } from './network/agreement.js'
export type {
  ClaimSupport,
  NetworkAddressing,
  NetworkDefinition,
  NetworkRule,
  NetworkSubnet,
  NetworkTopology,
} from './network/definition.js'
export { type NetworkResult, type ReadNetworkOptions, readNetwork } from './network/read-network.js'
export { readUserDefinedNetwork, type UserDefinedNetworkOptions } from './network/user-defined.js'
export { type AddressRequest, requestedAddresses } from './pod/address-requests.js'
export {
  type PodAttachment,
  type PodAttachmentOptions,
  type PodAttachments,
  type PodAttachmentsResult,
  podAttachments,
} from './pod/attachments.js'
export {
  type NetworkFailure,
  type VMClaim,
  type VMClaimOptions,
  type VMClaims,
  type VMDefinitions,
  vmClaims,
} from './pod/vm-claims.js'
export { admitVMPod, type VMPodAnswer, type VMPodObjects, type VMPodOptions, type VMPodRequest } from './pod/vm-pod.js'
export { type VMPodRuleOptions, vmPodRule } from './pod/vm-pod-rule.js'
export { type WorkloadPodRuleOptions, workloadPodRule } from './pod/workload-pod-rule.js'
export {
  type ClaimPlan,
  type ClaimPod,
  type ClaimReason,
  type ClaimSituation,
  claimPlan,
  type PodRefusal,
  type PodRefusalReason,
} from './serving/claim-plan.js'
export { claimStatus, heldByClaim } from './serving/claim-status.js'
export type { PersistentIPsOptions } from './serving/options.js'
export type { PersistentIPsOutcome, PersistentIPsReason } from './serving/outcome.js'
export { persistentIPs } from './serving/planner.js'
export { type PodPlan, type PodPlanReason, type PodSituation, podPlan } from './serving/pod-plan.js'
export { heldByPod, type PodAddress, type PodStage, podStage } from './serving/pod-stage.js'
export { type NetworkSpace, networkSpace } from './serving/space.js'
export {
  CLAIM_OWNER_ANNOTATION,
  CLAIM_OWNER_FINALIZER,
  CLAIM_TEMPLATE_ANNOTATION,
  PERSISTENT_IPS_LABEL,
  readClaimOwners,
  type WorkloadOwner,
} from './workload/claim-owner.js'
export type { ClaimProof, ClaimRefusal, ClaimStep, MendedMetadata } from './workload/claim-step.js'
export type { PersistentClaimsOutcome } from './workload/outcome.js'
export { type PersistentClaimsOptions, persistentClaims } from './workload/planner.js'
export {
  type VMClaimDecision,
  type VMClaimSituation,
  vmClaimDecision,
  vmsOfClaim,
} from './workload/vm-claim-decision.js'
export { type VMObjects, type VMPhase, vmPhase } from './workload/vm-phase.js'
export {
  type ClaimReference,
  type NamedOwner,
  type WorkloadClaimSituation,
  workloadClaimDecision,
} from './workload/workload-claim-decision.js'
export { type WorkloadClaimsOptions, workloadClaims } from './workload/workload-planner.js'
