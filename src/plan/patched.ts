import type { Json, KubeObject } from '../crd/meta/object.js'
import {
  isArray,
  isObject,
  type JsonPatch,
  type MergePatch,
  mergePatch,
  put,
  readIndex,
  readPointer,
  valueAtKeys,
} from '../crd/meta/patch.js'

/**
 * What an object is after a patch that a store accepts. Operations that do not fit are left out:
 * they are of a part that a selection does not keep. O(object) for a JSON patch.
 */
export function patched(object: KubeObject, patch: MergePatch | JsonPatch): KubeObject {
  // as it is sent: without fields that are undefined
  const sent = copyOf(patch)
  if (!Array.isArray(sent)) return mergePatch(object as unknown as Json, sent) as unknown as KubeObject
  const document = { object: copyOf(object) }
  for (const { op, path, from = '', value = null } of sent) {
    const [keys, source] = [keysOf(path), keysOf(from)]
    if (op === 'move' || op === 'copy') {
      const found = valueAtKeys(document, source)
      // a member that an object does not have is null to `copy`
      const isNull = op === 'copy' && isObject(valueAtKeys(document, source.slice(0, -1)))
      if (found === undefined && !isNull) continue
      if (op === 'move') change(document, source, 'remove', null)
      change(document, keys, 'add', copyOf(found ?? null))
    } else if (op !== 'test') change(document, keys, op, value)
  }
  return document.object as unknown as KubeObject
}

function change(document: Json, keys: readonly string[], op: 'add' | 'replace' | 'remove', value: Json): void {
  const holder = valueAtKeys(document, keys.slice(0, -1))
  const key = keys.at(-1) ?? ''
  if (isArray(holder)) {
    const places = holder.length + (op === 'add' ? 1 : 0)
    const index = readIndex(key === '-' ? '-1' : key, places) ?? -1
    if (index < 0 || index >= places) return
    ;(holder as Json[]).splice(index, op === 'add' ? 0 : 1, ...(op === 'remove' ? [] : [value]))
  } else if (isObject(holder)) {
    if (op === 'remove') delete (holder as { [key: string]: Json })[key]
    else put(holder as { [key: string]: Json }, key, value)
  }
}

/** The keys of a JSON pointer into a document that has the object as its field. */
function keysOf(pointer: string): readonly string[] {
  return readPointer(`/object${pointer}`) ?? []
}

function copyOf(value: unknown): Json {
  return JSON.parse(JSON.stringify(value))
}
