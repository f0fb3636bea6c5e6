import { check, type KindOf } from '../../errors/check.js'
import { type EngineStoreOptions, engineOptionsOf, engineStore } from '../engine/engine-store.js'
import { type PollingOptions, pollingOf } from '../engine/polling.js'
import { within } from '../rules/arguments.js'
import { type HistoryOptions, historyOf } from '../sql/history.js'
import { type TableOptions, tablesOf } from '../sql/tables.js'
import type { Store } from '../store.js'
import type { SqliteDatabase } from './client.js'
import { type ConnectionOptions, connect } from './connection.js'
import { sqliteEngine } from './engine.js'

export interface SqliteStoreOptions
  extends EngineStoreOptions,
    PollingOptions,
    TableOptions,
    HistoryOptions,
    ConnectionOptions {}

const SQLITE_STORE_OPTIONS: KindOf<SqliteStoreOptions> = {
  now: 'function',
  uid: 'function',
  kinds: ['list?', 'object'],
  checksSchemas: 'flag?',
  maxObjectBytes: 'number?',
  sleep: 'function',
  pollMs: 'number?',
  subscribe: 'function?',
  prefix: 'text?',
  history: 'number?',
  busyTimeoutMs: 'number?',
}

/**
 * A store in SQLite, 3.43 or later, for the processes of one machine. The tables have to be there:
 * {@link migrateSqlite}.
 *
 * The connection is set to WAL mode (but for a database in memory), to wait for the disk at each
 * commit, and to wait for other processes. A write is one transaction, and nothing else in the
 * process gets a turn until it is done, nor while it waits. Watches ask for changes every `pollMs`,
 * and at once after writes of the same store.
 *
 * @throws IpamError `INVALID_ARGUMENT` for wrong options, or a database that does not keep these
 * settings; what the client throws
 * @example
 * import { DatabaseSync } from 'node:sqlite'
 *
 * // the same with `new Database('ipam.db')` of better-sqlite3
 * const database = new DatabaseSync('ipam.db')
 * migrateSqlite(database)
 * const store = sqliteStore(database, {
 *   now: Date.now,
 *   uid: () => crypto.randomUUID(),
 *   sleep: (ms) => new Promise((done) => setTimeout(done, ms)),
 * })
 */
export function sqliteStore(database: SqliteDatabase, options: SqliteStoreOptions): Store {
  return within('sqliteStore', () => {
    check('sqliteStore', 'options', options, SQLITE_STORE_OPTIONS)
    const { busyTimeoutMs } = options
    const parts = { tables: tablesOf(options), history: historyOf(options), polling: pollingOf(options) }
    return engineStore(sqliteEngine(connect(database, { busyTimeoutMs }), parts), engineOptionsOf(options))
  })
}
