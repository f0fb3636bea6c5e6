import * as z from 'zod'
import type { FieldErrorType, FieldValue } from './field-error.js'
import { defined } from './json.js'

// The strict schema of a version is what an API server validates. It is written once, for the
// validation and for the CRD manifest. Each helper takes the description of the field, and the
// keywords of its schema. The checks of keywords are here, with the messages and the counting of
// the API server. zod traverses the object, and its metadata has the keywords for the manifest.

/** The result of a failed check, without the path of the value. */
export interface Complaint {
  readonly type: FieldErrorType
  readonly detail: string
  /** Whether the sentence begins with the path: `spec.gateway in body should ...`. */
  readonly inBody: boolean
  /** The value in the error, if it is not the value itself. */
  readonly value?: FieldValue
}

export interface TextRules<T extends string = string> {
  /** In characters, as code points. */
  readonly minLength?: number
  readonly maxLength?: number
  /** In the syntax of RE2. Not anchored by itself. */
  readonly pattern?: string
  readonly enum?: readonly T[]
  readonly format?: 'date-time' | 'uuid'
}

export interface IntegerRules {
  readonly minimum?: number
  readonly maximum?: number
  readonly format?: 'int32' | 'int64'
}

export interface ListRules {
  readonly minItems?: number
  readonly maxItems?: number
  /**
   * The fields that identify an item. Two items with the same values are refused, and a server-side
   * apply merges by them.
   */
  readonly mapKeys?: readonly string[]
  /** Whether items must be distinct. A server-side apply then merges items. */
  readonly isSet?: boolean
  /**
   * Whether a server-side apply replaces the list as a whole, as the manifest says.
   */
  readonly isAtomic?: boolean
}

export interface ObjectRules {
  readonly minProperties?: number
  readonly maxProperties?: number
  /**
   * Whether an API server keeps fields that the schema does not name. They are not unknown fields
   * then.
   */
  readonly keepsUnknown?: boolean
  /** Whether a server-side apply replaces the object as a whole. */
  readonly isAtomic?: boolean
}

export interface MapRules {
  readonly maxProperties?: number
  /**
   * Whether a server-side apply replaces the map as a whole. `managedFields` then has one entry for
   * it.
   */
  readonly isAtomic?: boolean
}

/**
 * A rule in the language CEL, such as `self == oldSelf`. A rule with `oldSelf` applies to updates
 * only.
 */
export interface CelRule {
  readonly rule: string
  /** The message for a value that breaks the rule. */
  readonly message: string
  /** The field of the value that the error names: `.ipv4`. Default: the value itself. */
  readonly fieldPath?: string
}

/**
 * The maximum length of a text that is matched with a pattern. A longer text is refused anyway, and
 * matching it is slow.
 */
const MAX_MATCHED = 4096

/** The strict schema of a value. */
export interface Field<T> extends z.ZodType<T> {}

/** The object that a shape describes: a field that may be absent is optional. */
export type ObjectOf<S extends z.ZodRawShape> = {
  readonly [K in keyof S as undefined extends OutputOf<S[K]> ? never : K]: OutputOf<S[K]>
} & { readonly [K in keyof S as undefined extends OutputOf<S[K]> ? K : never]?: OutputOf<S[K]> }

type OutputOf<F> = z.output<Exclude<F, undefined>>

/**
 * The object that the fields of a function describe. Their doc comments are those of its members.
 */
export type FieldsOf<F extends () => z.ZodRawShape> = ObjectOf<ReturnType<F>>

/** A field that is a text. */
export function text<const T extends string = string>(description: string, rules: TextRules<T> = {}): Field<T> {
  const pattern = rules.pattern === undefined ? undefined : new RegExp(rules.pattern, 'u')
  const schema = z.string().superRefine((value, context) => {
    for (const complaint of textComplaints(value, rules, pattern)) complain(context, complaint)
  })
  return schema.register(z.globalRegistry, { description, ...rules }) as unknown as Field<T>
}

