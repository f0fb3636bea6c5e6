import type { Json, KubeObject } from '../crd/meta/object.js'
import { type JsonPatch, type MergePatch, mergePatch, PatchEditor, readPointer } from '../crd/meta/patch.js'

/**
 * What an object is after a patch that a store accepts. Operations that do not fit are left out:
 * they are of a part that a selection does not keep. Shares with the object what does not change.
 */
export function patched(object: KubeObject, patch: MergePatch | JsonPatch): KubeObject {
  const document = object as unknown as Json
  // as it is sent: without fields that are undefined
  const sent = asJson(patch)
  if (!Array.isArray(sent)) return mergePatch(document, sent) as unknown as KubeObject
  const editor = new PatchEditor(document, (value) => ({ ok: true, value: asJson(value) }))
  for (const { op, path: to, from, value = null } of sent) {
    const [path, source] = [readPointer(to), readPointer(from ?? '')]
    if (path !== undefined && source !== undefined) editor.apply({ op, path, from: source, value })
  }
  return editor.end() as unknown as KubeObject
}

function asJson(value: unknown): Json {
  return JSON.parse(JSON.stringify(value))
}
