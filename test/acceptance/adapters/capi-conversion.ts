import { isDeepStrictEqual } from 'node:util'
import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { GlobalInClusterIPPool, InClusterIPPool } from 'ipam-kit/crd/in-cluster'
import { type CrdModel, groupOf, type KubeObject } from 'ipam-kit/crd/meta'
import * as z from 'zod'
import { type Answer, answerKeys, type GivenCase, isRecord, refusedWith, unsupported } from '../answer.js'
import { readInput } from '../read-input.js'

const fields = z.record(z.string(), z.unknown())
const version = z.enum(['v1alpha1', 'v1alpha2', 'v1beta1', 'v1beta2'])

const inputSchema = z.strictObject({
  from: version,
  to: version,
  /** Whether the question is what comes back. */
  back: z.boolean().default(false),
  metadata: z.strictObject({ labels: fields.optional(), annotations: fields.optional() }).optional(),
  status: fields.optional(),
  spec: fields.optional(),
  /** A part of the spec of a claim. */
  poolRef: fields.optional(),
  /** A part of the spec of an address. */
  address: fields.optional(),
})

type Input = z.output<typeof inputSchema>

/** An object, or the part of one that a case shows, in another version of its kind. */
export function capiConversion({ input, expect }: GivenCase): Answer {
  const known = readInput(inputSchema, input)
  if (!known.success) return unsupported(`input: ${z.prettifyError(known.error)}`)
  const [answer, ...others] = modelsOf(known.data).map((model) => convertedAs(model, known.data, expect))
  const differing = others.find((other) => !isDeepStrictEqual(other, answer))
  return differing ?? (answer as Answer)
}

/** The kinds that have the versions of a case: v1alpha2 is that of pools. */
function modelsOf({ from, to, address }: Input): readonly CrdModel<KubeObject>[] {
  if (from === 'v1alpha2' || to === 'v1alpha2') return [InClusterIPPool, GlobalInClusterIPPool]
  return [address === undefined ? IPAddressClaim : IPAddress]
}

function convertedAs(model: CrdModel<KubeObject>, input: Input, expect: unknown): Answer {
  const { from, to, back, metadata, status, address, poolRef, spec } = input
  const { kind, apiVersion } = model.info
  const [first, last] = [from, to].map((name) => `${groupOf(apiVersion)}/${name}`) as [string, string]
  const parts = { ...spec, ...address, ...(poolRef && { poolRef }) }
  const object = {
    apiVersion: first,
    kind,
    metadata: { name: 'x', ...metadata },
    spec: parts,
    ...(status && { status }),
  }
  const there = model.safeConvert(object, last)
  const result = there.ok && back ? model.safeConvert(there.value, first) : there
  if (!result.ok) return refusedWith(expect, result.failure.message)
  return answerKeys(expect, answersOf(result.value))
}

/** What a case may ask of the result. What is not there is empty in the cases, as in Go. */
function answersOf({ spec, status, metadata }: KubeObject) {
  const whole = isRecord(spec) ? spec : {}
  return {
    spec: () => whole,
    address: () => whole,
    poolRef: () => whole.poolRef,
    status: () => status ?? {},
    metadata: { labels: () => metadata.labels ?? {}, annotations: () => metadata.annotations ?? {} },
    error: () => false,
  }
}
