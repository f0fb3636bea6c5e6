export type { KubernetesClient } from './client.js'
export { type ClientNodeWatch, fromClientNode } from './client-node.js'
export type { ClientNodeConfig } from './client-node-config.js'
export { kubernetesStore } from './kubernetes-store.js'
