/**
 * A store in SQLite, over better-sqlite3, node:sqlite, or another database object that you bring.
 *
 * @module ipam-kit/store/sqlite
 */

export type { Store, StoreKind } from '../index.js'
export type { HistoryOptions } from '../sql/history.js'
export type { Migration } from '../sql/migrations.js'
export type { TableOptions } from '../sql/tables.js'
export type { SqliteDatabase, SqliteStatement } from './client.js'
export type { ConnectionOptions } from './connection.js'
export { migrateSqlite, sqliteMigrations } from './schema.js'
export { type SqliteStoreOptions, sqliteStore } from './sqlite-store.js'
