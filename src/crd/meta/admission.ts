import { check, type Kind, type KindOf } from '../../errors/check.js'
import { refuse } from '../../errors/refuse.js'
import type { CrdModel } from './crd-model.js'
import { differences } from './differences.js'
import { type FieldError, formatFieldError, formatFieldErrors, goQuote, shortened } from './field-error.js'
import { newErrors } from './new-errors.js'
import { groupOf, KUBE, type KubeObject } from './object.js'
import type { JsonPatch } from './patch.js'
import { formatUnknownField, unknownFieldError } from './unknown-fields.js'

/** The decision about an object; for a refusal, with the message of the API server. */
export type Admission =
  | {
      readonly allowed: true
      readonly warnings: readonly string[]
      /** The changes of the object before it is stored. Left out: it stays as it was sent. */
      readonly patch?: JsonPatch | undefined
    }
  | {
      readonly allowed: false
      /**
       * HTTP status of the refusal: 422 for field errors, 400 for a rule about other objects, 403
       * for a refusal without details upstream, 500 for what the rule needs and could not read.
       */
      readonly code: 400 | 403 | 422 | 500
      readonly message: string
      readonly errors: readonly FieldError[]
      /** Warnings beside the refusal. */
      readonly warnings?: readonly string[] | undefined
    }

export interface FieldValidationOptions {
  /**
   * How unknown fields, which an API server drops, are handled. `Warn`: a warning for each.
   * `Strict`: a refusal; but a warning for fields that the object had before the change, and for
   * all fields of an object that is being deleted. `Ignore`: no check. Default `Warn`.
   */
  readonly fieldValidation?: 'Ignore' | 'Warn' | 'Strict' | undefined
}

/** A request to admit an object of one kind. */
export type AdmissionRequest<T extends KubeObject> =
  | { readonly operation: 'CREATE'; readonly object: T }
  | { readonly operation: 'UPDATE'; readonly object: T; readonly oldObject: T }
  | { readonly operation: 'DELETE'; readonly oldObject: T }

/**
 * Decides whether an object is admitted.
 *
 * @throws IpamError `INVALID_ARGUMENT` for another operation or another `fieldValidation`
 */
export type Admit<R> = (request: R, options?: FieldValidationOptions) => Admission

/**
 * What is found wrong with an object, in stages: a refusal has the errors of the first stage that
 * has any.
 */
export type Findings = readonly (readonly FieldError[])[]

/**
 * The rules of a kind. {@link admissionOf} applies them by one rule for all kinds: a change is
 * refused for what it makes wrong, and what was wrong before is a warning.
 */
export interface AdmissionRules<
  T extends KubeObject,
  R extends AdmissionRequest<T> = AdmissionRequest<T>,
  O extends FieldValidationOptions = FieldValidationOptions,
> {
  /**
   * All that is wrong with an object, of any content. With `before`, also what an update must not
   * change.
   */
  readonly errors: (object: T, before: T | undefined, request: R, options: O) => Findings
  /** The answer for an object without new errors. Default: it is allowed. */
  readonly answer?: (object: T, before: T | undefined, request: R, options: O) => Admission
  /** The answer to a deletion. Default: it is allowed. */
  readonly deletion?: (object: T, request: R) => Admission
  /** The answer for new errors. Default: code 422 */
  readonly refusal?: (object: T, errors: readonly FieldError[]) => Admission
  /** The kind of the options. Default: that of {@link FieldValidationOptions}. */
  readonly options?: Kind
  /** The kind of what a request has beside the object. */
  readonly beside?: Kind
  /** Whether objects are of any version, and are read by the rules. */
  readonly isAnyVersion?: boolean
}

/** A model, as far as an admission needs it. Kinds of Kubernetes itself have no definition. */
type AdmissionModel = Pick<CrdModel<KubeObject>, 'info' | 'safeParse'> &
  Partial<Pick<CrdModel<KubeObject>, 'unknownFields'>>

/**
 * The admission of a kind, by its rules.
 *
 * @param of the function as callers write it
 */
export function admissionOf<
  T extends KubeObject,
  R extends AdmissionRequest<T>,
  O extends FieldValidationOptions = FieldValidationOptions,
>(of: string, model: AdmissionModel, rules: AdmissionRules<T, R, O>): (request: R, options?: O) => Admission {
  return (request, options = {} as O) => admitBy(of, model, rules, request, options)
}

/**
 * The decision about a request by the rules of a kind:
 *
 * - An update is refused for errors that the object did not have before. Other errors are warnings:
 *   an object that was stored before a rule existed takes labels, and loses finalizers.
 * - An object that is being deleted is refused no update that leaves its spec as it is, and not the
 *   one that removes its last finalizer: it does not exist after that.
 *
 * @throws IpamError `INVALID_ARGUMENT` for another operation or another `fieldValidation`
 */
