import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { migrateSqlite, type SqliteDatabase, sqliteStore } from 'ipam-kit/store/sqlite'
import { historyOf } from '../../../src/store/sql/history.js'
import { writesOf } from '../../../src/store/sqlite/statements.js'
import { clientVersion, importClient, installSqlite } from '../../../test/real/servers/install.js'
import { freshFile, nodeSqlite } from '../../../test/store/sqlite-fixture.js'
import { type Bench, KIND, storeCalls } from '../calls.js'
import { RAW_KEY, type Row, sqlCalls, TABLES } from './sql.js'

type Database = SqliteDatabase & { close(): void }

export async function overBetterSqlite(): Promise<Bench> {
  await installSqlite()
  const name = 'better-sqlite3'
  const { default: Database } = await importClient<{ default: new (file: string) => Database }>(name)
  return over(`${name} ${clientVersion(name)}`, (file) => new Database(file))
}

export async function overNodeSqlite(): Promise<Bench> {
  return over('node:sqlite', (file) => new nodeSqlite!.DatabaseSync(file))
}

/** A file. Both sides use one connection, which the store has set up. */
function over(client: string, open: (file: string) => Database): Bench {
  const { file, remove } = freshFile()
  const database = open(file)
  migrateSqlite(database)
  const store = sqliteStore(database, { now: Date.now, uid: randomUUID, kinds: [KIND], sleep })
  const [{ version }] = database.prepare('select sqlite_version() as version').all() as [{ version: string }]
  return {
    versions: `SQLite ${version} with ${client}`,
    ours: storeCalls(store),
    raw: rawCalls(database),
    async close() {
      database.close()
      remove()
    },
  }
}

function rawCalls(database: SqliteDatabase) {
  const writes = writesOf(TABLES, historyOf({}))
  const statements = new Map<string, ReturnType<SqliteDatabase['prepare']>>()
  const prepared = (text: string) => {
    const known = statements.get(text) ?? database.prepare(text)
    statements.set(text, known)
    return known
  }
  const [begin, commit, rollback] = ['begin immediate', 'commit', 'rollback'].map(prepared)
  const [create, replace, move, record, forget] = [
    ...[writes.create, writes.replace, writes.move, writes.record, writes.forget].map(({ text }) => prepared(text)),
  ]
  const watchers = new Set<() => void>()
  return sqlCalls({
    all: (text, values) => prepared(text).all(...values) as Row[],
    parameter: () => '?',
    commit(name, document, before) {
      const key = { ...RAW_KEY, name, document }
      begin!.run()
      const written =
        before === undefined
          ? create!.get(...writes.create.values(key))
          : replace!.get(...writes.replace.values({ ...key, revision: before.revision }))
      if (written === undefined) {
        rollback!.run()
        return undefined
      }
      const { revision, forgets } = move!.get() as Row
      record!.run(...writes.record.values({ ...key, revision: revision!, before: before?.text ?? null }))
      if (forgets === '1') forget!.run()
      commit!.run()
      for (const wake of watchers) wake()
      return revision!
    },
    async subscribe(wake) {
      watchers.add(wake)
      return async () => {
        watchers.delete(wake)
      }
    },
  })
}
