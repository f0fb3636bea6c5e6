/**
 * NetworkAttachmentDefinition and the annotations of Pods of the multi-network standard: which
 * networks a Pod asks for, and which interfaces it has.
 *
 * @module ipam-kit/crd/multinet
 */

export type { AddressValue, Result } from '../../cidr/index.js'
export type { CrdModel, JsonObject, KubeObject } from '../meta/index.js'
export {
  DEFAULT_NETWORK_ANNOTATION,
  NETWORK_STATUS_ANNOTATION,
  NETWORKS_ANNOTATION,
  POD_NETWORKS_ANNOTATION,
} from './names.js'
export { NetworkAttachmentDefinition, type NetworkAttachmentDefinitionSpec } from './network-attachment-definition.js'
export { ipamOfType, type NetworkConfig, type NetworkPlugin, readNetworkConfig } from './network-config.js'
export {
  type Bandwidth,
  type NetworkSelection,
  type PortMapping,
  readNetworkSelection,
  type SelectionResult,
} from './network-selection.js'
export { type NetworkStatus, type PodNetwork, readNetworkStatus, readPodNetworks } from './network-status.js'
export type { InterfaceAddress, TextResult } from './read-json.js'
