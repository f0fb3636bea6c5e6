export type * from './client.js'
export * from './client-node.js'
export type * from './client-node-config.js'
export { type KubernetesStoreOptions, kubernetesStore } from './kubernetes-store.js'
