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
  const keys = pointer.slice(1).split('/')
  return pointer.includes('~') ? keys.map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~')) : keys
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
export function readIndex(key: string, length: number): number | undefined {
  if (!/^[+-]?\d{1,18}$/.test(key)) return undefined
  const index = Number(key)
  return index < 0 ? index + length : index
}

/** The value as a store returns it: without fields that are `undefined`. */
export function plainJson(value: unknown): Json | undefined {
  return value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as Json)
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
