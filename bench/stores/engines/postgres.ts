import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { PGlite } from '@electric-sql/pglite'
import { migratePostgres, namedStatements, postgresStore } from 'ipam-kit/store/postgres'
import { writesOf } from '../../../src/store/postgres/statements.js'
import { historyOf } from '../../../src/store/sql/history.js'
import type { PgClient, PgPool } from '../../../test/real/postgres/connections.js'
import { clientVersion, importClient } from '../../../test/real/servers/install.js'
import { startPostgres } from '../../../test/real/servers/postgres.js'
import { type Bench, KIND, storeCalls } from '../calls.js'
import { RAW_KEY, type RawSql, type Row, sqlCalls, TABLES } from './sql.js'

const CHANNEL = 'ipam_kit_changes'
const WRITES = writesOf(TABLES, historyOf({}), CHANNEL)
const CONNECTIONS = 4
const OPTIONS = { now: Date.now, uid: randomUUID, kinds: [KIND], sleep }

interface Pg {
  readonly default: {
    readonly Pool: new (options: { connectionString: string; max: number }) => PgPool
    readonly Client: new (options: { connectionString: string }) => PgClient
  }
}

/**
 * A pool for both sides to write and read, and another one and a listening connection for both to
 * watch.
 */
export async function overPg(): Promise<Bench> {
  const { default: pg } = await importClient<Pg>('pg')
  const server = await startPostgres()
  const connectionString = server.url
  const [pool, other] = [CONNECTIONS, 1].map((max) => new pg.Pool({ connectionString, max })) as [PgPool, PgPool]
  const listener = new pg.Client({ connectionString })
  // the server ends what is idle when it stops
  for (const each of [pool, other, listener]) each.on('error', () => {})
  await listener.connect()
  await listener.query(`listen ${CHANNEL}`)
  await migratePostgres(pool)
  const listeners = new Set<() => void>()
  listener.on('notification', () => {
    for (const wake of listeners) wake()
  })
  const listen = (wake: () => void) => {
    listeners.add(wake)
    return () => void listeners.delete(wake)
  }
  const store = postgresStore(namedStatements(pool), OPTIONS)
  const watcher = postgresStore(namedStatements(other), { ...OPTIONS, subscribe: listen })
  const names = new Map<string, string>()
  const asking =
    (client: PgPool): Asking =>
    async (text, values) => {
      const name = names.get(text) ?? `raw_${names.size}`
      names.set(text, name)
      return (await client.query({ name, text, values })).rows as Row[]
    }
  const subscribe: RawSql['subscribe'] = async (wake) => {
    const stop = listen(wake)
    return async () => stop()
  }
  const [raw, watching] = [pool, other].map((client) => rawCalls(asking(client), subscribe)) as [Raw, Raw]
  return {
    versions: `PostgreSQL ${server.version} with pg ${clientVersion('pg')}`,
    ours: storeCalls(store, watcher),
    raw: { ...raw, watch: watching.watch },
    async close() {
      for (const client of [listener, pool, other]) await client.end()
      await server.stop()
    },
  }
}

/** In memory: its only connection does everything. */
export async function overPglite(): Promise<Bench> {
  const db = new PGlite()
  await migratePostgres(db)
  const subscribe = (wake: () => void) => {
    const listening = db.listen(CHANNEL, wake)
    return async () => (await listening)()
  }
  const { rows } = await db.query<{ version: string }>("select split_part(version(), ' ', 2) as version")
  return {
    versions: `PGlite with PostgreSQL ${rows[0]!.version}`,
    ours: storeCalls(postgresStore(db, { ...OPTIONS, subscribe })),
    raw: rawCalls(
      async (text, values) => (await db.query<Row>(text, values)).rows,
      (wake) => db.listen(CHANNEL, wake),
    ),
    close: () => db.close(),
  }
}

type Asking = (text: string, values: (string | null)[]) => Promise<Row[]>
type Raw = ReturnType<typeof sqlCalls>

function rawCalls(all: Asking, subscribe: RawSql['subscribe']): Raw {
  return sqlCalls({
    all,
    subscribe,
    parameter: (index) => `$${index}`,
    async commit(name, document, before) {
      const { text, values } = before === undefined ? WRITES.create : WRITES.replace
      const [row] = await all(text, values({ ...RAW_KEY, name, document, revision: before?.revision ?? null }))
      return row?.revision ?? undefined
    },
  })
}
