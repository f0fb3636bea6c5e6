// Compiled with the clients: they fit as they are.

import { Cluster, Redis } from 'ioredis'
import { type RedisClient, redisStore } from 'ipam-kit/store/redis'
import { createClient, createClientPool, createCluster, createSentinel, RESP_TYPES } from 'redis'

const options = { now: Date.now, uid: () => crypto.randomUUID(), sleep: async () => {} }
const nodeRedis = createClient({ url: 'redis://localhost' })
const cluster = createCluster({ rootNodes: [] })
const sentinel = createSentinel({ name: 'n', sentinelRootNodes: [] })

export const fits: RedisClient[] = [
  new Redis({ lazyConnect: true }),
  new Cluster([], { lazyConnect: true }),
  nodeRedis,
  createClient({ RESP: 2 }),
  createClient({ RESP: 3 }),
  createClientPool(),
  { sendCommand: (args) => cluster.sendCommand(args[3], false, args) },
  { call: (...words) => sentinel.sendCommand(false, words) },
]
export const stores = [redisStore(new Redis(), options), redisStore(nodeRedis, options)]

// answers of buffers compile, and are refused when they come
redisStore(nodeRedis.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer }), options)
// @ts-expect-error the legacy client of node-redis answers to callbacks
redisStore(nodeRedis.legacy(), options)
// @ts-expect-error a client that is none does not fit
redisStore({ get: async () => '' }, options)
// @ts-expect-error and a cluster of node-redis has to be told which node
redisStore(cluster, options)
