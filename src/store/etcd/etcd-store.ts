import { type EngineStoreOptions, engineStore } from '../engine/engine-store.js'
import { assertFunction, assertInteger, assertMatch, assertObject, within } from '../rules/arguments.js'
import type { Store } from '../store.js'
import type { EtcdClient } from './client.js'
import { EtcdEngine } from './engine.js'

export interface EtcdStoreOptions extends EngineStoreOptions {
  /**
   * The size of the largest object in bytes of UTF-8 JSON. Default 1.5 MiB less 4 KiB: etcd takes
   * requests of 1.5 MiB (`--max-request-bytes`).
   */
  readonly maxObjectBytes?: number | undefined
  /**
   * What all keys begin with, before a slash: printable characters of ASCII without spaces, up to
   * 200. Default `ipam-kit`. No store may have a prefix that continues where that of another ends
   * (`a` and `a/b`).
   */
  readonly prefix?: string | undefined
  /**
   * Waits: `(ms) => new Promise((done) => setTimeout(done, ms))`. It has to take that time: with
   * one that takes none, a watch to which nothing comes does nothing but ask.
   */
  readonly sleep: (milliseconds: number) => Promise<unknown>
  /**
   * How long a watch waits before it continues after its connection has ended, in milliseconds from
   * 1 to a day. Default 500.
   */
  readonly retryMs?: number | undefined
}

const DEFAULT_OBJECT_BYTES = 1.5 * 1024 * 1024 - 4096
const DEFAULT_RETRY_MS = 500
const MAX_RETRY_MS = 86_400_000

/**
 * A store in etcd, version 3.4 or later, for any number of processes.
 *
 * A write is one transaction, and one round trip more for the read before it. Reads and lists are
 * linearizable; a long list is several answers, all as of one revision. Versions are revisions of
 * the whole of etcd. Watches are those of etcd: they continue by themselves when a connection ends,
 * and fail with `STORE_IO` only if etcd cannot be reached several times in a row, has an answer
 * that cannot be read, or answers no watch for some minutes in which something is written. A
 * connection can go silent without an end: a watch to which nothing comes for 15 to 30 seconds
 * looks whether there is something, and begins anew if it has missed it. For that the client has to
 * give up calls that are not answered. If that can no longer be known, because etcd could not be
 * asked for longer than it keeps the past, the watch ends with `STORE_VERSION_GONE`.
 *
 * The past is kept until it is compacted, which etcd does by itself only with
 * `--auto-compaction-retention`; a watch from before that has to list again, and so has one to
 * which nothing comes, when its connection ends, if the past is kept for less than two minutes. If
 * an answer to a write is lost, or etcd does not say that nothing was written, the answer is
 * `STORE_OUTCOME_UNKNOWN`.
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
    assertObject('options', options)
    const { prefix = 'ipam-kit', sleep, retryMs = DEFAULT_RETRY_MS, maxObjectBytes = DEFAULT_OBJECT_BYTES } = options
    const expected = 'up to 200 printable characters of ASCII, no slash at the end'
    assertMatch('options.prefix', prefix, /^[!-~]{0,199}[!-.0-~]$/, expected)
    assertFunction('options.sleep', sleep)
    assertInteger('options.retryMs', retryMs, { min: 1, max: MAX_RETRY_MS })
    const engine = new EtcdEngine(client, { prefix, sleep, retryMs, usualBytes: DEFAULT_OBJECT_BYTES })
    return engineStore(engine, { ...options, maxObjectBytes })
  })
}
