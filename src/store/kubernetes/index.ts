/**
 * A store on a Kubernetes API server, over a client such as @kubernetes/client-node that you
 * bring.
 *
 * @module ipam-kit/store/kubernetes
 */

export type { Store, StoreKind } from '../index.js'
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