export function admitBy<
  T extends KubeObject,
  R extends AdmissionRequest<T>,
  O extends FieldValidationOptions = FieldValidationOptions,
>(of: string, model: AdmissionModel, rules: AdmissionRules<T, R, O>, request: R, options: O): Admission {
  const checked = readRequest(of, model, rules, request, options)
  const { deletion = () => allowed() } = rules
  if (request.operation === 'DELETE') return bounded(deletion(request.oldObject, request))
  const { object, oldObject } = checked as { readonly object: T; readonly oldObject?: T }
  const before = request.operation === 'UPDATE' ? oldObject : undefined
  const admission = judge(rules, object, before, checked, options)
  const { unknownFields } = model
  if (unknownFields === undefined) return bounded(admission)
  // fields are unknown to the version that was sent
  const sent = request.operation === 'UPDATE' ? request.oldObject : undefined
  return bounded(withUnknownFields(admission, unknownFields, request.object, sent, options))
}

function judge<T extends KubeObject, R extends AdmissionRequest<T>, O extends FieldValidationOptions>(
  { errors, answer = () => allowed(), refusal = invalid }: AdmissionRules<T, R, O>,
  object: T,
  before: T | undefined,
  request: R,
  options: O,
): Admission {
  const found = errors(object, before, request, options)
  const isFree = before !== undefined && isSettled(object, before)
  if (before === undefined || found.every((stage) => stage.length === 0)) {
    const refused = found.find((stage) => stage.length > 0)
    const admission = refused === undefined ? answer(object, before, request, options) : refusal(object, refused)
    return isFree ? lifted(admission) : admission
  }
  const known = errors(before, undefined, request, options).flat()
  const parts = found.map((stage) => newErrors(stage, known, object, before))
  const warnings = errorWarnings(parts.flatMap(({ old }) => old))
  const refused = parts.map(({ added }) => added).find((added) => added.length > 0)
  const admission = refused === undefined ? answer(object, before, request, options) : refusal(object, refused)
  return withWarnings(isFree ? lifted(admission) : admission, warnings)
}

/**
 * Whether an update leaves nothing to judge: of an object that is being deleted it removes the last
 * finalizer, or leaves the spec as it is. No look-up of other objects is needed for it.
 */
export function isSettled(object: KubeObject, before: KubeObject): boolean {
  if ([object, before].every(({ metadata }) => metadata.deletionTimestamp === undefined)) return false
  const [had, has] = [before, object].map(({ metadata }) => (metadata.finalizers ?? []).length > 0)
  return (had === true && has === false) || isSpecSame(object, before)
}

/** Whether two versions of an object have the same spec. */
export function isSpecSame(object: KubeObject, before: KubeObject): boolean {
  return differences('spec', before.spec, object.spec).length === 0
}

/** A refusal as the acceptance with its reasons as warnings. */
function lifted(admission: Admission): Admission {
  if (admission.allowed) return admission
  const { errors, message, warnings = [] } = admission
  return allowed([...warnings, ...(errors.length > 0 ? errorWarnings(errors) : [message])])
}

/**
 * A decision, with the handling of unknown fields. The status is not checked: a controller writes
 * it, and an update of the rest does not change it.
 */
function withUnknownFields(
  admission: Admission,
  unknownFields: CrdModel<KubeObject>['unknownFields'],
  object: KubeObject,
  before: KubeObject | undefined,
  { fieldValidation = 'Warn' }: FieldValidationOptions,
): Admission {
  if (fieldValidation === 'Ignore') return admission
  const unknownIn = ({ status: _, ...rest }: KubeObject) => unknownFields(rest)
  const unknown = unknownIn(object)
  if (unknown.length === 0) return admission
  // a controller changes metadata of objects of other authors: unknown fields that are stored
  // already must not block it
  const isStrict = fieldValidation === 'Strict' && object.metadata.deletionTimestamp === undefined
  const stored = before === undefined ? [] : unknownIn(before).map(unknownFieldError)
  const { added } = newErrors(unknown.map(unknownFieldError), stored, object, before ?? object)
  const refused = isStrict ? added : []
  const paths = new Set(refused.map(({ path }) => path))
  const left = unknown.filter(({ path }) => !paths.has(path))
  const told = left.slice(0, MOST_WARNINGS + 1).map(formatUnknownField)
  if (refused.length === 0) return withWarnings(admission, told)
  const errors = [...refused, ...(admission.allowed ? [] : admission.errors)]
  return withWarnings(withWarnings(invalid(object, errors), admission.warnings ?? []), told)
}

