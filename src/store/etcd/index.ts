export type { EtcdAbortController, EtcdAbortSignal } from './abort.js'
export type {
  EtcdClient,
  EtcdEvent,
  EtcdKeyValue,
  EtcdOperation,
  EtcdRangeRequest,
  EtcdRangeResponse,
  EtcdTxnRequest,
  EtcdTxnResponse,
  EtcdWatch,
  EtcdWatchRequest,
  EtcdWatchResponse,
} from './client.js'
export { type EtcdStoreOptions, etcdStore } from './etcd-store.js'
export { type EtcdGatewayOptions, type EtcdHttpRequest, type EtcdHttpResponse, etcdGateway } from './gateway.js'
export type { ByteStreamReader } from './lines.js'
