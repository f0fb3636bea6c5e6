import { isDeepStrictEqual } from 'node:util'
import { IPAddress } from 'ipam-kit/crd/cluster-api'
import { admitInClusterPool, type InClusterPool, poolModels } from 'ipam-kit/crd/in-cluster'
import type { Admission, CrdModel } from 'ipam-kit/crd/meta'
import * as z from 'zod'
import { admissionAnswers } from '../admission.js'
import { type Answer, answerKeys, type GivenCase, unsupported } from '../answer.js'
import { readInput } from '../read-input.js'

const fields = z.record(z.string(), z.unknown())
/** An address that is in use: of a pool of prefixes with its length. */
const held = z.union([z.string(), z.strictObject({ address: z.string(), prefix: z.int().optional() })])

const inputSchema = z.strictObject({
  kinds: z.array(z.enum(poolModels.map(({ info }) => info.kind))).min(1),
  op: z.enum(['create', 'update', 'delete']),
  spec: fields,
  oldSpec: fields.optional(),
  inUse: z.array(held).default([]),
  annotations: z.record(z.string(), z.string()).optional(),
})

type Input = z.output<typeof inputSchema>

/**
 * What the webhooks of the in-cluster provider admit: the same for every kind that a case names.
 */
export function capiPoolWebhooks({ input, expect }: GivenCase): Answer {
  const known = readInput(inputSchema, input)
  if (!known.success) return unsupported(`input: ${z.prettifyError(known.error)}`)
  const [answer, ...others] = known.data.kinds.map((kind) => {
    const model = poolModels.find(({ info }) => info.kind === kind) as CrdModel<InClusterPool>
    return answerKeys(expect, admissionAnswers(admissionOf(model, known.data)))
  })
  const differing = others.find((other) => !isDeepStrictEqual(other, answer))
  return differing ?? (answer as Answer)
}

function admissionOf(model: CrdModel<InClusterPool>, input: Input): Admission {
  const object = poolOf(model, input.spec, input)
  const inUse = input.inUse.map((one, index) => addressOf(model, one, index))
  switch (input.op) {
    case 'create':
      return admitInClusterPool({ operation: 'CREATE', object })
    case 'update':
      return admitInClusterPool({
        operation: 'UPDATE',
        object,
        oldObject: poolOf(model, input.oldSpec ?? input.spec, input),
        inUse,
      })
    case 'delete':
      return admitInClusterPool({ operation: 'DELETE', oldObject: object, inUse })
  }
}

function poolOf(model: CrdModel<InClusterPool>, spec: object, { annotations }: Input): InClusterPool {
  const { apiVersion, kind, namespaced } = model.info
  const metadata = {
    name: 'pool',
    ...(namespaced ? { namespace: 'default' } : {}),
    ...(annotations && { annotations }),
  }
  const zero = kind.endsWith('PrefixPool') ? { prefixes: [] } : { addresses: [], prefix: 0 }
  const given = Object.fromEntries(Object.entries(spec).filter(([, value]) => value !== null))
  return model.parse({ apiVersion, kind, metadata, spec: { ...zero, ...given } })
}

function addressOf(model: CrdModel<InClusterPool>, one: z.output<typeof held>, index: number): IPAddress {
  const { address, prefix } = typeof one === 'string' ? { address: one, prefix: 24 } : one
  const { apiVersion, kind } = IPAddress.info
  const poolRef = { apiGroup: 'ipam.cluster.x-k8s.io', kind: model.info.kind, name: 'pool' }
  const name = `address-${index}`
  const spec = { claimRef: { name }, poolRef, address, ...(prefix === undefined ? {} : { prefix }) }
  return IPAddress.parse({ apiVersion, kind, metadata: { namespace: 'default', name }, spec })
}
