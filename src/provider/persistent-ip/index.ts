/**
 * Addresses that stay with a workload: the networks that have them, and what Pods ask of those.
 *
 * @module ipam-kit/provider/persistent-ip
 */

export type { AddressValue, PrefixValue, Result } from '../../cidr/index.js'
export type { NetworkAttachmentDefinition } from '../../crd/multinet/index.js'
export type { ClusterUserDefinedNetwork, UserDefinedNetwork } from '../../crd/ovn/index.js'
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
