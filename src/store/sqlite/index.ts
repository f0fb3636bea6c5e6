/**
 * A store in SQLite, over better-sqlite3, node:sqlite, or another database object that you bring.
 *
 * @module ipam-kit/store/sqlite
 */
export type { SqliteDatabase } from './client.js'
export { migrateSqlite, sqliteMigrations } from './schema.js'
export { sqliteStore } from './sqlite-store.js'
