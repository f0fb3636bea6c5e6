/** The API group of the multi-network standard. */
const GROUP = 'k8s.cni.cncf.io'
/** The only version of NetworkAttachmentDefinition. */
export const API_VERSION = `${GROUP}/v1`

/** Annotation of a Pod: the networks that it asks for. See `readNetworkSelection`. */
export const NETWORKS_ANNOTATION = 'k8s.v1.cni.cncf.io/networks'
/** Annotation of a Pod: the interfaces that it has. See `readNetworkStatus`. */
export const NETWORK_STATUS_ANNOTATION = 'k8s.v1.cni.cncf.io/network-status'
/**
 * Annotation of a Pod: the network in place of the default network of the cluster, in the JSON form
 * of {@link NETWORKS_ANNOTATION}.
 */
export const DEFAULT_NETWORK_ANNOTATION = 'v1.multus-cni.io/default-network'
/** Annotation of a Pod, of OVN-Kubernetes: the addresses in each network. See `readPodNetworks`. */
export const POD_NETWORKS_ANNOTATION = 'k8s.ovn.org/pod-networks'
