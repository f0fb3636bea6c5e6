import { type CniJson, memberOf, wordFor } from '../../../cni/json.js'
import type { ConfigIssues } from './issues.js'

/** A JSON object. */
export type JsonRecord = CniJson

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Reads the members of one JSON object by their types. A member of another type is an issue, and
 * reads as left out.
 */
export class Members {
  readonly #record: JsonRecord
  readonly #issues: ConfigIssues
  readonly #pathOf: (field: string) => string
  /** The path in the words of Go, without indices: `Net.ipam.ipRanges`. */
  readonly #goPath: string

  constructor(record: JsonRecord, issues: ConfigIssues, pathOf: (field: string) => string, goPath: string) {
    this.#record = record
    this.#issues = issues
    this.#pathOf = pathOf
    this.#goPath = goPath
  }

  path(field: string): string {
    return this.#pathOf(field)
  }

  /** A text; an empty one is as if left out. */
  text(field: string): string | undefined {
    const value = memberOf(this.#record, field)
    if (value === undefined || typeof value === 'string') return value || undefined
    return this.#refuse(field, value, 'a text', 'string')
  }

  flag(field: string): boolean | undefined {
    const value = memberOf(this.#record, field)
    if (value === undefined || typeof value === 'boolean') return value
    return this.#refuse(field, value, 'true or false', 'bool')
  }

  /** A whole number from 0; 0 is as if left out. */
  count(field: string): number | undefined {
    const value = memberOf(this.#record, field)
    if (value === undefined) return undefined
    if (typeof value === 'number' && Number.isSafeInteger(value)) {
      if (value < 0) this.#issues.strict(this.path(field), 'is less than 0')
      return value || undefined
    }
    return this.#refuse(field, value, 'a whole number', 'int')
  }

  record(field: string, goType: string): JsonRecord | undefined {
    const value = memberOf(this.#record, field)
    if (value === undefined || isRecord(value)) return value
    return this.#refuse(field, value, 'an object', goType)
  }

  /** A list of texts. */
  texts(field: string): readonly string[] {
    return this.#list(field, '[]string').flatMap((value, index) => {
      if (typeof value === 'string') return [value]
      this.#refuse(field, value, 'a text', 'string', `[${index}]`)
      return []
    })
  }

  /** A list of objects, each with its own reader. */
  records(field: string, goType: string): readonly Members[] {
    return this.#list(field, `[]${goType}`).flatMap((value, index) => {
      const at = `${this.path(field)}[${index}]`
      if (isRecord(value)) {
        return [new Members(value, this.#issues, (inner) => `${at}.${inner}`, `${this.#goPath}.${field}`)]
      }
      this.#refuse(field, value, 'an object', goType, `[${index}]`)
      return []
    })
  }

  /** The object as it is written. */
  get given(): JsonRecord {
    return this.#record
  }

  #list(field: string, goType: string): readonly unknown[] {
    const value = memberOf(this.#record, field)
    if (value === undefined || Array.isArray(value)) return value ?? []
    this.#refuse(field, value, 'a list', goType)
    return []
  }

  #refuse(field: string, value: unknown, expected: string, goType: string, at = ''): undefined {
    const where = `${this.#goPath}.${field}`
    this.#issues.add(
      `${this.path(field)}${at}`,
      `expected ${expected}, got ${wordFor(value)}`,
      jsonText(`json: cannot unmarshal ${goKindOf(value)} into Go struct field ${where} of type ${goType}`),
    )
    return undefined
  }
}

/** The beginning of the sentence of upstream for JSON that it cannot read; its end is the input. */
export function jsonText(problem: string): string {
  return `LoadIPAMConfig - JSON Parsing Error: ${problem}`
}

/** The type of a JSON value in the words of Go. */
export function goKindOf(value: unknown): string {
  if (Array.isArray(value)) return 'array'
  if (value === null) return 'null'
  return typeof value === 'boolean' ? 'bool' : typeof value
}
