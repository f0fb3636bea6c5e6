import type { Store } from 'ipam-kit/store'
import {
  migratePostgres,
  namedStatements,
  type PostgresClient,
  postgresMigrations,
  postgresStore,
} from 'ipam-kit/store/postgres'
import { describe, expect, it } from 'vitest'
import { classOf } from '../../src/store/postgres/errors.js'
import type { PostgresStoreOptions } from '../../src/store/postgres/postgres-store.js'
import { failureOf } from './failure-of.js'
import { pool, query, ref } from './memory-fixture.js'

const OPTIONS: PostgresStoreOptions = { now: () => 0, uid: () => 'uid', sleep: async () => {} }

type Call = readonly [text: string, values: readonly unknown[] | undefined]

/** A client that answers each statement as it is told to. */
function client(answer: (text: string) => unknown): PostgresClient & { readonly calls: Call[] } {
  const calls: Call[] = []
  return {
    calls,
    async query(text, values) {
      calls.push([text, values])
      return { rows: (await answer(text)) as [] }
    },
  }
}

const isWrite = (text: string) => text.startsWith('with ')

function error(code: string, severity = 'ERROR'): Error {
  return Object.assign(new Error(`it says ${code}`), { code, severity })
}

/** A store whose writes end so, and whose reads find a document. */
function storeWith(write: () => unknown, options: object = {}): { readonly store: Store; readonly calls: Call[] } {
  const document = JSON.stringify(pool('a', { metadata: { uid: 'uid' }, spec: { size: 1 } }))
  const fake = client((text) => (isWrite(text) ? write() : [{ document, revision: '7', head: '9' }]))
  return { store: postgresStore(fake, { ...OPTIONS, ...options }), calls: fake.calls }
}

describe('a write', () => {
  it('is one statement with texts as its values', async () => {
    const { store, calls } = storeWith(() => [{ revision: '8' }])
    const made = await store.create(pool('a'))
    expect(made.ok && made.value.metadata.resourceVersion).toBe('8')
    await store.patch(ref('a'), { spec: { size: 2 } })
    await store.delete(ref('a'))
    const writes = calls.filter(([text]) => isWrite(text))
    expect(writes.map(([text]) => /(insert into|update|delete from) "ipam_kit_documents"/.exec(text)?.[1])).toEqual([
      'insert into',
      'update',
      'delete from',
    ])
    for (const [text, values] of calls) {
      expect(text).not.toMatch(/;|\bbegin\b|\bcommit\b|\brollback\b/)
      for (const value of values!) expect(typeof value === 'string' || value === null).toBe(true)
    }
  })

  it('that gives no row has lost a race', async () => {
    const { store, calls } = storeWith(() => [])
    expect(failureOf(await store.create(pool('a'))).code).toBe('STORE_ALREADY_EXISTS')
    const { code } = failureOf(await store.update(pool('a', { metadata: { resourceVersion: '6' }, spec: { size: 3 } })))
    expect(code).toBe('STORE_CONFLICT')
    // the second was stale from what was read
    expect(calls.filter(([text]) => isWrite(text))).toHaveLength(1)
  })

  it('that gives no row for an unknown reason has written nothing', async () => {
    for (const thrown of [error('08006', 'FATAL'), new Error('Connection terminated')]) {
      const fake = client((text) => (isWrite(text) ? [] : text.includes('_head"') ? Promise.reject(thrown) : []))
      const made = await postgresStore(fake, OPTIONS).create(pool('a'))
      expect(failureOf(made)).toMatchObject({ code: 'STORE_IO', context: { problem: thrown.message } })
    }
  })

  it('notifies the channel', async () => {
    for (const [options, channel] of [
      [{}, 'ipam_kit_changes'],
      [{ prefix: 'x_' }, 'x_changes'],
      [{ schema: 'ipam' }, 'ipam_kit_changes'],
      [{ channel: 'here' }, 'here'],
    ] as const) {
      const { store, calls } = storeWith(() => [{ revision: '8' }], options)
      await store.create(pool('a'))
      expect(calls[0]![0]).toContain(`pg_notify('${channel}', '')`)
    }
  })

  it('is not known to be done if the client gives what the statement cannot', async () => {
    for (const rows of [undefined, null, [{}], [{ revision: 8 }], [{ revision: null }], [['8']]]) {
      const { store } = storeWith(() => rows)
      expect(failureOf(await store.create(pool('a'))).code, JSON.stringify(rows)).toBe('STORE_OUTCOME_UNKNOWN')
    }
  })
})

