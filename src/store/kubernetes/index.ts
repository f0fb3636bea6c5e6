/**
 * A store on a Kubernetes API server, over a client such as @kubernetes/client-node that you
 * bring.
 *
 * @module ipam-kit/store/kubernetes
 */
export type * from './client.js'
export * from './client-node.js'
export type * from './client-node-config.js'
export { type KubernetesStoreOptions, kubernetesStore } from './kubernetes-store.js'
