import { check, type KindOf } from '../../errors/check.js'
import { cut } from '../../errors/quote.js'

/** A value as an error repeats it: `null` stands for what is not there. */
export type FieldValue = string | number | boolean | null | readonly unknown[] | { readonly [key: string]: unknown }

/**
 * One refusal of an admission rule or of a schema, as `field.Error` of Kubernetes: which field,
 * what it held, why not. Messages are those of the upstream webhook word for word, so that users
 * and their scripts see no difference.
 */
export interface FieldError {
  readonly type: FieldErrorType
  /** Such as `spec.addresses` or `status.conditions[0].reason`; empty for the object as a whole. */
  readonly path: string
  /** The refused value. */
  readonly value: FieldValue
  readonly detail: string
}

const FIELD_ERROR: KindOf<FieldError> = [
  'open',
  {
    type: (type) => (Object.hasOwn(TITLES, type as string) ? undefined : Object.keys(TITLES).join(', ')),
    path: 'text',
    detail: 'text',
  },
]

/** How each type of error is called in a message. */
const TITLES = {
  Required: 'Required value',
  Invalid: 'Invalid value',
  TypeInvalid: 'Invalid value',
  NotSupported: 'Unsupported value',
  Duplicate: 'Duplicate value',
  TooLong: 'Too long',
  TooMany: 'Too many',
  Forbidden: 'Forbidden',
  Internal: 'Internal error',
} as const

/**
 * What is wrong with a field, in the words of Kubernetes (`field.ErrorType` of its apimachinery).
 * `TypeInvalid` is a value of another JSON type, and reads like `Invalid`.
 */
export type FieldErrorType = keyof typeof TITLES

/**
 * An error as Kubernetes writes it.
 *
 * @example
 * formatFieldError({ type: 'Invalid', path: 'spec.prefix', value: 9999, detail: 'provided prefix is not valid' })
 * // 'spec.prefix: Invalid value: 9999: provided prefix is not valid'
 */
export function formatFieldError(error: FieldError): string {
  check('formatFieldError', 'error', error, FIELD_ERROR)

  return `${error.path === '' ? '<nil>' : shortened(error.path)}: ${formatFieldErrorBody(error)}`
}

/** An error without its path: the message of a cause in a `Status`. */
export function formatFieldErrorBody({ type, value, detail }: FieldError): string {
  const hidesValue = type === 'Required' || type === 'Forbidden' || type === 'TooLong' || type === 'Internal'
  const title = hidesValue ? TITLES[type] : `${TITLES[type]}: ${goValue(value)}`
  return detail === '' ? title : `${title}: ${shortened(detail)}`
}

/** A value that a rule does not take. */
export function invalidField(path: string, value: FieldValue, detail: string): FieldError {
  return { type: 'Invalid', path, value, detail }
}

/** A change that is not allowed. */
export function forbiddenField(path: string, detail: string): FieldError {
  return { type: 'Forbidden', path, value: null, detail }
}

/**
 * The maximum number of errors in one text, and its length, in characters. Kubernetes has no limit,
 * and no object with more.
 */
const MOST_TOLD = 256
const MAX_TOLD = 30_000
/** The maximum length of what an error repeats of an object, and of a list in it. */
const MAX_TEXT = 1_000

/**
 * Errors as one text, each once, as `ToAggregate` of Kubernetes: the first 256 within 30,000
 * characters, and the number of the others.
 */
export function formatFieldErrors(errors: readonly FieldError[]): string {
  const messages = new Set<string>()
  let told = 0
  let length = 0
  for (; told < errors.length && messages.size < MOST_TOLD; told++) {
    const message = formatFieldError(errors[told]!)
    if (messages.has(message)) continue
    if (length > 0 && length + message.length > MAX_TOLD) break
    messages.add(message)
    length += message.length
  }
  const more = errors.length - told
  if (messages.size === 1 && more === 0) return [...messages][0] as string
  return `[${[...messages, ...(more > 0 ? [`${more} more`] : [])].join(', ')}]`
}

/** A text that is cut to `max` characters, the last of them a mark. */
export function shortened(text: string, max = MAX_TEXT): string {
  return text.length > max ? `${cut(text, max - 1)}…` : text
}

/** A value as Go prints it: texts with `%q`, lists of texts with `%#v`, the rest as JSON. Cut. */
function goValue(value: FieldValue): string {
  if (value === null) return '"null"'
  if (typeof value === 'string') return goQuote(value)
  if (typeof value !== 'object') return String(value)
  if (isTexts(value)) return shortened(`[]string{${value.slice(0, MAX_TEXT).map(goQuote).join(', ')}}`)
  return shortened(JSON.stringify(value)).replace(/[<>&]/g, escapeCharacter)
}

function isTexts(value: object): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

/** A text as Go's `strconv.Quote` writes it, cut to 1,000 characters before that. */
export function goQuote(text: string): string {
  return `"${shortened(text).replace(/["\\]|\p{C}|\p{Z}/gu, (character) => (character === ' ' ? character : quotedCharacter(character)))}"`
}

const SHORT_ESCAPES: { readonly [character: string]: string } = {
  '"': '\\"',
  '\\': '\\\\',
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
}

function quotedCharacter(character: string): string {
  const short = SHORT_ESCAPES[character]
  if (short !== undefined) return short
  const code = character.codePointAt(0) as number
  return code < 0x80 ? `\\x${code.toString(16).padStart(2, '0')}` : escapeCharacter(character)
}

/** `\u00a0`, or `\U0001f600` outside of the first 65,536. */
function escapeCharacter(character: string): string {
  const code = character.codePointAt(0) as number
  return code > 0xffff ? `\\U${code.toString(16).padStart(8, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`
}
