import { unwrap } from 'ipam-kit/errors'
import type { Store } from 'ipam-kit/store'
import { migrateSqlite, sqliteMigrations, sqliteStore } from 'ipam-kit/store/sqlite'
import { describe, expect, it } from 'vitest'
import type { SqliteStoreOptions } from '../../src/store/sqlite/sqlite-store.js'
import { failureOf } from './failure-of.js'
import { pool, query, ref } from './memory-fixture.js'
import { type Answers, DOCUMENT, FakeDatabase } from './sqlite-fake.js'

const OPTIONS: SqliteStoreOptions = { now: () => 0, uid: () => 'uid', sleep: async () => {} }

function storeOn(answers: Answers): { readonly database: FakeDatabase; readonly store: Store } {
  const database = new FakeDatabase(answers)
  const store = sqliteStore(database, OPTIONS)
  database.words()
  return { database, store }
}

function error(fields: object): Error {
  return Object.assign(new Error('it is said so'), fields)
}

const BUSY = [
  { code: 'SQLITE_BUSY' },
  { code: 'SQLITE_BUSY_SNAPSHOT' },
  { code: 'SQLITE_BUSY_TIMEOUT' },
  { code: 'ERR_SQLITE_ERROR', errcode: 5 },
  { code: 'ERR_SQLITE_ERROR', errcode: 517 },
]
const BROKEN = [
  {},
  { code: 'SQLITE_IOERR_FSYNC' },
  { code: 'SQLITE_FULL' },
  { code: 'SQLITE_BUSYBODY' },
  { code: 'ERR_SQLITE_ERROR', errcode: 10 },
  { code: 'ERR_SQLITE_ERROR', errcode: 1034 },
  { code: 5 },
]

describe('a write', () => {
  it('is one transaction that takes the lock first', async () => {
    const { database, store } = storeOn({})
    expect(unwrap(await store.create(pool('a'))).metadata.resourceVersion).toBe('8')
    expect(database.asked[0]).toBe('begin immediate')
    expect(database.words()).toEqual(['begin', 'insert', 'update', 'insert', 'commit'])
    await store.patch(ref('a'), { spec: { size: 2 } })
    expect(database.words()).toEqual(['select', 'begin', 'update', 'update', 'insert', 'commit'])
    await store.delete(ref('a'))
    expect(database.words()).toEqual(['select', 'begin', 'delete', 'update', 'insert', 'commit'])
  })

  it('forgets old changes when the head says so', async () => {
    const { database, store } = storeOn({ 'update "ipam_kit_head"': [{ revision: '8', forgets: '1' }] })
    await store.create(pool('a'))
    expect(database.words()).toEqual(['begin', 'insert', 'update', 'insert', 'delete', 'commit'])
  })

  it('that has lost a race is rolled back', async () => {
    const { database, store } = storeOn({ insert: [] })
    expect(failureOf(await store.create(pool('a'))).code).toBe('STORE_ALREADY_EXISTS')
    expect(database.words()).toEqual(['begin', 'insert', 'rollback', 'select'])
  })

  it('that has lost a race is that, whatever becomes of the transaction', async () => {
    const { store } = storeOn({ insert: [], rollback: error({}) })
    expect(failureOf(await store.create(pool('a'))).code).toBe('STORE_ALREADY_EXISTS')
  })
})

