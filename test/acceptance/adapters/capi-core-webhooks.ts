import {
  admitIPAddress,
  admitIPAddressClaim,
  type ClaimLookup,
  IPAddress,
  IPAddressClaim,
} from 'ipam-kit/crd/cluster-api'
import { type Admission, type FieldError, groupOf } from 'ipam-kit/crd/meta'
import * as z from 'zod'
import { admissionAnswers } from '../admission.js'
import { type Answer, answerKeys, type GivenCase, unsupported } from '../answer.js'
import { inAskedOrder } from '../asked-order.js'
import { readInput } from '../read-input.js'

const fields = z.record(z.string(), z.unknown())
const apiVersion = z.enum(['v1alpha1', 'v1beta1', 'v1beta2']).default('v1beta2')
const kind = z.enum(['IPAddress', 'IPAddressClaim'])

/**
 * What the cluster has of the claim that an address is for; asked only when the address is created.
 */
const existingClaimSpec = fields.nullish()

const inputSchema = z.discriminatedUnion('op', [
  z.strictObject({ op: z.literal('create'), kind, apiVersion, spec: fields, existingClaimSpec }),
  z.strictObject({ op: z.literal('update'), kind, apiVersion, spec: fields, oldSpec: fields, existingClaimSpec }),
  z.strictObject({ op: z.literal('delete'), kind, apiVersion, spec: fields, existingClaimSpec }),
  z.strictObject({ op: z.literal('schema'), kind, apiVersion, object: fields }),
])

type Input = z.output<typeof inputSchema>

/**
 * What the webhooks of Cluster API admit of claims and addresses, and what the schemas of their
 * CRDs take.
 */
export function capiCoreWebhooks({ input, expect }: GivenCase): Answer {
  const known = readInput(inputSchema, input)
  if (!known.success) return unsupported(`input: ${z.prettifyError(known.error)}`)
  const { data } = known
  if (data.op !== 'schema') return answerKeys(expect, admissionAnswers(admissionOf(data)))
  const model = data.kind === 'IPAddress' ? IPAddress : IPAddressClaim
  const errors = model.validate(objectOf(data, data.object))
  return answerKeys(expect, {
    valid: () => errors.length === 0,
    paths: (asked) => inAskedOrder(asked, errors.map(schemaPath)),
  })
}

function admissionOf(input: Exclude<Input, { op: 'schema' }>): Admission {
  const admit = input.kind === 'IPAddress' ? admitIPAddress : admitIPAddressClaim
  const object = objectOf(input, { spec: input.spec })
  switch (input.op) {
    case 'create':
      return admit({ operation: 'CREATE', object, claim: lookupOf(input.existingClaimSpec) })
    case 'update':
      return admit({ operation: 'UPDATE', object, oldObject: objectOf(input, { spec: input.oldSpec }) })
    case 'delete':
      return admit({ operation: 'DELETE', oldObject: object })
  }
}

function objectOf({ kind, apiVersion }: Input, fields: object) {
  const group = groupOf(IPAddress.info.apiVersion)
  return { apiVersion: `${group}/${apiVersion}`, kind, metadata: { namespace: 'default', name: 'x' }, ...fields }
}

function lookupOf(spec: object | null | undefined): ClaimLookup {
  if (spec === undefined || spec === null) return { kind: 'absent' }
  const { apiVersion, kind } = IPAddressClaim.info
  return { kind: 'found', claim: { apiVersion, kind, metadata: { namespace: 'default', name: 'claim' }, spec } }
}

/**
 * A path as validators of JSON Schema have it: with dots only, and what is missing is missing in
 * the object around it.
 */
function schemaPath({ type, path }: FieldError): string {
  const parts = path.replace(/\[(\d+)\]/g, '.$1').split('.')
  return (type === 'Required' ? parts.slice(0, -1) : parts).join('.')
}
