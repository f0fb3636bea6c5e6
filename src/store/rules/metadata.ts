import { utf8Length } from '../../bytes/utf8.js'
import { labelValueProblem, qualifiedNameProblem } from '../../crd/meta/names.js'
import type { Json } from '../../crd/meta/object.js'
import { put } from '../../crd/meta/patch.js'
import { formatPath, isArray, isObject, type JsonObject, type Problem } from './json.js'

/** The bytes of all keys and values of the annotations together. */
const MAX_ANNOTATION_BYTES = 262_144

/** Fields where empty and absent are the same: texts, texts by keys, lists. */
const TEXTS: ReadonlySet<string> = new Set(['generateName', 'namespace', 'resourceVersion', 'uid'])
const TEXT_MAPS: ReadonlySet<string> = new Set(['annotations', 'labels'])
const LISTS: ReadonlySet<string> = new Set(['finalizers', 'managedFields', 'ownerReferences'])

const OWNER_TEXTS = ['apiVersion', 'kind', 'name', 'uid']
const OWNER_FLAGS = ['controller', 'blockOwnerDeletion']
const OWNER_FIELDS = [...OWNER_TEXTS, ...OWNER_FLAGS]

/** What cannot own anything: it does not last. */
const NO_OWNER = { apiVersion: 'v1', kind: 'Event' }

/**
 * Metadata as the API server keeps it: without fields that are null or, where that means the same,
 * empty, and with each owner once. What is not of the right type is left for
 * {@link metadataTypeProblem} to refuse.
 */
export function canonicalMetadata(metadata: JsonObject): JsonObject {
  const canonical: { [key: string]: Json | undefined } = {}
  for (const key of Object.keys(metadata)) {
    const value = metadata[key]
    if (value !== null && !isEmpty(key, value)) put(canonical, key, value)
  }
  for (const field of TEXT_MAPS) {
    if (canonical[field] !== undefined) canonical[field] = withoutNulls(canonical[field])
  }
  const { finalizers, ownerReferences } = canonical
  // in Go there is no null in a list: it is an empty text, or an object of nothing
  if (isArray(finalizers)) canonical.finalizers = Object.freeze(finalizers.map((each) => each ?? ''))
  if (isArray(ownerReferences)) canonical.ownerReferences = distinctOwners(ownerReferences)
  return canonical
}

/**
 * The first field of (canonical) metadata that is not of its type. An API server sees that before
 * it looks at anything else.
 */
export function metadataTypeProblem(metadata: JsonObject): Problem | undefined {
  for (const [field, type] of TYPES) {
    const value = metadata[field]
    const found = value === undefined ? undefined : mistypeOf(type, value)
    if (found !== undefined) return at(['metadata', field, ...found.keys.toReversed()], `must be ${found.expected}`)
  }
  return undefined
}

/**
 * The first field of (canonical) metadata, with the types that it should have, that breaks a rule.
 * Names are not looked at.
 */
export function metadataProblem(metadata: JsonObject): Problem | undefined {
  return (
    labelsProblem(metadata.labels as Texts | undefined) ??
    annotationsProblem(metadata.annotations as Texts | undefined) ??
    finalizersProblem(metadata.finalizers as readonly string[] | undefined) ??
    ownersProblem(metadata.ownerReferences as readonly JsonObject[] | undefined)
  )
}

/** The finalizers of checked metadata. */
export function finalizersOf(metadata: JsonObject): readonly string[] {
  return (metadata.finalizers as readonly string[] | undefined) ?? []
}

type Texts = { readonly [key: string]: string }

/** What a value has to be: in words, or what each of its elements or fields has to be. */
type Type =
  | { readonly expected: string; readonly is: (value: Json) => boolean }
  | { readonly expected: string; readonly elements: Type }
  | { readonly expected: string; readonly values: Type }
  | { readonly expected: string; readonly fields: readonly (readonly [field: string, type: Type])[] }

const TEXT: Type = { expected: 'a string', is: (value) => typeof value === 'string' }
const FLAG: Type = { expected: 'true or false', is: (value) => typeof value === 'boolean' }
const WHOLE: Type = { expected: 'a whole number', is: (value) => Number.isSafeInteger(value) }
const TIME: Type = { expected: 'a time as in RFC 3339', is: (value) => typeof value === 'string' && isTime(value) }
const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d?):(\d\d):(\d\d)(?:[.,]\d+)?(?:Z|[+-](\d\d):(\d\d))$/
const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
const TEXTS_BY_KEY: Type = { expected: 'an object of strings', values: TEXT }
const OWNER: Type = {
  expected: 'an object',
  fields: [...all(TEXT, ...OWNER_TEXTS), ...all(FLAG, ...OWNER_FLAGS)],
}

const TYPES: readonly (readonly [field: string, type: Type])[] = [
  ...all(TEXT, 'name', 'generateName', 'namespace', 'uid', 'resourceVersion'),
  ['generation', WHOLE],
  ...all(TIME, 'creationTimestamp', 'deletionTimestamp'),
  ['deletionGracePeriodSeconds', WHOLE],
  ...all(TEXTS_BY_KEY, 'labels', 'annotations'),
  ['finalizers', { expected: 'an array of strings', elements: TEXT }],
  ['ownerReferences', { expected: 'an array of objects', elements: OWNER }],
]

function all(type: Type, ...fields: readonly string[]): readonly (readonly [field: string, type: Type])[] {
  return fields.map((field) => [field, type])
}

