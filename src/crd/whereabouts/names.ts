/** The API group of whereabouts. */
export const WHEREABOUTS_GROUP = 'whereabouts.cni.cncf.io'
/** Its only version. */
export const API_VERSION = `${WHEREABOUTS_GROUP}/v1alpha1`

/** The name of the one Lease that all writers of upstream share. Node slices have their own. */
export const SHARED_LEASE = 'whereabouts'
