import type { Json } from '../../crd/meta/object.js'
import { errorText } from '../../errors/cause.js'
import { check, isObject } from '../../errors/check.js'
import { refuseIn } from '../../errors/refuse.js'
import type { CallResult, ExternalCall, ExternalFailure, ExternalResult } from '../../plan/index.js'

/**
 * A schema of zod, valibot, arktype or any other library that follows Standard Schema
 * (standardschema.dev), as far as it is used here. It reads a value of `I` as one of `T`, without
 * waiting.
 */
export interface StandardSchema<I = unknown, T = I> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<T> | Promise<SchemaResult<T>>
    readonly types?: { readonly input: I; readonly output: T } | undefined
  }
}

export type SchemaResult<T> =
  | { readonly value: T; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

export interface SchemaIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** The schemas of the input and the answer of each call, by operation. */
export type CallSchemas = {
  readonly [operation: string]: { readonly input: AnySchema; readonly answer: AnySchema }
}

// biome-ignore lint/suspicious/noExplicitAny: what each schema reads differs
export type AnySchema = StandardSchema<any, any>
export type InputOf<S extends AnySchema> = NonNullable<S['~standard']['types']>['input']
export type OutputOf<S extends AnySchema> = NonNullable<S['~standard']['types']>['output']

/** The types of the input and the answer of each call, by operation. */
export type CallTypes = { readonly [operation: string]: { readonly input: unknown; readonly answer: unknown } }

/** Calls without schemas: unchecked JSON. */
export type JsonCalls = { readonly [operation: string]: { readonly input: Json; readonly answer: Json } }

/** Calls of any types, for code that does not read inputs and answers. */
export type UnknownCalls = { readonly [operation: string]: { readonly input: unknown; readonly answer: unknown } }

/** The schemas that calls of these types would have. */
export type SchemasOf<C extends CallTypes> = {
  readonly [K in keyof C]: {
    readonly input: StandardSchema<C[K]['input']>
    readonly answer: StandardSchema<C[K]['answer']>
  }
}

/** The names of the operations. */
export type OperationOf<C> = keyof C & string

/**
 * The types of calls on the side of the provider: inputs before their schemas have read them,
 * answers after that.
 */
export type TypesOf<S extends CallSchemas> = {
  readonly [K in keyof S]: { readonly input: InputOf<S[K]['input']>; readonly answer: OutputOf<S[K]['answer']> }
}

/** The functions that carry out the calls of a provider, one for each operation. */
export type CallHandlers<S extends CallSchemas> = {
  readonly [K in keyof S]: (
    input: OutputOf<S[K]['input']>,
    call: Pick<ExternalCall, 'operation' | 'key' | 'about'>,
  ) => Promise<ExternalResult<InputOf<S[K]['answer']>>>
}

/**
 * Makes the caller of a host (`ExternalCaller` of ipam-kit/run) from one function for each
 * operation. A call of an unknown operation, or with an input that does not fit its schema, fails
 * and is not retryable; no function is called.
 *
 * @param calls the schemas that were passed to `defineProvider`
 * @throws IpamError `INVALID_ARGUMENT` for a value that is not a Standard Schema, or an operation
 * without a function
 *
 * @example
 * const text = { '~standard': { version: 1, vendor: 'own', validate: (value) => ({ value }) } }
 * const caller = handleCalls(
 *   { release: { input: text, answer: text } },
 *   { release: async (input, { key }) => ({ ok: true, value: `${input} ${key}` }) },
 * )
 * await caller({ operation: 'release', key: 'k', input: 'a', about: { apiVersion: 'v1', kind: 'Pod', name: 'b' } })
 * // { ok: true, value: 'a k' }
 */
export function handleCalls<S extends CallSchemas>(
  calls: S,
  handlers: CallHandlers<S>,
): (call: ExternalCall) => Promise<ExternalResult> {
  assertCalls('handleCalls', calls)
  for (const operation of Object.keys(calls)) {
    const handler = Object.hasOwn(Object(handlers), operation) ? handlers[operation] : undefined
    if (typeof handler !== 'function') refuseIn('handleCalls', `handlers.${operation}`, 'a function', handler)
  }
  return async (call) => {
    check('handleCalls', 'call', call, ['open', { operation: 'text' }])
    const { operation, key, about, input } = call
    const schemas = Object.hasOwn(calls, operation) ? calls[operation] : undefined
    if (schemas === undefined) return refused(`there is no operation ${operation}`)
    const read = readWith(schemas.input, input)
    if (!read.ok) return refused(`invalid input of ${operation}: ${read.problem}`)
    return handlers[operation]!(read.value, { operation, key, about })
  }
}

function refused(message: string): ExternalResult<never> {
  return { ok: false, failure: { message, retryable: false, nothingDone: true } }
}

/**
 * A result with its answer as the schema of its operation reads it. An answer that does not fit the
 * schema, or that is not a result, becomes a failure of a call that may have done something.
 */
export function readResult(
  result: CallResult<unknown, unknown>,
  calls: CallSchemas | undefined,
): CallResult<unknown, unknown> {
  const { call, answer } = result
  const schema = calls && Object.hasOwn(calls, call.operation) ? calls[call.operation]!.answer : undefined
  if (schema === undefined) return result
  const failed = (problem: string) => {
    const failure: ExternalFailure = { message: `invalid answer to ${call.operation}: ${problem}`, retryable: true }
    return { ...result, answer: { ok: false, failure } } as const
  }
  const { ok, value, failure } = Object(answer) as { readonly [field: string]: unknown }
  if (ok === false && typeof Object(failure).message === 'string') return result
  if (ok !== true) return failed('neither a value nor a failure')
  const read = readWith(schema, value)
  return read.ok ? { ...result, answer: { ok: true, value: read.value } } : failed(read.problem)
}

/** @throws IpamError `INVALID_ARGUMENT` */
export function assertCalls(of: string, calls: CallSchemas): void {
  check(of, 'calls', calls, (given) => (isObject(given) ? undefined : 'schemas by operation'))
  for (const [operation, schemas] of Object.entries(calls)) {
    for (const part of ['input', 'answer'] as const) {
      const { validate } = Object(Object(Object(schemas)[part])['~standard'])
      if (typeof validate !== 'function') {
        refuseIn(of, `calls.${operation}.${part}`, 'a Standard Schema, as of zod', Object(schemas)[part])
      }
    }
  }
}

/** How many issues a message names. */
const MAX_ISSUES = 3

function readWith(
  schema: StandardSchema,
  value: unknown,
): { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly problem: string } {
  try {
    const read = schema['~standard'].validate(value)
    if (read instanceof Promise) {
      // the promise is not awaited: a rejection would end the process
      read.catch(() => {})
      return { ok: false, problem: whyPromise(schema, value) }
    }
    if (read.issues === undefined) return { ok: true, value: read.value }
    return { ok: false, problem: read.issues.slice(0, MAX_ISSUES).map(issueText).join('; ') || 'it does not fit' }
  } catch (error) {
    return { ok: false, problem: errorText(error) }
  }
}

/**
 * Why a schema has answered a promise. One of zod does so also after a check or a transform has
 * thrown; its own function throws that again.
 */
function whyPromise(schema: StandardSchema, value: unknown): string {
  const { safeParse } = schema as { readonly safeParse?: unknown }
  try {
    if (typeof safeParse === 'function') safeParse.call(schema, value)
  } catch (error) {
    const text = errorText(error)
    // that is what zod throws at a promise
    if (!text.startsWith('Encountered Promise')) return `its schema has thrown: ${text}`
  }
  return 'its schema is asynchronous: nothing waits for it'
}

function issueText({ message, path = [] }: SchemaIssue): string {
  const at = path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.')
  return at === '' ? message : `${at}: ${message}`
}
