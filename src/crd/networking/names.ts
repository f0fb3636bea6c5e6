/** The API group of Kubernetes for networks. */
const GROUP = 'networking.k8s.io'
/** The version that is stored and written. */
export const API_VERSION = `${GROUP}/v1`
/** The version before, with the same fields. Kubernetes 1.37 does not serve it any more. */
export const V1BETA1 = `${GROUP}/v1beta1`

/** Finalizer on a ServiceCIDR: the object stays while an IPAddress depends on it. */
export const SERVICE_CIDR_FINALIZER = `${GROUP}/service-cidr-finalizer`

/** Label of an IPAddress: `IPv4` or `IPv6`. */
export const IP_FAMILY_LABEL = 'ipaddress.kubernetes.io/ip-family'
/** Label of an IPAddress: the component that created it and may delete it. */
export const MANAGED_BY_LABEL = 'ipaddress.kubernetes.io/managed-by'
/** The value of {@link MANAGED_BY_LABEL} for the addresses of Services. */
export const SERVICE_ALLOCATOR = 'ipallocator.k8s.io'

/** Condition of a ServiceCIDR: whether Services get addresses of it. */
export const READY = 'Ready'
/** Reason of {@link READY} for a ServiceCIDR that is being deleted. */
export const TERMINATING = 'Terminating'
