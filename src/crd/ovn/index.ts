/**
 * UserDefinedNetwork and ClusterUserDefinedNetwork of OVN-Kubernetes, as far as they decide about
 * addresses.
 *
 * @module ipam-kit/crd/ovn
 */

export type { CrdModel, KubeObject, LabelSelector } from '../meta/index.js'
export {
  ClusterUserDefinedNetwork,
  type ClusterUserDefinedNetworkSpec,
  UserDefinedNetwork,
  type UserDefinedNetworkIPAM,
  type UserDefinedNetworkSpec,
  type UserDefinedTopology,
} from './user-defined-network.js'
