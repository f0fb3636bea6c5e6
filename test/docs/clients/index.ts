import { etcd } from './etcd.js'
import { kubernetes } from './kubernetes.js'
import { postgres } from './postgres.js'
import { redis } from './redis.js'
import { sqlite } from './sqlite.js'

/** By the name that an example imports: what there is of the client for the examples, without a server. */
export interface Clients {
  readonly [specifier: string]: () => Promise<{ readonly [name: string]: unknown }>
}

export const clients: Clients = { ...etcd, ...kubernetes, ...postgres, ...redis, ...sqlite }
