import type { Commit, DocumentWrite } from '../engine/engine.js'
import type { PollingOptions } from '../engine/polling.js'
import { problemOf } from '../engine/watch.js'
import { SqlEngine } from '../sql/engine.js'
import type { History } from '../sql/history.js'
import { type SqlParameters, type SqlValue, type Statement, textOf } from '../sql/statement.js'
import type { Tables } from '../sql/tables.js'
import type { PostgresClient, PostgresRow } from './client.js'
import { verdictOf } from './errors.js'
import { writesOf } from './statements.js'

export interface PostgresEngineParts {
  readonly tables: Tables
  readonly history: History
  readonly channel: string
  readonly polling: PollingOptions
}

/** How often a statement is tried that others made fail: in sessions of a higher isolation level all but one of those that write at once do. */
const MAX_ATTEMPTS = 100

export function postgresEngine(client: PostgresClient, parts: PostgresEngineParts): SqlEngine {
  const { tables, history, channel, polling } = parts
  const writes = writesOf(tables, history, channel)
  const all = (text: string, values: SqlValue[]) => persist(client, text, values)

  const commit = async ({ key, before, after }: DocumentWrite): Promise<Commit> => {
    const { group, kind, namespace, name } = key
    const statement = before === undefined ? writes.create : after === undefined ? writes.remove : writes.replace
    const parameters = { group, kind, namespace, name, revision: before?.revision ?? null, document: after ?? null }
    try {
      const [row] = await run(statement, parameters)
      return row === undefined ? { kind: 'stale' } : { kind: 'done', revision: textOf(row, 'revision') }
    } catch (error) {
      if (verdictOf(error) === 'unknown') throw error
      return { kind: 'refused', problem: problemOf(error), cause: error }
    }
  }
  const run = (statement: Statement, parameters: SqlParameters) => all(statement.text, statement.values(parameters))

  return new SqlEngine({ name: 'postgres', tables, style: 'numbered', all, commit }, polling)
}

/** Runs a statement, again if it failed because of others: it was rolled back then, and all of its conditions are in it. */
async function persist(client: PostgresClient, text: string, values: SqlValue[]): Promise<readonly PostgresRow[]> {
  for (let attempt = 1; ; attempt++) {
    try {
      const { rows } = await client.query(text, values)
      return rows
    } catch (error) {
      if (attempt === MAX_ATTEMPTS || verdictOf(error) !== 'again') throw error
    }
  }
}
