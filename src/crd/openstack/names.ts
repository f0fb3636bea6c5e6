/**
 * The API group of cluster-api-provider-openstack, which other infrastructure providers have too.
 */
export const GROUP = 'infrastructure.cluster.x-k8s.io'
/** The only version of pools and servers. */
export const API_VERSION_V1ALPHA1 = `${GROUP}/v1alpha1`
/** The stored version of machines and their templates. */
export const API_VERSION_V1BETA2 = `${GROUP}/v1beta2`
/** The version of machines and their templates before it: still served and read. */
export const API_VERSION_V1BETA1 = `${GROUP}/v1beta1`

/** Kind of the pools, as references to them write it. */
export const POOL_KIND = 'OpenStackFloatingIPPool'

/** Finalizer on a pool: it stays while it has addresses. */
export const POOL_FINALIZER = 'openstackfloatingippool.infrastructure.cluster.x-k8s.io'
/** Finalizer on an IPAddress of a pool: it stays until its floating IP is deleted or retained. */
export const ADDRESS_FINALIZER = 'openstackfloatingippool.infrastructure.cluster.x-k8s.io/delete-floating-ip'
/**
 * Our finalizer on a server: it stays until its floating IP is detached and its claim is released.
 */
export const FLOATING_IP_FINALIZER = 'ipam-kit.dev/floating-ip'

/**
 * Condition of a pool: whether a client for the cloud can be made. True with {@link READY_REASON}.
 */
export const AUTHENTICATION_CONDITION = 'OpenStackAuthenticationSucceeded'
/** Reason of {@link AUTHENTICATION_CONDITION} that is False. */
export const AUTHENTICATION_FAILED_REASON = 'OpenStackAuthenticationFailed'

/** Condition of a pool: whether it can give addresses. The text is upstream's, to the letter. */
export const POOL_READY_CONDITION = 'OpenstackFloatingIPPoolReadyCondition'
/** Reason of a condition that is True. */
export const READY_REASON = 'Ready'
/**
 * Reasons of {@link POOL_READY_CONDITION} that is False: `maxIPs` addresses are in use, a call to
 * the cloud failed, there is no network or more than one.
 */
export const MAX_IPS_REACHED_REASON = 'MaxIPsReached'
export const OPENSTACK_ERROR_REASON = 'OpenStackError'
export const NETWORK_NOT_FOUND_REASON = 'UnableToFindNetwork'

/** Condition of a server: whether it has its floating IP. True with {@link READY_REASON}. */
export const FLOATING_ADDRESS_CONDITION = 'FloatingAddressFromPoolReady'
/**
 * Reason of {@link FLOATING_ADDRESS_CONDITION} that is False: the claim has its address, and the
 * server has no instance yet. Upstream sets no condition then.
 */
export const WAITING_FOR_INSTANCE_REASON = 'WaitingForInstance'
/**
 * Reason of {@link FLOATING_ADDRESS_CONDITION} that is False for good: the pool had no address, and
 * the server was not to wait for one.
 */
export const POOL_EXHAUSTED_REASON = 'FloatingIPPoolExhausted'
/**
 * Reason of {@link FLOATING_ADDRESS_CONDITION} that is False: the claim, its address, or a call to
 * the cloud has failed.
 */
export const FLOATING_IP_ERROR_REASON = 'FloatingIPError'

/**
 * Annotation of a pool, of ours: how many free addresses are created in advance. A whole number
 * from 0; left out: 0.
 */
export const MIN_FREE_ANNOTATION = 'ipam-kit.dev/min-free'
/**
 * Annotation of a pool, of ours: `true`: floating IPs that have only the tag of the pool belong to
 * it. Left out or `false`: they do not.
 */
export const ADOPT_BY_TAG_ANNOTATION = 'ipam-kit.dev/adopt-by-tag'

/**
 * The tag that upstream puts on the floating IPs of a pool. It names the pool only: pools of one
 * name in other namespaces and other clusters have the same tag. O(1).
 *
 * @example
 * poolTag('blue') // 'cluster-api-provider-openstack-fip-pool-blue'
 */
export function poolTag(pool: string): string {
  return `cluster-api-provider-openstack-fip-pool-${pool}`
}
