import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { migratePostgres, postgresMigrations, postgresStore } from 'ipam-kit/store/postgres'
import type { Report } from '../report.js'
import { type Connect, connectionsTo, type Pg } from './connections.js'

const ENCODINGS = ['LATIN1', 'SQL_ASCII'] as const
const EURO = '\u20ac'

/** Databases whose encoding lacks characters of objects. */
export async function encodings(report: Report, connect: Connect, url: string, pg: Pg): Promise<void> {
  for (const encoding of ENCODINGS) {
    const name = encoding.toLowerCase()
    const create = `create database ${name} encoding '${encoding}' lc_collate 'C' lc_ctype 'C' template template0`
    await connect(({ rows }) => rows(create))
    const there = new URL(url)
    there.pathname = name
    const connectThere = connectionsTo(there.href, pg)
    await report.test(`a database in ${encoding} is refused before a table is made`, () =>
      connectThere(async ({ pool, rows }) => {
        await assert.rejects(migratePostgres(pool(1)), (error: { code?: unknown; message: string }) => {
          assert.equal(error.code, 'INVALID_ARGUMENT')
          assert.match(error.message, new RegExp(encoding))
          return true
        })
        assert.deepEqual(await rows("select tablename from pg_tables where schemaname = 'public'"), [])
        return undefined
      }),
    )
    if (encoding === 'SQL_ASCII') continue
    await report.test(`a write with a character that ${encoding} lacks is refused for good, and not done`, () =>
      connectThere(async ({ pool, rows }) => {
        for (const { sql } of postgresMigrations()) await rows(sql)
        const store = postgresStore(pool(1), { now: Date.now, uid: randomUUID, sleep })
        const ref = { apiVersion: 'ipam.example.com/v1', kind: 'Pool', namespace: 'ns', name: 'a' }
        const { apiVersion, kind, namespace } = ref
        const object = { apiVersion, kind, metadata: { namespace, name: 'a' }, spec: { note: EURO } }
        const made = await store.create(object)
        assert(!made.ok && made.failure.code === 'STORE_INVALID')
        assert.match(made.failure.context.problem, /LATIN1/)
        const found = await store.get(ref)
        assert(!found.ok && found.failure.code === 'STORE_NOT_FOUND')
        const plain = await store.create({ ...object, spec: { note: 'plain' } })
        assert(plain.ok)
        return undefined
      }),
    )
  }
}
