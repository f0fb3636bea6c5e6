import { type FieldError, formatFieldErrorBody } from '../../crd/meta/field-error.js'
import type { StoreKind } from '../../crd/meta/model.js'
import { type Cause, problemOfCauses } from './causes.js'
import { asJson, type StoredObject } from './draft.js'
import type { JsonObject, Problem } from './json.js'

/** The errors of an object, by the schema of its kind. */
export type SchemaCheck = (object: JsonObject) => readonly Cause[]

/** A model, as far as a store reads it. The models of custom resources have `validate`. */
type CheckingModel = Exclude<StoreKind, { readonly plural: string }> & {
  readonly validate?: (object: unknown) => readonly FieldError[]
}

/**
 * The check of the objects of a kind. `undefined` for a kind that was given without a model.
 *
 * A model of a custom resource has the strict schema of each version, with the messages of an API
 * server. Any other model has the schema that reads its objects.
 */
export function schemaCheckOf(kind: StoreKind): SchemaCheck | undefined {
  if (!('info' in kind)) return undefined
  const model: CheckingModel = kind
  return (object) => {
    const { apiVersion } = object
    if (!model.reads.includes(apiVersion as string)) {
      return [{ field: 'apiVersion', message: `must be one of ${model.reads.join(', ')}` }]
    }
    if (model.validate !== undefined) {
      return model.validate(object).map((error) => ({ field: error.path, message: formatFieldErrorBody(error) }))
    }
    const read = model.safeParse(object)
    if (read.ok || read.failure.code !== 'INVALID_OBJECT') return []
    return read.failure.context.issues.map(({ path, message }) => ({ field: path, message }))
  }
}

/**
 * What the schema refuses of a write. A problem that the stored object has already does not refuse
 * an update: an API server skips the fields that an update leaves as they are.
 */
export function schemaProblem(
  check: SchemaCheck,
  before: StoredObject | undefined,
  after: StoredObject,
): Problem | undefined {
  const causes = check(asJson(after))
  if (causes.length === 0) return undefined
  const known = new Set((before === undefined ? [] : check(asJson(before))).map(causeKey))
  const refused = causes.filter((cause) => !known.has(causeKey(cause)))
  return refused.length === 0 ? undefined : problemOfCauses(refused, 'is refused')
}

function causeKey({ field, message }: Cause): string {
  return `${field}: ${message}`
}
