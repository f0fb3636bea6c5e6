/**
 * One refusal of an admission rule, as `field.Error` of Kubernetes: which field, what it held, why not. Messages are those of
 * the upstream webhook word for word, so that users and their scripts see no difference.
 */
export interface FieldError {
  /** Such as `spec.addresses`. */
  readonly path: string
  /** The refused value: text, number or list of texts. */
  readonly value: string | number | readonly string[]
  readonly detail: string
}

/** Whether an object is admitted, and if not, the sentence the API server would answer with. */
export type Admission =
  | { readonly allowed: true; readonly warnings: readonly string[] }
  | {
      readonly allowed: false
      /** HTTP status of the refusal: 422 for field errors, 400 for a rule about other objects. */
      readonly code: 400 | 422
      readonly message: string
      readonly errors: readonly FieldError[]
    }

/** `spec.prefix: Invalid value: 9999: provided prefix is not valid`. */
export function formatFieldError(error: FieldError): string {
  return `${error.path}: Invalid value: ${goValue(error.value)}: ${error.detail}`
}

/** The refusal that lists field errors, with the message of `errors.NewInvalid`. */
export function invalid(groupKind: string, name: string, errors: readonly FieldError[]): Admission {
  const messages = [...new Set(errors.map(formatFieldError))]
  const text = messages.length === 1 ? messages[0] : `[${messages.join(', ')}]`
  return { allowed: false, code: 422, message: `${groupKind} ${goQuote(name)} is invalid: ${text}`, errors }
}

/** The refusal with a bare message, as `errors.NewBadRequest`. */
export function badRequest(message: string): Admission {
  return { allowed: false, code: 400, message, errors: [] }
}

/** The acceptance, with what deserves to be told. */
export function allowed(warnings: readonly string[] = []): Admission {
  return { allowed: true, warnings }
}

/** A value as Go prints it with `%q` (texts) and `%#v` (the rest). */
function goValue(value: FieldError['value']): string {
  if (typeof value === 'string') return goQuote(value)
  return typeof value === 'number' ? String(value) : `[]string{${value.map(goQuote).join(', ')}}`
}

/** A text as Go's `strconv.Quote` writes it. */
export function goQuote(text: string): string {
  return `"${text.replace(/["\\]|\p{C}|\p{Z}/gu, (character) => (character === ' ' ? character : escapeCharacter(character)))}"`
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

function escapeCharacter(character: string): string {
  const short = SHORT_ESCAPES[character]
  if (short !== undefined) return short
  const code = character.codePointAt(0) as number
  if (code < 0x80) return `\\x${code.toString(16).padStart(2, '0')}`
  return code > 0xffff ? `\\U${code.toString(16).padStart(8, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`
}
