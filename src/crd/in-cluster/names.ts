/** The API group of the in-cluster pools: that of claims and addresses too. */
export const GROUP = 'ipam.cluster.x-k8s.io'
/** The version that is stored and written. */
export const API_VERSION = `${GROUP}/v1alpha2`
/** The version before it, of pools of addresses: still served, read and converted. */
export const API_VERSION_V1ALPHA1 = `${GROUP}/v1alpha1`

/**
 * Annotation that lets a pool with addresses be deleted, whatever its value: `clusterctl move`
 * needs it.
 */
export const SKIP_DELETE_VALIDATION_ANNOTATION = 'ipam.cluster.x-k8s.io/skip-validate-delete-webhook'
/**
 * Annotation of a pool: what of it may be taken out although it is in use, as addresses, ranges and
 * CIDRs with commas between them. What is in use there stays with its claims and counts as
 * `outOfRange`, and nothing new is given from it.
 */
export const DRAIN_ANNOTATION = 'ipam-kit.dev/drain'

/** The length of the prefixes of a prefix pool that does not name one. */
export const DEFAULT_ALLOCATION_PREFIX_LENGTH = 64
