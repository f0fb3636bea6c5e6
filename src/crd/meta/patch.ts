import { quote } from '../../errors/quote.js'
import type { Json } from './object.js'

/** A JSON merge patch (RFC 7396): `null` removes a field, arrays are replaced whole. */
export type MergePatch = { readonly [key: string]: unknown }

/** One operation of a JSON patch (RFC 6902). Paths are JSON pointers: `/metadata/finalizers/0`. */
export type JsonPatchOperation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string }
  | { readonly op: 'move' | 'copy'; readonly from: string; readonly path: string }

/**
 * A JSON patch (RFC 6902): all of its operations, or none. A `test` that does not hold is
 * `STORE_INVALID`, as with an API server; and as there, a member that an object has not is null to
 * `test` and `copy`, and `replace` adds it. Indices of arrays are taken as there too, which is more
 * than the RFC allows: a negative one counts from the end (`-1` is the last element; `add` there
 * appends), and leading zeros and a `+` do not matter.
 */
export type JsonPatch = readonly JsonPatchOperation[]

/** The keys of a JSON pointer (RFC 6901), `undefined` if it is none. */
export function readPointer(pointer: string): readonly string[] | undefined {
  if (pointer === '') return []
  if (!pointer.startsWith('/') || /~(?![01])/.test(pointer)) return undefined
  return pointer
    .slice(1)
    .split('/')
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** A JSON pointer of these keys. */
export function formatPointer(keys: readonly string[]): string {
  return keys.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

/** What is at these keys, as the operations of a JSON patch find it; `undefined` if nothing is. */
export function valueAtKeys(document: Json | undefined, keys: readonly string[]): Json | undefined {
  let value = document
  for (const key of keys) {
    if (isArray(value)) value = value[readIndex(key, value.length) ?? -1]
    else if (isObject(value)) value = Object.hasOwn(value, key) ? value[key] : undefined
    else return undefined
  }
  return value
}

/**
 * As an API server reads it, which is more than RFC 6901 allows: leading zeros, a sign, and -1 for
 * the last one.
 */
function readIndex(key: string, length: number): number | undefined {
  if (!/^[+-]?\d{1,18}$/.test(key)) return undefined
  const index = Number(key)
  return index < 0 ? index + length : index
}

/** Whether two values are the same JSON; the order of keys does not count. */
export function sameJson(left: Json | undefined, right: Json | undefined): boolean {
  if (left === right) return true
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false
  if (isArray(left) || isArray(right)) {
    if (!isArray(left) || !isArray(right) || left.length !== right.length) return false
    return left.every((item, index) => sameJson(item, right[index]))
  }
  const keys = Object.keys(left)
  if (keys.length !== Object.keys(right).length) return false
  return keys.every((key) => Object.hasOwn(right, key) && sameJson(left[key], right[key]))
}

export function isObject(value: Json | undefined): value is { readonly [key: string]: Json | undefined } {
  return typeof value === 'object' && value !== null && !isArray(value)
}

export function isArray(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value)
}

/** Sets an own field, also one that is named `__proto__`. */
export function put(target: { [key: string]: Json | undefined }, key: string, value: Json | undefined): void {
  if (key !== '__proto__') target[key] = value
  else Object.defineProperty(target, key, { value, configurable: true, enumerable: true, writable: true })
}

/**
 * RFC 7396: `null` removes, objects merge, everything else replaces. What the patch does not name
 * is shared with the target.
 */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch
  const merged: { [key: string]: Json | undefined } = {}
  const before = isObject(target) ? target : {}
  for (const key of Object.keys(before)) {
    if (!Object.hasOwn(patch, key)) put(merged, key, before[key])
    else if (patch[key] !== null) put(merged, key, mergePatch(before[key], patch[key] as Json))
  }
  for (const key of Object.keys(patch)) {
    if (!Object.hasOwn(before, key) && patch[key] !== null) put(merged, key, mergePatch(undefined, patch[key] as Json))
  }
  return Object.freeze(merged)
}

/** One operation, with its pointers split into keys. */
export interface PatchOperation {
  readonly op: 'add' | 'remove' | 'replace' | 'move' | 'copy' | 'test'
  readonly path: readonly string[]
  readonly from: readonly string[]
  readonly value: Json
}

type Change = { readonly kind: 'add' | 'replace'; readonly value: Json } | { readonly kind: 'remove' }

/** An object or an array. */
interface Container {
  [place: string | number]: Json | undefined
}

type CopiedJson = { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly problem: string }

/** Carries out the operations of a JSON patch on a copy of what they change. */
export class PatchEditor {
  /** The document as its only field, so that all of it is somewhere. */
  readonly #root: { document: Json }
  /**
   * The copies that were made. Each is in one place only, so that it can be changed there; and only
   * they are changed, so that each is inside of another one. What is not in here is shared.
   */
  readonly #own = new Set<unknown>()
  readonly #copied: (value: Json) => CopiedJson

  /** @param copied copies a value, all of it, or says why it is not copied */
  constructor(document: Json, copied: (value: Json) => CopiedJson) {
    this.#root = { document }
    this.#own.add(this.#root)
    this.#copied = copied
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
        const copy = this.#copied(found.value)
        return copy.ok ? this.#change(path, { kind: 'add', value: copy.value }) : copy.problem
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

function missing(path: readonly string[], depth: number): string {
  return `there is nothing at ${shownPath(path.slice(0, depth))}`
}

function shownPath(path: readonly string[]): string {
  return quote(formatPointer(path))
}
