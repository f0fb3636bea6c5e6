import type { Json, KubeObject, ObjectRef } from '../../crd/meta/object.js'
import { ok, type Result } from '../../errors/index.js'
import { assertObject, mistake } from '../rules/arguments.js'
import { readIdentity } from '../rules/draft.js'
import { formatInput } from '../rules/format.js'
import { assertPatch, invalid, readJson } from '../rules/input.js'
import { isObject, type JsonObject } from '../rules/json.js'
import { readJsonPatch } from '../rules/json-patch.js'
import type { JsonPatch, MergePatch, Preconditions, StoreErrorCode } from '../store.js'

/** An object of the caller, as far as it is looked at here: the server has the say in the rest. */
export interface ObjectInput {
  readonly ref: ObjectRef
  readonly uid: string | undefined
  /** As in Go, where 0 is no version. */
  readonly resourceVersion: string | undefined
  readonly metadata: JsonObject
  readonly json: JsonObject
}

export type PatchInput =
  | { readonly kind: 'merge'; readonly patch: JsonObject; readonly metadata: JsonObject }
  | { readonly kind: 'operations'; readonly operations: readonly Json[] }

/** @throws IpamError `INVALID_ARGUMENT` for what is no object */
export function readObjectInput(object: KubeObject, maxBytes: number): Result<ObjectInput, StoreErrorCode> {
  assertObject('object', object)
  const read = readJson({ argument: 'object', value: object, shown: () => formatInput(object) }, maxBytes)
  if (!read.ok) return read
  const json = read.value
  if (!isObject(json)) throw mistake('object', 'an object', json)
  // the server could not read others, and would say so without a path
  const identity = readIdentity(json)
  if ('problem' in identity) return invalid(formatInput(json), identity)
  const { apiVersion, kind } = identity
  const metadata = json.metadata as JsonObject
  const { name, namespace, uid, resourceVersion } = metadata as { readonly [field: string]: string | undefined | null }
  return ok({
    ref: { apiVersion, kind, ...(namespace ? { namespace } : {}), name: name ?? '' },
    uid: uid || undefined,
    resourceVersion: resourceVersion === '0' ? undefined : resourceVersion || undefined,
    metadata,
    json,
  })
}

/** @throws IpamError `INVALID_ARGUMENT` for what is neither kind of patch */
export function readPatchInput(
  patch: MergePatch | JsonPatch,
  shown: string,
  maxBytes: number,
): Result<PatchInput, StoreErrorCode> {
  assertPatch(patch)
  const read = readJson({ argument: 'patch', value: patch, shown: () => shown }, maxBytes)
  if (!read.ok) return read
  const json = read.value
  if (isObject(json)) {
    const { metadata = {} } = json
    // taken out whole, there would be no place for the conditions either
    if (!isObject(metadata)) return invalid(shown, { path: 'metadata', problem: 'must be an object' })
    return ok({ kind: 'merge', patch: json, metadata })
  }
  // the server would say that there is an error, and not where
  const operations = readJsonPatch(json)
  if (!operations.ok) return invalid(shown, operations.at)
  return ok({ kind: 'operations', operations: json as readonly Json[] })
}

/**
 * The patch as it is sent, with its conditions: a merge patch is refused for what it would change
 * in the metadata, operations by tests before them, which no later operation can undo.
 */
export function patchBody(input: PatchInput, { uid, resourceVersion }: Preconditions): Json {
  const fields = Object.entries({ uid, resourceVersion }).filter(([, value]) => value !== undefined)
  if (input.kind === 'merge') {
    if (fields.length === 0) return input.patch
    return { ...input.patch, metadata: { ...input.metadata, ...Object.fromEntries(fields) } }
  }
  const guards = fields.map(([field, value]) => ({ op: 'test', path: `/metadata/${field}`, value }))
  return [...guards, ...input.operations]
}
