/**
 * ClusterCIDR of node-ipam-controller, the ranges from which Nodes get subnets, with its admission
 * rules.
 *
 * @module ipam-kit/crd/node-ipam
 */
export { admitClusterCIDR } from './admission.js'
export { ClusterCIDR } from './cluster-cidr.js'
export { CLUSTER_CIDR_FINALIZER } from './names.js'
