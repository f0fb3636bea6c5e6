/**
 * A store in etcd, over its HTTP gateway and `fetch`, or over a client that you bring.
 *
 * @module ipam-kit/store/etcd
 */
export type { EtcdClient } from './client.js'
export { etcdStore } from './etcd-store.js'
export { etcdGateway } from './gateway.js'
