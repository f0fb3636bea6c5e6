import type { SqlRow, SqlValue } from '../sql/statement.js'

export type { SqlRow as PostgresRow, SqlValue as PostgresValue } from '../sql/statement.js'

/**
 * What is needed of a client: `Pool` of pg and PGlite fit. Methods, not functions in fields, so
 * that they fit without a cast.
 *
 * Each call has to be a transaction of its own, in a session that may write. So: no client that is
 * in the midst of a transaction, and no pool that spreads reads over replicas. A `Client` of pg
 * fits too, but versions from 9 on want to be given one statement after the other, and a store does
 * not wait: use a pool of one.
 */
export interface PostgresClient {
  /** Rejects if the statement failed: with the SQLSTATE as `code`, if the server has said why. */
  query(text: string, values?: SqlValue[]): Promise<{ readonly rows: readonly SqlRow[] }>
}
