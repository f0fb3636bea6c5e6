import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { unwrap } from 'ipam-kit/errors'
import type { Store } from 'ipam-kit/store'
import { migrateSqlite, type SqliteDatabase, sqliteStore } from 'ipam-kit/store/sqlite'
import type { SqliteStoreOptions } from '../../src/store/sqlite/sqlite-store.js'
import { failureOf } from './failure-of.js'
import { freshFile, type SqliteClient } from './sqlite-fixture.js'

type Trap = (client: SqliteClient, file: string) => Promise<void>

/** What goes wrong with a connection as a client gives it, each on a file of its own. */
export function sqliteTraps(client: SqliteClient): readonly { readonly name: string; run(): Promise<void> }[] {
  return Object.entries(TRAPS).map(([name, trap]) => ({
    name,
    async run() {
      const { file, remove } = freshFile()
      try {
        await trap(client, file)
      } finally {
        remove()
      }
    },
  }))
}

const query = { apiVersion: 'ipam.example.com/v1', kind: 'Pool' }
const ref = (name: string) => ({ ...query, namespace: 'ns', name })
const pool = (name: string, parts: object = {}) => ({ ...query, ...parts, metadata: { namespace: 'ns', name } })
const createIn = async (store: Store, name: string, parts: object = {}) => unwrap(await store.create(pool(name, parts)))

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms))

function storeOn(database: SqliteDatabase, options: Partial<SqliteStoreOptions> = {}): Store {
  return sqliteStore(database, { now: Date.now, uid: randomUUID, sleep, ...options })
}

function pragma(database: SqliteDatabase, name: string): number | string {
  const [value] = Object.values(database.prepare(`pragma ${name}`).get() as object)
  return typeof value === 'bigint' ? Number(value) : value
}

