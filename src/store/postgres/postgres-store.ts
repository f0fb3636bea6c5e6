import { check, type KindOf } from '../../errors/check.js'
import { type EngineStoreOptions, engineOptionsOf, engineStore } from '../engine/engine-store.js'
import { type PollingOptions, pollingOf } from '../engine/polling.js'
import { assertFunction, assertMatch, assertObject, within } from '../rules/arguments.js'
import { type HistoryOptions, historyOf } from '../sql/history.js'
import { tableName } from '../sql/tables.js'
import type { Store } from '../store.js'
import type { PostgresClient } from './client.js'
import { postgresEngine } from './engine.js'
import { type SchemaOptions, tablesIn } from './tables.js'

export interface PostgresStoreOptions extends EngineStoreOptions, PollingOptions, SchemaOptions, HistoryOptions {
  /**
   * The channel that every write notifies, for `LISTEN`: a name of small letters, digits and `_`,
   * at most 63. Stores that share a database and have different channels do not wake each other's
   * watches. Default: the name of the table of changes, `ipam_kit_changes`.
   */
  readonly channel?: string | undefined
}

const POSTGRES_STORE_OPTIONS: KindOf<PostgresStoreOptions> = {
  channel: 'text?',
  now: 'function',
  uid: 'function',
  kinds: ['list?', 'object'],
  checksSchemas: 'flag?',
  maxObjectBytes: 'number?',
  sleep: 'function',
  pollMs: 'number?',
  subscribe: 'function?',
  schema: 'text?',
  prefix: 'text?',
  history: 'number?',
}

/**
 * A store in PostgreSQL, version 11 or later, for any number of processes. Create its tables first:
 * {@link migratePostgres}.
 *
 * A write is one statement, and is on disk when it is answered, for any setting of the session.
 * Writes of all processes are done one after the other, from the lock of one row to the end of the
 * commit. Watches poll every `pollMs`, and when `subscribe` calls back. Without `subscribe` they
 * also poll at once after writes of the same store.
 *
 * Requirements of the client: {@link PostgresClient}. Sessions of any isolation level work, but
 * above READ COMMITTED, the default, concurrent writes are tried again and again. A write was not
 * done if the server says so. If a connection ends during a write, the answer is
 * `STORE_OUTCOME_UNKNOWN`.
 *
 * The encoding of the database has to be UTF8. With another encoding, a write with a character that
 * it does not have is refused as `STORE_INVALID`.
 *
 * PGlite has one connection and no lock on its folder: open it in one process only.
 *
 * @throws IpamError `INVALID_ARGUMENT` for wrong options
 * @example
 * import pg from 'pg'
 *
 * const connectionString = 'postgres://ipam@localhost/ipam'
 * const pool = new pg.Pool({ connectionString })
 * // an idle connection may end, and without a listener that ends the process
 * pool.on('error', () => {})
 * await migratePostgres(pool)
 * const listener = new pg.Client({ connectionString })
 * // should this one end, watches only look every pollMs until there is another
 * listener.on('error', () => {})
 * const listeners = new Set<() => void>()
 * // one listener, however many watches there are
 * listener.on('notification', () => {
 *   for (const wake of listeners) wake()
 * })
 * await listener.connect()
 * await listener.query('listen ipam_kit_changes')
 * const store = postgresStore(namedStatements(pool), {
 *   now: Date.now,
 *   uid: () => crypto.randomUUID(),
 *   sleep: (ms) => new Promise((done) => setTimeout(done, ms)),
 *   subscribe: (wake) => {
 *     listeners.add(wake)
 *     return () => listeners.delete(wake)
 *   },
 * })
 * @example
 * import { PGlite } from '@electric-sql/pglite'
 *
 * const db = await PGlite.create('./ipam')
 * await migratePostgres(db)
 * await db.query('listen ipam_kit_changes')
 * const store = postgresStore(db, {
 *   now: Date.now,
 *   uid: () => crypto.randomUUID(),
 *   sleep: (ms) => new Promise((done) => setTimeout(done, ms)),
 *   subscribe: (wake) => db.onNotification(wake),
 * })
 */
export function postgresStore(client: PostgresClient, options: PostgresStoreOptions): Store {
  return within('postgresStore', () => {
    check('postgresStore', 'options', options, POSTGRES_STORE_OPTIONS)
    assertObject('client', client)
    assertFunction('client.query', client.query)
    const polling = pollingOf(options)
    const { prefix, channel = tableName(prefix, 'changes') } = options
    const expected = 'at most 63 small letters, digits and _, no digit first'
    assertMatch('options.channel', channel, /^[a-z_][a-z0-9_]{0,62}$/, expected)
    const parts = { tables: tablesIn(options), history: historyOf(options), channel, polling }
    return engineStore(postgresEngine(client, parts), engineOptionsOf(options))
  })
}
