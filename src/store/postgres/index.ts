/**
 * A store in PostgreSQL or PGlite, over a client that you bring.
 *
 * @module ipam-kit/store/postgres
 */

export type { Store, StoreKind } from '../index.js'
export type { HistoryOptions } from '../sql/history.js'
export type { Migration } from '../sql/migrations.js'
export type { SqlRow, SqlValue } from '../sql/statement.js'
export type { TableOptions } from '../sql/tables.js'
export type { PostgresClient } from './client.js'
export { type NamingClient, namedStatements } from './named-statements.js'
export { type PostgresStoreOptions, postgresStore } from './postgres-store.js'
export { migratePostgres, postgresMigrations } from './schema.js'
export type { SchemaOptions } from './tables.js'
