import type { Clients } from './clients.js'
import { etcd } from './etcd.js'
import { kubernetes } from './kubernetes.js'
import { postgres } from './postgres.js'
import { redis } from './redis.js'
import { sqlite } from './sqlite.js'

export const clients: Clients = {
  ...etcd,
  ...kubernetes,
  ...postgres,
  ...redis,
  ...sqlite,
  // needs no server: the real one
  'prom-client': () => import('prom-client'),
}
