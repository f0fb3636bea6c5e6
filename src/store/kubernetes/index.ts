export type {
  KubernetesAnswer,
  KubernetesClient,
  KubernetesRequest,
  KubernetesWatchConnection,
  KubernetesWatchQuery,
} from './client.js'
export {
  type ClientNodeAuthentication,
  type ClientNodeConfig,
  type ClientNodeConfiguration,
  type ClientNodeOptions,
  type ClientNodeRequest,
  type ClientNodeResponse,
  type ClientNodeSignal,
  type ClientNodeWatch,
  fromClientNode,
} from './client-node.js'
export { type KubernetesStoreOptions, kubernetesStore } from './kubernetes-store.js'
