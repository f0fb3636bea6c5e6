import type { KindInfo } from '../../../src/crd/meta/object.js'
import { groupOf } from '../../../src/crd/meta/object.js'

/**
 * A definition for a kind that keeps whatever is written: in two versions, of which the first is
 * stored.
 */
export function definitionOf({
  apiVersion,
  kind,
  plural,
  namespaced,
  statusSubresource,
  selectableFields = [],
}: KindInfo) {
  const group = groupOf(apiVersion)
  const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  const version = (name: string, storage: boolean) => ({
    name,
    served: true,
    storage,
    schema: { openAPIV3Schema: { type: 'object', properties: { spec: specOf(selectableFields), status: open } } },
    ...(statusSubresource ? { subresources: { status: {} } } : {}),
    ...(selectableFields.length > 0
      ? { selectableFields: selectableFields.map((path) => ({ jsonPath: `.${path}` })) }
      : {}),
  })
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: namespaced ? 'Namespaced' : 'Cluster',
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [version('v1', true), version('v1beta1', false)],
    },
  }
}

/** What can be selected has to be in the schema, as a text. */
function specOf(selectableFields: readonly string[]): object {
  const fields = selectableFields.map((path) => path.replace(/^spec\./, ''))
  const properties = Object.fromEntries(fields.map((field) => [field, { type: 'string' }]))
  return { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties }
}
