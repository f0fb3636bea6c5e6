import { INVALID_CONVERSION } from '../../errors/definitions.js'
import { failWith } from '../../errors/failure.js'
import type { Result } from '../../errors/index.js'
import { asObject, defined, type JsonObject, unlessEmpty } from './json.js'

/**
 * Converts an object to another version. It never changes its argument, and keeps unknown fields.
 */
export type Conversion = (json: JsonObject) => Result<JsonObject, 'INVALID_CONVERSION'>

/** The conversions from an older version to the stored version, the hub, and back. */
export interface VersionConversion {
  readonly toHub: Conversion
  readonly fromHub: Conversion
}

/** The failure of a conversion, with its reason. */
export function notConvertible(json: JsonObject, to: string, path: string, problem: string) {
  return failWith(INVALID_CONVERSION, { object: describeObject(json), to, path, problem })
}

/** `Kind namespace/name` of a value that may be an object. */
export function describeObject(json: JsonObject): string {
  const name = nameOf(json)
  return name === '' ? String(json.kind) : `${String(json.kind)} ${name}`
}

/** `namespace/name`, without the parts that are missing. */
export function nameOf(json: JsonObject): string {
  const { name, namespace } = asObject(json.metadata) ?? {}
  if (typeof name !== 'string') return ''
  return typeof namespace === 'string' ? `${namespace}/${name}` : name
}

/** The text of a label or annotation. */
export function metadataEntry(json: JsonObject, map: 'labels' | 'annotations', key: string): string | undefined {
  const entries = asObject(asObject(json.metadata)?.[map])
  const value = entries !== undefined && Object.hasOwn(entries, key) ? entries[key] : undefined
  return typeof value === 'string' ? value : undefined
}

/**
 * The object with a label or annotation set or removed. A map without entries is removed.
 */
export function withMetadataEntry(
  json: JsonObject,
  map: 'labels' | 'annotations',
  key: string,
  value: string | undefined,
): JsonObject {
  const metadata = asObject(json.metadata) ?? {}
  const entries = asObject(metadata[map]) ?? {}
  if (value === undefined && !Object.hasOwn(entries, key)) return json
  const changed = defined({ ...entries, [key]: value })
  return { ...json, metadata: defined({ ...metadata, [map]: unlessEmpty(changed) }) }
}

/**
 * Annotation in which the projects of Cluster API keep fields that another version does not have.
 */
const CONVERSION_DATA_ANNOTATION = 'cluster.x-k8s.io/conversion-data'

/**
 * The object with `data` in its annotations, for the conversion back. Without data, the annotation
 * is removed.
 */
export function withConversionData(json: JsonObject, data: JsonObject | undefined): JsonObject {
  return withMetadataEntry(json, 'annotations', CONVERSION_DATA_ANNOTATION, data && JSON.stringify(inOrder(data)))
}

/**
 * The same value with the fields of its objects in order, as Go writes maps. The text does not
 * depend on the controller that converts the object.
 */
function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder)
  const object = asObject(value)
  if (object === undefined) return value
  const keys = Object.keys(object).sort()
  return Object.fromEntries(keys.map((key) => [key, inOrder(object[key])]))
}

/** The data that was kept for the conversion back, and the object without it. */
export function takeConversionData(
  json: JsonObject,
  to: string,
): Result<{ readonly data: JsonObject; readonly rest: JsonObject }, 'INVALID_CONVERSION'> {
  const text = metadataEntry(json, 'annotations', CONVERSION_DATA_ANNOTATION)
  if (text === undefined) return { ok: true, value: { data: {}, rest: json } }
  const data = asObject(parsed(text))
  const path = `metadata.annotations[${CONVERSION_DATA_ANNOTATION}]`
  if (data === undefined) return notConvertible(json, to, path, 'not a JSON object')
  return { ok: true, value: { data, rest: withConversionData(json, undefined) } }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
