import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SqliteDatabase } from 'ipam-kit/store/sqlite'

/** A client of SQLite under test. */
export interface SqliteClient {
  open(file: string): SqliteDatabase & { close(): void }
  /** Has all whole numbers read as bigints. */
  readBigints(database: SqliteDatabase): SqliteDatabase
  /** `node:sqlite`, or the URL of a module whose default export is the class. */
  readonly module: string
  /** `synchronous` of a file in WAL mode when it is opened again: 1 is NORMAL. */
  readonly synchronous: number
  /** How long it waits for a lock if it is not told. */
  readonly busyTimeoutMs: number
}

/** What the tests use of a database of node:sqlite. Node's own types come with later versions. */
export interface NodeDatabase extends SqliteDatabase {
  close(): void
  prepare(sql: string): ReturnType<SqliteDatabase['prepare']> & { setReadBigInts(enabled: boolean): void }
}

export interface NodeSqlite {
  readonly DatabaseSync: new (path: string) => NodeDatabase
}

/** node:sqlite, where Node has it: from 22.13 on. */
export const nodeSqlite = process.getBuiltinModule('node:sqlite') as NodeSqlite | undefined

/** As a client under test. */
export function overNodeSqlite({ DatabaseSync }: NodeSqlite): SqliteClient {
  return {
    open: (file) => new DatabaseSync(file),
    readBigints: (database) => {
      const prepare = (database as NodeDatabase).prepare.bind(database)
      const readingBigints: SqliteDatabase['prepare'] = (sql) => {
        const statement = prepare(sql)
        statement.setReadBigInts(true)
        return statement
      }
      return Object.assign(database, { prepare: readingBigints })
    },
    module: 'node:sqlite',
    synchronous: 2,
    busyTimeoutMs: 0,
  }
}

/** Where Node should have it. */
export function shouldHaveSqlite(version: string = process.versions.node): boolean {
  const [major, minor] = version.split('.').map(Number) as [number, number]
  return major > 22 || (major === 22 && minor >= 13)
}

/** A file that does not exist yet, in a folder of its own. */
export function freshFile(): { readonly file: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'ipam-kit-sqlite-'))
  return { file: join(folder, 'store.db'), remove: () => rmSync(folder, { recursive: true }) }
}
