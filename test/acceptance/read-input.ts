import * as z from 'zod'
import { isRecord } from './answer.js'

// Inputs are read as Go reads JSON into its types: `null` is a member that is not there, and one
// that is not there has the zero value of its type. So each of them is a case that is put to the
// library, and not the end of an adapter.
//
// A member that no schema has is another matter: what it says would not be put to the library. The
// case is then unsupported, unless the member is one of `REMARKS`.

type Path = readonly PropertyKey[]

/** Members that say nothing to the system of a case, at any depth, and why. */
const REMARKS: Readonly<Record<string, string>> = {
  note: 'a remark for readers of the case',
  comment: 'a remark for readers of the case',
  why: 'a remark for readers of the case',
  source: 'where the case is from',
}

/** As many members are mended, one after the other. */
export const MOST_MENDED = 100

/** An input as a schema has it. */
export function readInput<T extends z.ZodType>(schema: T, input: unknown): z.ZodSafeParseResult<z.output<T>> {
  const forms = formsOf(schema).map((form) => ({ form, far: distance(form.safeParse(input).error?.issues ?? []) }))
  const [nearest] = forms.sort((left, right) => left.far - right.far)
  if (nearest !== undefined) return readInput(nearest.form, input) as z.ZodSafeParseResult<z.output<T>>
  let given = input
  for (let mended = 0; ; mended++) {
    const read = schema.safeParse(given)
    if (read.success || mended === MOST_MENDED) return read
    const next = mend(given, read.error.issues)
    if (next === undefined) return read
    given = next.input
  }
}

/**
 * The forms of an input that has several. What is told apart by a member, such as a function, is
 * one form.
 */
function formsOf(schema: z.ZodType): readonly z.ZodType[] {
  const isUnion = schema instanceof z.ZodUnion && !(schema instanceof z.ZodDiscriminatedUnion)
  return isUnion ? (schema.options as readonly z.ZodType[]) : []
}

/**
 * The input without the first fault that has a meaning in Go; `undefined` if none of them has one.
 */
export function mend(input: unknown, issues: readonly z.core.$ZodIssue[]): { readonly input: unknown } | undefined {
  for (const issue of issues) {
    const path = issue.path
    if (issue.code === 'unrecognized_keys') {
      if (!issue.keys.every((key) => Object.hasOwn(REMARKS, key))) continue
      const dropped = issue.keys.reduce((left, key) => changed(left, [...path, key], undefined), input)
      return { input: dropped }
    }
    if (issue.code === 'invalid_union') {
      // the nearest form first; one that the input cannot become is passed over
      for (const form of [...issue.errors].sort((left, right) => distance(left) - distance(right))) {
        const mended = mend(
          input,
          form.map((inner) => ({ ...inner, path: [...path, ...inner.path] })),
        )
        if (mended !== undefined) return mended
      }
    }
    const value = valueAt(input, path)
    if (value === null && path.length > 0) return { input: changed(input, path, undefined) }
    if (
      issue.code === 'invalid_type' &&
      value === undefined &&
      path.length > 0 &&
      Object.hasOwn(ZEROS, issue.expected)
    ) {
      return { input: changed(input, path, ZEROS[issue.expected]) }
    }
    const other = issue.code === 'invalid_type' ? inOtherForm(value, issue.expected) : undefined
    if (other !== undefined && path.length > 0) return { input: changed(input, path, other) }
    if (issue.code === 'invalid_type' && isNumberText(value) && /^(number|int)$/.test(issue.expected)) {
      return { input: changed(input, path, Number(value)) }
    }
  }
  return undefined
}

/**
 * How far an input is from one form of it. A member that the form does not have counts more than
 * one that is `null` or not there. A form of another type is farther than any form of the same
 * type.
 */
function distance(issues: readonly z.core.$ZodIssue[]): number {
  return issues.reduce((sum, issue) => {
    if (issue.code === 'unrecognized_keys') return sum + OF_AN_UNKNOWN * issue.keys.length
    if (issue.code === 'invalid_type' && issue.path.length === 0) return sum + OF_ANOTHER_TYPE
    if (issue.code === 'invalid_union') return sum + Math.min(...issue.errors.map(distance), OF_A_MEMBER)
    return sum + 1
  }, 0)
}

const OF_ANOTHER_TYPE = 10_000
const OF_AN_UNKNOWN = 100
/** The most that a member of several forms counts, which may be `null`. */
const OF_A_MEMBER = OF_AN_UNKNOWN + 1

/** A list that is written as text, or a text that is written as a list: flags of Go take both. */
function inOtherForm(value: unknown, expected: string): unknown {
  if (expected === 'array' && typeof value === 'string') {
    return value.split(/\s*(?:[,;]|\bthen\b)\s*/).filter((entry) => entry !== '')
  }
  const isList = Array.isArray(value) && value.every((entry) => typeof entry === 'string')
  return expected === 'string' && isList ? value.join(',') : undefined
}

/** Whether a value is a whole number as text that a number holds exactly. */
function isNumberText(value: unknown): value is string {
  return typeof value === 'string' && /^-?\d+$/.test(value) && Number.isSafeInteger(Number(value))
}

/** The zero values of Go. */
const ZEROS: { readonly [type: string]: unknown } = {
  string: '',
  number: 0,
  int: 0,
  boolean: false,
  array: [],
  object: {},
  record: {},
}

function valueAt(input: unknown, path: Path): unknown {
  return path.reduce((value: unknown, key) => {
    if (Array.isArray(value)) return value[Number(key)]
    return isRecord(value) ? value[String(key)] : undefined
  }, input)
}

/** The input with another value at a path, or without one. */
function changed(input: unknown, [key, ...rest]: Path, value: unknown): unknown {
  if (key === undefined) return input
  if (Array.isArray(input)) {
    const inner = rest.length === 0 ? value : changed(input[Number(key)], rest, value)
    return inner === undefined ? input.filter((_, index) => index !== Number(key)) : input.with(Number(key), inner)
  }
  const { [String(key)]: before, ...others } = isRecord(input) ? input : {}
  const inner = rest.length === 0 ? value : changed(before, rest, value)
  return inner === undefined ? others : { ...others, [String(key)]: inner }
}
