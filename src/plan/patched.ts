import type { Json, KubeObject } from '../crd/meta/object.js'
import { isArray, isObject, type JsonPatch, type MergePatch, readIndex, readPointer } from '../crd/meta/patch.js'

/**
 * What an object is after a patch, as far as it can be told without a store: operations that do not
 * fit are left out. Shares with the object what does not change.
 */
export function patched(object: KubeObject, patch: MergePatch | JsonPatch): KubeObject {
  const document = object as unknown as Json
  const result = Array.isArray(patch)
    ? (patch as JsonPatch).reduce(operated, document)
    : merged(document, patch as unknown as Json)
  return result as unknown as KubeObject
}

/** A merge patch: RFC 7396. */
function merged(document: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch
  const result: { [key: string]: Json | undefined } = { ...(isObject(document) ? document : {}) }
  for (const [key, value] of Object.entries(patch)) {
    if (value === null || value === undefined) delete result[key]
    else result[key] = merged(result[key], value)
  }
  return result as Json
}

/** One operation of a JSON patch: RFC 6902. `move` and `copy` change nothing here. */
function operated(document: Json, operation: JsonPatch[number]): Json {
  const { op, path } = operation
  const keys = readPointer(path)
  if (keys === undefined || (op !== 'add' && op !== 'replace' && op !== 'remove')) return document
  return changedAt(document, keys, { op, value: (operation as { readonly value?: Json }).value })
}

function changedAt(
  document: Json | undefined,
  [key, ...rest]: readonly string[],
  change: { readonly op: 'add' | 'replace' | 'remove'; readonly value?: Json | undefined },
): Json {
  if (key === undefined) return change.value ?? null
  if (isArray(document)) {
    const index = key === '-' ? document.length : readIndex(key, document.length)
    if (index === undefined) return document
    const inner = rest.length > 0 ? [changedAt(document[index], rest, change)] : [change.value ?? null]
    const isAdded = rest.length === 0 && change.op === 'add'
    return document.toSpliced(index, isAdded ? 0 : 1, ...(rest.length === 0 && change.op === 'remove' ? [] : inner))
  }
  const { [key]: inner, ...others } = isObject(document) ? document : {}
  if (rest.length === 0 && change.op === 'remove') return others as Json
  return { ...others, [key]: changedAt(inner, rest, change) } as Json
}
