/** A JSON object whose fields are not known yet. */
export type JsonObject = { readonly [key: string]: unknown }

/** The value as a JSON object; `undefined` for anything else. */
export function asObject(value: unknown): JsonObject | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined
}

/** The fields of an object that are there: those that are `undefined` are left out. */
export function defined(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined))
}

/** The object if it has fields, else nothing. */
export function unlessEmpty(object: JsonObject): JsonObject | undefined {
  return Object.keys(object).length === 0 ? undefined : object
}

/**
 * A list that has items, or what stands in the place of one; nothing for an empty list and for
 * `null`.
 */
export function unlessEmptyList(value: unknown): unknown {
  return value === null || (Array.isArray(value) && value.length === 0) ? undefined : value
}

/** `spec.addresses[0]`, as Kubernetes writes field paths. */
export function pathText(path: readonly PropertyKey[]): string {
  let text = ''
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`
    else text += text === '' ? String(part) : `.${String(part)}`
  }
  return text
}

/** What stands at a path, or `undefined`. */
export function valueAt(json: unknown, path: readonly PropertyKey[]): unknown {
  let value = json
  for (const part of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as { readonly [key: PropertyKey]: unknown })[part]
  }
  return value
}

/**
 * How deep an object may nest. Kubernetes objects are far flatter; deeper ones are left as they are
 * for the schema to refuse.
 */
const MAX_DEPTH = 100

/**
 * The same object without properties that are `null`: the API server drops them from fields that
 * are not nullable, and no field of ours is. Returns the argument itself where there are none. Each
 * part is looked at once, however often it is referred to.
 */
export function withoutNulls<T>(value: T, seen = new Map<unknown, unknown>(), depth = 0): T {
  if (typeof value !== 'object' || value === null || value instanceof Date || depth > MAX_DEPTH) return value
  if (seen.has(value)) return seen.get(value) as T
  seen.set(value, value)
  const result = Array.isArray(value) ? itemsWithoutNulls(value, seen, depth) : fieldsWithoutNulls(value, seen, depth)
  if (result !== value) seen.set(value, result)
  return result as T
}

function itemsWithoutNulls(list: readonly unknown[], seen: Map<unknown, unknown>, depth: number): readonly unknown[] {
  const isSame = list.every((item) => withoutNulls(item, seen, depth + 1) === item)
  return isSame ? list : list.map((item) => withoutNulls(item, seen, depth + 1))
}

function fieldsWithoutNulls(object: object, seen: Map<unknown, unknown>, depth: number): object {
  const fields = object as JsonObject
  // most objects have none, and are looked through without a list of their fields
  for (const key of Object.keys(fields)) {
    const item = fields[key]
    if (item !== null && withoutNulls(item, seen, depth + 1) === item) continue
    const kept = Object.entries(fields).filter(([, each]) => each !== null)
    return Object.fromEntries(kept.map(([name, each]) => [name, withoutNulls(each, seen, depth + 1)]))
  }
  return object
}