function textComplaints(value: string, rules: TextRules, pattern: RegExp | undefined): readonly Complaint[] {
  const { minLength, maxLength, format } = rules
  const isTooLong = maxLength !== undefined && !isShorter(value, maxLength + 1)
  const isMatched = !isTooLong || value.length <= MAX_MATCHED
  const found: (Complaint | false | undefined)[] = [
    minLength !== undefined && isShorter(value, minLength) && inBody(`should be at least ${minLength} chars long`),
    isTooLong && { type: 'TooLong', detail: `may not be more than ${maxLength} bytes`, inBody: false },
    pattern && isMatched && !pattern.test(value) && inBody(`should match '${rules.pattern}'`),
    rules.enum && !rules.enum.includes(value) && unsupported(rules.enum),
    format && !FORMATS[format].safeParse(value).success && wrongType(format, value),
  ]
  return found.filter((complaint) => typeof complaint === 'object')
}

/** A UUID is any 32 hexadecimal digits to an API server, with or without its four dashes. */
const FORMATS = /* @__PURE__ */ (() => ({
  'date-time': z.iso.datetime({ offset: true }),
  uuid: z.string().regex(/^[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$/i),
}))()

/** Whether a text has less than `length` characters. O(length). */
function isShorter(value: string, length: number): boolean {
  if (value.length < length) return true
  if (value.length >= 2 * length) return false
  return [...value].length < length
}

/** A field that is a whole number. */
export function integer(description: string, rules: IntegerRules = {}): Field<number> {
  const { minimum, maximum, format } = rules
  return z
    .number()
    .superRefine((value, context) => {
      if (!Number.isInteger(value))
        complain(context, format === undefined ? wrongType('integer', 'number') : wrongType(format, 'float64'))
      if (value < (minimum ?? value)) complain(context, inBody(`should be greater than or equal to ${minimum}`))
      if (value > (maximum ?? value)) complain(context, inBody(`should be less than or equal to ${maximum}`))
      if (format === 'int32' && (value < -(2 ** 31) || value >= 2 ** 31)) {
        complain(context, inBody('must be of type integer with format int32'))
      }
    })
    .register(z.globalRegistry, { description, type: 'integer', ...rules })
}

/** A field that is true or false. */
export function flag(description: string): Field<boolean> {
  return z.boolean().register(z.globalRegistry, { description })
}

/** A field that is a list. */
export function list<T>(description: string, item: z.ZodType<T>, rules: ListRules = {}): Field<readonly T[]> {
  const { minItems, maxItems, mapKeys, isSet, isAtomic } = rules
  return z
    .array(item)
    .superRefine((items, context) => {
      if (minItems !== undefined && items.length < minItems) {
        complain(context, { ...inBody(`should have at least ${minItems} items`), value: items.length })
      }
      complainOfMore(items.length, maxItems, context)
      if (mapKeys !== undefined) complainOfDuplicates(items, (item) => keyOf(item, mapKeys), context)
      if (isSet) complainOfDuplicates(items, (item) => item as FieldValue, context)
    })
    .register(z.globalRegistry, {
      ...defined({ description, minItems, maxItems }),
      ...(mapKeys === undefined ? {} : { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': mapKeys }),
      ...(isSet ? { 'x-kubernetes-list-type': 'set' } : {}),
      ...(isAtomic ? { 'x-kubernetes-list-type': 'atomic' } : {}),
    })
}

function complainOfMore(count: number, most: number | undefined, context: z.RefinementCtx): void {
  if (most === undefined || count <= most) return
  complain(context, {
    type: 'TooMany',
    detail: `must have at most ${most} item${most === 1 ? '' : 's'}`,
    inBody: false,
    value: count,
  })
}

function complainOfDuplicates(
  items: readonly unknown[],
  identityOf: (item: unknown) => FieldValue,
  context: z.RefinementCtx,
): void {
  const seen = new Set<string>()
  items.forEach((item, index) => {
    const value = identityOf(item)
    const name = JSON.stringify(value)
    if (seen.has(name)) complain(context, { type: 'Duplicate', detail: '', inBody: false, value }, [index])
    seen.add(name)
  })
}

function keyOf(item: unknown, mapKeys: readonly string[]): FieldValue {
  const fields = item as { readonly [key: string]: unknown }
  return Object.fromEntries(mapKeys.map((name) => [name, fields[name]]))
}

/** A field that is a map from texts. */
export function mapOf<T>(
  description: string,
  value: z.ZodType<T>,
  rules: MapRules = {},
): Field<{ readonly [key: string]: T }> {
  const { maxProperties, isAtomic } = rules
  return z
    .record(z.string(), value)
    .superRefine((entries, context) => complainOfMore(Object.keys(entries).length, maxProperties, context))
    .register(z.globalRegistry, { ...defined({ description, maxProperties }), ...atomic(isAtomic) })
}

/**
 * A field that is an object. Fields that are not named are not looked at: an API server drops them.
 */
export function object<S extends z.ZodRawShape>(
  description: string,
  shape: S,
  rules: ObjectRules = {},
): Field<ObjectOf<S>> {
  const { minProperties, maxProperties, isAtomic, keepsUnknown } = rules
  const schema = z.object(shape).superRefine((value, context) => {
    const count = Object.keys(value as object).length
    if (minProperties !== undefined && count < minProperties) {
      complain(context, { ...inBody(`should have at least ${minProperties} properties`), value: count })
    }
    complainOfMore(count, maxProperties, context)
  })
  return schema.register(z.globalRegistry, {
    ...defined({ description, minProperties, maxProperties }),
    ...(keepsUnknown ? { [KEEPS_UNKNOWN]: true } : {}),
    ...atomic(isAtomic),
  }) as unknown as Field<ObjectOf<S>>
}

/** The keyword of an object whose fields an API server keeps, named or not. */
export const KEEPS_UNKNOWN = 'x-kubernetes-preserve-unknown-fields'

function atomic(isAtomic = false): object {
  return isAtomic ? { 'x-kubernetes-map-type': 'atomic' } : {}
}

/** A version of a kind as a whole: `spec`, `status`, and what every object has. */
export function kubeObject<S extends z.ZodRawShape>(description: string, shape: S) {
  return object(description, {
    apiVersion: text('Group and version of this form of the object.').optional(),
    kind: text('What kind of object this is.').optional(),
    // the same for every kind: an API server takes no word about it, not even a description
    metadata: z.object({}).optional(),
    ...shape,
  })
}

/**
 * The same field with rules that only an API server asks: they stand in the manifest, and are not
 * looked at here.
 */
export function withRules<T extends z.ZodType>(schema: T, rules: readonly CelRule[]): T {
  return schema.meta({ 'x-kubernetes-validations': rules }) as T
}

/** A field that an update cannot change. */
export function fixed<T extends z.ZodType>(schema: T): T {
  return withRules(schema, [{ rule: 'self == oldSelf', message: NEVER_CHANGES }])
}

/** What is said of a change of what is fixed, by a rule of a schema and by an admission. */
export const NEVER_CHANGES = 'never changes'

/** The complaint of a value that is of another type than `expected`. */
export function wrongType(expected: string, actual: string): Complaint {
  return { ...inBody(`must be of type ${expected}: ${JSON.stringify(actual)}`), type: 'TypeInvalid', value: actual }
}

function inBody(detail: string): Complaint {
  return { type: 'Invalid', detail, inBody: true }
}

function unsupported(values: readonly string[]): Complaint {
  const detail = `supported values: ${values.map((value) => JSON.stringify(value)).join(', ')}`
  return { type: 'NotSupported', detail, inBody: false }
}

function complain(context: z.RefinementCtx, complaint: Complaint, path: readonly PropertyKey[] = []): void {
  context.addIssue({ code: 'custom', params: { complaint }, path: [...path], message: complaint.detail })
}
