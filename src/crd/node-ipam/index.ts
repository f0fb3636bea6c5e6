/**
 * ClusterCIDR of node-ipam-controller, the ranges from which Nodes get subnets, with its admission
 * rules.
 *
 * @module ipam-kit/crd/node-ipam
 */

export type { NodeSelector } from '../core/index.js'
export type { Admission, CrdModel, KubeObject } from '../meta/index.js'
export {
  admitClusterCIDR,
  type ClusterCIDRAdmissionOptions,
  type ClusterCIDRAdmissionRequest,
  type ClusterCIDRRules,
} from './admission.js'
export { ClusterCIDR, type ClusterCIDRSpec } from './cluster-cidr.js'
export { CLUSTER_CIDR_FINALIZER } from './names.js'
