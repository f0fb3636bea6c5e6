import { errorText } from '../../errors/cause.js'
import { check, type KindOf } from '../../errors/check.js'
import { INVALID_ARGUMENT } from '../../errors/definitions.js'
import { ipamError } from '../../errors/failure.js'
import { type ColumnTypes, type Migration, migrations, migrationsTable } from '../sql/migrations.js'
import type { PostgresClient } from './client.js'
import { LACKS_CHARACTERS } from './errors.js'
import { type SchemaOptions, tablesIn } from './tables.js'

const SCHEMA_OPTIONS: KindOf<SchemaOptions> = { prefix: 'text?', schema: 'text?' }

const TYPES: ColumnTypes = { integer: 'bigint', key: 'text collate "C"', time: 'timestamptz', table: '' }

/** Any number that others are unlikely to lock. */
const LOCK = '7209126641035551'

/**
 * How often two programs that make the same tables without this lock may get in each other's way.
 */
const MAX_ATTEMPTS = 5

/**
 * Something exists already, which did not a moment ago: schema, table, row; or the transaction was
 * given up for another.
 */
const MADE_BY_OTHERS: ReadonlySet<unknown> = new Set(['42P06', '42P07', '23505', '40001', '40P01'])

/**
 * The tables of a store as steps of SQL, for a tool that runs migrations. Without one:
 * {@link migratePostgres}.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function postgresMigrations(options: SchemaOptions = {}): readonly Migration[] {
  check('postgresMigrations', 'options', options, SCHEMA_OPTIONS)

  return migrations(tablesIn(options), TYPES)
}

/**
 * Creates the tables of a store, and the schema if it is given, or updates them. It runs all
 * missing steps or none. Processes that start at the same time wait for each other. If nothing is
 * missing, it needs only the permission to read the table `migrations`.
 *
 * Rejects with the error of the client; with SQLSTATE P0001 if the tables have a newer version than
 * this library supports.
 *
 * @throws IpamError `INVALID_ARGUMENT` for wrong options, and for a database whose encoding is not
 *   UTF8
 */
export async function migratePostgres(client: PostgresClient, options: SchemaOptions = {}): Promise<void> {
  check('migratePostgres', 'client', client, ['open', { query: 'function' }])
  check('migratePostgres', 'options', options, SCHEMA_OPTIONS)

  const text = migrationBlock(options)
  for (let attempt = 1; ; attempt++) {
    try {
      await client.query(text)
      return
    } catch (error) {
      const { code } = (error ?? {}) as { readonly code?: unknown }
      if (LACKS_CHARACTERS.has(code)) {
        const expected = 'a database with the encoding UTF8'
        const context = { function: 'migratePostgres', argument: 'client', expected, got: errorText(error) }
        throw ipamError(INVALID_ARGUMENT, context)
      }
      if (!MADE_BY_OTHERS.has(code) || attempt === MAX_ATTEMPTS) throw error
    }
  }
}

/** All steps as one statement, which is one transaction: not every client sends several at once. */
function migrationBlock(options: SchemaOptions): string {
  const tables = tablesIn(options)
  const steps = postgresMigrations(options)
  const { schema } = options
  const makeSchema =
    schema === undefined ? '' : `if to_regnamespace('"${schema}"') is null then create schema "${schema}"; end if;`
  const newest = steps.at(-1)!.version
  return `do $ipam_kit$
declare
  reached bigint := 0;
begin
  if current_setting('server_encoding') <> 'UTF8' then
    raise exception 'the database has the encoding %', current_setting('server_encoding') using errcode = '22P05';
  end if;
  perform pg_advisory_xact_lock(${LOCK});
  if to_regclass('${tables.migrations}') is null then
    ${makeSchema}
    ${migrationsTable(tables, TYPES)}
  end if;
  select coalesce(max(version), 0) into reached from ${tables.migrations};
  if reached > ${newest} then
    raise exception 'the tables are of version %, and only ${newest} is known', reached;
  end if;
${steps.map(({ version, sql }) => stepBlock(tables.migrations, version, sql)).join('\n')}
end
$ipam_kit$`
}

function stepBlock(table: string, version: number, sql: string): string {
  return `  if reached < ${version} then
${sql}
insert into ${table} (version) values (${version});
  end if;`
}
