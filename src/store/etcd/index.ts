/**
 * A store in etcd, over its HTTP gateway and `fetch`, or over a client that you bring.
 *
 * @module ipam-kit/store/etcd
 */

export type { Store, StoreKind } from '../index.js'
export type { EtcdAbortController } from './abort.js'
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
export type { FromBase64 } from './messages.js'
