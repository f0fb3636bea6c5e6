import type { Clients } from './clients.js'

/** None: etcd is reached through fetch. */
export const etcd: Clients = {}
