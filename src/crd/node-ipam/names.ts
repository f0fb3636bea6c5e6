/** The API group of node-ipam-controller. */
const GROUP = 'networking.x-k8s.io'
/** Its only version. */
export const API_VERSION = `${GROUP}/v1`

/** Finalizer on a ClusterCIDR: the range stays while Nodes have subnets from it. */
export const CLUSTER_CIDR_FINALIZER = 'networking.x-k8s.io/cluster-cidr-finalizer'

/** The smallest value of `perNodeHostBits`: subnets of 16 addresses. */
export const MIN_PER_NODE_HOST_BITS = 4
/**
 * How many bits longer an IPv6 subnet can be than its range in upstream's allocator: 65,536
 * subnets.
 */
export const MAX_IPV6_SUBNET_BITS = 16
