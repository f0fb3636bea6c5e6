import type { PGlite } from '@electric-sql/pglite'
import type { PostgresClient } from 'ipam-kit/store/postgres'
import type { SqliteDatabase } from 'ipam-kit/store/sqlite'
import { expectTypeOf, test } from 'vitest'

// pg, better-sqlite3 and the other clients that are installed for the tests with real components
// only: test/real/*/types

test('PGlite is a client of PostgreSQL as it is', () => {
  expectTypeOf<PGlite>().toExtend<PostgresClient>()
  expectTypeOf<{ query(text: string): Promise<number> }>().not.toExtend<PostgresClient>()
})

/** node:sqlite as the types of Node 24 declare it: those of Node 20 do not have it. */
type In = null | number | bigint | string | NodeJS.ArrayBufferView
type Out = null | number | bigint | string | Uint8Array
interface StatementSync {
  all(...anonymousParameters: In[]): Record<string, Out>[]
  all(namedParameters: Record<string, In>, ...anonymousParameters: In[]): Record<string, Out>[]
  get(...anonymousParameters: In[]): Record<string, Out> | undefined
  get(namedParameters: Record<string, In>, ...anonymousParameters: In[]): Record<string, Out> | undefined
  run(...anonymousParameters: In[]): { changes: number | bigint; lastInsertRowid: number | bigint }
  run(
    namedParameters: Record<string, In>,
    ...anonymousParameters: In[]
  ): { changes: number | bigint; lastInsertRowid: number | bigint }
  setReadBigInts(enabled: boolean): void
}
interface DatabaseSync {
  exec(sql: string): void
  prepare(sql: string, options?: { readBigInts?: boolean }): StatementSync
  close(): void
}

test('node:sqlite is a database as it is', () => {
  expectTypeOf<DatabaseSync>().toExtend<SqliteDatabase>()
  expectTypeOf<Pick<DatabaseSync, 'exec'>>().not.toExtend<SqliteDatabase>()
})