/** Something of a wrong type, with where it is: the innermost key first. */
interface Mistype {
  readonly keys: (string | number)[]
  readonly expected: string
}

// without closures, and a path only once something is wrong: this is looked at in every write

function mistypeOf(type: Type, value: Json): Mistype | undefined {
  if ('is' in type) return type.is(value) ? undefined : { keys: [], expected: type.expected }
  if ('elements' in type) {
    if (!isArray(value)) return { keys: [], expected: type.expected }
    for (let index = 0; index < value.length; index++) {
      const found = mistypeOf(type.elements, value[index] as Json)
      if (found !== undefined) return within(index, found)
    }
    return undefined
  }
  if (!isObject(value)) return { keys: [], expected: type.expected }
  if ('values' in type) {
    for (const key of Object.keys(value)) {
      const found = mistypeOf(type.values, value[key] as Json)
      if (found !== undefined) return within(key, found)
    }
    return undefined
  }
  for (const [field, fieldType] of type.fields) {
    const found = value[field] === undefined ? undefined : mistypeOf(fieldType, value[field])
    if (found !== undefined) return within(field, found)
  }
  return undefined
}

function within(key: string | number, found: Mistype): Mistype {
  found.keys.push(key)
  return found
}

/**
 * As Go reads it (`time.Parse`): it knows no leap seconds, and hours of one digit, fractions behind
 * a comma and offsets up to 24:60.
 */
function isTime(text: string): boolean {
  const found = RFC_3339.exec(text)
  if (found === null) return false
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, offsetHours = 0, offsetMinutes = 0] = found
    .slice(1)
    .map((digits = '0') => Number(digits))
  const isLeapYear = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  const days = month === 2 && isLeapYear ? 29 : (DAYS[month - 1] ?? 0)
  const isDay = day >= 1 && day <= days
  return isDay && hour <= 23 && minute <= 59 && second <= 59 && offsetHours <= 24 && offsetMinutes <= 60
}

function labelsProblem(labels: Texts = {}): Problem | undefined {
  for (const [key, value] of Object.entries(labels)) {
    const problem = qualifiedNameProblem(key) ?? labelValueProblem(value)
    if (problem !== undefined) return at(['metadata', 'labels', key], problem)
  }
  return undefined
}

function annotationsProblem(annotations: Texts = {}): Problem | undefined {
  let bytes = 0
  for (const [key, value] of Object.entries(annotations)) {
    const problem = qualifiedNameProblem(key.toLowerCase())
    if (problem !== undefined) return at(['metadata', 'annotations', key], problem)
    bytes += utf8Length(key) + utf8Length(value)
  }
  return bytes > MAX_ANNOTATION_BYTES
    ? at(['metadata', 'annotations'], `must be at most ${MAX_ANNOTATION_BYTES} bytes together, they have ${bytes}`)
    : undefined
}

function finalizersProblem(finalizers: readonly string[] = []): Problem | undefined {
  for (const [index, finalizer] of finalizers.entries()) {
    const problem = qualifiedNameProblem(finalizer)
    if (problem !== undefined) return at(['metadata', 'finalizers', index], problem)
  }
  return finalizers.includes('orphan') && finalizers.includes('foregroundDeletion')
    ? at(['metadata', 'finalizers'], 'orphan and foregroundDeletion cannot both be set')
    : undefined
}

function ownersProblem(owners: readonly JsonObject[] = []): Problem | undefined {
  for (const [index, owner] of owners.entries()) {
    const path = ['metadata', 'ownerReferences', index]
    const empty = OWNER_TEXTS.find((field) => (owner[field] ?? '') === '')
    if (empty !== undefined) return at([...path, empty], 'must be a text that is not empty')
    if (!/^([^/]*\/)?[^/]+$/.test(owner.apiVersion as string)) return at([...path, 'apiVersion'], 'must have a version')
    if (owner.apiVersion === NO_OWNER.apiVersion && owner.kind === NO_OWNER.kind) return at(path, 'cannot be an Event')
  }
  return owners.filter(({ controller }) => controller === true).length > 1
    ? at(['metadata', 'ownerReferences'], 'only one reference can have controller set to true')
    : undefined
}

/** In Go a text cannot be null: it is an empty one. */
function withoutNulls(texts: Json): Json {
  if (!isObject(texts) || !Object.values(texts).includes(null)) return texts
  return Object.freeze(Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, text ?? ''])))
}

function distinctOwners(owners: readonly Json[]): readonly Json[] {
  if (owners.length === 1) return Object.freeze([withoutNullFields(owners[0]!)])
  const seen = new Set<string>()
  return Object.freeze(
    owners.map(withoutNullFields).filter((owner) => {
      if (!isObject(owner)) return true
      const fields = OWNER_FIELDS.map((field) => owner[field] ?? null)
      const count = seen.size
      return seen.add(JSON.stringify(fields)).size > count
    }),
  )
}

function withoutNullFields(owner: Json): Json {
  if (owner === null) return Object.freeze({})
  if (!isObject(owner) || !Object.values(owner).includes(null)) return owner
  return Object.freeze(Object.fromEntries(Object.entries(owner).filter(([, value]) => value !== null)))
}

function isEmpty(key: string, value: Json | undefined): boolean {
  if (value === '') return TEXTS.has(key)
  if (isArray(value)) return value.length === 0 && LISTS.has(key)
  return isObject(value) && Object.keys(value).length === 0 && TEXT_MAPS.has(key)
}

function at(keys: readonly (string | number)[], problem: string): Problem {
  return { path: formatPath(keys), problem }
}