/** The refusal that lists field errors, with the message of `errors.NewInvalid`. */
function invalid({ apiVersion, kind, metadata }: KubeObject, errors: readonly FieldError[]): Admission {
  const message = `${kind}.${groupOf(apiVersion)} ${goQuote(metadata.name)} is invalid: ${formatFieldErrors(errors)}`
  return { allowed: false, code: 422, message, errors }
}

/**
 * The refusal of a webhook that returns field errors without a Status around them.
 */
export function denied(errors: readonly FieldError[]): Admission {
  return { allowed: false, code: 403, message: formatFieldErrors(errors), errors }
}

/** The refusal with a bare message, as `errors.NewBadRequest`. */
export function badRequest(message: string): Admission {
  return { allowed: false, code: 400, message, errors: [] }
}

/** A decision with more warnings. */
export function withWarnings(admission: Admission, warnings: readonly string[]): Admission {
  return warnings.length === 0 ? admission : { ...admission, warnings: [...warnings, ...(admission.warnings ?? [])] }
}

/**
 * The limits of the warnings of one answer, in characters. Those of an API server: above the first,
 * it cuts each warning to the second, and drops the rest.
 */
const MAX_WARNINGS = 4096
const MAX_WARNING = 256
/** The maximum number of warnings in an answer. */
const MOST_WARNINGS = 100
const MORE_WARNINGS = 'more warnings are left out'

/** Errors as warnings: no more than an answer has, and one to show that there are more. */
export function errorWarnings(errors: readonly FieldError[]): readonly string[] {
  return errors.slice(0, MOST_WARNINGS + 1).map(formatFieldError)
}

/** The maximum length of the message of a refusal, in characters. */
const MAX_MESSAGE = 32_000

/** A decision with a message of limited length, and as many warnings as an API server passes on. */
function bounded(decision: Admission): Admission {
  const admission = decision.allowed ? decision : { ...decision, message: shortened(decision.message, MAX_MESSAGE) }
  const { warnings = [] } = admission
  const length = warnings.reduce((sum, warning) => sum + warning.length, 0)
  if (warnings.length <= MOST_WARNINGS && length <= MAX_WARNINGS) return admission
  const told: string[] = []
  let left = MAX_WARNINGS - MORE_WARNINGS.length
  for (const warning of warnings.slice(0, MOST_WARNINGS)) {
    const text = shortened(warning, MAX_WARNING)
    if (text.length > left) break
    told.push(text)
    left -= text.length
  }
  return { ...admission, warnings: told.length < warnings.length ? [...told, MORE_WARNINGS] : told }
}

/** The acceptance, with warnings. */
export function allowed(warnings: readonly string[] = []): Admission {
  return { allowed: true, warnings }
}

/**
 * The first check of an admission. It refuses unknown operations, because an admission must not
 * allow a request that it does not understand, and objects that their model does not read.
 *
 * @returns the request with the objects as rules read them: `null` counts as absent
 * @throws IpamError `INVALID_ARGUMENT`
 */
function readRequest<T extends KubeObject, R extends AdmissionRequest<T>, O extends FieldValidationOptions>(
  of: string,
  { safeParse }: AdmissionModel,
  { options: kind = FIELD_OPTIONS as Kind, beside = 'object', isAnyVersion = false }: AdmissionRules<T, R, O>,
  request: R,
  options: O,
): R {
  check<unknown>(of, 'request', request, REQUEST)
  check<unknown>(of, 'options', options, kind)
  check<unknown>(of, 'request', request, beside)
  const objects: { [part: string]: unknown } = {}
  for (const part of PARTS[request.operation]) {
    const given = (request as { readonly [part: string]: unknown })[part]
    check<unknown>(of, `request.${part}`, given, KUBE as Kind)
    // a deletion is judged by the metadata, and by what is beside it
    const read = isAnyVersion || request.operation === 'DELETE' ? undefined : safeParse(given)
    if (read === undefined) continue
    if (read.ok) {
      objects[part] = read.value
      continue
    }
    const { code, context } = read.failure
    if (code === 'OBJECT_KIND_MISMATCH') refuse(of, `request.${part}`, context.expected, context.got)
    const { path, message } = context.issues[0] as { readonly path: string; readonly message: string }
    refuse(of, `request.${part}.${path}`, `a field of ${context.kind}`, message)
  }
  return { ...request, ...objects }
}

const REQUEST = ['open', { operation: ['one', { CREATE: 1, UPDATE: 1, DELETE: 1 }] }] as const
const PARTS = { CREATE: ['object'], UPDATE: ['object', 'oldObject'], DELETE: ['oldObject'] } as const

export const FIELD_VALIDATION = ['one?', { Ignore: 1, Warn: 1, Strict: 1 }] as const
const FIELD_OPTIONS: KindOf<FieldValidationOptions> = { fieldValidation: FIELD_VALIDATION }
