export type { RedisClient } from './client.js'
export { redisStore } from './redis-store.js'
