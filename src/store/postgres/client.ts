import type { SqlRow, SqlValue } from '../sql/statement.js'

export type { SqlRow as PostgresRow, SqlValue as PostgresValue } from '../sql/statement.js'

/**
 * The client of a `postgresStore`: `Pool` of pg and PGlite fit. It has methods, not functions in
 * fields, so that these fit without a cast.
 *
 * Each call has to be a transaction of its own, in a session that may write. So do not pass a
 * client within a transaction, or a pool that sends reads to replicas. A `Client` of pg fits, too.
 * Versions from 9 on expect one statement at a time, and a store does not wait: use a pool of one.
 */
export interface PostgresClient {
  /** Rejects if the statement failed, with the SQLSTATE as `code` if the server has sent one. */
  query(text: string, values?: SqlValue[]): Promise<{ readonly rows: readonly SqlRow[] }>
}
