import type { Tables } from './tables.js'

/** A step from one version of the tables to the next. */
export interface Migration {
  /** From 1, without a gap. */
  readonly version: number
  /** Statements, each ended by `;`. They belong into one transaction. */
  readonly sql: string
}

/** What databases call the same thing. */
export interface ColumnTypes {
  /** A whole number of 64 bits. */
  readonly integer: string
  /** A text that is compared byte by byte. */
  readonly key: string
  /** A moment that the database fills in. */
  readonly time: string
  /** Behind the columns of a table. */
  readonly table: string
}

/**
 * All steps, oldest first. A step that was published is never changed.
 *
 * Documents are texts and not a JSON type: that would put their fields in another order, and refuse
 * some of what JSON can say.
 */
export function migrations({ documents, changes, head }: Tables, types: ColumnTypes): readonly Migration[] {
  const { integer, key, table } = types
  return [
    {
      version: 1,
      sql: `create table ${documents} (
  api_group ${key} not null,
  kind ${key} not null,
  namespace ${key} not null,
  name ${key} not null,
  revision ${integer} not null,
  document text not null,
  primary key (api_group, kind, namespace, name)
)${table};
create table ${changes} (
  revision ${integer} not null primary key,
  api_group ${key} not null,
  kind ${key} not null,
  namespace ${key} not null,
  old_document text,
  new_document text
)${table};
create table ${head} (
  id ${integer} not null primary key check (id = 1),
  revision ${integer} not null,
  oldest ${integer} not null
)${table};
insert into ${head} (id, revision, oldest) values (1, 0, 0);`,
    },
  ]
}

/** The table of {@link Migration.version | versions} that were reached. */
export function migrationsTable({ migrations: table }: Tables, types: ColumnTypes): string {
  return `create table if not exists ${table} (
  version ${types.integer} not null primary key,
  applied_at ${types.time} not null default current_timestamp
)${types.table};`
}
