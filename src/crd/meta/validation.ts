import type * as z from 'zod'
import type { FieldError, FieldValue } from './field-error.js'
import { pathText, valueAt, withoutNulls } from './json.js'
import { type Complaint, wrongType } from './strict.js'

/** What a strict schema says of an object, in the words of the API server. */
export function fieldErrorsOf(schema: z.ZodType, json: unknown): readonly FieldError[] {
  const plain = withoutNulls(json)
  const parsed = schema.safeParse(plain)
  return parsed.success ? [] : parsed.error.issues.map((issue) => fieldError(issue, plain))
}

function fieldError(issue: z.core.$ZodIssue, json: unknown): FieldError {
  const path = pathText(issue.path)
  const value = valueAt(json, issue.path)
  if (value === undefined) return { type: 'Required', path, value: null, detail: '' }
  const { type, detail, inBody, value: shown } = complaintOf(issue, value)
  return {
    type,
    path,
    value: shown === undefined ? (value as FieldValue) : shown,
    detail: inBody ? `${path} in body ${detail}` : detail,
  }
}

function complaintOf(issue: z.core.$ZodIssue, value: unknown): Complaint {
  if (issue.code === 'custom') return issue.params?.complaint as Complaint
  if (issue.code === 'invalid_type') return wrongType(TYPE_NAMES[issue.expected] ?? issue.expected, jsonType(value))
  return { type: 'Invalid', detail: issue.message, inBody: false }
}

/** What the schemas call the types of zod: all of their numbers are whole ones. */
const TYPE_NAMES: { readonly [expected: string]: string } = { record: 'object', number: 'integer' }

function jsonType(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value === 'number' && Number.isInteger(value) ? 'integer' : typeof value
}
