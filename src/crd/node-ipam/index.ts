export { admitClusterCIDR } from './admission.js'
export { ClusterCIDR } from './cluster-cidr.js'
export { CLUSTER_CIDR_FINALIZER } from './names.js'