const TRAPS: { readonly [name: string]: Trap } = {
  'commits wait for the disk, also when a file is opened again': async (client, file) => {
    const first = client.open(file)
    migrateSqlite(first)
    // a new file is in WAL mode from its first commit on
    assert.deepEqual([pragma(first, 'journal_mode'), pragma(first, 'synchronous')], ['wal', 2])
    await createIn(storeOn(first), 'a')
    assert.equal(pragma(first, 'synchronous'), 2)
    first.close()
    const again = client.open(file)
    // so that it shows if a client changes its ways
    assert.equal(pragma(again, 'synchronous'), client.synchronous, 'what the client begins with')
    again.exec('pragma synchronous = normal')
    storeOn(again)
    assert.equal(pragma(again, 'synchronous'), 2)
    again.exec('pragma synchronous = extra')
    storeOn(again)
    assert.equal(pragma(again, 'synchronous'), 3)
    again.close()
  },
  'a database that is not to wait for the disk is refused': async (client, file) => {
    const database = client.open(file)
    migrateSqlite(database)
    database.exec('pragma synchronous = off; begin')
    assert.throws(() => storeOn(database))
    database.exec('commit')
    database.close()
  },
  'a lock of another process is waited for': async (client, file) => {
    const database = client.open(file)
    assert.equal(pragma(database, 'busy_timeout'), client.busyTimeoutMs, 'what the client begins with')
    migrateSqlite(database)
    database.exec('pragma busy_timeout = 0')
    const store = storeOn(database)
    assert.equal(pragma(database, 'busy_timeout'), 5_000)
    const holder = child(client, 'hold', file, '300')
    await once(holder.stdout!, 'data')
    releaseSoon(file)
    unwrap(await store.create(pool('a')))
    await ended(holder)
    database.close()
  },
  'a file that is not in WAL mode yet is waited for': async (client, file) => {
    const database = client.open(file)
    database.exec('create table other (x)')
    assert.equal(pragma(database, 'journal_mode'), 'delete')
    const holder = child(client, 'hold', file, '300')
    await once(holder.stdout!, 'data')
    assert.throws(() => migrateSqlite(database, { busyTimeoutMs: 0 }), /database is locked/)
    releaseSoon(file)
    migrateSqlite(database)
    assert.equal(pragma(database, 'journal_mode'), 'wal')
    await ended(holder)
    database.close()
  },
  'a lock that is not given up is a failure, and nothing was written': async (client, file) => {
    const [database, other] = [client.open(file), client.open(file)]
    migrateSqlite(database)
    const store = storeOn(database, { busyTimeoutMs: 0 })
    other.exec('begin immediate')
    assert.equal(failureOf(await store.create(pool('a'))).code, 'STORE_IO')
    assert.equal(failureOf(await store.get(ref('a'))).code, 'STORE_NOT_FOUND')
    other.exec('commit')
    unwrap(await store.create(pool('a')))
    other.close()
    database.close()
  },
  'a file that has no room is a failure, and nothing was written': async (client, file) => {
    const database = client.open(file)
    migrateSqlite(database)
    const store = storeOn(database)
    const made = await createIn(store, 'a')
    const pages = pragma(database, 'page_count')
    pragma(database, `max_page_count = ${pages}`)
    const spec = { text: 'x'.repeat(1_000_000) }
    assert.equal(failureOf(await store.create(pool('b', { spec }))).code, 'STORE_IO')
    assert.equal(failureOf(await store.update({ ...made, spec })).code, 'STORE_IO')
    assert.deepEqual(unwrap(await store.list(query)).items, [made])
    pragma(database, 'max_page_count = 1000000')
    assert.equal((await createIn(store, 'b', { spec })).metadata.resourceVersion, '2')
    database.close()
  },
  'another transaction on the same connection is not joined': async (client, file) => {
    const database = client.open(file)
    migrateSqlite(database)
    const store = storeOn(database)
    database.exec('begin')
    assert.equal(failureOf(await store.create(pool('a'))).code, 'STORE_IO')
    database.exec('rollback')
    unwrap(await store.create(pool('a')))
    database.close()
  },
  'a closed database is a failure, and nothing was written': async (client, file) => {
    const database = client.open(file)
    migrateSqlite(database)
    const store = storeOn(database)
    database.close()
    assert.equal(failureOf(await store.create(pool('a'))).code, 'STORE_IO')
    assert.equal(failureOf(await store.get(ref('a'))).code, 'STORE_IO')
  },
  'without the tables everything is a failure, until they are there': async (client, file) => {
    const database = client.open(file)
    const store = storeOn(database)
    assert.equal(failureOf(await store.create(pool('a'))).code, 'STORE_IO')
    assert.equal(failureOf(await store.list(query)).code, 'STORE_IO')
    migrateSqlite(database)
    unwrap(await store.create(pool('a')))
    migrateSqlite(database)
    unwrap(await store.get(ref('a')))
    database.close()
  },
  'whole numbers that are read as bigints change nothing': async (client, file) => {
    const database = client.readBigints(client.open(file))
    assert.equal(typeof Object.values(database.prepare('select 1').get() as object)[0], 'bigint')
    migrateSqlite(database)
    migrateSqlite(database)
    const store = storeOn(database, { history: 1 })
    for (let i = 0; i < 3; i++) await createIn(store, `a${i}`)
    const { items, resourceVersion } = unwrap(await store.list(query, { limit: 2 }))
    assert.deepEqual([items.length, resourceVersion], [2, '3'])
    const events = store.watch(query, { resourceVersion: '2' })[Symbol.asyncIterator]()
    const first = await events.next()
    assert.equal(first.value && 'object' in first.value && first.value.object.metadata.resourceVersion, '3')
    await events.return?.()
    ;(database as unknown as { close(): void }).close()
  },
  'a text with everything in it comes back': async (client, file) => {
    const database = client.open(file)
    migrateSqlite(database)
    const store = storeOn(database)
    const spec = { z: '\u0000 \ud800 \u{1f600} \u2028 \\u0000 "\n', a: 'x'.repeat(1_000_000), number: 5e-324 }
    await createIn(store, 'a', { spec })
    assert.equal(JSON.stringify(unwrap(await store.get(ref('a'))).spec), JSON.stringify(spec))
    database.close()
  },
  'two processes that count lose no count': async (client, file) => {
    const database = client.open(file)
    migrateSqlite(database)
    const store = storeOn(database)
    await createIn(store, 'shared', { spec: { count: 0 } })
    await Promise.all([1, 2].map(() => ended(child(client, 'count', file, '300'))))
    const { spec, metadata } = unwrap(await store.get(ref('shared')))
    assert.deepEqual([spec, metadata.resourceVersion], [{ count: 600 }, '601'])
    database.close()
  },
  'a process that is killed has written what it was told': async (client, file) => {
    const database = client.open(file)
    migrateSqlite(database)
    const store = storeOn(database)
    let acknowledged = 0
    for (let round = 0; round < 3; round++) {
      const writer = child(client, 'create', file, `round${round}`)
      let printed = ''
      writer.stdout!.setEncoding('utf8').on('data', (text: string) => {
        printed += text
      })
      while (printed.split('\n').length < 20 + round * 7) await once(writer.stdout!, 'data')
      writer.kill('SIGKILL')
      await once(writer, 'close')
      const names = printed.split('\n').slice(0, -1)
      acknowledged += names.length
      for (const name of names) unwrap(await store.get(ref(name)))
    }
    const { items } = unwrap(await store.list(query))
    assert.ok(items.length >= acknowledged && items.length <= acknowledged + 3)
    assert.equal(pragma(database, 'integrity_check'), 'ok')
    // the change log is whole
    const events = store.watch(query, { resourceVersion: '0' })[Symbol.asyncIterator]()
    for (let revision = 1; revision <= items.length; revision++) {
      const { value } = await events.next()
      assert.ok(value && 'object' in value && value.object.metadata.resourceVersion === String(revision))
    }
    await events.return?.()
    database.close()
  },
}

/**
 * Lets the process that holds the lock give it up, after the milliseconds that it was started with.
 */
function releaseSoon(file: string): void {
  writeFileSync(`${file}.release`, '')
}

function child(client: SqliteClient, job: string, file: string, argument: string): ChildProcess {
  const program = fileURLToPath(new URL('./sqlite-child.ts', import.meta.url))
  const args = ['--no-warnings', '--import', 'tsx', program, job, file, client.module, argument]
  const cwd = fileURLToPath(new URL('../..', import.meta.url))
  return spawn(process.execPath, args, { cwd, stdio: ['ignore', 'pipe', 'inherit'] })
}

async function ended(process: ChildProcess): Promise<void> {
  process.stdout!.resume()
  const [code] = await once(process, 'close')
  assert.equal(code, 0)
}
