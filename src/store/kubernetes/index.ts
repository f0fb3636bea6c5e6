/**
 * A store on a Kubernetes API server, over a client such as @kubernetes/client-node that you
 * bring.
 *
 * @module ipam-kit/store/kubernetes
 */
export type { KubernetesClient } from './client.js'
export { type ClientNodeWatch, fromClientNode } from './client-node.js'
export type { ClientNodeConfig } from './client-node-config.js'
export { kubernetesStore } from './kubernetes-store.js'
