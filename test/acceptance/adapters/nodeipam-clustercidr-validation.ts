import { type CrdManifest, crdManifest } from 'ipam-kit/crd/manifest'
import type { FieldError } from 'ipam-kit/crd/meta'
import { admitClusterCIDR, ClusterCIDR } from 'ipam-kit/crd/node-ipam'
import * as z from 'zod'
import { type Answer, answerKeys, type GivenCase, those, unsupported } from '../answer.js'
import { readInput } from '../read-input.js'

type StructuralSchema = CrdManifest['spec']['versions'][number]['schema']['openAPIV3Schema']

const text = z.string().nullish()
const requirements = z
  .array(
    z.strictObject({
      key: z.string(),
      operator: z.string(),
      values: z
        .array(z.string())
        .nullish()
        .transform((values) => values ?? undefined),
    }),
  )
  .nullish()
  .transform((list) => list ?? undefined)
const nodeSelector = z.strictObject({
  nodeSelectorTerms: z.array(z.strictObject({ matchExpressions: requirements, matchFields: requirements })),
})
const clusterCIDR = z.strictObject({
  metadata: z.strictObject({ name: z.string() }),
  spec: z.strictObject({
    perNodeHostBits: z.int(),
    ipv4: text,
    ipv6: text,
    nodeSelector: nodeSelector.nullish().transform((selector) => selector ?? undefined),
  }),
})
const inputSchema = z.union([
  z.strictObject({ object: clusterCIDR }),
  z.strictObject({ old: clusterCIDR, new: clusterCIDR }),
])

/**
 * What the rules of node-ipam-controller say of a ClusterCIDR, and the definition of the kind in
 * its own words.
 */
export function nodeipamClustercidrValidation({ input, expect }: GivenCase): Answer {
  const known = readInput(inputSchema, input)
  if (!known.success) return unsupported(`input: ${z.prettifyError(known.error)}`)
  const { data } = known
  const admission =
    'object' in data
      ? admitClusterCIDR({ operation: 'CREATE', object: objectOf(data.object) })
      : admitClusterCIDR({ operation: 'UPDATE', object: objectOf(data.new), oldObject: objectOf(data.old) })
  const errors = admission.allowed ? [] : admission.errors
  const paths = errors.map(({ path }) => path)
  return answerKeys(expect, {
    valid: () => admission.allowed,
    // one of them is enough
    fieldsIncludeAnyOf: (asked) => {
      const told = those(asked, (path) => paths.includes(jsonPath(path)))
      return Array.isArray(told) && told.length > 0 ? asked : paths
    },
    messages: () => errors.map((error) => messageOf(error, 'object' in data)),
  })
}

/** Rules of upstream in Go call fields as Go does. */
function jsonPath(path: string): string {
  return path.replace(/^spec\.IPv([46])$/, 'spec.ipv$1')
}

function objectOf({ metadata, spec }: z.output<typeof clusterCIDR>): ClusterCIDR {
  const { apiVersion, kind } = ClusterCIDR.info
  const { ipv4, ipv6, ...rest } = spec
  return { apiVersion, kind, metadata, spec: { ...rest, ipv4: ipv4 ?? undefined, ipv6: ipv6 ?? undefined } }
}

const { openAPIV3Schema } = crdManifest(ClusterCIDR).spec.versions[0]!.schema
type Rule = { readonly rule: string; readonly message: string; readonly fieldPath?: string }

/** What the definition says of the same field, by the rule of changes or the first other one. */
function messageOf({ path, detail }: FieldError, isNew: boolean): string {
  const spec = openAPIV3Schema.properties?.spec as StructuralSchema
  const field = path.slice('spec.'.length)
  const rules = [...rulesOf(spec.properties?.[field]), ...rulesOf(spec).filter((rule) => of(rule) === field)]
  const found = rules.find(({ rule }) => rule.includes('oldSelf') !== isNew)
  return found?.message ?? detail
}

function rulesOf(schema: StructuralSchema | undefined): readonly Rule[] {
  return (schema?.['x-kubernetes-validations'] ?? []) as readonly Rule[]
}

function of({ fieldPath = '' }: Rule): string {
  return fieldPath.slice(1)
}
