/**
 * A store in Redis, over ioredis, node-redis, or another client that you bring.
 *
 * @module ipam-kit/store/redis
 */

export type { Store, StoreKind } from '../index.js'
export type { RedisCaller, RedisClient, RedisSender } from './client.js'
export { type RedisStoreOptions, redisStore } from './redis-store.js'
