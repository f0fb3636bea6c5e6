import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { KindInfo } from 'ipam-kit/crd/meta'
import { fail, unwrap } from 'ipam-kit/errors'
import { now, uid } from 'ipam-kit/node'
import { migrateSqlite, type SqliteDatabase, sqliteStore } from 'ipam-kit/store/sqlite'
import type { OpenStore } from './backend.js'

type Closable = SqliteDatabase & { close(): void }
type DatabaseClass = new (file: string) => Closable

/** How long a write waits for those of other processes, in milliseconds. */
const BUSY_MS = 60_000

/**
 * A store in a file, which is created.
 *
 * @throws IpamError `STORE_IO` for a file that cannot be opened; `INVALID_CNI_CONFIG` without SQLite
 */
export async function openSqlite(file: string, kinds: readonly KindInfo[]): Promise<OpenStore> {
  const Database = await databaseClass()
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    const database = new Database(file)
    migrateSqlite(database, { busyTimeoutMs: BUSY_MS })
    const store = sqliteStore(database, { now, uid, sleep, kinds, busyTimeoutMs: BUSY_MS })
    return { store, namespace: undefined, close: () => database.close() }
  } catch (error) {
    return unwrap(fail('STORE_IO', { operation: 'open (sqlite)', problem: `${file}: ${(error as Error).message}` }))
  }
}

/** SQLite is in Node from 22.13 on. */
async function databaseClass(): Promise<DatabaseClass> {
  const builtin = process.getBuiltinModule as ((name: string) => object | undefined) | undefined
  // that SQLite is experimental there is no matter of the runtime, which reads stderr
  process.removeAllListeners('warning')
  const inside = builtin?.('node:sqlite') as { readonly DatabaseSync: DatabaseClass } | undefined
  if (inside !== undefined) return inside.DatabaseSync
  // a name that a bundler does not see: the package has a compiled part
  const name = 'better-sqlite3'
  try {
    return ((await import(name)) as { readonly default: DatabaseClass }).default
  } catch {
    const problem = 'it needs Node 22.13, or better-sqlite3 beside the plugin'
    return unwrap(fail('INVALID_CNI_CONFIG', { path: 'ipam.sqlite', problem }))
  }
}
