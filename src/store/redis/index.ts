export type { RedisCaller, RedisClient, RedisSender } from './client.js'
export { type RedisStoreOptions, redisStore } from './redis-store.js'
