/**
 * ClusterCIDR of node-ipam-controller, the ranges from which Nodes get subnets, with its admission
 * rules.
 *
 * @module ipam-kit/crd/node-ipam
 */
export {
  admitClusterCIDR,
  type ClusterCIDRAdmissionOptions,
  type ClusterCIDRAdmissionRequest,
  type ClusterCIDRRules,
  clusterCIDRErrors,
} from './admission.js'
export { ClusterCIDR, type ClusterCIDRSpec } from './cluster-cidr.js'
export {
  API_VERSION,
  CLUSTER_CIDR_FINALIZER,
  GROUP,
  MAX_IPV6_SUBNET_BITS,
  MIN_PER_NODE_HOST_BITS,
} from './names.js'
