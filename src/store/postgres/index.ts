export type { PostgresClient } from './client.js'
export { namedStatements } from './named-statements.js'
export { postgresStore } from './postgres-store.js'
export { migratePostgres, postgresMigrations } from './schema.js'
