import { randomUUID } from 'node:crypto'
import type { KubeObject } from 'ipam-kit/crd/meta'

// What any program has to do with objects to keep them as texts in a database, whichever it is.

/** A text, and the version that it got when it was written. */
export interface RawDocument {
  readonly text: string
  readonly revision: string
}

/** A new object, with what it is given once and for all. */
export function firstOf(object: KubeObject): KubeObject {
  const creationTimestamp = `${new Date().toISOString().slice(0, 19)}Z`
  return { ...object, metadata: { ...object.metadata, uid: randomUUID(), creationTimestamp, generation: 1 } }
}

/** What replaces a document. @throws if it is no longer the one that the object was made from */
export function nextOf(found: RawDocument | undefined, object: KubeObject): KubeObject {
  if (found === undefined || found.revision !== object.metadata.resourceVersion) throw new Error('conflict')
  const { metadata } = JSON.parse(found.text) as KubeObject
  const { uid, creationTimestamp, generation = 0 } = metadata
  const { resourceVersion: _, ...given } = object.metadata
  return { ...object, metadata: { ...given, uid, creationTimestamp, generation: generation + 1 } }
}

export function withVersion(object: KubeObject, resourceVersion: string): KubeObject {
  return { ...object, metadata: { ...object.metadata, resourceVersion } }
}

export function read({ text, revision }: RawDocument): KubeObject {
  return withVersion(JSON.parse(text) as KubeObject, revision)
}

/**
 * Calls `look` after each call of what it gives, one call after the other, and once more if it was
 * called meanwhile.
 */
export function serially(look: () => Promise<void>): () => void {
  let isLooking = false
  let isDue = false
  return async () => {
    isDue = true
    if (isLooking) return
    isLooking = true
    while (isDue) {
      isDue = false
      await look()
    }
    isLooking = false
  }
}
