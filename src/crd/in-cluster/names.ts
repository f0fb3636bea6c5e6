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
 * Annotation of a pool: addresses in use that an update may remove, as addresses, ranges and CIDRs
 * separated by commas. They stay with their claims and count as `outOfRange`. The pool allocates no
 * other of these addresses.
 */
export const DRAIN_ANNOTATION = 'ipam-kit.dev/drain'

/** The length of the prefixes of a prefix pool that does not name one. */
export const DEFAULT_ALLOCATION_PREFIX_LENGTH = 64
