/**
 * Addresses that stay with a workload: the networks that have them, and what Pods ask of those.
 *
 * @module ipam-kit/provider/persistent-ip
 */

export type { AddressValue, PrefixValue, Result } from '../../cidr/index.js'
export type { Pod } from '../../crd/core/index.js'
export type { VirtualMachineInstance, VMInterface } from '../../crd/kubevirt/index.js'
export type { Admission, KubeObject } from '../../crd/meta/index.js'
export type { InterfaceAddress, NetworkAttachmentDefinition } from '../../crd/multinet/index.js'
export type { ClusterUserDefinedNetwork, UserDefinedNetwork } from '../../crd/ovn/index.js'
export type { ReviewRule } from '../webhook/index.js'
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
export { type NetworkFailure, type VMClaim, type VMClaims, type VMDefinitions, vmClaims } from './pod/vm-claims.js'
export { admitVMPod, type VMPodAnswer, type VMPodObjects, type VMPodOptions, type VMPodRequest } from './pod/vm-pod.js'
export { vmPodRule } from './pod/vm-pod-rule.js'
