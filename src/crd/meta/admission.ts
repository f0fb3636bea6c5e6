import { assertObject } from '../../errors/checks.js'
import { refuse } from '../../errors/refuse.js'
import type { CrdModel } from './crd-model.js'
import { type FieldError, formatFieldErrors, goQuote } from './field-error.js'
import { groupOf, type KubeObject } from './object.js'
import { formatUnknownField, type UnknownField, unknownFieldError } from './unknown-fields.js'

/** The decision about an object; for a refusal, with the message of the API server. */
export type Admission =
  | { readonly allowed: true; readonly warnings: readonly string[] }
  | {
      readonly allowed: false
      /**
       * HTTP status of the refusal: 422 for field errors, 400 for a rule about other objects, 403
       * for a refusal without details upstream.
       */
      readonly code: 400 | 403 | 422
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
 * The admission of a kind: the decision of `judge`, and the handling of unknown fields.
 *
 * @param of the function as callers write it
 */
export function admissionOf<R extends FieldRequest>(
  of: string,
  model: Pick<CrdModel<KubeObject>, 'unknownFields' | 'info'>,
  judge: (request: R) => Admission,
): Admit<R> {
  return (request, options = {}) => {
    assertAdmission(of, request, options)
    return withUnknownFields(judge(request), model, request, options)
  }
}

/** A request to admit an object, as far as its fields go. */
interface FieldRequest {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE'
  readonly object?: KubeObject
  readonly oldObject?: KubeObject
}

/**
 * A decision, with the handling of unknown fields. The status is not checked: a controller writes
 * it, and an update of the rest does not change it.
 *
 * @throws IpamError `INVALID_ARGUMENT` for another `fieldValidation`
 */
export function withUnknownFields(
  admission: Admission,
  model: Pick<CrdModel<KubeObject>, 'unknownFields' | 'info'>,
  { operation, object, oldObject }: FieldRequest,
  { fieldValidation = 'Warn' }: FieldValidationOptions,
): Admission {
  if (!FIELD_VALIDATIONS.has(fieldValidation)) refuse('fieldValidation', 'Strict, Warn or Ignore', fieldValidation)
  if (operation === 'DELETE' || object === undefined || fieldValidation === 'Ignore') return admission
  const unknown = unknownIn(model, object)
  if (unknown.length === 0) return admission
  // a controller changes metadata of objects of other authors: unknown fields that are stored
  // already must not block it
  const isStrict = fieldValidation === 'Strict' && object.metadata.deletionTimestamp === undefined
  const before = oldObject === undefined ? [] : unknownIn(model, oldObject).map(({ path }) => path)
  const isRefused = ({ path }: UnknownField) => isStrict && !before.includes(path)
  const refused = unknown.filter(isRefused)
  const told = unknown.filter((field) => !isRefused(field)).map(formatUnknownField)
  const errors = [...refused.map(unknownFieldError), ...(admission.allowed ? [] : admission.errors)]
  const { kind, apiVersion } = model.info
  const judged =
    refused.length === 0
      ? admission
      : withWarnings(invalid(`${kind}.${groupOf(apiVersion)}`, object.metadata.name, errors), admission.warnings ?? [])
  return withWarnings(judged, told)
}

const FIELD_VALIDATIONS: ReadonlySet<string> = new Set(['Strict', 'Warn', 'Ignore'])

function unknownIn(model: Pick<CrdModel<KubeObject>, 'unknownFields'>, { status: _, ...rest }: KubeObject) {
  return model.unknownFields(rest)
}

/** The refusal that lists field errors, with the message of `errors.NewInvalid`. */
export function invalid(groupKind: string, name: string, errors: readonly FieldError[]): Admission {
  const message = `${groupKind} ${goQuote(name)} is invalid: ${formatFieldErrors(errors)}`
  return { allowed: false, code: 422, message, errors }
}

/**
 * The refusal with these errors; without errors, the acceptance with these warnings. `warnings` is
 * called only for an acceptance.
 */
export function decision(
  { apiVersion, kind, metadata }: KubeObject,
  errors: readonly FieldError[],
  warnings: () => readonly string[] = () => [],
): Admission {
  return errors.length === 0 ? allowed(warnings()) : invalid(`${kind}.${groupOf(apiVersion)}`, metadata.name, errors)
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

/** The acceptance, with warnings. */
export function allowed(warnings: readonly string[] = []): Admission {
  return { allowed: true, warnings }
}

/**
 * The first check of an admission. It refuses unknown operations, because an admission must not
 * allow a request that it does not understand.
 *
 * @param of the function as callers write it
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function assertAdmission(of: string, request: Pick<FieldRequest, 'operation'>, options: object = {}): void {
  assertObject(of, 'request', request)
  assertObject(of, 'options', options)
  const { operation } = request
  if (operation === 'CREATE' || operation === 'UPDATE' || operation === 'DELETE') return
  refuse('operation', 'CREATE, UPDATE or DELETE', operation)
}
