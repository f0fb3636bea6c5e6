/** The only version. */
export const API_VERSION = 'k8s.ovn.org/v1'
