export type { SqliteDatabase } from './client.js'
export { migrateSqlite, sqliteMigrations } from './schema.js'
export { sqliteStore } from './sqlite-store.js'
