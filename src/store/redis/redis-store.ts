import { type EngineStoreOptions, engineStore } from '../engine/engine-store.js'
import { assertPolling, type PollingOptions } from '../engine/polling.js'
import { assertInteger, assertMatch, assertObject, within } from '../rules/arguments.js'
import type { Store } from '../store.js'
import { type RedisClient, senderOf } from './client.js'
import { RedisEngine } from './engine.js'

export interface RedisStoreOptions extends EngineStoreOptions, PollingOptions {
  /**
   * What all keys begin with, between braces, so that a cluster keeps them on one node: up to 100
   * printable characters of ASCII, no braces. Default `ipam-kit`. Each write is published to the
   * channel `{ipam-kit}:store:changes`.
   */
  readonly prefix?: string | undefined
  /**
   * How many changes of each kind are kept. A watch can begin that far back, and one that falls
   * behind further has to list again. Each holds the document before and after. At least 1; default
   * 10,000. Where more is kept than is to be, each write lets go of at most 1,000.
   */
  readonly history?: number | undefined
  /**
   * How many bytes the changes that are kept of each kind have together; one is kept in any case.
   * Default 64 MiB.
   */
  readonly historyBytes?: number | undefined
}

const DEFAULT_HISTORY = 10_000
const MAX_HISTORY = 1_000_000_000
const MIB = 1024 * 1024
const DEFAULT_HISTORY_BYTES = 64 * MIB

/** About a hundredth of a second of the server. */
const ANSWER_BYTES = 4 * MIB

/**
 * A store in Redis, version 6 or later, for any number of processes.
 *
 * Each operation is one script. A write is one round trip, two with the read before it; watches ask
 * for changes every `pollMs`, and whenever `subscribe` says so; without it also at once after
 * writes of the same store. A long list is read in several scripts, and brought to one moment.
 *
 * What the client has to be: {@link RedisClient}. A client may send a command again after its
 * connection has ended, as ioredis does by default: for ten minutes the server remembers what a
 * write got, so that it is done once and not mistaken for a conflict. If a connection ends with a
 * write in flight and the client gives up, the answer is `STORE_OUTCOME_UNKNOWN`.
 *
 * What the server has to be: `appendonly yes` and `appendfsync always`, or it loses what it has
 * answered when the machine fails; `maxmemory-policy noeviction`, which is the default. Replication
 * is asynchronous: **a failover loses writes that were answered** just before it, and with a
 * network split two primaries take writes for a while (`min-replicas-to-write` shortens that).
 * Where no address may be handed out twice even then, take a store that replicates before it
 * answers. Watches do not notice that writes were lost unless their version is one of them.
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
    assertObject('client', client)
    assertPolling(options)
    const { prefix = 'ipam-kit', history = DEFAULT_HISTORY, historyBytes = DEFAULT_HISTORY_BYTES, uid } = options
    assertMatch('options.prefix', prefix, /^[!-z|~]{1,100}$/, 'up to 100 printable characters of ASCII, no braces')
    assertInteger('options.history', history, { min: 1, max: MAX_HISTORY })
    assertInteger('options.historyBytes', historyBytes, { min: 1, max: Number.MAX_SAFE_INTEGER })
    const parts = { prefix, history, historyBytes, requestId: uid, polling: options, answerBytes: ANSWER_BYTES }
    return engineStore(new RedisEngine(senderOf(client), parts), options)
  })
}
