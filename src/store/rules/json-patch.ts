import type { Json } from '../../crd/meta/object.js'
import { quote } from '../../errors/index.js'
import { formatPath, isArray, isObject, MAX_DEPTH, type Problem, put, sameJson, toJson } from './json.js'

/** One operation, with its pointers split into keys. */
export interface PatchOperation {
  readonly op: 'add' | 'remove' | 'replace' | 'move' | 'copy' | 'test'
  readonly path: readonly string[]
  readonly from: readonly string[]
  readonly value: Json
}

export type JsonPatchResult =
  | { readonly ok: true; readonly value: readonly PatchOperation[] }
  | { readonly ok: false; readonly at: Problem }

/** As many as an API server takes. */
const MAX_OPERATIONS = 10_000

const OPERATIONS: ReadonlySet<unknown> = new Set(['add', 'remove', 'replace', 'move', 'copy', 'test'])

/**
 * Reads a JSON patch (RFC 6902). Members that it does not know are ignored, as section 4 says. Only `replace` and `test` can be of the whole
 * object, as with an API server.
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
    const keys = readPointer(path)
    if (keys === undefined) return refused(at('path'), `must be a JSON pointer of at most ${MAX_DEPTH} keys`)
    const needsFrom = op === 'move' || op === 'copy'
    const fromKeys = needsFrom ? readPointer(from) : []
    if (fromKeys === undefined) return refused(at('from'), `must be a JSON pointer of at most ${MAX_DEPTH} keys`)
    const isOfWhole = op === 'replace' || op === 'test'
    if (keys.length === 0 && !isOfWhole) return refused(at('path'), `can not be the whole object for ${op}`)
    if (needsFrom && fromKeys.length === 0) return refused(at('from'), `can not be the whole object for ${op}`)
    if (op === 'move' && isBelow(keys, fromKeys)) return refused(at('path'), 'can not be inside of what is moved')
    const needsValue = op === 'add' || op === 'replace' || op === 'test'
    if (needsValue && value === undefined) return refused(at('value'), 'is required')
    operations.push({ op: op as PatchOperation['op'], path: keys, from: fromKeys, value: value ?? null })
  }
  return { ok: true, value: operations }
}

/**
 * The document after all operations, which share with it what they do not change; or the first that does not fit. O(what lies on the paths).
 *
 * @param maxBytes how much `copy` may add: a few of them, each of what the last one made, would else grow without end
 */
export function applyJsonPatch(
  document: Json,
  operations: readonly PatchOperation[],
  maxBytes: number,
): { readonly value: Json } | Problem {
  let value = document
  let copied = 0
  for (const [index, operation] of operations.entries()) {
    const step = applyOne(value, operation)
    if (typeof step === 'string') return { path: formatPath(['patch', index]), problem: step }
    value = step.value!
    if (operation.op !== 'copy') continue
    const copy = toJson(find(value, operation.from)?.value, maxBytes - copied)
    if (copy.kind !== 'json') {
      const problem = copy.kind === 'refused' ? copy.at.problem : `copies more than ${maxBytes} bytes`
      return { path: formatPath(['patch', index]), problem }
    }
    copied += copy.bytes
  }
  if (!isObject(value)) return { path: 'patch', problem: 'must leave an object' }
  // moves and copies can nest what is not deep itself
  const whole = toJson(value, Number.POSITIVE_INFINITY)
  return whole.kind === 'refused' ? whole.at : { value }
}

/** A value with something in it replaced, or the reason why not. `undefined`: it is removed itself, which a whole document never is. */
type Step = { readonly value: Json | undefined } | string

function applyOne(document: Json, { op, path, from, value }: PatchOperation): Step {
  switch (op) {
    case 'add':
      return edit(document, path, { kind: 'add', value })
    case 'remove':
      return edit(document, path, { kind: 'remove' })
    case 'replace':
      return edit(document, path, { kind: 'replace', value })
    case 'test': {
      const found = findOrNull(document, path)
      if (found === undefined) return `there is nothing at ${formatPointer(path)} to test`
      return sameJson(found.value, value) ? { value: document } : `the value at ${formatPointer(path)} is another one`
    }
    case 'copy':
    case 'move': {
      const found = op === 'move' ? find(document, from) : findOrNull(document, from)
      if (found === undefined) return `there is nothing at ${formatPointer(from)} to ${op}`
      const rest: Step = op === 'move' ? edit(document, from, { kind: 'remove' }) : { value: document }
      return typeof rest === 'string' ? rest : edit(rest.value!, path, { kind: 'add', value: found.value })
    }
  }
}

