import type { KubeObject } from 'ipam-kit/crd/meta'
import {
  type ClaimStep,
  type VMClaims,
  type VMObjects,
  vmClaimDecision,
  vmClaims,
  vmPhase,
} from 'ipam-kit/provider/persistent-ip'
import * as z from 'zod'
import { type Answer, answerKeys, type GivenCase, unsupported } from '../answer.js'
import { readInput } from '../read-input.js'

const names = { namespace: z.string().default('ns1'), name: z.string().default('vm1') }
const multus = z.strictObject({ networkName: z.string(), default: z.boolean().default(false) })
const network = z.strictObject({ name: z.string(), pod: z.literal(true).optional(), multus: multus.optional() })
const machine = z.strictObject({
  apiVersion: z.literal('kubevirt.io/v1').default('kubevirt.io/v1'),
  kind: z.string().default(''),
  ...names,
  uid: z.string().default(''),
  networks: z.array(network).default([]),
  deletionTimestamp: z.literal('set').optional(),
})
const instance = machine.extend({ activePods: z.record(z.string(), z.string()).default({}) })
const nad = z.strictObject({
  ...names,
  config: z.record(z.string(), z.unknown()).optional(),
  configRaw: z.string().optional(),
})
const owner = z.strictObject({
  apiVersion: z.string(),
  kind: z.string(),
  name: z.string(),
  uid: z.string(),
  controller: z.boolean().optional(),
  blockOwnerDeletion: z.boolean().optional(),
})
const claim = z.strictObject({
  ...names,
  uid: z.string().optional(),
  finalizers: z.array(z.string()).default([]),
  labels: z.record(z.string(), z.string()).default({}),
  ownerReferences: z.array(owner).default([]),
  deletionTimestamp: z.literal('set').optional(),
  spec: z.strictObject({ network: z.string(), interface: z.string() }),
})
const inputSchema = z.strictObject({
  key: z.string().default('ns1/vm1'),
  vm: machine.nullable(),
  vmi: instance.nullable(),
  nads: z.array(nad).default([]),
  claims: z.array(claim).default([]),
})
type Input = z.output<typeof inputSchema>

const TIME = '2026-01-01T00:00:00Z'

/** One look of the controllers of ipam-extensions at a virtual machine and its claims. */
export function persistentClaimControllers({ input, expect }: GivenCase): Answer {
  const known = readInput(inputSchema, input)
  if (!known.success) return unsupported(`input: ${z.prettifyError(known.error)}`)
  const { key, claims } = known.data
  const [namespace = '', name = ''] = key.split('/')
  const objects = objectsOf(known.data)
  const wanted = vmPhase(objects) === 'running' ? wantedOf(known.data, objects) : undefined
  const stored = claims.map(claimOf)
  const { steps } = vmClaimDecision({ namespace, name, ...objects, wanted, claims: stored })
  const error = errorOf(known.data, wanted, steps)
  return answerKeys(expect, {
    clean: () => vmPhase(objects) === 'ended',
    error: (asked) => (asked === true ? error.text !== null : error.text),
    errorKind: () => error.kind,
    claimsAfter: (asked) => (Array.isArray(asked) ? inOrder(after(stored, steps, name), asked) : asked),
  })
}

function objectsOf({ vm, vmi }: Input): VMObjects {
  const metadata = ({ namespace, name, uid, deletionTimestamp }: NonNullable<Input['vm']>) => ({
    namespace,
    name,
    uid,
    ...(deletionTimestamp !== undefined && { deletionTimestamp: TIME }),
  })
  const spec = ({ networks }: NonNullable<Input['vm']>) => ({
    networks: networks.map(({ pod, ...rest }) => ({ ...rest, ...(pod === true && { pod: {} }) })),
  })
  const { apiVersion } = vm ?? vmi ?? { apiVersion: '' }
  return {
    machine:
      vm === null
        ? undefined
        : { apiVersion, kind: 'VirtualMachine', metadata: metadata(vm), spec: { template: { spec: spec(vm) } } },
    instance:
      vmi === null
        ? undefined
        : {
            apiVersion,
            kind: 'VirtualMachineInstance',
            metadata: metadata(vmi),
            spec: spec(vmi),
            status: { activePods: vmi.activePods },
          },
  }
}

