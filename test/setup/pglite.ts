import { PGlite } from '@electric-sql/pglite'

let started: Promise<PGlite> | undefined

/**
 * An empty PostgreSQL in this process, with the settings of a new session. Its start takes seconds:
 * all files of a worker have the same one, one after the other. Do not close it.
 */
export async function emptyDatabase(): Promise<PGlite> {
  started ??= PGlite.create()
  const database = await started
  await database.exec('discard all')
  const { rows } = await database.query<{ readonly name: string }>(
    "select nspname as name from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema'",
  )
  for (const { name } of rows) await database.exec(`drop schema "${name}" cascade`)
  await database.exec('create schema public')
  return database
}
