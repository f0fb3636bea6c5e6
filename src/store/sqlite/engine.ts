import { errorText } from '../../errors/cause.js'
import { refused } from '../engine/document.js'
import type { Commit, DocumentWrite } from '../engine/engine.js'
import type { PollingOptions } from '../engine/polling.js'
import { SqlEngine } from '../sql/engine.js'
import type { History } from '../sql/history.js'
import { type SqlParameters, type SqlRow, type Statement, textOf } from '../sql/statement.js'
import { type Tables, withoutTables } from '../sql/tables.js'
import type { Connection } from './connection.js'
import { isBusy } from './errors.js'
import { type Writes, writesOf } from './statements.js'

export interface SqliteEngineParts {
  readonly tables: Tables
  readonly history: History
  readonly polling: PollingOptions
}

export function sqliteEngine(connection: Connection, { tables, history, polling }: SqliteEngineParts): SqlEngine {
  const writes = writesOf(tables, history)
  const database = {
    name: 'sqlite',
    tables,
    style: 'anonymous',
    announcesWrites: false,
    all: async (text, values) => {
      try {
        return connection.all(text, values)
      } catch (error) {
        throw explained(error)
      }
    },
    commit: async (write) => commit(connection, writes, write),
  } satisfies ConstructorParameters<typeof SqlEngine>[0]
  return new SqlEngine(database, polling)
}

/**
 * From `begin` to the end without a pause, so that nothing else comes between on this connection.
 * `immediate` takes the lock for writing at once, after waiting for it: a transaction that reads
 * first and wants it later is refused without waiting.
 */
function commit(connection: Connection, writes: Writes, write: DocumentWrite): Commit {
  try {
    connection.run('begin immediate')
  } catch (error) {
    return refused(error)
  }
  let revision: string | undefined
  try {
    revision = writeAll(connection, writes, write)
  } catch (error) {
    // some errors have rolled back already; if it is still open, it is not known what becomes of it
    if (!rollBack(connection)) throw error
    return refused(explained(error))
  }
  if (revision === undefined) {
    rollBack(connection)
    return { kind: 'stale' }
  }
  try {
    connection.run('commit')
  } catch (error) {
    // what could not be synced may be in the log nevertheless, and is then found there the next
    // time that it is read
    if (rollBack(connection) && isBusy(error)) return refused(error)
    throw error
  }
  return { kind: 'done', revision }
}

/**
 * @returns the revision of the write, or `undefined` if the document is no longer what was expected
 */
function writeAll(connection: Connection, writes: Writes, { key, before, after }: DocumentWrite): string | undefined {
  const get = ({ text, values }: Statement, parameters: SqlParameters): SqlRow | undefined =>
    connection.get(text, values(parameters))
  const { group, kind, namespace, name } = key
  const document = after ?? null
  const statement = before === undefined ? writes.create : after === undefined ? writes.remove : writes.replace
  const written = get(statement, { group, kind, namespace, name, revision: before?.revision ?? null, document })
  if (written === undefined) return undefined
  const moved = get(writes.move, {})
  const revision = textOf(moved, 'revision')
  const change = { revision, group, kind, namespace, before: before?.text ?? null, document }
  connection.run(writes.record.text, writes.record.values(change))
  if (moved!.forgets === '1') connection.run(writes.forget.text)
  return revision
}

/** @returns whether no transaction is open any more */
function rollBack(connection: Connection): boolean {
  try {
    connection.run('rollback')
    return true
  } catch (error) {
    return /no transaction is active/.test(errorText(error))
  }
}

function explained(error: unknown): unknown {
  return /no such table/.test(errorText(error)) ? withoutTables(error, 'migrateSqlite') : error
}