describe('a write that fails', () => {
  it.each([...BUSY, ...BROKEN])('at its begin was not done: %o', async (fields) => {
    const thrown = error(fields)
    const { database, store } = storeOn({ begin: thrown })
    expect(failureOf(await store.create(pool('a')))).toMatchObject({ code: 'STORE_IO', cause: thrown })
    expect(database.words()).toEqual(['begin'])
  })

  it.each([
    'insert into "ipam_kit_documents"',
    'update "ipam_kit_head"',
    'insert into "ipam_kit_changes"',
    'delete from "ipam_kit_changes"',
  ])('in the midst is rolled back: %s', async (start) => {
    const thrown = error({ code: 'SQLITE_FULL' })
    const forgets = { 'update "ipam_kit_head"': [{ revision: '8', forgets: '1' }] }
    const { database, store } = storeOn({ ...forgets, [start]: thrown })
    expect(failureOf(await store.create(pool('a')))).toMatchObject({ code: 'STORE_IO', cause: thrown })
    expect(database.words().at(-1)).toBe('rollback')
  })

  it('in the midst was not done if the database has rolled back by itself', async () => {
    const rollback = new Error('cannot rollback - no transaction is active')
    const { store } = storeOn({ 'update "ipam_kit_head"': error({ code: 'SQLITE_FULL' }), rollback })
    expect(failureOf(await store.create(pool('a'))).code).toBe('STORE_IO')
  })

  it('in the midst is not known to be undone if it cannot be rolled back', async () => {
    const thrown = error({ code: 'SQLITE_FULL' })
    const { store } = storeOn({ 'update "ipam_kit_head"': thrown, rollback: error({}) })
    expect(failureOf(await store.create(pool('a')))).toMatchObject({ code: 'STORE_OUTCOME_UNKNOWN', cause: thrown })
  })

  it('because its client reads something else is rolled back', async () => {
    for (const row of [{ revision: 8, forgets: '0' }, { revision: 8n, forgets: '0' }, {}, ['8', '0']]) {
      const { database, store } = storeOn({ 'update "ipam_kit_head"': [row] })
      expect(failureOf(await store.create(pool('a'))).code).toBe('STORE_IO')
      expect(database.words().at(-1)).toBe('rollback')
    }
  })

  it.each(BUSY)('at its commit for a lock was not done: %o', async (fields) => {
    const thrown = error(fields)
    const { database, store } = storeOn({ commit: thrown })
    expect(failureOf(await store.create(pool('a')))).toMatchObject({ code: 'STORE_IO', cause: thrown })
    expect(database.words().slice(-2)).toEqual(['commit', 'rollback'])
    const stuck = storeOn({ commit: thrown, rollback: error({}) })
    expect(failureOf(await stuck.store.create(pool('a'))).code).toBe('STORE_OUTCOME_UNKNOWN')
  })

  it.each(BROKEN)('at its commit otherwise may have been done: %o', async (fields) => {
    const thrown = error(fields)
    const { database, store } = storeOn({ commit: thrown })
    expect(failureOf(await store.create(pool('a')))).toMatchObject({ code: 'STORE_OUTCOME_UNKNOWN', cause: thrown })
    expect(database.words().slice(-2)).toEqual(['commit', 'rollback'])
  })
})

it('a read that fails is STORE_IO', async () => {
  const { store } = storeOn({ select: error({}), 'select cast(revision': error({}) })
  const { store: other } = storeOn({
    'select cast(revision as text) as revision, document': [{ document: DOCUMENT, revision: 7 }],
  })
  for (const result of [await store.list(query), await other.get(ref('a')), await other.delete(ref('a'))]) {
    expect(failureOf(result).code).toBe('STORE_IO')
  }
})

