/**
 * What is needed of a database: `Database` of better-sqlite3 and `DatabaseSync` of node:sqlite fit.
 * Methods, not functions in fields, so that they fit without a cast.
 *
 * Give the store a connection of its own: whatever else is in the midst of a transaction there
 * makes its writes fail, and its reads see what is not committed.
 */
export interface SqliteDatabase {
  /** Runs statements that give nothing. */
  exec(sql: string): unknown
  prepare(sql: string): SqliteStatement
}

/**
 * Values are texts or null. They have no type here because the types of clients differ on how the
 * two are called together.
 */
export interface SqliteStatement {
  run(...values: unknown[]): unknown
  /** The first row, by the names of its columns, or `undefined`. */
  get(...values: unknown[]): unknown
  all(...values: unknown[]): unknown[]
}
