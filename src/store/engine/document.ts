import { groupOf } from '../../crd/meta/object.js'
import { errorText } from '../../errors/cause.js'
import { asJson, type StoredObject } from '../rules/draft.js'
import { isObject, type JsonObject } from '../rules/json.js'
import type { ObjectPlace } from '../rules/object-rules.js'
import type { Commit, DocumentKey, DocumentScope, StoredDocument } from './engine.js'

export function keyOf({ apiVersion, kind, namespace = '', name }: ObjectPlace): DocumentKey {
  return { group: groupOf(apiVersion), kind, namespace, name }
}

export function scopeOf(query: {
  readonly apiVersion: string
  readonly kind: string
  readonly namespace?: string | undefined
}): DocumentScope {
  const { apiVersion, kind, namespace } = query
  return { group: groupOf(apiVersion), kind, namespace: namespace || undefined }
}

/** An object as text. Its version is not in it: that is the revision of the write. */
export function encodeDocument(object: StoredObject): string {
  const { resourceVersion: _, ...metadata } = asJson(object).metadata
  return JSON.stringify({ ...object, metadata })
}

/** @throws for a text that {@link encodeDocument} has not written */
export function decodeDocument({ text, revision }: StoredDocument): StoredObject {
  const object: unknown = JSON.parse(text)
  const { metadata } = object as { readonly metadata?: unknown }
  if (!isObject(metadata as JsonObject) || typeof (metadata as JsonObject).name !== 'string') {
    throw new Error('the document has no metadata')
  }
  const document = object as { metadata: { resourceVersion: string } }
  document.metadata.resourceVersion = revision
  return object as StoredObject
}

/** The outcome of a write that the database has refused. */
export function refused(error: unknown): Commit {
  return { kind: 'refused', problem: errorText(error), cause: error }
}
