// Compiled with the types of the client: it fits as it is.
import Database from 'better-sqlite3'
import { migrateSqlite, type SqliteDatabase, sqliteStore } from 'ipam-kit/store/sqlite'

const database: SqliteDatabase = new Database(':memory:')
migrateSqlite(new Database(':memory:'))
export const store = sqliteStore(database, { now: Date.now, uid: () => '', sleep: async () => {} })

// @ts-expect-error a database that is none does not fit
migrateSqlite({ exec() {} })
