import { ok, type Result } from '../../errors/index.js'
import { formatText } from '../rules/format.js'
import { invalid } from '../rules/input.js'
import { formatPath } from '../rules/json.js'
import { queryProblem } from '../rules/selectors.js'
import type { LabelRequirement, ListQuery, StoreErrorCode } from '../store.js'
import { collectionPath, namespaceProblem } from './paths.js'
import type { Resource, Resources } from './resources.js'

/** A query, as it is asked. */
export interface Selection {
  readonly resource: Resource
  readonly path: string
  readonly parameters: { readonly labelSelector: string | undefined; readonly fieldSelector: string | undefined }
  readonly shown: string
}

/** Checks a query as far as the server would misread it. */
export async function selectionOf(resources: Resources, query: ListQuery): Promise<Result<Selection, StoreErrorCode>> {
  const shown = formatText(query.kind)
  const found = await resources.find(query, shown)
  if (!found.ok) return found
  const resource = found.value
  const fields = Object.keys(query.fields ?? {})
  const bad = fields.find((path) => !isFieldPath(path))
  if (bad !== undefined) return invalid(shown, { path: formatPath(['fields', bad]), problem: 'is no path of fields' })
  // which fields the kind can be asked for, only the server knows if the caller has not said it
  const rules = resource.isListed ? resource.rules : { ...resource.rules, selectableFields: fields }
  const problem = queryProblem(rules, query)
  if (problem !== undefined) return invalid(shown, problem)
  const namespace = query.namespace || undefined
  const unnamed = namespaceProblem(namespace)
  if (unnamed !== undefined) return invalid(shown, { path: 'namespace', problem: unnamed })
  const parameters = { labelSelector: labelSelector(query), fieldSelector: fieldSelector(query) }
  return ok({ resource, path: collectionPath(resource, namespace), parameters, shown })
}

/** Labels have been checked: no character in them means anything else. */
function labelSelector({ labels = {}, labelExpressions = [] }: ListQuery): string | undefined {
  const equal = Object.entries(labels).map(([key, value]) => `${key}=${value}`)
  return joined([...equal, ...labelExpressions.map(requirement)])
}

function fieldSelector({ fields = {} }: ListQuery): string | undefined {
  return joined(Object.entries(fields).map(([path, value]) => `${path}=${value.replace(/[\\,=]/g, '\\$&')}`))
}

/**
 * Whether a path can be a part of a selector: in another one, a part of it might be read as a
 * condition of its own.
 */
function isFieldPath(path: string): boolean {
  return /^[\w./[\]-]+$/.test(path)
}

function requirement({ key, operator, values = [] }: LabelRequirement): string {
  switch (operator) {
    case 'In':
      return `${key} in (${values.join(',')})`
    case 'NotIn':
      return `${key} notin (${values.join(',')})`
    case 'Exists':
      return key
    case 'DoesNotExist':
      return `!${key}`
  }
}

function joined(terms: readonly string[]): string | undefined {
  return terms.length === 0 ? undefined : terms.join(',')
}
