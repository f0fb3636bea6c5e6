import { errorText } from '../../errors/cause.js'
import { assertMatch } from '../rules/arguments.js'

/** The names of the tables. */
export interface TableOptions {
  /**
   * The beginning of their names: small letters, digits and `_`, at most 40. Default `ipam_kit_`.
   */
  readonly prefix?: string | undefined
}

/** The tables as SQL names them. */
export interface Tables {
  /** What there is now. */
  readonly documents: string
  /** What has changed, newest last. */
  readonly changes: string
  /** One row: the revision of the last write, and the revision after which all changes are kept. */
  readonly head: string
  /** Which migrations have been done. */
  readonly migrations: string
}

const DEFAULT_PREFIX = 'ipam_kit_'

/**
 * @param schema what they are in, as SQL names it
 * @throws IpamError `INVALID_ARGUMENT` for what is no prefix
 */
export function tablesOf({ prefix }: TableOptions, schema?: string): Tables {
  const name = (noun: string) => `${schema === undefined ? '' : `${schema}.`}"${tableName(prefix, noun)}"`
  return { documents: name('documents'), changes: name('changes'), head: name('head'), migrations: name('migrations') }
}

/** Without quotes and schema. */
export function tableName(prefix: string = DEFAULT_PREFIX, noun: string): string {
  const expected = 'at most 40 small letters, digits and _, no digit first'
  assertMatch('options.prefix', prefix, /^([a-z_][a-z0-9_]{0,39})?$/, expected)
  return `${prefix}${noun}`
}

/** What to say where {@link Tables.head} has no row. */
export function withoutHead({ head }: Tables): string {
  return `the row of ${head} is missing, as after a restore of some tables only: restore all of them from one backup`
}

/** An error of a database without the tables, with what makes them. */
export function withoutTables(error: unknown, migrate: string): Error {
  const { code } = Object(error) as { readonly code?: unknown }
  return Object.assign(new Error(`${errorText(error)}: call ${migrate} first`, { cause: error }), { code })
}
