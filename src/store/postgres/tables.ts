import { assertMatch } from '../rules/arguments.js'
import { type TableOptions, type Tables, tablesOf } from '../sql/tables.js'

/** The place and the names of the tables. */
export interface SchemaOptions extends TableOptions {
  /**
   * The schema that they are in: letters, digits and `_`, at most 63. Left out: the first one of
   * the search path.
   */
  readonly schema?: string | undefined
}

/** @throws IpamError `INVALID_ARGUMENT` for what is no name */
export function tablesIn(options: SchemaOptions): Tables {
  const { schema } = options
  if (schema === undefined) return tablesOf(options)
  const expected = 'at most 63 letters, digits and _, no digit first'
  assertMatch('options.schema', schema, /^[A-Za-z_][A-Za-z0-9_]{0,62}$/, expected)
  return tablesOf(options, `"${schema}"`)
}
