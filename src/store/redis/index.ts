/**
 * A store in Redis, over ioredis, node-redis, or another client that you bring.
 *
 * @module ipam-kit/store/redis
 */
export type { RedisClient } from './client.js'
export { redisStore } from './redis-store.js'
