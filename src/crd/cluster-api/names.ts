/** The API group of claims and addresses. */
export const GROUP = 'ipam.cluster.x-k8s.io'
/** The version that is stored and written. */
export const API_VERSION = `${GROUP}/v1beta2`
/** The version before it: still served, read and converted. */
export const API_VERSION_V1BETA1 = `${GROUP}/v1beta1`
/** The first version: still served, read and converted. */
export const API_VERSION_V1ALPHA1 = `${GROUP}/v1alpha1`

/** Label that ties an object to a Cluster. On claims it is superseded by `spec.clusterName`. */
export const CLUSTER_NAME_LABEL = 'cluster.x-k8s.io/cluster-name'
/** Annotation that pauses an object, whatever its value. */
export const PAUSED_ANNOTATION = 'cluster.x-k8s.io/paused'
/** Type of the summary condition. */
export const READY_CONDITION = 'Ready'

/** Finalizer on a claim: its address is released first. */
export const RELEASE_ADDRESS_FINALIZER = 'ipam.cluster.x-k8s.io/ReleaseAddress'
/** Finalizer on an address: it stays while its claim needs it. */
export const PROTECT_ADDRESS_FINALIZER = 'ipam.cluster.x-k8s.io/ProtectAddress'
/** Finalizer on a pool: it stays while it has addresses. */
export const PROTECT_POOL_FINALIZER = 'ipam.cluster.x-k8s.io/ProtectPool'
