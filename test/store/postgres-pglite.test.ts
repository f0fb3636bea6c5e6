import type { PGlite } from '@electric-sql/pglite'
import { unwrap } from 'ipam-kit/errors'
import type { Store, WatchEvent } from 'ipam-kit/store'
import { migratePostgres, type PostgresClient, postgresMigrations, postgresStore } from 'ipam-kit/store/postgres'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { postgresEngine } from '../../src/store/postgres/engine.js'
import type { PostgresStoreOptions } from '../../src/store/postgres/postgres-store.js'
import { tablesIn } from '../../src/store/postgres/tables.js'
import type { SqlEngine } from '../../src/store/sql/engine.js'
import { historyOf } from '../../src/store/sql/history.js'
import { emptyDatabase } from '../setup/pglite.js'
import { failureOf } from './failure-of.js'
import { createIn, pool, query, ref } from './memory-fixture.js'
import { sqlEngineTests } from './sql-engine-tests.js'

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms))

let db: PGlite
let uids = 0
/** Each test has tables of its own. */
let schema: string
let schemas = 0

beforeAll(async () => {
  db = await emptyDatabase()
})

beforeEach(async () => {
  schema = `s${++schemas}`
  await migratePostgres(db, { schema })
})

function newStore(options: Partial<PostgresStoreOptions> = {}, client: PostgresClient = db): Store {
  return postgresStore(client, { schema, now: () => 0, uid: () => `uid-${++uids}`, sleep, ...options })
}

function newEngine(history?: number): SqlEngine {
  const parts = { tables: tablesIn({ schema }), history: historyOf({ history }), channel: 'c', polling: { sleep } }
  return postgresEngine(db, parts)
}

async function rows(sql: string): Promise<Record<string, unknown>[]> {
  return (await db.query<Record<string, unknown>>(sql.replaceAll('$', `"${schema}".ipam_kit_`))).rows
}

const head = async () => (await rows('select revision, oldest from $head'))[0]

const KEY = { group: 'g', kind: 'K', namespace: 'ns', name: 'a' }
const SCOPE = { group: 'g', kind: 'K' }

sqlEngineTests(() => ({ engine: newEngine, rows }))

describe('a write', () => {
  it('whose session commits without waiting for the disk waits', async () => {
    // the setting is of the transaction alone, so it is looked at from a trigger that runs at its
    // end
    await db.exec(`set synchronous_commit = off;
create table "${schema}".seen (setting text);
create function "${schema}".look() returns trigger language plpgsql as $look$
begin insert into "${schema}".seen values (current_setting('synchronous_commit')); return null; end $look$;
create constraint trigger look after insert or update on "${schema}".ipam_kit_head deferrable initially deferred
  for each row execute function "${schema}".look()`)
    try {
      await newEngine().commit({ key: KEY, before: undefined, after: 'one' })
      expect(await rows(`select setting from "${schema}".seen`)).toEqual([{ setting: 'on' }])
      expect(await rows(`select current_setting('synchronous_commit') as now`)).toEqual([{ now: 'off' }])
      await db.exec('set synchronous_commit = local')
      await newEngine().commit({ key: { ...KEY, name: 'b' }, before: undefined, after: 'one' })
      expect(await rows(`select setting from "${schema}".seen`)).toEqual([{ setting: 'on' }, { setting: 'local' }])
    } finally {
      await db.exec('reset synchronous_commit')
    }
  })

  it('works in a session of any isolation level and with old strings', async () => {
    for (const setting of [
      "default_transaction_isolation = 'repeatable read'",
      "default_transaction_isolation = 'serializable'",
      'standard_conforming_strings = off',
      "plan_cache_mode = 'force_generic_plan'",
    ]) {
      await db.exec(`set ${setting}`)
      const store = newStore()
      const made = await createIn(store, 'a', { spec: { text: "it's a \\ text" } })
      expect((await store.update({ ...made, spec: 2 })).ok).toBe(true)
      expect(unwrap(await store.list(query)).items).toHaveLength(1)
      expect((await store.delete(ref('a'))).ok).toBe(true)
      await db.exec(`reset ${setting.split(' ')[0]}`)
    }
  })

  it('in a session that may not write is refused', async () => {
    const store = newStore()
    await db.exec('set default_transaction_read_only = on')
    const made = await store.create(pool('a'))
    await db.exec('reset default_transaction_read_only')
    expect(failureOf(made)).toMatchObject({ code: 'STORE_IO', cause: { code: '25006' } })
    expect(failureOf(await store.get(ref('a'))).code).toBe('STORE_NOT_FOUND')
  })

  it('without the row of the head says what to do, after one more question', async () => {
    const asked: string[] = []
    const counting: PostgresClient = {
      query: (text, values) => {
        asked.push(text)
        return db.query<Record<string, unknown>>(text, values)
      },
    }
    await rows('delete from $head')
    const problem = expect.stringMatching(/"ipam_kit_head" is missing.*restore all/)
    expect(failureOf(await newStore({}, counting).create(pool('a')))).toMatchObject({
      code: 'STORE_IO',
      context: { problem },
    })
    expect(asked.filter((text) => text.startsWith('with '))).toHaveLength(1)
    expect(failureOf(await newStore().list(query))).toMatchObject({ code: 'STORE_IO', context: { problem } })
  })

  it('without the tables is refused', async () => {
    const store = newStore({ schema: 'nowhere' })
    expect(failureOf(await store.create(pool('a')))).toMatchObject({ code: 'STORE_IO', cause: { code: '42P01' } })
    expect(failureOf(await store.get(ref('a')))).toMatchObject({ code: 'STORE_IO' })
  })

  it('whose answer is lost is found by reading', async () => {
    const losing: PostgresClient = {
      async query(text, values) {
        const answer = await db.query<Record<string, unknown>>(text, values)
        if (text.startsWith('with ')) throw new Error('Connection terminated unexpectedly')
        return answer
      },
    }
    const store = newStore({}, losing)
    expect(failureOf(await store.create(pool('a', { spec: 1 }))).code).toBe('STORE_OUTCOME_UNKNOWN')
    const made = unwrap(await store.get(ref('a')))
    expect(made.spec).toBe(1)
    expect(failureOf(await store.update({ ...made, spec: 2 })).code).toBe('STORE_OUTCOME_UNKNOWN')
    const changed = unwrap(await store.get(ref('a')))
    expect(changed.spec).toBe(2)
    expect(failureOf(await store.delete(ref('a'))).code).toBe('STORE_OUTCOME_UNKNOWN')
    expect(failureOf(await store.get(ref('a'))).code).toBe('STORE_NOT_FOUND')
    expect(await head()).toEqual({ revision: 3, oldest: 0 })
  })
})