function wantedOf({ nads }: Input, { instance }: VMObjects): VMClaims | undefined {
  const definitions = nads.map(({ namespace, name, config, configRaw }) => ({
    apiVersion: 'k8s.cni.cncf.io/v1',
    kind: 'NetworkAttachmentDefinition',
    metadata: { namespace, name },
    spec: { config: configRaw ?? JSON.stringify(config ?? {}) },
  }))
  return (
    instance &&
    vmClaims(instance, {
      definition: (space, its) =>
        definitions.find(({ metadata }) => metadata.namespace === space && metadata.name === its),
      definitionsIn: (space) => definitions.filter(({ metadata }) => metadata.namespace === space),
    })
  )
}

function claimOf({ spec, deletionTimestamp, ...metadata }: Input['claims'][number]): KubeObject {
  const { namespace, name } = metadata
  return {
    apiVersion: 'k8s.cni.cncf.io/v1alpha1',
    kind: 'IPAMClaim',
    metadata: { ...metadata, namespace, name, ...(deletionTimestamp !== undefined && { deletionTimestamp: TIME }) },
    spec,
  }
}

/** Upstream ends at the first network or claim that it cannot use, and tries again later. */
function errorOf({ vmi }: Input, wanted: VMClaims | undefined, steps: readonly ClaimStep[]) {
  const [missing] = wanted?.missing ?? []
  if (missing !== undefined) {
    const name = missing.split('/')[1] ?? ''
    return { text: `networkattachmentdefinitions.k8s.cni.cncf.io ${JSON.stringify(name)} not found`, kind: 'NotFound' }
  }
  const [unreadable] = wanted?.unreadable ?? []
  if (unreadable !== undefined) {
    const { network: definition, problem } = unreadable.context
    const first = vmi?.networks.find(({ pod, multus: nad }) => pod === true || nad?.networkName === definition)
    // a scan for the primary network says more
    const scan = first?.pod === true ? `: failed to extract CNI configuration from NAD: ${problem}` : ''
    return { text: `failed to extract the relevant NAD information${scan}`, kind: null }
  }
  const refusal = steps.find((step) => step.kind === 'refuse')
  return { text: refusal?.message ?? null, kind: null }
}

/** The claims with the label of the machine after the steps. */
function after(stored: readonly KubeObject[], steps: readonly ClaimStep[], vm: string): readonly object[] {
  const claims = new Map(stored.map((each) => [each.metadata.name, each]))
  for (const step of steps) {
    if (step.kind === 'make') claims.set(step.claim.metadata.name, step.claim)
    if (step.kind === 'mend') claims.set(step.claim.metadata.name, changed(step.claim, step.metadata))
    if (step.kind === 'remove') claims.delete(step.claim.metadata.name)
    if (step.kind === 'release') {
      const { name, finalizers = [] } = step.claim.metadata
      claims.set(name, changed(step.claim, { finalizers: finalizers.filter((each) => each !== step.finalizer) }))
    }
  }
  return [...claims.values()]
    .filter(({ metadata }) => metadata.labels?.['kubevirt.io/vm'] === vm)
    .map(({ metadata: { namespace, name, finalizers, labels, ownerReferences }, spec }) => {
      return { namespace, name, finalizers, labels, ownerReferences, spec }
    })
}

function changed(claim: KubeObject, metadata: object): KubeObject {
  return { ...claim, metadata: { ...claim.metadata, ...metadata } }
}

/** In the order of the case, which has none: a claim that it does not list comes last. */
function inOrder(claims: readonly object[], asked: readonly unknown[]): readonly object[] {
  const order = asked.map((each) => (each as { readonly name?: unknown }).name)
  const place = (each: object) => order.indexOf((each as { readonly name?: unknown }).name)
  return [...claims].sort((left, right) => (place(left) < 0 ? order.length : place(left)) - place(right))
}
