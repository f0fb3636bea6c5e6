import { mistake } from '../rules/arguments.js'

/**
 * The client of a `redisStore`: `Redis` and `Cluster` of ioredis have `call`, a client or pool of
 * node-redis has `sendCommand`. If a client has both, as those of ioredis, `call` is used. It has
 * methods, not functions in fields, so that these fit without a cast.
 *
 * Answers have to be texts, the default, and have to come from the primary: do not pass a client
 * that reads from replicas. Use a client with a time limit. Otherwise each write waits as long as
 * the server is not available or does not answer.
 *
 * @example
 * import { Redis } from 'ioredis'
 * const redis = new Redis({ host: '127.0.0.1', maxRetriesPerRequest: 1, commandTimeout: 5_000 })
 * // a connection may end, and without a listener that is printed each time
 * redis.on('error', () => {})
 * @example
 * import { createClient } from 'redis'
 * // `timeout` of a command is only about how long it waits to be sent: a server that is silent is left after `socketTimeout`, which the
 * // client would take for the end, and what is asked each second keeps an idle connection from being taken for one
 * const reconnectStrategy = (retries: number) => Math.min(50 * 2 ** retries, 2_000)
 * const redis = createClient({
 *   url: 'redis://127.0.0.1:6379',
 *   disableOfflineQueue: true,
 *   pingInterval: 1_000,
 *   socket: { socketTimeout: 5_000, reconnectStrategy },
 * })
 * // a connection may end, and without a listener that ends the process
 * redis.on('error', () => {})
 * await redis.connect()
 * @example
 * // the key says which node a command is for, and nothing is read from replicas
 * import { createCluster } from 'redis'
 * const cluster = createCluster({ rootNodes: [{ url: 'redis://127.0.0.1:7000' }] })
 * cluster.on('error', () => {})
 * await cluster.connect()
 * const client: RedisClient = { sendCommand: (args) => cluster.sendCommand(args[3], false, args) }
 * @example
 * // it sends again what was not answered, up to 16 times: so `call`, as of a client that repeats
 * import { createSentinel } from 'redis'
 * const sentinel = createSentinel({ name: 'primary', sentinelRootNodes: [{ host: '127.0.0.1', port: 26379 }] })
 * sentinel.on('error', () => {})
 * await sentinel.connect()
 * const client: RedisClient = { call: (...words) => sentinel.sendCommand(false, words) }
 */
export type RedisClient = RedisCaller | RedisSender

/**
 * ioredis. It may send a command again when its connection has ended, and that second command may
 * be refused. Each write has an id, so that the server recognises it.
 */
export interface RedisCaller {
  /**
   * Rejects if the server answers with an error, with its text as the message, or if there is no
   * answer.
   */
  call(command: string, ...args: string[]): Promise<unknown>
}

/**
 * node-redis. It must not send a command again when its connection has ended: a refusal of the
 * server then proves that the command was not done. A client with sentinels does send again, so it
 * has to be wrapped in a `call`.
 */
export interface RedisSender {
  /**
   * Rejects if the server answers with an error, with its text as the message, or if there is no
   * answer.
   */
  sendCommand(args: string[]): Promise<unknown>
}

/** A client as one function. */
export interface Sender {
  send(command: string, ...args: string[]): Promise<unknown>
  /** Whether it may send a command again: a refused command may have been done before. */
  readonly repeats: boolean
}

/** @throws IpamError `INVALID_ARGUMENT` */
export function senderOf(client: RedisClient): Sender {
  // ioredis has a sendCommand too, which takes something else
  if ('call' in client && typeof client.call === 'function') {
    return { send: (...words) => client.call(...words), repeats: true }
  }
  if ('sendCommand' in client && typeof client.sendCommand === 'function') {
    return { send: (...words) => client.sendCommand(words), repeats: false }
  }
  throw mistake('client', 'a client with call or sendCommand', client)
}
