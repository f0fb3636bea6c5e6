import { randomUUID } from 'node:crypto'
import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { migrateSqlite, type SqliteDatabase, sqliteStore } from 'ipam-kit/store/sqlite'
import { conformanceKinds } from 'ipam-kit/testing'
import { freshFile, nodeSqlite, overNodeSqlite, type SqliteClient } from '../../store/sqlite-fixture.js'
import { sqliteTraps } from '../../store/sqlite-traps.js'
import { type Adapter, runConformance } from '../conformance.js'
import type { Part, Report } from '../report.js'
import { clientVersion, importClient, installSqlite } from '../servers/install.js'
import { compile } from '../types.js'

/** The store over files, with better-sqlite3 and, where Node has it, node:sqlite. */
export const sqlite: Part = {
  name: 'sqlite',
  about: 'the store over better-sqlite3 and node:sqlite keeps the contract, whatever the client begins with',
  place: 'first',
  async run(report) {
    await installSqlite()
    await report.test('better-sqlite3 fits without a cast', () => compile(new URL('types', import.meta.url)))
    const version = `better-sqlite3 ${clientVersion('better-sqlite3')}`
    await check(report, { adapter: 'better-sqlite3', version, client: await betterSqlite() })
    if (nodeSqlite === undefined) return
    await check(report, { adapter: 'node-sqlite', version: 'node:sqlite', client: overNodeSqlite(nodeSqlite) })
  },
}

interface Checked {
  readonly adapter: Adapter
  readonly version: string
  readonly client: SqliteClient
}

async function check(report: Report, { adapter, version, client }: Checked): Promise<void> {
  const { file, remove } = freshFile()
  const databases = [client.open(file)]
  migrateSqlite(databases[0]!)
  // each store has a connection of its own, as if it were in another process
  const open = () => {
    const database = client.open(file)
    databases.push(database)
    return sqliteStore(database, { now: Date.now, uid: randomUUID, kinds: conformanceKinds, sleep, pollMs: 10 })
  }
  const [row] = databases[0]!.prepare('select sqlite_version() as version').all() as [{ version: string }]
  const versions = `SQLite ${row.version}, ${version}`
  await runConformance(report, { adapter, versions, capabilities: open().capabilities, open, sleep })
  for (const database of databases) database.close()
  remove()
  for (const { name, run } of sqliteTraps(client)) {
    await report.test(`${adapter}: ${name}`, async () => {
      await run()
      return undefined
    })
  }
}

type BetterDatabase = SqliteDatabase & { close(): void; defaultSafeIntegers(toggle: boolean): BetterDatabase }

async function betterSqlite(): Promise<SqliteClient> {
  const { default: Database } = await importClient<{ default: new (file: string) => BetterDatabase }>('better-sqlite3')
  const isNewer = Number.parseInt(process.versions.node, 10) >= 22
  const { resolve } = createRequire(new URL(isNewer ? '../node24/package.json' : '../package.json', import.meta.url))
  return {
    open: (file) => new Database(file),
    readBigints: (database) => (database as BetterDatabase).defaultSafeIntegers(true),
    module: pathToFileURL(resolve('better-sqlite3')).href,
    synchronous: 1,
    busyTimeoutMs: 5_000,
  }
}