type Edit = { readonly kind: 'add' | 'replace'; readonly value: Json } | { readonly kind: 'remove' }

/** Copies the path to what is edited, and nothing else. */
function edit(target: Json | undefined, path: readonly string[], change: Edit, depth = 0): Step {
  if (depth === path.length) return { value: change.kind === 'remove' ? undefined : change.value }
  const key = path[depth]!
  const isLast = depth === path.length - 1
  if (isArray(target)) return editArray(target, path, change, depth)
  if (!isObject(target)) return missing(path, depth)
  const isThere = Object.hasOwn(target, key)
  if (!isThere && !(isLast && change.kind !== 'remove')) return missing(path, depth + 1)
  const step = edit(isThere ? target[key] : undefined, path, change, depth + 1)
  if (typeof step === 'string') return step
  const copy: { [key: string]: Json | undefined } = {}
  for (const name of Object.keys(target)) {
    if (name !== key) put(copy, name, target[name])
    else if (step.value !== undefined) put(copy, name, step.value)
  }
  if (!isThere) put(copy, key, step.value)
  return { value: Object.freeze(copy) }
}

function editArray(target: readonly Json[], path: readonly string[], change: Edit, depth: number): Step {
  const key = path[depth]!
  const isInsertion = depth === path.length - 1 && change.kind === 'add'
  const places = target.length + (isInsertion ? 1 : 0)
  const index = isInsertion && key === '-' ? target.length : readIndex(key, places)
  if (index === undefined) return `${formatPointer(path.slice(0, depth + 1))} is no index of an array`
  if (index < 0 || index >= places) return missing(path, depth + 1)
  const copy = [...target]
  if (isInsertion) copy.splice(index, 0, change.value)
  else {
    const step = edit(target[index], path, change, depth + 1)
    if (typeof step === 'string') return step
    if (step.value === undefined) copy.splice(index, 1)
    else copy[index] = step.value
  }
  return { value: Object.freeze(copy) }
}

function find(document: Json | undefined, path: readonly string[]): { readonly value: Json } | undefined {
  let value = document
  for (const key of path) {
    if (isArray(value)) value = value[readIndex(key, value.length) ?? -1]
    else if (isObject(value)) value = Object.hasOwn(value, key) ? value[key] : undefined
    else return undefined
    if (value === undefined) return undefined
  }
  return value === undefined ? undefined : { value }
}

/** What is there, or null for a member that an object has not: an API server takes it for that. */
function findOrNull(document: Json | undefined, path: readonly string[]): { readonly value: Json } | undefined {
  const found = find(document, path)
  if (found !== undefined || path.length === 0) return found
  const parent = find(document, path.slice(0, -1))
  return isObject(parent?.value) ? { value: null } : undefined
}

/** The keys of a JSON pointer (RFC 6901), `undefined` if it is none. */
function readPointer(pointer: Json | undefined): readonly string[] | undefined {
  if (typeof pointer !== 'string') return undefined
  if (pointer === '') return []
  if (!pointer.startsWith('/') || /~(?![01])/.test(pointer)) return undefined
  const keys = pointer.slice(1).split('/')
  return keys.length > MAX_DEPTH ? undefined : keys.map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** As an API server reads it, which is more than RFC 6901 allows: leading zeros, a sign, and -1 for the last one. */
function readIndex(key: string, length: number): number | undefined {
  if (!/^[+-]?\d{1,18}$/.test(key)) return undefined
  const index = Number(key)
  return index < 0 ? index + length : index
}

/** Whether a path leads into another one, and further. */
function isBelow(path: readonly string[], above: readonly string[]): boolean {
  return path.length > above.length && above.every((key, depth) => path[depth] === key)
}

function missing(path: readonly string[], depth: number): string {
  return `there is nothing at ${formatPointer(path.slice(0, depth))}`
}

function formatPointer(path: readonly string[]): string {
  const text = path.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
  return quote(text)
}

function refused(path: string, problem: string): JsonPatchResult {
  return { ok: false, at: { path: path === '' ? 'patch' : path, problem } }
}
