export type { EtcdClient } from './client.js'
export { etcdStore } from './etcd-store.js'
export { etcdGateway } from './gateway.js'
