import type { Json } from '../../crd/meta/object.js'
import { PatchEditor, type PatchOperation, readPointer } from '../../crd/meta/patch.js'
import { formatPath, isArray, isObject, MAX_DEPTH, type Problem, toJson } from './json.js'

export type JsonPatchResult =
  | { readonly ok: true; readonly value: readonly PatchOperation[] }
  | { readonly ok: false; readonly at: Problem }

/** As many as an API server takes. */
const MAX_OPERATIONS = 10_000

const OPERATIONS: ReadonlySet<unknown> = new Set(['add', 'remove', 'replace', 'move', 'copy', 'test'])

/**
 * Reads a JSON patch (RFC 6902). Members that it does not know are ignored, as section 4 says. Only
 * `replace` and `test` can be of the whole object, as with an API server.
 */
export function readJsonPatch(patch: Json): JsonPatchResult {
  if (!isArray(patch)) return refused('', 'must be an array of operations')
  if (patch.length > MAX_OPERATIONS) return refused('', `must have at most ${MAX_OPERATIONS} operations`)
  const operations: PatchOperation[] = []
  for (const [index, operation] of patch.entries()) {
    const at = (member: string) => formatPath(['patch', index, member])
    if (!isObject(operation)) return refused(formatPath(['patch', index]), 'must be an object')
    const { op, path, from, value } = operation
    if (!OPERATIONS.has(op)) return refused(at('op'), 'must be add, remove, replace, move, copy or test')
    const keys = readPath(path)
    if (keys === undefined) return refused(at('path'), `must be a JSON pointer of at most ${MAX_DEPTH} keys`)
    const needsFrom = op === 'move' || op === 'copy'
    const fromKeys = needsFrom ? readPath(from) : []
    if (fromKeys === undefined) return refused(at('from'), `must be a JSON pointer of at most ${MAX_DEPTH} keys`)
    const isOfWhole = op === 'replace' || op === 'test'
    if (keys.length === 0 && !isOfWhole) return refused(at('path'), `cannot be the whole object for ${op}`)
    if (needsFrom && fromKeys.length === 0) return refused(at('from'), `cannot be the whole object for ${op}`)
    if (op === 'move' && isBelow(keys, fromKeys)) return refused(at('path'), 'cannot be inside of what is moved')
    const needsValue = op === 'add' || op === 'replace' || op === 'test'
    if (needsValue && value === undefined) return refused(at('value'), 'is required')
    operations.push({ op: op as PatchOperation['op'], path: keys, from: fromKeys, value: value ?? null })
  }
  return { ok: true, value: operations }
}

/**
 * The document after all operations, which shares with it what they do not change; or the first
 * that does not fit.
 *
 * What lies on the paths is copied once, however many operations follow: O(what is on them +
 * operations), and each element that is added to or removed from an array moves those behind it,
 * which takes a millisecond for a million of them.
 *
 * @param maxBytes how much `copy` may add: a few of them, each of what the last one made, would
 * else grow without end
 */
export function applyJsonPatch(
  document: Json,
  operations: readonly PatchOperation[],
  maxBytes: number,
): { readonly value: Json } | Problem {
  let bytesLeft = maxBytes
  const editor = new PatchEditor(document, (value) => {
    const copy = toJson(value, bytesLeft)
    if (copy.kind === 'refused') return { ok: false, problem: copy.at.problem }
    if (copy.kind === 'too-large') return { ok: false, problem: `copies more than ${maxBytes} bytes` }
    bytesLeft -= copy.bytes
    return { ok: true, value: copy.value! }
  })
  for (const [index, operation] of operations.entries()) {
    const problem = editor.apply(operation)
    if (problem !== undefined) return { path: formatPath(['patch', index]), problem }
  }
  const value = editor.end()
  if (!isObject(value)) return { path: 'patch', problem: 'must leave an object' }
  // moves and copies can nest what is not deep itself
  const whole = toJson(value, Number.POSITIVE_INFINITY)
  return whole.kind === 'refused' ? whole.at : { value }
}

/** The keys of a JSON pointer, `undefined` if it is none, or has too many. */
function readPath(pointer: Json | undefined): readonly string[] | undefined {
  const keys = typeof pointer === 'string' ? readPointer(pointer) : undefined
  return keys === undefined || keys.length > MAX_DEPTH ? undefined : keys
}

/** Whether a path leads into another one, and further. */
function isBelow(path: readonly string[], above: readonly string[]): boolean {
  return path.length > above.length && above.every((key, depth) => path[depth] === key)
}

function refused(path: string, problem: string): JsonPatchResult {
  return { ok: false, at: { path: path === '' ? 'patch' : path, problem } }
}