describe('documents', () => {
  it('come back as they were written, whatever is in them', async () => {
    const store = newStore()
    const spec = {
      z: 1,
      a: '\u0000 \ud800 \u{1f600} \u2028 \\u0000 "\n',
      text: 'x'.repeat(1_000_000),
      number: 12345678901234567000,
      tiny: 5e-324,
      list: [],
      none: {},
    }
    await createIn(store, 'a', { spec })
    const read = unwrap(await store.get(ref('a')))
    expect(read.spec).toEqual(spec)
    expect(Object.keys(read.spec as object)).toEqual(Object.keys(spec))
    expect(unwrap(await store.list(query)).items).toEqual([read])
  })
})

describe('changes that are too old', () => {
  it('are forgotten bit by bit if a smaller history is asked for', async () => {
    const engine = newEngine(1)
    const write = (i: number) => engine.commit({ key: { ...KEY, name: `n${i}` }, before: undefined, after: 'x' })
    await write(0)
    await rows(`insert into $changes select i, 'g', 'K', 'ns', null, 'x' from generate_series(2, 4000) i`)
    await rows('update $head set revision = 4000')
    const counts: unknown[] = []
    for (let i = 0; i < 5; i++) {
      await write(i + 1)
      counts.push((await rows('select count(*)::int as count from $changes'))[0]!.count)
    }
    expect(counts).toEqual([3001, 2002, 1003, 4, 1])
    expect(await engine.changes(SCOPE, '4003', 10)).toEqual({ kind: 'gone', oldest: '4004' })
  })
})

