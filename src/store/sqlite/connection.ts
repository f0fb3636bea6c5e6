import { assertFunction, assertInteger, assertObject, mistake } from '../rules/arguments.js'
import type { SqlRow, SqlValue } from '../sql/statement.js'
import type { SqliteDatabase, SqliteStatement } from './client.js'
import { isBusy } from './errors.js'

export interface ConnectionOptions {
  /**
   * How long a write waits for another process to finish its own, in milliseconds up to an hour. It
   * waits without giving anything else in this process a turn. Default 5,000.
   */
  readonly busyTimeoutMs?: number | undefined
}

const DEFAULT_BUSY_TIMEOUT_MS = 5_000
const MAX_BUSY_TIMEOUT_MS = 3_600_000

/**
 * `synchronous`: commits wait for the disk; and for the folder, where there is a journal to remove.
 */
const FULL = 2
const EXTRA = 3

/** How often others may be faster to lock a file whose mode is to be changed. */
const MAX_ATTEMPTS = 10

/** A database that was set up, with each statement prepared once. */
export class Connection {
  readonly #database: SqliteDatabase
  readonly #statements = new Map<string, SqliteStatement>()

  constructor(database: SqliteDatabase) {
    this.#database = database
  }

  run(text: string, values: readonly SqlValue[] = []): void {
    this.#prepared(text).run(...values)
  }

  get(text: string, values: readonly SqlValue[] = []): SqlRow | undefined {
    return (this.#prepared(text).get(...values) ?? undefined) as SqlRow | undefined
  }

  all(text: string, values: readonly SqlValue[] = []): readonly SqlRow[] {
    return this.#prepared(text).all(...values) as SqlRow[]
  }

  exec(text: string): void {
    this.#database.exec(text)
  }

  /** Not before it is needed: the tables may be made later. */
  #prepared(text: string): SqliteStatement {
    const known = this.#statements.get(text)
    if (known !== undefined) return known
    const statement = this.#database.prepare(text)
    this.#statements.set(text, statement)
    return statement
  }
}

/**
 * Sets up a connection, because none of this is kept in the file for all clients: one starts with
 * `synchronous` at NORMAL when it opens a file in WAL mode, another does not wait for locks. What
 * was set is read back.
 *
 * @throws IpamError `INVALID_ARGUMENT` for a database that cannot be set up so; what the client
 * throws
 */
export function connect(database: SqliteDatabase, options: ConnectionOptions): Connection {
  assertObject('database', database)
  assertFunction('database.exec', database.exec)
  assertFunction('database.prepare', database.prepare)
  assertObject('options', options)
  const { busyTimeoutMs = DEFAULT_BUSY_TIMEOUT_MS } = options
  assertInteger('options.busyTimeoutMs', busyTimeoutMs, { min: 0, max: MAX_BUSY_TIMEOUT_MS })
  const pragma = (text: string): unknown => {
    const [value] = Object.values((database.prepare(`pragma ${text}`).get() ?? {}) as object)
    return typeof value === 'bigint' ? Number(value) : value
  }

  // first, so that the next ones wait too
  pragma(`busy_timeout = ${busyTimeoutMs}`)
  const mode = waitingFor(database, () => pragma('journal_mode = wal'))
  const { file } = (database.prepare('pragma database_list').get() ?? {}) as { readonly file?: unknown }
  const isInMemory = file === '' || file === null
  if (mode !== 'wal' && !(mode === 'memory' && isInMemory)) {
    throw mistake('database', 'a database that can be set to journal_mode = wal', String(mode))
  }
  // what was not set is lowered later, when a file in WAL mode is first read: so it is set even if
  // it is high enough
  const level = pragma('synchronous') === EXTRA ? EXTRA : FULL
  database.exec(`pragma synchronous = ${level}`)
  const synchronous = pragma('synchronous')
  if (synchronous !== level) {
    throw mistake('database', 'a database that can be set to synchronous = full', String(synchronous))
  }
  return new Connection(database)
}

/**
 * A file changes its mode only if no connection has a lock on it, and SQLite does not wait for that
 * by itself as it does for a transaction.
 */
function waitingFor<T>(database: SqliteDatabase, set: () => T): T {
  for (let attempt = 1; ; attempt++) {
    try {
      return set()
    } catch (error) {
      if (!isBusy(error) || attempt === MAX_ATTEMPTS) throw error
      database.exec('begin exclusive')
      database.exec('commit')
    }
  }
}
