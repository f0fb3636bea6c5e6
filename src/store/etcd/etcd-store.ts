import { check, type KindOf } from '../../errors/check.js'
import { type EngineStoreOptions, engineOptionsOf, engineStore } from '../engine/engine-store.js'
import { assertFunction, assertInteger, assertMatch, assertObject, within } from '../rules/arguments.js'
import type { Store } from '../store.js'
import type { EtcdClient } from './client.js'
import { EtcdEngine } from './engine.js'

export interface EtcdStoreOptions extends EngineStoreOptions {
  /**
   * The size of the largest object in bytes of UTF-8 JSON. Default 1.5 MiB less 4 KiB: etcd accepts
   * requests of 1.5 MiB (`--max-request-bytes`).
   */
  readonly maxObjectBytes?: number | undefined
  /**
   * The beginning of all keys, before a slash: up to 200 printable characters of ASCII without
   * spaces. Default `ipam-kit`. The prefix of one store must not be the beginning of the prefix of
   * another (`a` and `a/b`).
   */
  readonly prefix?: string | undefined
  /**
   * Waits: `(ms) => new Promise((done) => setTimeout(done, ms))`. It has to take that time.
   * Otherwise a watch without events sends requests all the time.
   */
  readonly sleep: (milliseconds: number) => Promise<unknown>
  /**
   * The wait before a watch continues after its connection has ended, in milliseconds from 1 to a
   * day. Default 500.
   */
  readonly retryMs?: number | undefined
}

const ETCD_STORE_OPTIONS: KindOf<EtcdStoreOptions> = {
  maxObjectBytes: 'number?',
  prefix: 'text?',
  sleep: 'function',
  retryMs: 'number?',
  now: 'function',
  uid: 'function',
  kinds: ['list?', 'object'],
  checksSchemas: 'flag?',
}

const DEFAULT_OBJECT_BYTES = 1.5 * 1024 * 1024 - 4096
const DEFAULT_RETRY_MS = 500
const MAX_RETRY_MS = 86_400_000

/**
 * A store in etcd, version 3.4 or later, for any number of processes.
 *
 * - A write is one transaction, and one round trip more for the read before it.
 * - Reads and lists are linearizable. A long list is several answers, all at one revision.
 * - Versions are revisions of the whole etcd.
 * - A watch continues by itself when a connection ends. It fails with `STORE_IO` if etcd cannot be
 *   reached several times in a row, if an answer cannot be read, or if no watch is answered for
 *   some minutes in which something is written.
 * - A connection can become silent without an end. A watch without events for 15 to 30 seconds
 *   checks whether it has missed some, and begins again if so. For that, the client must end calls
 *   that are not answered. If the check is impossible because the history was compacted meanwhile,
 *   the watch ends with `STORE_VERSION_GONE`.
 *
 * etcd keeps its history until it is compacted, by itself only with `--auto-compaction-retention`.
 * A watch from a compacted version has to list again. A watch without events has to list again when
 * its connection ends, if the history is shorter than two minutes. If an answer to a write is lost,
 * or etcd does not say that nothing was written, the answer is `STORE_OUTCOME_UNKNOWN`.
 *
 * @throws IpamError `INVALID_ARGUMENT` for wrong options
 * @example
 * const store = etcdStore(etcdGateway({ fetch, url: 'http://127.0.0.1:2379' }), {
 *   now: Date.now,
 *   uid: () => crypto.randomUUID(),
 *   sleep: (ms) => new Promise((done) => setTimeout(done, ms)),
 * })
 */
export function etcdStore(client: EtcdClient, options: EtcdStoreOptions): Store {
  return within('etcdStore', () => {
    assertObject('client', client)
    for (const call of ['range', 'txn', 'watch'] as const) assertFunction(`client.${call}`, client[call])
    check('etcdStore', 'options', options, ETCD_STORE_OPTIONS)
    const { prefix = 'ipam-kit', sleep, retryMs = DEFAULT_RETRY_MS, maxObjectBytes = DEFAULT_OBJECT_BYTES } = options
    const expected = 'up to 200 printable characters of ASCII, no slash at the end'
    assertMatch('options.prefix', prefix, /^[!-~]{0,199}[!-.0-~]$/, expected)
    assertFunction('options.sleep', sleep)
    assertInteger('options.retryMs', retryMs, { min: 1, max: MAX_RETRY_MS })
    const engine = new EtcdEngine(client, { prefix, sleep, retryMs, usualBytes: DEFAULT_OBJECT_BYTES })
    return engineStore(engine, { ...engineOptionsOf(options), maxObjectBytes })
  })
}
