export type * from './client.js'
export * from './client-node.js'
export { type KubernetesStoreOptions, kubernetesStore } from './kubernetes-store.js'
