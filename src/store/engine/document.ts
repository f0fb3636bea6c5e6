import { groupOf } from '../../crd/meta/object.js'
import { errorText } from '../../errors/cause.js'
import { asJson, type StoredObject } from '../rules/draft.js'
import type { ObjectPlace } from '../rules/object-rules.js'
import type { ListQuery } from '../store.js'
import type { Commit, DocumentKey, DocumentScope, StoredDocument } from './engine.js'

export function keyOf({ apiVersion, kind, namespace = '', name }: ObjectPlace): DocumentKey {
  return { group: groupOf(apiVersion), kind, namespace, name }
}

export function scopeOf({ apiVersion, kind, namespace }: ListQuery): DocumentScope {
  return { group: groupOf(apiVersion), kind, namespace: namespace || undefined }
}

/** An object as text. Its version is not in it: that is the revision of the write. */
export function encodeDocument(object: StoredObject): string {
  const { resourceVersion: _, ...metadata } = asJson(object).metadata
  return JSON.stringify({ ...object, metadata })
}

/** @throws for a text that {@link encodeDocument} has not written */
export function decodeDocument({ text, revision }: StoredDocument): StoredObject {
  const document = JSON.parse(text) as StoredObject & { readonly metadata: { resourceVersion: string } }
  if (typeof document.metadata?.name !== 'string') throw new Error('the document has no metadata')
  document.metadata.resourceVersion = revision
  return document
}

/** The outcome of a write that the database has refused. */
export function refused(error: unknown): Commit {
  return { kind: 'refused', problem: errorText(error), cause: error }
}