describe('a watch', () => {
  const follow = (store: Store, events: WatchEvent[]) => {
    const iterator = store.watch(query)[Symbol.asyncIterator]()
    const reading = (async () => {
      for (let step = await iterator.next(); !step.done; step = await iterator.next()) events.push(step.value)
    })()
    return async () => {
      await iterator.return?.()
      await reading
    }
  }
  const until = async (holds: () => boolean) => {
    for (let waited = 0; !holds(); waited += 5) {
      if (waited > 5_000) throw new Error('it takes too long')
      await sleep(5)
    }
  }

  it('is woken by writes of its own store, of its scope only', async () => {
    let asked = 0
    const counting: PostgresClient = {
      query(text, values) {
        if (text.includes('as before')) asked++
        return db.query<Record<string, unknown>>(text, values)
      },
    }
    const store = newStore({ pollMs: 60_000 }, counting)
    const events: WatchEvent[] = []
    const end = follow(store, events)
    await until(() => events.length === 1)
    await createIn(store, 'other', { kind: 'Region' })
    await createIn(store, 'a')
    await until(() => events.length === 2)
    await end()
    expect(asked).toBe(1)
    await createIn(store, 'b')
    expect(events).toHaveLength(2)
  })

  it('is woken by a notification of another store, and ends that with itself', async () => {
    const listeners = new Set<() => void>()
    const unlisten = await db.listen('ipam_kit_changes', () => {
      for (const wake of listeners) wake()
    })
    const subscribe = (wake: () => void) => {
      listeners.add(wake)
      return () => listeners.delete(wake)
    }
    const events: WatchEvent[] = []
    const end = follow(newStore({ pollMs: 60_000, subscribe }), events)
    await until(() => events.length === 1)
    expect(listeners.size).toBe(1)
    await createIn(newStore(), 'a')
    await until(() => events.length === 2)
    await end()
    expect(listeners.size).toBe(0)
    await unlisten()
  })

  it('finds by asking what it was not told', async () => {
    const events: WatchEvent[] = []
    const end = follow(newStore({ pollMs: 5 }), events)
    await until(() => events.length === 1)
    await createIn(newStore(), 'a')
    await until(() => events.length === 2)
    await end()
  })

  it('that fails says so and ends', async () => {
    const store = newStore({ schema: 'nowhere' })
    const events: WatchEvent[] = []
    for await (const event of store.watch(query)) events.push(event)
    expect(events).toMatchObject([{ type: 'ERROR', failure: { code: 'STORE_IO' } }])
  })
})

describe('migratePostgres', () => {
  const tablesOf = async (name: string) =>
    (await rows(`select table_name from information_schema.tables where table_schema = '${name}' order by 1`)).map(
      (row) => row.table_name,
    )

  it('makes the schema and the tables, once', async () => {
    const name = `${schema}_Fresh`
    await migratePostgres(db, { schema: name })
    expect(await tablesOf(name)).toEqual(['changes', 'documents', 'head', 'migrations'].map((t) => `ipam_kit_${t}`))
    const store = newStore({ schema: name })
    await createIn(store, 'a')
    await migratePostgres(db, { schema: name })
    await Promise.all([migratePostgres(db, { schema: name }), migratePostgres(db, { schema: name })])
    expect((await store.get(ref('a'))).ok).toBe(true)
    const done = await rows(`select version, applied_at is not null as dated from "${name}".ipam_kit_migrations`)
    expect(done).toEqual([{ version: 1, dated: true }])
  })

  it('keeps stores with different prefixes apart', async () => {
    await migratePostgres(db, { schema, prefix: 'x_' })
    await createIn(newStore({ prefix: 'x_' }), 'a')
    expect(failureOf(await newStore().get(ref('a'))).code).toBe('STORE_NOT_FOUND')
  })

  it('needs no more than to read where nothing is to be done', async () => {
    await db.exec(`create role reader; grant usage on schema "${schema}" to reader;
grant select on "${schema}".ipam_kit_migrations to reader; set role reader`)
    try {
      await migratePostgres(db, { schema })
      await expect(migratePostgres(db, { schema, prefix: 'x_' })).rejects.toMatchObject({ code: '42501' })
    } finally {
      await db.exec('reset role')
    }
  })

  it('does all or nothing', async () => {
    await db.exec(`create table "${schema}".x_head (id int)`)
    await expect(migratePostgres(db, { schema, prefix: 'x_' })).rejects.toMatchObject({ code: '42P07' })
    expect((await tablesOf(schema)).filter((name) => String(name).startsWith('x_'))).toEqual(['x_head'])
  })

  it('refuses tables that are newer than it knows', async () => {
    await rows('insert into $migrations (version) values (99)')
    const problem = /of version 99, and only 1 is known/
    await expect(migratePostgres(db, { schema })).rejects.toMatchObject({
      code: 'P0001',
      message: expect.stringMatching(problem),
    })
  })

  it('does what postgresMigrations says', async () => {
    const name = `${schema}_data`
    await db.exec(`create schema "${name}"`)
    for (const { sql } of postgresMigrations({ schema: name })) await db.exec(sql)
    await createIn(newStore({ schema: name }), 'a')
    const columns = (table: string) => `select table_name, column_name, data_type, collation_name, is_nullable
from information_schema.columns where table_schema = '${table}' and table_name not like '%migrations'
order by table_name, ordinal_position`
    expect(await rows(columns(name))).toEqual(await rows(columns(schema)))
    const keys = (await rows(columns(schema))).filter((row) =>
      ['api_group', 'kind', 'namespace', 'name'].includes(row.column_name as string),
    )
    for (const { collation_name } of keys) expect(collation_name).toBe('C')
  })
})
