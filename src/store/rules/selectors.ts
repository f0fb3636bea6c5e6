import { labelValueProblem, qualifiedNameProblem } from '../../crd/meta/names.js'
import { type KubeObject, labelOf, meetsRequirement } from '../../crd/meta/object.js'
import type { LabelRequirement, ListQuery, StoreFailure, WatchEvent } from '../store.js'
import type { StoredObject } from './draft.js'
import { formatPath, type Problem } from './json.js'
import type { KindRules } from './kind-rules.js'
import { scopeProblem, withVersion } from './writes.js'

/** Whether an object is one of those that were asked for. */
export type Matcher = (object: KubeObject) => boolean

/** The fields that every kind can be asked for. */
const METADATA_FIELDS: readonly string[] = ['metadata.name', 'metadata.namespace']

/**
 * Why a query cannot be answered, else `undefined`. A namespace is not needed: all of them are
 * asked for without one.
 */
export function queryProblem(rules: KindRules, query: ListQuery): Problem | undefined {
  const { namespace, labels = {}, labelExpressions = [], fields = {} } = query
  if (namespace !== undefined && namespace !== '') {
    const problem = scopeProblem(rules, namespace)
    if (problem !== undefined) return problem
  }
  for (const [key, value] of Object.entries(labels)) {
    const problem = qualifiedNameProblem(key) ?? labelValueProblem(value)
    if (problem !== undefined) return { path: formatPath(['labels', key]), problem }
  }
  for (const [index, { key, values = [] }] of labelExpressions.entries()) {
    const problem = qualifiedNameProblem(key) ?? values.map(labelValueProblem).find((text) => text !== undefined)
    if (problem !== undefined) return { path: formatPath(['labelExpressions', index]), problem }
  }
  const other = Object.keys(fields).find(
    (path) => !METADATA_FIELDS.includes(path) && !rules.selectableFields.includes(path),
  )
  return other === undefined ? undefined : { path: formatPath(['fields', other]), problem: 'is not a selectable field' }
}

/**
 * A copy of what a query says: whatever continues for long must not change with the query of the
 * caller.
 */
export function copyOf({ apiVersion, kind, namespace, labels, labelExpressions, fields }: ListQuery): ListQuery {
  const copy = ({ key, operator, values }: LabelRequirement) => ({ key, operator, values: values && [...values] })
  return {
    apiVersion,
    kind,
    namespace,
    labels: labels && { ...labels },
    labelExpressions: labelExpressions?.map(copy),
    fields: fields && { ...fields },
  }
}

/** O(what the query names) an object. */
export function matcherOf(query: ListQuery): Matcher {
  const { namespace } = query
  const labels = Object.entries(query.labels ?? {})
  const requirements = query.labelExpressions ?? []
  const fields = Object.entries(query.fields ?? {}).map(([path, value]) => ({ keys: path.split('.'), value }))
  return (object) => {
    const { metadata } = object
    if (namespace !== undefined && namespace !== '' && metadata.namespace !== namespace) return false
    if (!labels.every(([key, value]) => labelOf(metadata.labels, key) === value)) return false
    if (!requirements.every((requirement) => meetsRequirement(requirement, labelOf(metadata.labels, requirement.key))))
      return false
    return fields.every(({ keys, value }) => fieldOf(object, keys) === value)
  }
}

/** Whether nothing but the kind and the namespace is asked for. */
export function isWhole({ labels = {}, labelExpressions = [], fields = {} }: ListQuery): boolean {
  return Object.keys(labels).length + labelExpressions.length + Object.keys(fields).length === 0
}

/** One write of an object, as it was before and as it is after. */
export interface ObjectChange {
  readonly version: string
  readonly before: StoredObject | undefined
  readonly after: StoredObject | undefined
}

/**
 * How a change looks to a watch with a selector: an object that stops matching is deleted, in its
 * last state that matched.
 */
export function eventOf({ version, before, after }: ObjectChange, matches: Matcher): WatchEvent | undefined {
  const was = before !== undefined && matches(before)
  const is = after !== undefined && matches(after)
  if (is) return { type: was ? 'MODIFIED' : 'ADDED', object: after }
  return was ? { type: 'DELETED', object: withVersion(before, version) } : undefined
}

/** A step of a watch. */
export type Step = IteratorResult<WatchEvent, undefined>

/** The step of a watch that has ended. */
export const END: Step = /* @__PURE__ */ Object.freeze({ done: true, value: undefined })

/** A watch that cannot begin. */
export async function* failedWatch(failure: StoreFailure): AsyncGenerator<WatchEvent, undefined> {
  yield { type: 'ERROR', failure }
}

/** A field as the text that it is selected by. */
function fieldOf(object: KubeObject, keys: readonly string[]): string {
  let value: unknown = object
  for (const key of keys) {
    const isParent = typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    if (!isParent) return ''
    value = (value as { readonly [key: string]: unknown })[key]
  }
  return typeof value === 'string' ? value : typeof value === 'number' || typeof value === 'boolean' ? `${value}` : ''
}
