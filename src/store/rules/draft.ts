import { apiVersionProblem, kindProblem, labelProblem, objectNameProblem } from '../../crd/meta/names.js'
import type { KubeObject, ObjectMeta } from '../../crd/meta/object.js'
import { isObject, type JsonObject, type Problem } from './json.js'
import { canonicalMetadata, metadataTypeProblem } from './metadata.js'

/**
 * An object of a caller: JSON that says which object it is. Nothing else of it has been checked.
 */
export interface Draft {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace: string | undefined
  readonly name: string
  readonly metadata: JsonObject
  /** The whole of it. `metadata` above stands for its metadata. */
  readonly json: JsonObject
}

export type DraftResult = { readonly ok: true; readonly draft: Draft } | { readonly ok: false; readonly at: Problem }

/** An object as the store keeps it: deep-frozen JSON. */
export type StoredObject = KubeObject & { readonly metadata: StoredMeta }

export interface StoredMeta extends ObjectMeta {
  readonly uid: string
  readonly resourceVersion: string
  readonly generation: number
  readonly creationTimestamp: string
  readonly deletionGracePeriodSeconds?: number | undefined
}

/**
 * What says of an object which kind it is, and its metadata, canonical and with fields of the right
 * types.
 */
export function readIdentity(
  json: JsonObject,
): { readonly apiVersion: string; readonly kind: string; readonly metadata: JsonObject } | Problem {
  const { apiVersion, kind } = json
  if (typeof apiVersion !== 'string') return { path: 'apiVersion', problem: 'must be a string' }
  if (typeof kind !== 'string') return { path: 'kind', problem: 'must be a string' }
  if (!isObject(json.metadata)) return { path: 'metadata', problem: 'must be an object' }
  const metadata = canonicalMetadata(json.metadata)
  return metadataTypeProblem(metadata) ?? { apiVersion, kind, metadata }
}

/** Reads what says which object it is, and the types of its metadata. */
export function readDraft(json: JsonObject): DraftResult {
  const identity = readIdentity(json)
  if ('problem' in identity) return { ok: false, at: identity }
  const { apiVersion, kind, metadata } = identity
  const { name, namespace } = metadata as { readonly name?: string; readonly namespace?: string }
  if (name === undefined) return { ok: false, at: { path: 'metadata.name', problem: 'is required' } }
  const draft = { apiVersion, kind, namespace, name, metadata, json }
  const at = identityProblem(draft)
  return at === undefined ? { ok: true, draft } : { ok: false, at }
}

/** A stored object as the JSON that it is. */
export function asJson(object: StoredObject): JsonObject & { readonly metadata: JsonObject } {
  return object as unknown as JsonObject & { readonly metadata: JsonObject }
}

/** Why nothing can be called so, if nothing can. */
export function identityProblem({
  apiVersion,
  kind,
  namespace,
  name,
}: Omit<Draft, 'json' | 'metadata'>): Problem | undefined {
  return (
    problemAt('apiVersion', apiVersionProblem(apiVersion)) ??
    problemAt('kind', kindProblem(kind)) ??
    problemAt('metadata.name', objectNameProblem(name, { apiVersion, kind })) ??
    (namespace === undefined ? undefined : problemAt('metadata.namespace', labelProblem(namespace)))
  )
}

function problemAt(path: string, problem: string | undefined): Problem | undefined {
  return problem === undefined ? undefined : { path, problem }
}
