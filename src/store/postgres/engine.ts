import { errorText } from '../../errors/cause.js'
import { refused } from '../engine/document.js'
import type { Commit, DocumentWrite } from '../engine/engine.js'
import type { PollingOptions } from '../engine/polling.js'
import { SqlEngine } from '../sql/engine.js'
import type { History } from '../sql/history.js'
import { type SqlParameters, type SqlValue, type Statement, textOf } from '../sql/statement.js'
import { type Tables, withoutHead, withoutTables } from '../sql/tables.js'
import type { PostgresClient, PostgresRow } from './client.js'
import { classOf, LACKS_CHARACTERS } from './errors.js'
import { writesOf } from './statements.js'

export interface PostgresEngineParts {
  readonly tables: Tables
  readonly history: History
  readonly channel: string
  readonly polling: PollingOptions
}

/**
 * How often a statement is tried that others made fail: in sessions of a higher isolation level all
 * but one of those that write at once do.
 */
const MAX_ATTEMPTS = 100
const UNDEFINED_TABLE = '42P01'

export function postgresEngine(client: PostgresClient, parts: PostgresEngineParts): SqlEngine {
  const { tables, history, channel, polling } = parts
  const writes = writesOf(tables, history, channel)
  const all = (text: string, values: SqlValue[]) => persist(client, text, values)

  const commit = async ({ key, before, after }: DocumentWrite): Promise<Commit> => {
    const { group, kind, namespace, name } = key
    const statement = before === undefined ? writes.create : after === undefined ? writes.remove : writes.replace
    const parameters = { group, kind, namespace, name, revision: before?.revision ?? null, document: after ?? null }
    let row: PostgresRow | undefined
    try {
      row = (await run(statement, parameters))[0]
    } catch (error) {
      if (classOf(error) === 'unknown') throw error
      return refusal(error)
    }
    return row === undefined ? await loser() : { kind: 'done', revision: textOf(row, 'revision') }
  }
  /**
   * What a write that has written nothing answers. Without the head no write can succeed, however
   * often it is done again.
   */
  const loser = async (): Promise<Commit> => {
    try {
      const [head] = await run(writes.head, {})
      return head === undefined ? { kind: 'refused', problem: withoutHead(tables) } : { kind: 'stale' }
    } catch (error) {
      return refusal(error)
    }
  }
  const run = (statement: Statement, parameters: SqlParameters) => all(statement.text, statement.values(parameters))

  return new SqlEngine({ name: 'postgres', tables, style: 'numbered', announcesWrites: true, all, commit }, polling)
}

/**
 * Runs a statement, again if it failed because of others: it was rolled back then, and all of its
 * conditions are in it.
 */
async function persist(client: PostgresClient, text: string, values: SqlValue[]): Promise<readonly PostgresRow[]> {
  for (let attempt = 1; ; attempt++) {
    try {
      const { rows } = await client.query(text, values)
      return rows
    } catch (error) {
      if (Object(error).code === UNDEFINED_TABLE) throw withoutTables(error, 'migratePostgres')
      if (attempt === MAX_ATTEMPTS || classOf(error) !== 'again') throw error
    }
  }
}

/** A write that the server has refused. */
function refusal(error: unknown): Commit {
  const { code } = (error ?? {}) as { readonly code?: unknown }
  if (!LACKS_CHARACTERS.has(code)) return refused(error)
  const problem = `the encoding of the database lacks a character of it: ${errorText(error)}`
  return { kind: 'invalid', problem, cause: error }
}
