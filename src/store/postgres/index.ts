/**
 * A store in PostgreSQL or PGlite, over a client that you bring.
 *
 * @module ipam-kit/store/postgres
 */
export type { PostgresClient } from './client.js'
export { namedStatements } from './named-statements.js'
export { postgresStore } from './postgres-store.js'
export { migratePostgres, postgresMigrations } from './schema.js'
