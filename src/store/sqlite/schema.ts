import { check, type KindOf } from '../../errors/check.js'
import { STORE_IO } from '../../errors/definitions.js'
import { ipamError } from '../../errors/failure.js'
import { type ColumnTypes, type Migration, migrations, migrationsTable } from '../sql/migrations.js'
import { textOf } from '../sql/statement.js'
import { type TableOptions, tablesOf } from '../sql/tables.js'
import type { SqliteDatabase } from './client.js'
import { type Connection, type ConnectionOptions, connect } from './connection.js'

const TABLE_OPTIONS: KindOf<TableOptions> = { prefix: 'text?' }

const MIGRATE_OPTIONS: KindOf<TableOptions & ConnectionOptions> = { prefix: 'text?', busyTimeoutMs: 'number?' }

const TYPES: ColumnTypes = { integer: 'integer', key: 'text', time: 'text', table: ' strict' }

/**
 * The tables of a store as steps of SQL, for a tool that runs migrations. Without one:
 * {@link migrateSqlite}.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function sqliteMigrations(options: TableOptions = {}): readonly Migration[] {
  check('sqliteMigrations', 'options', options, TABLE_OPTIONS)

  return migrations(tablesOf(options), TYPES)
}

/**
 * Makes the tables of a store, or brings them up to date: what has not been done yet, all or
 * nothing. Processes that start at once wait for each other.
 *
 * @throws IpamError `INVALID_ARGUMENT`; `STORE_IO` if the tables are of a newer version than this
 * library knows; what the client throws
 */
export function migrateSqlite(database: SqliteDatabase, options: TableOptions & ConnectionOptions = {}): void {
  check('migrateSqlite', 'options', options, MIGRATE_OPTIONS)
  const { prefix, busyTimeoutMs } = options

  const connection = connect(database, { busyTimeoutMs })
  connection.exec('begin immediate')
  try {
    migrate(connection, { prefix })
    connection.exec('commit')
  } catch (error) {
    try {
      connection.exec('rollback')
    } catch {
      // it has been rolled back already
    }
    throw error
  }
}

function migrate(connection: Connection, options: TableOptions): void {
  const tables = tablesOf(options)
  const steps = sqliteMigrations(options)
  connection.exec(migrationsTable(tables, TYPES))
  const row = connection.get(`select cast(coalesce(max(version), 0) as text) as version from ${tables.migrations}`)
  const reached = Number(textOf(row, 'version'))
  const newest = steps.at(-1)!.version
  if (reached > newest) {
    const problem = `the tables are of version ${reached}, and only ${newest} is known`
    throw ipamError(STORE_IO, { operation: 'migrate (sqlite)', problem })
  }
  for (const { version, sql } of steps.filter((step) => step.version > reached)) {
    connection.exec(sql)
    connection.run(`insert into ${tables.migrations} (version) values (cast(? as integer))`, [String(version)])
  }
}
