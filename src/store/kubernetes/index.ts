export type {
  KubernetesAnswer,
  KubernetesClient,
  KubernetesRequest,
  KubernetesWatchConnection,
  KubernetesWatchQuery,
} from './client.js'
export { type ClientNodeOptions, type ClientNodeWatch, fromClientNode } from './client-node.js'
export type {
  ClientNodeAuthentication,
  ClientNodeConfig,
  ClientNodeConfiguration,
  ClientNodeRequest,
  ClientNodeResponse,
  ClientNodeSignal,
} from './client-node-config.js'
export { type KubernetesStoreOptions, kubernetesStore } from './kubernetes-store.js'
