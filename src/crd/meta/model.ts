import type * as z from 'zod'
import { fail, type Result, unwrap } from '../../errors/index.js'
import { groupOf, type KindInfo, type KubeObject } from './object.js'

/** What reading an unknown object can answer. */
export type ReadResult<T> = Result<T, 'INVALID_OBJECT' | 'OBJECT_KIND_MISMATCH'>

/** A typed kind: how an unknown object becomes one. */
export interface Model<T extends KubeObject> {
  /** The version that is stored and written. */
  readonly info: KindInfo
  /** The apiVersions that can be read; older ones are converted to the stored one. */
  readonly reads: readonly string[]
  /** Whether an object is of this group and kind, whatever its version. */
  is(object: { readonly apiVersion: string; readonly kind: string }): boolean
  /**
   * The typed object. Unknown fields are kept, `null` counts as absent, defaults of the CRD are filled in.
   *
   * @throws IpamError `OBJECT_KIND_MISMATCH` for another kind or an unknown version, `INVALID_OBJECT` with every field error
   */
  parse(json: unknown): T
  /** As `parse`, with the failure as a value. */
  safeParse(json: unknown): ReadResult<T>
}

export interface ModelSpec<T extends KubeObject> {
  readonly info: KindInfo
  readonly schema: z.ZodType<T>
  /** Older apiVersions, each with what makes the stored version of it. */
  readonly converts?: { readonly [apiVersion: string]: (json: JsonObject) => JsonObject } | undefined
}

/** How many field errors are told at once. */
const MAX_ISSUES = 100

/** A JSON object whose fields are not known yet. */
export type JsonObject = { readonly [key: string]: unknown }

/** The model of a kind from its schema. */
export function defineModel<T extends KubeObject>(spec: ModelSpec<T>): Model<T> {
  const { info, schema } = spec
  const reads = [info.apiVersion, ...Object.keys(spec.converts ?? {})]
  const safeParse = (json: unknown): ReadResult<T> => {
    const kind = kindOf(json)
    if (kind === undefined || kind.kind !== info.kind || !reads.includes(kind.apiVersion)) {
      const got = kind === undefined ? describeJson(json) : `${kind.apiVersion} ${kind.kind}`
      return fail('OBJECT_KIND_MISMATCH', { expected: `${reads.join(' or ')} ${info.kind}`, got })
    }
    const plain = withoutNulls(json as JsonObject)
    const convert = spec.converts?.[kind.apiVersion]
    const parsed = schema.safeParse(convert === undefined ? plain : { ...convert(plain), apiVersion: info.apiVersion })
    if (parsed.success) return { ok: true, value: parsed.data }
    const issues = parsed.error.issues
      .slice(0, MAX_ISSUES)
      .map((issue) => ({ path: pathText(issue.path), message: issue.message }))
    return fail('INVALID_OBJECT', { kind: info.kind, name: nameOf(plain), issues })
  }
  return {
    info,
    reads,
    is: (object) => object.kind === info.kind && groupOf(object.apiVersion) === groupOf(info.apiVersion),
    parse: (json) => unwrap(safeParse(json)),
    safeParse,
  }
}

/** `spec.addresses[0]`, as Kubernetes writes field paths. */
function pathText(path: readonly PropertyKey[]): string {
  let text = ''
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`
    else text += text === '' ? String(part) : `.${String(part)}`
  }
  return text
}

function kindOf(json: unknown): { readonly apiVersion: string; readonly kind: string } | undefined {
  if (typeof json !== 'object' || json === null) return undefined
  const { apiVersion, kind } = json as JsonObject
  return typeof apiVersion === 'string' && typeof kind === 'string' ? { apiVersion, kind } : undefined
}

function nameOf(json: JsonObject): string {
  const metadata = json.metadata as JsonObject | undefined
  const name = typeof metadata === 'object' ? metadata.name : undefined
  const namespace = typeof metadata === 'object' ? metadata.namespace : undefined
  if (typeof name !== 'string') return ''
  return typeof namespace === 'string' ? `${namespace}/${name}` : name
}

function describeJson(json: unknown): string {
  if (json === null) return 'null'
  if (Array.isArray(json)) return 'a list'
  return typeof json === 'object' ? 'an object without apiVersion and kind' : `a ${typeof json}`
}

/** How deep an object may nest. Kubernetes objects are far flatter; deeper ones are left as they are for the schema to refuse. */
const MAX_DEPTH = 100

/**
 * The same object without properties that are `null`: the API server drops them from fields that are not nullable, and no
 * field of ours is. Returns the argument itself where there are none. Each part is looked at once, however often it is referred to.
 */
function withoutNulls<T>(value: T, seen = new Map<unknown, unknown>(), depth = 0): T {
  if (typeof value !== 'object' || value === null || value instanceof Date || depth > MAX_DEPTH) return value
  if (seen.has(value)) return seen.get(value) as T
  seen.set(value, value)
  const result = Array.isArray(value) ? itemsWithoutNulls(value, seen, depth) : fieldsWithoutNulls(value, seen, depth)
  seen.set(value, result)
  return result as T
}

function itemsWithoutNulls(list: readonly unknown[], seen: Map<unknown, unknown>, depth: number): readonly unknown[] {
  const items = list.map((item) => withoutNulls(item, seen, depth + 1))
  return items.some((item, index) => item !== list[index]) ? items : list
}

function fieldsWithoutNulls(object: object, seen: Map<unknown, unknown>, depth: number): object {
  let changed = false
  const kept: [string, unknown][] = []
  for (const [key, item] of Object.entries(object)) {
    const next = withoutNulls(item, seen, depth + 1)
    if (next === null || next !== item) changed = true
    if (next !== null) kept.push([key, next])
  }
  return changed ? Object.fromEntries(kept) : object
}