describe('the connection', () => {
  const settings = (answers: Answers, options: object = {}) => {
    const database = new FakeDatabase(answers)
    sqliteStore(database, { ...OPTIONS, ...options })
    return database.asked
  }
  const refused = expect.objectContaining({ code: 'INVALID_ARGUMENT' })

  it('is set up before anything else', () => {
    expect(settings({})).toEqual([
      'pragma busy_timeout = 5000',
      'pragma journal_mode = wal',
      'pragma database_list',
      'pragma synchronous',
      'pragma synchronous = 2',
      'pragma synchronous',
    ])
    expect(settings({}, { busyTimeoutMs: 0 })[0]).toBe('pragma busy_timeout = 0')
  })

  it.each([0, 1, 0n, 1n, undefined, 'NORMAL'])('whose synchronous stays %s is refused', (synchronous) => {
    const database = new FakeDatabase({ 'pragma synchronous': [{ synchronous }] })
    expect(() => sqliteStore(database, OPTIONS)).toThrow(refused)
    expect(() => migrateSqlite(database)).toThrow(refused)
    expect(database.asked).toContain('pragma synchronous = 2')
    expect(database.words()).not.toContain('begin')
  })

  it.each([2, 3, 2n, 3n])('whose synchronous is %s is set to that, so that it stays', (synchronous) => {
    expect(settings({ 'pragma synchronous': [{ synchronous }] })).toContain(`pragma synchronous = ${synchronous}`)
  })

  it.each([
    ['delete', '/somewhere/ipam.db'],
    ['memory', '/somewhere/ipam.db'],
    ['off', '/somewhere/ipam.db'],
    ['off', ''],
    ['delete', ''],
    [undefined, ''],
  ])('whose journal stays %s of the file "%s" is refused', (journal_mode, file) => {
    const answers = { 'pragma journal_mode': [{ journal_mode }], 'pragma database_list': [{ file }] }
    expect(() => settings(answers)).toThrow(refused)
  })

  it.each(['', null])('to a database in memory has its journal there', (file) => {
    settings({ 'pragma journal_mode': [{ journal_mode: 'memory' }], 'pragma database_list': [{ file }] })
  })

  it.each(BUSY)('waits for others before it sets its mode, but not for ever: %o', (fields) => {
    const thrown = error(fields)
    const database = new FakeDatabase({ 'pragma journal_mode': thrown })
    expect(() => sqliteStore(database, OPTIONS)).toThrow(thrown)
    const [busyTimeout, mode, ...tries] = database.asked
    expect([busyTimeout, mode]).toEqual(['pragma busy_timeout = 5000', 'pragma journal_mode = wal'])
    expect(tries).toEqual(Array(9).fill(['begin exclusive', 'commit', 'pragma journal_mode = wal']).flat())
    const locked = new FakeDatabase({ ...database.answers, 'begin exclusive': thrown })
    expect(() => sqliteStore(locked, OPTIONS)).toThrow(thrown)
    expect(locked.words()).toEqual(['pragma', 'pragma', 'begin'])
  })

  it('that cannot be set up is not one', () => {
    const thrown = error({})
    expect(() => settings({ 'pragma journal_mode': thrown })).toThrow(thrown)
  })
})

describe('migrateSqlite', () => {
  it('does all or nothing', () => {
    const thrown = error({})
    const database = new FakeDatabase({ 'create table "ipam_kit_documents"': thrown, select: [{ version: '0' }] })
    expect(() => migrateSqlite(database)).toThrow(thrown)
    expect(database.words().slice(6)).toEqual(['begin', 'create', 'select', 'create', 'rollback'])
    const stuck = new FakeDatabase({ ...database.answers, rollback: error({}) })
    expect(() => migrateSqlite(stuck)).toThrow(thrown)
  })

  it('does what is left to do', () => {
    const database = new FakeDatabase({ select: [{ version: '1' }] })
    migrateSqlite(database)
    expect(database.words().slice(6)).toEqual(['begin', 'create', 'select', 'commit'])
  })

  it('refuses tables that are newer than it knows', () => {
    const database = new FakeDatabase({ select: [{ version: '99' }] })
    expect(() => migrateSqlite(database)).toThrow(expect.objectContaining({ code: 'STORE_IO' }))
    expect(database.words().at(-1)).toBe('rollback')
  })

  it('is steps without a gap', () => {
    const steps = sqliteMigrations({ prefix: 'x_' })
    expect(steps.map(({ version }) => version)).toEqual(steps.map((_, index) => index + 1))
    for (const noun of ['documents', 'changes', 'head']) expect(steps[0]!.sql).toContain(`create table "x_${noun}" (`)
  })
})

describe('wrong options', () => {
  it.each([
    { prefix: 'A' },
    { prefix: 'a"b' },
    { history: -1 },
    { history: 0 },
    { sleep: undefined },
    { pollMs: 0 },
    { busyTimeoutMs: -1 },
    { busyTimeoutMs: 1.5 },
    { busyTimeoutMs: '5000; drop table x' },
    { now: undefined },
    { uid: undefined },
  ])('%o', (options) => {
    const wrong = expect.objectContaining({ code: 'INVALID_ARGUMENT' })
    expect(() => sqliteStore(new FakeDatabase(), { ...OPTIONS, ...options } as never)).toThrow(wrong)
  })

  it('and databases', () => {
    for (const wrong of [undefined, null, {}, { exec() {} }, { prepare() {} }]) {
      const thrown = expect.objectContaining({ code: 'INVALID_ARGUMENT' })
      expect(() => sqliteStore(wrong as never, OPTIONS)).toThrow(thrown)
      expect(() => migrateSqlite(wrong as never)).toThrow(thrown)
    }
  })
})