describe('the tables', () => {
  it('have the names that were asked for, quoted', async () => {
    const { store, calls } = storeWith(() => [{ revision: '8' }], { schema: 'Ipam', prefix: 'x_' })
    await store.create(pool('a'))
    await store.get(ref('a'))
    await store.list(query)
    const names = calls.flatMap(([text]) => [...text.matchAll(/(?:from|into|update|join) ((?:"|[a-z_]+\.)[^\s)]+)/g)])
    expect(new Set(names.map(([, name]) => name))).toEqual(
      new Set(['"Ipam"."x_documents"', '"Ipam"."x_head"', '"Ipam"."x_changes"']),
    )
  })

  it('are steps without a gap', () => {
    const steps = postgresMigrations({ schema: 's', prefix: '' })
    expect(steps.map(({ version }) => version)).toEqual(steps.map((_, index) => index + 1))
    for (const noun of ['documents', 'changes', 'head']) expect(steps[0]!.sql).toContain(`create table "s"."${noun}" (`)
    for (const { sql } of steps) expect(sql).toMatch(/;$/)
  })
})

describe('wrong options', () => {
  const long = 'a'.repeat(41)
  it.each([
    { prefix: 'A_' },
    { prefix: '1' },
    { prefix: 'a"b' },
    { prefix: "a'b" },
    { prefix: long },
    { prefix: 7 },
    { schema: '' },
    { schema: 'a"b' },
    { schema: 'a.b' },
    { schema: 7 },
    { schema: 'a'.repeat(64) },
    { channel: '' },
    { channel: "a'b" },
    { channel: 'A' },
    { channel: 'a'.repeat(64) },
    { history: -1 },
    { history: 0 },
    { history: 1.5 },
    { sleep: undefined },
    { pollMs: 0 },
    { subscribe: 1 },
    { now: undefined },
    { uid: undefined },
    { maxObjectBytes: 0 },
  ])('%o', (options) => {
    const wrong = expect.objectContaining({ code: 'INVALID_ARGUMENT' })
    const fake = client(() => [])
    expect(() => postgresStore(fake, { ...OPTIONS, ...options } as never)).toThrow(wrong)
    if (!('prefix' in options || 'schema' in options)) return
    expect(() => postgresMigrations(options as never)).toThrow(wrong)
  })

  it('are refused by the migration before it does anything', async () => {
    const fake = client(() => [])
    await expect(migratePostgres(fake, { prefix: 'a b' })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    expect(fake.calls).toEqual([])
  })

  it('and clients', () => {
    for (const wrong of [undefined, null, {}, { query: 1 }]) {
      const thrown = expect.objectContaining({ code: 'INVALID_ARGUMENT' })
      expect(() => postgresStore(wrong as never, OPTIONS)).toThrow(thrown)
    }
  })
})

/** What ends a statement, and what is known of it then. */
const UNKNOWN: readonly unknown[] = [
  new Error('Connection terminated unexpectedly'),
  new Error('Query read timeout'),
  'a text',
  undefined,
  null,
  { code: 8006 },
  ...['ECONNRESET', 'EPIPE', 'E2BIG', 'ETIMEDOUT', 'ERR_STREAM_DESTROYED'].map((code) => error(code)),
  ...['08000', '08003', '08006', '08P01', '57P01', '57P02', '57P04', '57P05', '25P03', '25P04'].map((code) =>
    error(code, 'FATAL'),
  ),
  // severity is in the language of the server
  ...['57P01', '57P02', '58030', '58P01', 'XX000', 'XX001', 'XX002', '40003'].map((code) => error(code, 'FEHLER')),
  error('57014', 'FATAL'),
  error('53100', 'PANIC'),
]
const REFUSED: readonly unknown[] = [
  ...['57014', '53100', '53200', '53400', '25006', '25P02', '42703', '42501', '42601'].map((code) => error(code)),
  ...[
    '0B000',
    '23505',
    '23514',
    '2F002',
    '3F000',
    '54000',
    '55P03',
    '55006',
    '0A000',
    '26000',
    'P0001',
    'HV000',
    'F0000',
    '72000',
  ].map((code) => error(code)),
  ...['53300', '57P03', '28P01', '28000', '3D000'].map((code) => error(code, 'FATAL')),
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN'].map((code) => error(code)),
]

describe('a write that fails', () => {
  it.each(UNKNOWN)('may have been done after %o', async (thrown) => {
    const { store, calls } = storeWith(() => Promise.reject(thrown))
    for (const result of [await store.create(pool('a')), await store.patch(ref('a'), { spec: 1 })]) {
      const { code, cause } = failureOf(result)
      expect({ code, cause }).toEqual({ code: 'STORE_OUTCOME_UNKNOWN', cause: thrown })
    }
    // none was tried twice
    expect(calls.filter(([text]) => isWrite(text))).toHaveLength(2)
  })

  it.each(REFUSED)('was not done after %o', async (thrown) => {
    const { store, calls } = storeWith(() => Promise.reject(thrown))
    for (const result of [await store.create(pool('a')), await store.delete(ref('a'))]) {
      const { code, cause, context } = failureOf(result)
      expect({ code, cause }).toEqual({ code: 'STORE_IO', cause: thrown })
      expect(context).toMatchObject({ problem: (thrown as Error).message })
    }
    expect(calls.filter(([text]) => isWrite(text))).toHaveLength(2)
  })

  it.each(['40001', '40P01'])('because of others (%s) is tried again', async (code) => {
    let failures = 5
    const { store, calls } = storeWith(() => (failures-- > 0 ? Promise.reject(error(code)) : [{ revision: '8' }]))
    expect((await store.create(pool('a'))).ok).toBe(true)
    expect(calls).toHaveLength(6)
    expect(new Set(calls.map((call) => JSON.stringify(call))).size).toBe(1)
  })

  it('again and again because of others was not done', async () => {
    const { store, calls } = storeWith(() => Promise.reject(error('40001')))
    expect(failureOf(await store.create(pool('a'))).code).toBe('STORE_IO')
    expect(calls).toHaveLength(100)
  })

  it('is judged without looking further than its code and severity', () => {
    expect(classOf(error('40001'))).toBe('again')
    expect(classOf(error('40001', 'FATAL'))).toBe('unknown')
    expect(classOf({ code: '57014' })).toBe('refused')
  })
})

describe('a read that fails', () => {
  it('is STORE_IO, whatever the reason', async () => {
    for (const thrown of [...UNKNOWN, ...REFUSED]) {
      const store = postgresStore(
        client(() => Promise.reject(thrown)),
        OPTIONS,
      )
      for (const result of [await store.get(ref('a')), await store.list(query), await store.delete(ref('a'))]) {
        expect(failureOf(result).code).toBe('STORE_IO')
      }
    }
  })

  it('is tried again if that was because of others', async () => {
    let failures = 3
    const document = JSON.stringify(pool('a'))
    const fake = client(() => (failures-- > 0 ? Promise.reject(error('40001')) : [{ document, revision: '7' }]))
    expect((await postgresStore(fake, OPTIONS).get(ref('a'))).ok).toBe(true)
  })

  it('is STORE_IO if the client changes what it reads', async () => {
    const document = JSON.stringify(pool('a'))
    for (const row of [
      { document, revision: 7 },
      { document: {}, revision: '7' },
      [document, '7'],
      { revision: '7' },
    ]) {
      const store = postgresStore(
        client(() => [row]),
        OPTIONS,
      )
      expect(failureOf(await store.get(ref('a'))).code).toBe('STORE_IO')
      expect(failureOf(await store.list(query)).code).toBe('STORE_IO')
    }
  })
})

describe('a database in an encoding that lacks characters', () => {
  const lacks = (code: string, message: string) => Object.assign(new Error(message), { code, severity: 'ERROR' })
  const untranslatable =
    'character with byte sequence 0xe2 0x82 0xac in encoding "UTF8" has no equivalent in encoding "LATIN1"'

  it.each(['create', 'patch', 'delete'] as const)('refuses a %s for good, and says which one', async (operation) => {
    for (const code of ['22P05', '22021']) {
      const { store, calls } = storeWith(() => Promise.reject(lacks(code, untranslatable)))
      const result = await {
        create: () => store.create(pool('b', { spec: { note: '\u20ac' } })),
        patch: () => store.patch(ref('a'), { spec: { note: '\u20ac' } }),
        delete: () => store.delete(ref('a')),
      }[operation]()
      const failure = failureOf(result)
      expect(failure.code).toBe('STORE_INVALID')
      expect(failure.context).toMatchObject({ path: 'document', problem: expect.stringContaining('"LATIN1"') })
      expect(calls.filter(([text]) => isWrite(text))).toHaveLength(1)
    }
  })

  it.each(['LATIN1', 'SQL_ASCII', 'WIN1252'])('is refused when the tables are to be made: %s', async (encoding) => {
    const fake = client(() => Promise.reject(lacks('22P05', `the database has the encoding ${encoding}`)))
    await expect(migratePostgres(fake)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      context: {
        argument: 'client',
        expected: 'a database with the encoding UTF8',
        got: expect.stringContaining(encoding),
      },
    })
    expect(fake.calls).toHaveLength(1)
  })

  it('is asked for before anything is made', async () => {
    const fake = client(() => [])
    await migratePostgres(fake)
    const [[text]] = fake.calls as [Call]
    expect(text.indexOf('server_encoding')).toBeGreaterThan(0)
    expect(text.indexOf('server_encoding')).toBeLessThan(text.indexOf('create table'))
  })
})

describe('migratePostgres', () => {
  it('is one statement', async () => {
    const fake = client(() => [])
    await migratePostgres(fake)
    expect(fake.calls).toHaveLength(1)
    const [[text, values]] = fake.calls as [Call]
    expect(values).toBeUndefined()
    expect(text).toMatch(/^do \$ipam_kit\$[^$]*\$ipam_kit\$$/)
  })

  it.each(['42P06', '42P07', '23505', '40001', '40P01'])('continues where another was faster (%s)', async (code) => {
    let failures = 2
    const fake = client(() => (failures-- > 0 ? Promise.reject(error(code)) : []))
    await migratePostgres(fake)
    expect(fake.calls).toHaveLength(3)
  })

  it('rejects with what the client rejects with', async () => {
    for (const [thrown, calls] of [
      [error('42501'), 1],
      [new Error('no connection'), 1],
      [undefined, 1],
      [error('42P07'), 5],
    ] as const) {
      const fake = client(() => Promise.reject(thrown))
      await expect(migratePostgres(fake)).rejects.toBe(thrown)
      expect(fake.calls).toHaveLength(calls)
    }
  })
})

describe('namedStatements', () => {
  it('gives each text a name that it always has', async () => {
    const seen: { name: string; text: string; values: unknown[] }[] = []
    const naming = {
      async query(statement: (typeof seen)[number]) {
        seen.push(statement)
        return { rows: [{ revision: '8', document: JSON.stringify(pool('a')), head: '9' }] }
      },
    }
    for (const prefix of ['a_', 'b_', 'a_']) {
      const store = postgresStore(namedStatements(naming), { ...OPTIONS, prefix })
      await store.create(pool('a'))
      await store.patch(ref('a'), { spec: 1 })
      await store.delete(ref('a'))
      await store.list(query)
      await store.list(query, { limit: 1 })
    }
    const texts = new Set(seen.map(({ text }) => text))
    expect(texts.size).toBe(12)
    expect(new Set(seen.map(({ name }) => name)).size).toBe(texts.size)
    expect(new Set(seen.map(({ name, text }) => `${name} ${text}`)).size).toBe(texts.size)
    for (const { name, values } of seen) {
      expect(name).toMatch(/^ipam_kit_[0-9a-f]{16}$/)
      expect(values.length).toBeGreaterThan(0)
    }
  })
})
