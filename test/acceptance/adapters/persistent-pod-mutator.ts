import { answerAdmissionReview } from 'ipam-kit/crd/webhook'
import { admitVMPod } from 'ipam-kit/provider/persistent-ip'
import * as z from 'zod'
import { type Answer, answerKeys, type GivenCase, unsupported } from '../answer.js'
import { readInput } from '../read-input.js'

const names = { namespace: z.string().default(''), name: z.string().default('') }
const annotations = z.record(z.string(), z.string()).optional()
const multus = z.strictObject({ networkName: z.string(), default: z.boolean().default(false) })
const inputSchema = z.strictObject({
  operation: z.enum(['CREATE', 'UPDATE']),
  pod: z.strictObject({ ...names, annotations }),
  vmi: z
    .strictObject({
      ...names,
      networks: z
        .array(z.strictObject({ name: z.string(), pod: z.boolean().optional(), multus: multus.optional() }))
        .default([]),
      interfaces: z.array(z.strictObject({ name: z.string(), macAddress: z.string().optional() })).default([]),
      annotations,
    })
    .optional(),
  nads: z
    .array(z.strictObject({ ...names, config: z.union([z.string(), z.record(z.string(), z.unknown())]) }))
    .default([]),
  defaultNetworkNADNamespace: z.string().default(''),
})
type Input = z.output<typeof inputSchema>

/** The answer of the webhook for Pods that run virtual machines. */
export function persistentPodMutator({ input, expect }: GivenCase): Answer {
  const known = readInput(inputSchema, input)
  if (!known.success) return unsupported(`input: ${z.prettifyError(known.error)}`)
  const { operation, pod, nads, vmi, defaultNetworkNADNamespace } = known.data
  const { namespace, name } = pod
  const definitions = nads.map(definitionOf)
  const found = (space: string, its: string) =>
    definitions.find(({ metadata }) => metadata.namespace === space && metadata.name === its)
  const { admission, note } = admitVMPod(
    { operation, pod: { metadata: pod } },
    {
      instance: (space, its) => (vmi?.namespace === space && vmi.name === its ? instanceOf(vmi) : undefined),
      definition: found,
      definitionsIn: (space) => definitions.filter(({ metadata }) => metadata.namespace === space),
    },
    { failurePolicy: 'Fail', defaultNetworkNamespace: defaultNetworkNADNamespace },
  )
  const object = { apiVersion: 'v1', kind: 'Pod', metadata: pod }
  const request = { uid: 'u', kind: { group: '', version: 'v1', kind: 'Pod' }, name, namespace, object }
  const asked = operation === 'CREATE' ? { ...request, operation } : { ...request, operation, oldObject: object }
  const { allowed, patch, status } = answerAdmissionReview(asked, admission).response
  return answerKeys(expect, {
    allowed: () => allowed,
    code: () => status?.code ?? 200,
    message: () => status?.message ?? note ?? '',
    reason: () => status?.reason ?? '',
    annotationsSet: (wanted) => (wanted === 'any' && patch !== undefined ? wanted : annotationsOf(patch)),
  })
}

/** The annotations that a patch sets; a patch of another field is given as it is. */
function annotationsOf(patch: string | undefined): unknown {
  if (patch === undefined) return {}
  const operations = JSON.parse(Buffer.from(patch, 'base64').toString()) as { path: string; value: unknown }[]
  const PATH = '/metadata/annotations/'
  const set = operations.filter(({ path }) => path !== '/metadata/annotations')
  if (set.some(({ path }) => !path.startsWith(PATH))) return operations
  return Object.fromEntries(
    set.map(({ path, value }) => [path.slice(PATH.length).replaceAll('~1', '/').replaceAll('~0', '~'), value]),
  )
}

function definitionOf({ namespace, name, config }: Input['nads'][number]) {
  return {
    apiVersion: 'k8s.cni.cncf.io/v1',
    kind: 'NetworkAttachmentDefinition',
    metadata: { namespace, name },
    spec: { config: typeof config === 'string' ? config : JSON.stringify(config) },
  }
}

function instanceOf({ namespace, name, annotations, networks, interfaces }: NonNullable<Input['vmi']>) {
  return {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachineInstance',
    metadata: { namespace, name, annotations },
    spec: {
      networks: networks.map(({ pod, ...rest }) => ({ ...rest, ...(pod === true && { pod: {} }) })),
      domain: { devices: { interfaces } },
    },
  }
}
