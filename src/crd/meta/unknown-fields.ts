import * as z from 'zod'
import { type FieldError, forbiddenField } from './field-error.js'
import { asObject, pathText } from './json.js'
import { KEEPS_UNKNOWN } from './strict.js'

/** A field of an object that its version does not have: an API server drops it. */
export interface UnknownField {
  /** Such as `spec.excludeAddresses`. */
  readonly path: string
  /** The field that may have been meant: one of the same object, whose name is nearly the same. */
  readonly suggestion?: string | undefined
}

/** The maximum number of fields in the result. An object with more is of another kind. */
const MOST_TOLD = 100

/** The names of the fields of a value. The fields of a value without a shape are not checked. */
interface Shape {
  readonly fields?: { readonly [name: string]: () => Shape | undefined }
  /** The shape of the items of a list, or of the values of a map. */
  readonly each?: () => Shape | undefined
  /** Whether fields of other names are kept. */
  readonly isOpen?: boolean
}

/** Fields at any depth that a schema does not have, at most 100. O(size of the object). */
export function unknownFields(schema: z.ZodType, json: unknown): readonly UnknownField[] {
  const found: UnknownField[] = []
  const root = shapeOf(schema)
  collect(root && { fields: { ...root.fields, metadata: () => METADATA } }, json, [], found)
  return found
}

/** In the words of an API server. */
export function formatUnknownField({ path, suggestion }: UnknownField): string {
  return `unknown field ${JSON.stringify(path)}${hint(suggestion)}`
}

/** The refusal of an unknown field. */
export function unknownFieldError({ path, suggestion }: UnknownField): FieldError {
  return forbiddenField(path, `unknown field${hint(suggestion)}`)
}

function hint(suggestion: string | undefined): string {
  return suggestion === undefined ? '' : `, did you mean ${JSON.stringify(suggestion)}?`
}

function collect(shape: Shape | undefined, value: unknown, path: readonly PropertyKey[], found: UnknownField[]): void {
  if (shape === undefined || found.length >= MOST_TOLD) return
  if (Array.isArray(value)) {
    const each = shape.each?.()
    for (const [index, item] of value.entries()) collect(each, item, [...path, index], found)
    return
  }
  const object = asObject(value)
  if (object === undefined) return
  for (const [name, inner] of Object.entries(object)) {
    const fields = shape.fields
    if (inner === undefined) continue
    if (fields === undefined) collect(shape.each?.(), inner, [...path, name], found)
    else if (Object.hasOwn(fields, name)) collect(fields[name]?.(), inner, [...path, name], found)
    else if (!shape.isOpen && found.length < MOST_TOLD) {
      const suggestion = nearest(name, Object.keys(fields))
      found.push({ path: pathText([...path, name]), ...(suggestion === undefined ? {} : { suggestion }) })
    }
  }
}

/** The shape of what a strict schema takes: see strict.ts for what those are made of. */
function shapeOf(schema: z.core.$ZodType): Shape | undefined {
  const { def } = (schema as z.core.$ZodTypes)._zod
  switch (def.type) {
    case 'object':
      return {
        fields: Object.fromEntries(Object.entries(def.shape).map(([name, inner]) => [name, () => shapeOf(inner)])),
        isOpen: z.globalRegistry.get(schema)?.[KEEPS_UNKNOWN] === true,
      }
    case 'array':
      return { each: () => shapeOf(def.element) }
    case 'record':
      return { each: () => shapeOf(def.valueType) }
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'readonly':
      return shapeOf(def.innerType)
    default:
      return undefined
  }
}

const leaf = (): undefined => undefined

function fieldsOf(...names: readonly string[]): { readonly [name: string]: () => Shape | undefined } {
  return Object.fromEntries(names.map((name) => [name, leaf]))
}

/** What an API server takes as the metadata of any object. */
const METADATA: Shape = /* @__PURE__ */ (() => ({
  fields: {
    ...fieldsOf('name', 'generateName', 'namespace', 'selfLink', 'uid', 'resourceVersion', 'generation'),
    ...fieldsOf('creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds'),
    ...fieldsOf('labels', 'annotations', 'finalizers'),
    ownerReferences: () => ({
      each: () => ({
        fields: fieldsOf('apiVersion', 'kind', 'name', 'uid', 'controller', 'blockOwnerDeletion'),
      }),
    }),
    managedFields: () => ({
      each: () => ({
        fields: fieldsOf('manager', 'operation', 'apiVersion', 'time', 'fieldsType', 'fieldsV1', 'subresource'),
      }),
    }),
  },
}))()

/** A beginning is not taken for a misspelling if it is shorter than this. */
const SHORTEST_BEGINNING = 4

/**
 * The name that may have been meant: the same but for case, the nearest by letters, or one that
 * begins alike.
 */
function nearest(name: string, known: readonly string[]): string | undefined {
  const wanted = name.toLowerCase()
  // a name that is much too long is no misspelling, and takes long to compare
  if (wanted.length > 64) return undefined
  let best: { readonly field: string; readonly distance: number } | undefined
  for (const field of known) {
    const have = field.toLowerCase()
    const distance = editDistance(wanted, have)
    const isNear = distance <= Math.max(1, Math.floor(Math.min(wanted.length, have.length) / 3))
    if (isNear && (best === undefined || distance < best.distance)) best = { field, distance }
  }
  if (best !== undefined) return best.field
  const alike = known.filter((field) => beginsAlike(wanted, field.toLowerCase()))
  return alike.length === 1 ? alike[0] : undefined
}

function beginsAlike(left: string, right: string): boolean {
  const [short, long] = left.length < right.length ? [left, right] : [right, left]
  return short.length >= SHORTEST_BEGINNING && long.startsWith(short)
}

/**
 * How many letters have to be put in, taken out or replaced to make one text of the other
 * (Levenshtein). O(left * right).
 */
function editDistance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index)
  for (let i = 1; i <= left.length; i++) {
    const next = [i]
    for (let j = 1; j <= right.length; j++) {
      const replaced = row[j - 1]! + (left[i - 1] === right[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1))
    }
    row = next
  }
  return row[right.length]!
}
