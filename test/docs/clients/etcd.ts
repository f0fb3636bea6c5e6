import type { Clients } from './index.js'

/** None: etcd is reached through fetch. */
export const etcd: Clients = {}
