import type { Json } from '../../crd/meta/object.js'
import { formatPath, isArray, isObject, type JsonObject, type Problem, utf8Length } from './json.js'
import { labelValueProblem, qualifiedNameProblem } from './names.js'

/** The bytes of all keys and values of the annotations together. */
const MAX_ANNOTATION_BYTES = 262_144

/** Fields where empty and absent are the same. */
const OMITTED_WHEN_EMPTY: ReadonlySet<string> = new Set([
  'annotations',
  'finalizers',
  'generateName',
  'labels',
  'managedFields',
  'namespace',
  'ownerReferences',
  'resourceVersion',
  'uid',
])

const OWNER_TEXTS = ['apiVersion', 'kind', 'name', 'uid']
const OWNER_FLAGS = ['controller', 'blockOwnerDeletion']
const OWNER_FIELDS = [...OWNER_TEXTS, ...OWNER_FLAGS]

/**
 * Metadata as the API server keeps it: without fields that are null or, where that means the same, empty, and with each owner
 * once. What is not of the right type is left for {@link metadataProblem} to refuse.
 */
export function canonicalMetadata(metadata: JsonObject): JsonObject {
  const kept = Object.entries(metadata).filter(([key, value]) => {
    if (value === null) return false
    return !(OMITTED_WHEN_EMPTY.has(key) && isEmpty(value))
  })
  // no assignment by key, so that a field named __proto__ is a field like any other
  const canonical: { [key: string]: Json | undefined } = Object.fromEntries(kept)
  if (isArray(canonical.ownerReferences)) canonical.ownerReferences = distinctOwners(canonical.ownerReferences)
  return canonical
}

/** The first field of (canonical) metadata that breaks a rule. Names and the fields of the server are not looked at. */
export function metadataProblem(metadata: JsonObject): Problem | undefined {
  return (
    labelsProblem(metadata.labels) ??
    annotationsProblem(metadata.annotations) ??
    finalizersProblem(metadata.finalizers) ??
    ownersProblem(metadata.ownerReferences)
  )
}

/** The finalizers of checked metadata. */
export function finalizersOf(metadata: JsonObject): readonly string[] {
  return (metadata.finalizers as readonly string[] | undefined) ?? []
}

function labelsProblem(labels: Json | undefined): Problem | undefined {
  if (labels === undefined) return undefined
  if (!isObject(labels)) return at(['metadata', 'labels'], 'must be an object of strings')
  for (const [key, value] of Object.entries(labels)) {
    const path = ['metadata', 'labels', key]
    if (typeof value !== 'string') return at(path, 'must be a string')
    const problem = qualifiedNameProblem(key)
    if (problem !== undefined) return at(path, problem)
    const valueProblem = labelValueProblem(value)
    if (valueProblem !== undefined) return at(path, valueProblem)
  }
  return undefined
}

function annotationsProblem(annotations: Json | undefined): Problem | undefined {
  if (annotations === undefined) return undefined
  if (!isObject(annotations)) return at(['metadata', 'annotations'], 'must be an object of strings')
  let bytes = 0
  for (const [key, value] of Object.entries(annotations)) {
    const path = ['metadata', 'annotations', key]
    if (typeof value !== 'string') return at(path, 'must be a string')
    const problem = qualifiedNameProblem(key.toLowerCase())
    if (problem !== undefined) return at(path, problem)
    bytes += utf8Length(key) + utf8Length(value)
  }
  return bytes > MAX_ANNOTATION_BYTES
    ? at(['metadata', 'annotations'], `must be at most ${MAX_ANNOTATION_BYTES} bytes together, they have ${bytes}`)
    : undefined
}

function finalizersProblem(finalizers: Json | undefined): Problem | undefined {
  if (finalizers === undefined) return undefined
  if (!isArray(finalizers)) return at(['metadata', 'finalizers'], 'must be an array of strings')
  const seen = new Set<Json>()
  for (const [index, finalizer] of finalizers.entries()) {
    const path = ['metadata', 'finalizers', index]
    if (typeof finalizer !== 'string') return at(path, 'must be a string')
    const problem = qualifiedNameProblem(finalizer)
    if (problem !== undefined) return at(path, problem)
    if (seen.has(finalizer)) return at(path, 'is there twice')
    seen.add(finalizer)
  }
  return seen.has('orphan') && seen.has('foregroundDeletion')
    ? at(['metadata', 'finalizers'], 'orphan and foregroundDeletion can not both be set')
    : undefined
}

function ownersProblem(owners: Json | undefined): Problem | undefined {
  if (owners === undefined) return undefined
  if (!isArray(owners)) return at(['metadata', 'ownerReferences'], 'must be an array of objects')
  let controllers = 0
  for (const [index, owner] of owners.entries()) {
    const path = ['metadata', 'ownerReferences', index]
    if (!isObject(owner)) return at(path, 'must be an object')
    for (const field of OWNER_TEXTS) {
      if (typeof owner[field] !== 'string' || owner[field] === '')
        return at([...path, field], 'must be a text that is not empty')
    }
    for (const field of OWNER_FLAGS) {
      if ((owner[field] ?? false) !== false && owner[field] !== true)
        return at([...path, field], 'must be true or false')
    }
    if (owner.controller === true && ++controllers > 1) {
      return at(['metadata', 'ownerReferences'], 'only one reference can have controller set to true')
    }
  }
  return undefined
}

function distinctOwners(owners: readonly Json[]): readonly Json[] {
  const seen = new Set<string>()
  return Object.freeze(
    owners.filter((owner) => {
      if (!isObject(owner)) return true
      const fields = OWNER_FIELDS.map((field) => owner[field] ?? null)
      const count = seen.size
      return seen.add(JSON.stringify(fields)).size > count
    }),
  )
}

function isEmpty(value: Json | undefined): boolean {
  return value === '' || (typeof value === 'object' && value !== null && Object.keys(value).length === 0)
}

function at(keys: readonly (string | number)[], problem: string): Problem {
  return { path: formatPath(keys), problem }
}
