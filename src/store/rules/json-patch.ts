import type { Json } from '../../crd/meta/object.js'
import { formatPointer, put, readIndex, readPointer, sameJson, valueAtKeys } from '../../crd/meta/patch.js'
import { quote } from '../../errors/quote.js'
import { formatPath, isArray, isObject, MAX_DEPTH, type Problem, toJson } from './json.js'

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
  const editor = new Editor(document, maxBytes)
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

type Change = { readonly kind: 'add' | 'replace'; readonly value: Json } | { readonly kind: 'remove' }

/** An object or an array. */
interface Container {
  [place: string | number]: Json | undefined
}

class Editor {
  /** The document as its only field, so that all of it is somewhere. */
  readonly #root: { document: Json }
  /**
   * The copies that were made. Each is in one place only, so that it can be changed there; and only
   * they are changed, so that each is inside of another one. What is not in here is shared.
   */
  readonly #own = new Set<unknown>()
  #bytesLeft: number
  readonly #maxBytes: number

  constructor(document: Json, maxBytes: number) {
    this.#root = { document }
    this.#own.add(this.#root)
    this.#bytesLeft = maxBytes
    this.#maxBytes = maxBytes
  }

  /**
   * Does an operation, or says why it cannot be done: then a part of it may be done, and the
   * document is good for nothing.
   */
  apply({ op, path, from, value }: PatchOperation): string | undefined {
    switch (op) {
      case 'add':
      case 'replace':
        return this.#change(path, { kind: op, value })
      case 'remove':
        return this.#change(path, { kind: op })
      case 'test': {
        const found = findOrNull(this.#root.document, path)
        if (found === undefined) return `there is nothing at ${shownPath(path)} to test`
        return sameJson(found.value, value) ? undefined : `the value at ${shownPath(path)} is another one`
      }
      case 'move': {
        const found = find(this.#root.document, from)
        if (found === undefined) return `there is nothing at ${shownPath(from)} to move`
        return this.#change(from, { kind: 'remove' }) ?? this.#change(path, { kind: 'add', value: found.value })
      }
      case 'copy': {
        const found = findOrNull(this.#root.document, from)
        if (found === undefined) return `there is nothing at ${shownPath(from)} to copy`
        // all of it: what is in two places must not be one of the copies that are changed
        const copy = toJson(found.value, this.#bytesLeft)
        if (copy.kind === 'refused') return copy.at.problem
        if (copy.kind === 'too-large') return `copies more than ${this.#maxBytes} bytes`
        this.#bytesLeft -= copy.bytes
        return this.#change(path, { kind: 'add', value: copy.value! })
      }
    }
  }

  /** The document. There is nothing more to change then. */
  end(): Json {
    for (const copy of this.#own) Object.freeze(copy)
    return this.#root.document
  }

  #change(path: readonly string[], change: Change): string | undefined {
    let holder = this.#root as Container
    let place: string | number = 'document'
    for (const [depth, key] of path.entries()) {
      const inner = this.#ownIn(holder, place)
      if (inner === undefined) return missing(path, depth)
      holder = inner
      const isLast = depth === path.length - 1
      if (Array.isArray(inner)) {
        const isInsertion = isLast && change.kind === 'add'
        const places: number = inner.length + (isInsertion ? 1 : 0)
        const index = isInsertion && key === '-' ? inner.length : readIndex(key, places)
        if (index === undefined) return `${shownPath(path.slice(0, depth + 1))} is no index of an array`
        if (index < 0 || index >= places) return missing(path, depth + 1)
        place = index
      } else {
        const mayBeNew = isLast && change.kind !== 'remove'
        if (!mayBeNew && !Object.hasOwn(inner, key)) return missing(path, depth + 1)
        place = key
      }
    }
    changeIn(holder, place, change)
    return undefined
  }

  /** What is there, as a copy that may be changed; `undefined` if nothing can be inside of it. */
  #ownIn(holder: Container, place: string | number): Container | undefined {
    const value = holder[place]
    if (typeof value !== 'object' || value === null) return undefined
    if (this.#own.has(value)) return value as Container
    const copy = isArray(value) ? [...value] : { ...value }
    this.#own.add(copy)
    set(holder, place, copy)
    return copy as Container
  }
}

function changeIn(holder: Container, place: string | number, change: Change): void {
  if (Array.isArray(holder)) {
    if (change.kind === 'replace') holder[place as number] = change.value
    else if (change.kind === 'add') holder.splice(place as number, 0, change.value)
    else holder.splice(place as number, 1)
  } else if (change.kind === 'remove') delete holder[place]
  else set(holder, place, change.value)
}

function set(holder: Container, place: string | number, value: Json): void {
  if (typeof place === 'number') holder[place] = value
  else put(holder, place, value)
}

function find(document: Json | undefined, path: readonly string[]): { readonly value: Json } | undefined {
  const value = valueAtKeys(document, path)
  return value === undefined ? undefined : { value }
}

/** What is there, or null for a member that an object has not: an API server takes it for that. */
function findOrNull(document: Json | undefined, path: readonly string[]): { readonly value: Json } | undefined {
  const found = find(document, path)
  if (found !== undefined || path.length === 0) return found
  const parent = find(document, path.slice(0, -1))
  return isObject(parent?.value) ? { value: null } : undefined
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

function missing(path: readonly string[], depth: number): string {
  return `there is nothing at ${shownPath(path.slice(0, depth))}`
}

function shownPath(path: readonly string[]): string {
  return quote(formatPointer(path))
}

function refused(path: string, problem: string): JsonPatchResult {
  return { ok: false, at: { path: path === '' ? 'patch' : path, problem } }
}
