import type { Json } from '../../crd/meta/object.js'
import { isArray, put } from '../../crd/meta/patch.js'
import { quote } from '../../errors/quote.js'

export { isArray, isObject } from '../../crd/meta/patch.js'

export type JsonObject = { readonly [key: string]: Json | undefined }

/** Which field is refused, and why. */
export interface Problem {
  readonly path: string
  readonly problem: string
}

export type JsonResult =
  /** `bytes`: about as many as it takes. */
  | { readonly kind: 'json'; readonly value: Json | undefined; readonly bytes: number }
  | { readonly kind: 'refused'; readonly at: Problem; readonly cause?: unknown }
  /** Reading stopped when this many bytes were certain. */
  | { readonly kind: 'too-large'; readonly bytes: number }

/**
 * Deeper values are refused, so that nothing that recurses over a stored object can overflow the
 * stack.
 */
export const MAX_DEPTH = 512

const BOXES = [String, Number, Boolean, BigInt] as const

/** How much of a path is shown: a hostile object can be as deep as {@link MAX_DEPTH}. */
const MAX_SHOWN_KEYS = 16

/**
 * `value` as JSON would keep it, copied and deep-frozen: undefined fields are dropped, `toJSON` is
 * honoured. What JSON would drop or blur without a word is refused: functions, symbols, bigint,
 * NaN, infinities, maps and sets; so are cycles and whatever is nested deeper than 512 levels.
 *
 * @param maxBytes where to stop, so that a small graph that unfolds into a huge tree is not
 * followed to its end
 */
export function toJson(value: unknown, maxBytes: number): JsonResult {
  const reader = new JsonReader(maxBytes)
  try {
    const json = reader.read(value, '')
    if (reader.bytes > maxBytes) return { kind: 'too-large', bytes: reader.bytes }
    if (reader.problem !== undefined) return { kind: 'refused', at: { path: reader.path(), problem: reader.problem } }
    return { kind: 'json', value: json, bytes: reader.bytes }
  } catch (cause) {
    // a getter, a proxy or a toJSON of the caller
    return { kind: 'refused', at: { path: reader.path(), problem: 'cannot be read' }, cause }
  }
}

/**
 * No less than what a value has as JSON in UTF-8, without writing it: a character has six bytes at
 * most, and a number 25.
 */
export function mostBytes(value: Json | undefined): number {
  if (typeof value === 'string') return value.length * 6 + 2
  if (typeof value !== 'object' || value === null) return 25
  let bytes = 2
  if (isArray(value)) {
    for (let index = 0; index < value.length; index++) bytes += mostBytes(value[index]) + 1
    return bytes
  }
  for (const key of Object.keys(value)) bytes += key.length * 6 + 4 + mostBytes(value[key])
  return bytes
}

/**
 * `metadata.labels["a b"]`: plain keys as they are, others quoted, because a path ends up in
 * messages and logs.
 */
export function formatPath(keys: readonly (string | number)[]): string {
  let path = ''
  for (const key of keys.slice(0, MAX_SHOWN_KEYS)) {
    if (typeof key === 'number') path += `[${key}]`
    else if (!/^[\w$-]{1,64}$/.test(key)) path += `[${quote(key)}]`
    else path += path === '' ? key : `.${key}`
  }
  return keys.length > MAX_SHOWN_KEYS ? `${path}…` : path
}

class JsonReader {
  /** Set once: the first value that is refused. The trail then stays where it was found. */
  problem: string | undefined
  /**
   * No more than the JSON has in UTF-8: the characters of texts and keys, something for every
   * value, colon and comma.
   */
  bytes = 0
  readonly #maxBytes: number
  readonly #trail: (string | number)[] = []
  readonly #ancestors: object[] = []

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  path(): string {
    return formatPath(this.#trail)
  }

  /** `undefined` for what JSON leaves out, and after a problem. */
  read(source: unknown, key: string): Json | undefined {
    const value = plain(source, key)
    if (value === undefined) return undefined
    if (!this.#fits(typeof value === 'string' ? value.length + 2 : 1)) return undefined
    switch (typeof value) {
      case 'string':
      case 'boolean':
        return value
      case 'number':
        if (!Number.isFinite(value)) return this.#refuse(`is ${value}, which JSON cannot hold`)
        return value === 0 ? 0 : value // JSON has no negative zero
      case 'object':
        return value === null ? null : this.#readObject(value)
      default:
        return this.#refuse(`is a ${typeof value}, which JSON cannot hold`)
    }
  }

  #readObject(value: object): Json | undefined {
    if (value instanceof Map || value instanceof Set) return this.#refuse('is a Map or Set, which JSON cannot hold')
    if (this.#ancestors.includes(value)) return this.#refuse('refers back to an object that it is part of')
    if (this.#ancestors.length >= MAX_DEPTH) return this.#refuse(`is nested deeper than ${MAX_DEPTH} levels`)
    this.#ancestors.push(value)
    const json = Array.isArray(value) ? this.#readArray(value) : this.#readFields(value as { [key: string]: unknown })
    this.#ancestors.pop()
    return json
  }

  #readArray(value: readonly unknown[]): Json | undefined {
    if (!this.#fits(value.length)) return undefined
    const items: Json[] = []
    for (let index = 0; index < value.length; index++) {
      this.#trail.push(index)
      const item = this.read(value[index], String(index))
      if (this.problem !== undefined) return undefined
      this.#trail.pop()
      items.push(item === undefined ? null : item)
    }
    return Object.freeze(items)
  }

  #readFields(value: { readonly [key: string]: unknown }): Json | undefined {
    const fields: { [key: string]: Json } = {}
    for (const key of Object.keys(value)) {
      this.#trail.push(key)
      const field = this.read(value[key], key)
      if (this.problem !== undefined) return undefined
      this.#trail.pop()
      if (field === undefined) continue
      if (!this.#fits(key.length + 3)) return undefined
      put(fields, key, field)
    }
    return Object.freeze(fields)
  }

  #fits(bytes: number): boolean {
    this.bytes += bytes
    if (this.bytes > this.#maxBytes) this.problem = 'is too large'
    return this.problem === undefined
  }

  #refuse(problem: string): undefined {
    this.problem = problem
  }
}

/** What JSON looks at in place of `value`: the result of its `toJSON`, the primitive in a box. */
function plain(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null) return value
  const { toJSON } = value as { toJSON?: unknown }
  const shown: unknown = typeof toJSON === 'function' ? toJSON.call(value, key) : value
  for (const box of BOXES) if (shown instanceof box) return (shown as object).valueOf()
  return shown
}
