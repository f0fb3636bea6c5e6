/**
 * How a client writes parameters: `$1`, the same one as often as it is needed, or `?`, each its
 * own.
 */
export type ParameterStyle = 'numbered' | 'anonymous'

/**
 * What statements are given: texts only, whatever the columns are, because clients disagree on
 * whole numbers.
 */
export type SqlValue = string | null

export interface Statement {
  readonly text: string
  /** The values in the order in which the client wants them. */
  values(parameters: SqlParameters): SqlValue[]
}

export type SqlParameters = { readonly [name: string]: SqlValue }

export interface SqlRow {
  readonly [column: string]: unknown
}

/** SQL with `:name` for its parameters as a statement. Nothing else in it may look like that. */
export function compile(sql: string, style: ParameterStyle): Statement {
  const names: string[] = []
  const text = sql.replace(/:([a-zA-Z]+)/g, (_, name: string) => {
    if (style === 'anonymous') {
      names.push(name)
      return '?'
    }
    if (!names.includes(name)) names.push(name)
    return `$${names.indexOf(name) + 1}`
  })
  return { text, values: (parameters) => names.map((name) => parameters[name] ?? null) }
}

/**
 * A parameter as a whole number of 64 bits: some clients send texts, others guess from the type
 * that is expected.
 */
export function integer(parameter: string): string {
  return `cast(cast(${parameter} as text) as bigint)`
}

/**
 * A column that holds a text. @throws Error for anything else: the client does something to what it
 * reads
 */
export function textOf(row: SqlRow | undefined, column: string): string {
  const value = row?.[column]
  if (typeof value === 'string') return value
  throw new Error(`the client gave no text for ${column}`)
}

/** A column that holds a text or nothing. */
export function optionalTextOf(row: SqlRow, column: string): string | undefined {
  return row[column] === null ? undefined : textOf(row, column)
}
