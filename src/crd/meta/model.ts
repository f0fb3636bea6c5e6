import type * as z from 'zod'
import { check } from '../../errors/check.js'
import { INVALID_OBJECT, OBJECT_KIND_MISMATCH } from '../../errors/definitions.js'
import { failWith } from '../../errors/failure.js'
import { type Failure, type Result, unwrap } from '../../errors/index.js'
import { type Conversion, nameOf } from './conversion.js'
import { type JsonObject, pathText, withoutNulls } from './json.js'
import { groupOf, type KindInfo, type KubeObject } from './object.js'

/** What reading an unknown object can answer. */
export type ReadResult<T> = Result<T, 'INVALID_OBJECT' | 'OBJECT_KIND_MISMATCH'>

/**
 * A typed kind: it parses unknown objects. A model is a Standard Schema: tools that take schemas of
 * any library take a model.
 */
export interface Model<T extends KubeObject> extends StandardSchema<T> {
  /** The version that is stored and written. */
  readonly info: KindInfo
  /** The apiVersions that can be read; older ones are converted to the stored one. */
  readonly reads: readonly string[]
  /** Whether an object is of this group and kind, whatever its version. */
  is(object: { readonly apiVersion: string; readonly kind: string }): boolean
  /**
   * The typed object. Unknown fields are kept, `null` counts as absent, defaults of the CRD are
   * filled in.
   *
   * @throws IpamError `OBJECT_KIND_MISMATCH` for another kind or an unknown version,
   * `INVALID_OBJECT` with every field error
   */
  parse(json: unknown): T
  /** As `parse`, with the failure as a value. */
  safeParse(json: unknown): ReadResult<T>
}

/** A kind of objects in a store: its facts, or a model, which has them. */
export type StoreKind = KindInfo | Model<KubeObject>

export interface ModelSpec<T extends KubeObject> {
  readonly info: KindInfo
  readonly schema: z.ZodType<T>
  /** Older apiVersions, each with its conversion to the stored version. */
  readonly converts?: { readonly [apiVersion: string]: Conversion } | undefined
}

/** The maximum number of field errors in one failure. */
const MAX_ISSUES = 100

/** A typed object; or a failure, also as the issues of a Standard Schema. */
type Reading<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly failure: ReadFailure; readonly issues: readonly StandardIssue[] }

type ReadFailure = Failure<'INVALID_OBJECT' | 'OBJECT_KIND_MISMATCH'>

/** The model of a kind from its schema. */
export function defineModel<T extends KubeObject>(spec: ModelSpec<T>): Model<T> {
  check('defineModel', 'spec', spec, ['open', { info: 'object', schema: 'object' }])
  const { info } = spec
  const reads = [info.apiVersion, ...Object.keys(spec.converts ?? {})]
  const safeParse = (json: unknown): ReadResult<T> => {
    const reading = read(spec, reads, json)
    return reading.ok ? reading : { ok: false, failure: reading.failure }
  }
  const validate = (json: unknown) => {
    const reading = read(spec, reads, json)
    return reading.ok ? { value: reading.value } : { issues: reading.issues }
  }
  return {
    '~standard': { version: 1, vendor: 'ipam-kit', validate },
    info,
    reads,
    is: (object) =>
      object?.kind === info.kind &&
      typeof object.apiVersion === 'string' &&
      groupOf(object.apiVersion) === groupOf(info.apiVersion),
    parse: (json) => unwrap(safeParse(json)),
    safeParse,
  }
}

function read<T extends KubeObject>(spec: ModelSpec<T>, reads: readonly string[], json: unknown): Reading<T> {
  const { info, schema } = spec
  const known = knownObject(json, info.kind, reads)
  if (!known.ok) return refused(known.failure, [{ message: known.failure.message }])
  const plain = withoutNulls(known.value)
  const convert = spec.converts?.[known.value.apiVersion]
  const stored = convert === undefined ? { ok: true as const, value: plain } : convert(plain)
  if (!stored.ok) {
    const { path, problem } = stored.failure.context
    // a conversion names its field as text
    return refused(invalid(info, plain, [{ path, message: problem }]), [{ message: `${path}: ${problem}` }])
  }
  const parsed = schema.safeParse(convert === undefined ? plain : { ...stored.value, apiVersion: info.apiVersion })
  if (parsed.success) return { ok: true, value: parsed.data }
  const issues = parsed.error.issues.slice(0, MAX_ISSUES).map(({ path, message }) => ({ path, message }))
  const fields = issues.map(({ path, message }) => ({ path: pathText(path), message }))
  return refused(invalid(info, plain, fields), issues)
}

function invalid(
  { kind }: KindInfo,
  object: JsonObject,
  issues: Failure<'INVALID_OBJECT'>['context']['issues'],
): ReadFailure {
  return failWith(INVALID_OBJECT, { kind, name: nameOf(object), issues }).failure
}

function refused(failed: ReadFailure, issues: readonly StandardIssue[]): Reading<never> {
  return { ok: false, failure: failed, issues }
}

/** What is known of a JSON object before its fields are looked at. */
export type TypedJson = JsonObject & { readonly apiVersion: string; readonly kind: string }

/** The JSON object if it is of a kind, in one of some versions. */
export function knownObject(
  json: unknown,
  kind: string,
  apiVersions: readonly string[],
): Result<TypedJson, 'OBJECT_KIND_MISMATCH'> {
  if (isTyped(json) && json.kind === kind && apiVersions.includes(json.apiVersion)) return { ok: true, value: json }
  const got = isTyped(json) ? `${json.apiVersion} ${json.kind}` : describeJson(json)
  return failWith(OBJECT_KIND_MISMATCH, { expected: `${apiVersions.join(' or ')} ${kind}`, got })
}

function isTyped(json: unknown): json is TypedJson {
  if (typeof json !== 'object' || json === null) return false
  const { apiVersion, kind } = json as JsonObject
  return typeof apiVersion === 'string' && typeof kind === 'string'
}

function describeJson(json: unknown): string {
  if (json === null) return 'null'
  if (Array.isArray(json)) return 'a list'
  if (typeof json === 'string') return 'a text: pass the parsed JSON'
  return typeof json === 'object'
    ? 'an object without apiVersion and kind'
    : json === undefined
      ? 'undefined'
      : `a ${typeof json}`
}

/**
 * A schema with the interface of Standard Schema, version 1: form libraries, routers and validators
 * take it as they take a schema of zod. `validate` answers at once, without a Promise.
 */
export interface StandardSchema<T> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    /** The value with its type, or every problem of it; throws for no input. */
    readonly validate: (value: unknown) => StandardResult<T>
    /** Types alone: there is no such value. */
    readonly types?: { readonly input: unknown; readonly output: T } | undefined
  }
}

/** The result of a Standard Schema. It has `issues` if and only if the value is refused. */
export type StandardResult<T> =
  | { readonly value: T; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] }

/** One problem. Without a path it is one of the value as a whole. */
export interface StandardIssue {
  readonly message: string
  readonly path?: readonly PropertyKey[] | undefined
}
