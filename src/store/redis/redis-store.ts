import { check, type KindOf } from '../../errors/check.js'
import { type EngineStoreOptions, engineOptionsOf, engineStore } from '../engine/engine-store.js'
import { type PollingOptions, pollingOf } from '../engine/polling.js'
import { assertInteger, assertMatch, assertObject, within } from '../rules/arguments.js'
import type { Store } from '../store.js'
import { type RedisClient, senderOf } from './client.js'
import { RedisEngine } from './engine.js'

export interface RedisStoreOptions extends EngineStoreOptions, PollingOptions {
  /**
   * The beginning of all keys, in braces, so that a cluster keeps them on one node: up to 100
   * printable characters of ASCII, no braces. Default `ipam-kit`. Each write is published to the
   * channel `{ipam-kit}:store:changes`.
   */
  readonly prefix?: string | undefined
  /**
   * The number of changes of each kind that are kept. A watch can begin that far back. A watch that
   * falls further behind has to list again. Each change has the document before and after. At least
   * 1, default 10,000. If more are kept, each write removes up to 1,000.
   */
  readonly history?: number | undefined
  /**
   * The size of all changes of a kind that are kept, in bytes. One change is always kept. Default
   * 64 MiB.
   */
  readonly historyBytes?: number | undefined
}

const REDIS_STORE_OPTIONS: KindOf<RedisStoreOptions> = {
  prefix: 'text?',
  history: 'number?',
  historyBytes: 'number?',
  now: 'function',
  uid: 'function',
  kinds: ['list?', 'object'],
  checksSchemas: 'flag?',
  maxObjectBytes: 'number?',
  sleep: 'function',
  pollMs: 'number?',
  subscribe: 'function?',
}

const DEFAULT_HISTORY = 10_000
const MAX_HISTORY = 1_000_000_000
const MIB = 1024 * 1024
const DEFAULT_HISTORY_BYTES = 64 * MIB

/** About a hundredth of a second of server time. */
const ANSWER_BYTES = 4 * MIB

/**
 * A store in Redis, version 6 or later, for any number of processes.
 *
 * Each operation is one script. A write is one round trip, or two with the read before it. Watches
 * poll every `pollMs`, and when `subscribe` calls back. Without `subscribe` they also poll at once
 * after writes of the same store. A long list is read in several scripts, and then updated to one
 * moment.
 *
 * Requirements of the client: {@link RedisClient}. A client may send a command again after its
 * connection has ended, as ioredis does by default. The server remembers the result of each write
 * for ten minutes, so that a repeated write is done once and is no conflict. If a connection ends
 * during a write and the client gives up, the answer is `STORE_OUTCOME_UNKNOWN`.
 *
 * Requirements of the server:
 *
 * - `appendonly yes` and `appendfsync always`. Otherwise it loses answered writes when the machine
 *   fails
 * - `maxmemory-policy noeviction`, the default
 *
 * Replication is asynchronous: **a failover loses writes that were answered** just before it.
 * During a network split two primaries accept writes for a while (`min-replicas-to-write` shortens
 * that). If no address may be allocated twice even then, use a store that replicates before it
 * answers. A watch does not notice lost writes unless its own version is one of them.
 *
 * @throws IpamError `INVALID_ARGUMENT` for wrong options
 * @example
 * import { Redis } from 'ioredis'
 * const redis = new Redis({ maxRetriesPerRequest: 1, commandTimeout: 5_000 })
 * redis.on('error', () => {})
 * const store = redisStore(redis, {
 *   now: Date.now,
 *   uid: () => crypto.randomUUID(),
 *   sleep: (ms) => new Promise((done) => setTimeout(done, ms)),
 * })
 * @example
 * // watches that need not wait, with ioredis: one connection for all of them, and one listener
 * import { Redis } from 'ioredis'
 * const redis = new Redis({ maxRetriesPerRequest: 1, commandTimeout: 5_000 })
 * const subscriber = redis.duplicate()
 * for (const client of [redis, subscriber]) client.on('error', () => {})
 * const listeners = new Set<() => void>()
 * subscriber.on('message', () => {
 *   for (const wake of listeners) wake()
 * })
 * await subscriber.subscribe('{ipam-kit}:store:changes')
 * const store = redisStore(redis, {
 *   now: Date.now,
 *   uid: () => crypto.randomUUID(),
 *   sleep: (ms) => new Promise((done) => setTimeout(done, ms)),
 *   subscribe: (wake) => {
 *     listeners.add(wake)
 *     return () => listeners.delete(wake)
 *   },
 * })
 * @example
 * // the same with node-redis; it subscribes again by itself, and until then watches only ask every pollMs
 * import { createClient } from 'redis'
 * const redis = createClient({ disableOfflineQueue: true })
 * const subscriber = redis.duplicate()
 * for (const client of [redis, subscriber]) {
 *   client.on('error', () => {})
 *   await client.connect()
 * }
 * const listeners = new Set<() => void>()
 * await subscriber.subscribe('{ipam-kit}:store:changes', () => {
 *   for (const wake of listeners) wake()
 * })
 * const store = redisStore(redis, {
 *   now: Date.now,
 *   uid: () => crypto.randomUUID(),
 *   sleep: (ms) => new Promise((done) => setTimeout(done, ms)),
 *   subscribe: (wake) => {
 *     listeners.add(wake)
 *     return () => listeners.delete(wake)
 *   },
 * })
 */
export function redisStore(client: RedisClient, options: RedisStoreOptions): Store {
  return within('redisStore', () => {
    check('redisStore', 'options', options, REDIS_STORE_OPTIONS)
    assertObject('client', client)
    const polling = pollingOf(options)
    const { prefix = 'ipam-kit', history = DEFAULT_HISTORY, historyBytes = DEFAULT_HISTORY_BYTES, uid } = options
    assertMatch('options.prefix', prefix, /^[!-z|~]{1,100}$/, 'up to 100 printable characters of ASCII, no braces')
    assertInteger('options.history', history, { min: 1, max: MAX_HISTORY })
    assertInteger('options.historyBytes', historyBytes, { min: 1, max: Number.MAX_SAFE_INTEGER })
    const parts = { prefix, history, historyBytes, requestId: uid, polling, answerBytes: ANSWER_BYTES }
    return engineStore(new RedisEngine(senderOf(client), parts), engineOptionsOf(options))
  })
}
