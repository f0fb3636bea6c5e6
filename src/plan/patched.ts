import type { Json, KubeObject } from '../crd/meta/object.js'
import {
  isArray,
  isObject,
  type JsonPatch,
  type MergePatch,
  mergePatch,
  plainJson,
  put,
  readIndex,
  readPointer,
  valueAtKeys,
} from '../crd/meta/patch.js'

/**
 * What an object is after a patch that a store accepts. Operations that do not fit are left out:
 * they are of a part that a selection does not keep. What no operation changes is shared with the
 * object. O(operations x members on their paths).
 */
export function patched(object: KubeObject, patch: MergePatch | JsonPatch): KubeObject {
  if (!isOperations(patch)) return mergePatch(object as unknown as Json, plainJson(patch)!) as unknown as KubeObject
  let document = { object } as unknown as Json
  for (const operation of patch) {
    const keys = keysOf(operation.path)
    if ('from' in operation) {
      const source = keysOf(operation.from)
      const found = valueAtKeys(document, source)
      // a member that an object does not have is null to `copy`
      const isNull = operation.op === 'copy' && isObject(valueAtKeys(document, source.slice(0, -1)))
      if (found === undefined && !isNull) continue
      if (operation.op === 'move') document = changed(document, source, 'remove', null)
      document = changed(document, keys, 'add', found ?? null)
    } else if (operation.op === 'remove') {
      document = changed(document, keys, 'remove', null)
    } else if (operation.op !== 'test') {
      // as it is sent: without fields that are undefined
      document = changed(document, keys, operation.op, plainJson(operation.value) ?? null)
    }
  }
  return (document as unknown as { readonly object: KubeObject }).object
}

/** The document after one operation. */
function changed(document: Json, keys: readonly string[], op: 'add' | 'replace' | 'remove', value: Json): Json {
  const [key = '', ...below] = keys
  const isLast = below.length === 0
  if (isArray(document)) {
    const places = document.length + (isLast && op === 'add' ? 1 : 0)
    const index = readIndex(isLast && key === '-' ? '-1' : key, places) ?? -1
    if (index < 0 || index >= places) return document
    const items = isLast ? (op === 'remove' ? [] : [value]) : [changed(document[index]!, below, op, value)]
    return document.toSpliced(index, isLast && op === 'add' ? 0 : 1, ...items)
  }
  if (!isObject(document) || !(isLast || Object.hasOwn(document, key))) return document
  const copy = { ...document }
  if (isLast && op === 'remove') delete copy[key]
  else put(copy, key, isLast ? value : changed(document[key]!, below, op, value))
  return copy
}

function isOperations(patch: MergePatch | JsonPatch): patch is JsonPatch {
  return Array.isArray(patch)
}

/** The keys of a JSON pointer into a document that has the object as its field. */
function keysOf(pointer: string): readonly string[] {
  return readPointer(`/object${pointer}`) ?? []
}
