import { Address, Prefix } from 'ipam-kit/cidr'
import type { InterfaceAddress } from 'ipam-kit/crd/multinet'
import {
  type Network,
  type NetworkDefinition,
  type NetworkResult,
  type PodAttachment,
  podAttachments,
  readNetwork,
  readUserDefinedNetwork,
} from 'ipam-kit/provider/persistent-ip'
import * as z from 'zod'
import { type Answer, type Answers, answered, answerKeys, type GivenCase, isRecord, unsupported } from '../answer.js'
import { readInput } from '../read-input.js'

const json = z.record(z.string(), z.unknown())
const texts = z.array(z.string()).default([])
const network = z.strictObject({
  name: z.string(),
  topology: z.enum(['layer2', 'layer3', 'localnet']),
  role: z.string().default(''),
  allowPersistentIPs: z.boolean().default(false),
  nad: z.string(),
})
const mapping = z.strictObject({
  op: z.literal('podNetworkMapping'),
  podNamespace: z.string().default(''),
  podName: z.string().default('test-pod'),
  hostNetwork: z.boolean().default(false),
  network,
  activePrimaryNetwork: network.optional(),
  extraPrimaryNADs: texts,
  annotations: z.record(z.string(), z.string()).default({}),
  preconfiguredAddressesGate: z.boolean().default(false),
})
const rendering = z.strictObject({
  op: z.literal('renderNAD'),
  kind: z.enum(['UserDefinedNetwork', 'ClusterUserDefinedNetwork']),
  object: z.string(),
  namespace: z.string().default(''),
  enablePersistentIPs: z.boolean().default(false),
  spec: json,
})
const inputSchema = z.discriminatedUnion('op', [
  z.strictObject({ op: z.literal('parseNetConf'), nad: z.string(), config: z.union([z.string(), json]).default('') }),
  z.strictObject({ op: z.literal('parseNetworkSubnets'), topology: z.string(), subnets: z.string().default('') }),
  z.strictObject({ op: z.literal('parseSubnetList'), subnets: z.string().default('') }),
  z.strictObject({ op: z.literal('validateSubnetContainment'), subnets: texts, containers: texts }),
  mapping,
  rendering,
])
type Mapping = z.output<typeof mapping>
type Rendering = z.output<typeof rendering>

/** The MTU of the cluster of the cases: that of a network without one. */
const CLUSTER_MTU = 1400

/** The configuration of networks, and what Pods ask of them. */
export function persistentNetworkConfig({ input, expect }: GivenCase): Answer {
  const known = readInput(inputSchema, input)
  if (!known.success) return unsupported(`input: ${z.prettifyError(known.error)}`)
  const { data } = known
  switch (data.op) {
    case 'parseNetConf':
      return fieldsOf(expect, data.nad, readNetwork(nadOf(data.nad, data.config), { plugins: 'ovn' }))
    case 'podNetworkMapping':
      return mappingOf(expect, data)
    case 'renderNAD':
      return renderingOf(expect, data)
    case 'validateSubnetContainment':
      return subnetsOf(expect, { subnets: data.containers.join(), excludeSubnets: data.subnets.join() })
    case 'parseSubnetList':
      return subnetsOf(expect, { subnets: data.subnets })
    default:
      return subnetsOf(expect, { topology: data.topology, subnets: data.subnets })
  }
}

function nadOf(nad: string, config: unknown) {
  const [namespace = '', name = ''] = nad.split('/')
  const text = typeof config === 'string' ? config : JSON.stringify(config)
  return { metadata: { namespace, name }, spec: { config: text } }
}

/** Lists of subnets are put to the library as those of a network. */
function subnetsOf(expect: unknown, config: object): Answer {
  const given = { name: 'net', type: 'ovn-k8s-cni-overlay', netAttachDefName: 'a/net', topology: 'localnet', ...config }
  const read = readNetwork(nadOf('a/net', given))
  if (!read.ok) return answerKeys(expect, { error: () => true, subnets: () => undefined })
  const pairs = read.value.subnets.map(({ prefix, nodeLength = 0 }) => [Prefix.format(prefix), nodeLength])
  return answerKeys(expect, { error: () => false, subnets: (asked) => inOrder(pairs, asked) })
}

/** Pairs of a subnet and the length of its parts, or subnets alone, in the order of a case. */
function inOrder(pairs: readonly (readonly (string | number)[])[], asked: unknown): unknown {
  const list = Array.isArray(asked) ? asked : []
  const mine = list.some((each) => typeof each === 'string') ? pairs.map(([subnet]) => subnet) : pairs
  const place = (value: unknown) => list.findIndex((each) => JSON.stringify(each) === JSON.stringify(value))
  return [...mine].sort((left, right) => place(left) - place(right))
}

function fieldsOf(expect: unknown, nad: string, read: NetworkResult): Answer {
  if (!read.ok) return refused(expect, read, `error parsing Network Attachment Definition ${nad}: `)
  return answerKeys(expect, { error: () => null, fields: answersOf(read.value) })
}

/** The members of a configuration. Subnets are compared by value: cases keep host bits and blanks. */
function answersOf(definition: NetworkDefinition): Answers {
  const subnets = definition.subnets.map(({ prefix }) => prefix)
  return {
    name: () => definition.name,
    netAttachDefName: () => definition.nad,
    topology: () => definition.topology ?? '',
    role: (asked) => (asked === '' && definition.role === 'secondary' ? '' : definition.role),
    mtu: () => definition.mtu ?? CLUSTER_MTU,
    vlanID: () => definition.vlan ?? 0,
    physicalNetworkName: () => definition.physicalNetwork ?? '',
    allowPersistentIPs: () => definition.allowPersistentIPs,
    subnets: (asked) => spelled(subnets, asked),
    excludeSubnets: (asked) => spelled(definition.excludes, asked),
    reservedSubnets: (asked) => spelled(definition.reserved, asked),
    infrastructureSubnets: (asked) => spelled(definition.infrastructure, asked),
  }
}

function spelled(prefixes: readonly Prefix.Prefix[], asked: unknown): unknown {
  const mine = prefixes.map((prefix) => Prefix.format(prefix)).join()
  const theirs = String(asked)
    .split(',')
    .filter((text) => text.trim() !== '')
    .map((text) => Prefix.safeParse(text.trim()))
  const isSame = theirs.every((read) => read.ok) && theirs.map((read) => maskedText(read)).join() === mine
  return isSame ? asked : mine
}

function maskedText(read: ReturnType<typeof Prefix.safeParse>): string {
  return read.ok ? Prefix.format(Prefix.masked(read.value)) : ''
}

/** A refusal. Upstream begins its sentence with what it was doing, or does not. */
function refused(expect: unknown, read: Extract<NetworkResult, { ok: false }>, doing: string): Answer {
  const { problem } = read.failure.context
  return answered({ error: said(isRecord(expect) ? expect.error : undefined, problem, doing) })
}

/** The error that a case asks for, where the sentence has it; else the sentence. */
function said(asked: unknown, sentence: string, doing = ''): unknown {
  if (asked === true) return true
  if (typeof asked !== 'string') return sentence
  const [, how, part = ''] = /^(contains|startsWith): (.*)$/su.exec(asked) ?? []
  if (how === 'contains') return sentence.includes(part) ? asked : sentence
  if (how === 'startsWith') return sentence.startsWith(part) ? asked : sentence
  return doing !== '' && asked.startsWith(doing) ? `${doing}${sentence}` : sentence
}

function mappingOf(expect: unknown, data: Mapping): Answer {
  const { podNamespace: namespace, podName: name, annotations, hostNetwork } = data
  const active = data.activePrimaryNetwork
  const read = podAttachments(
    { metadata: { name, namespace, annotations }, spec: { hostNetwork } },
    networkOf(data.network),
    {
      primary: active && networkOf(active, data.extraPrimaryNADs),
      staticRequests: data.preconfiguredAddressesGate,
    },
  )
  if (!read.ok) {
    const { failure } = read
    const sentence =
      failure.code === 'INVALID_OBJECT' ? failure.context.issues.map(({ message }) => message).join() : failure.code
    return answered({ error: said(isRecord(expect) ? expect.error : undefined, sentence) })
  }
  const { isInNetwork, attachments } = read.value
  const elements = Object.fromEntries(attachments.map((each) => [each.key, elementOf(each)]))
  return answerKeys(expect, {
    error: () => null,
    requested: () => isInNetwork,
    elements: (asked) => (asked === null && attachments.length === 0 ? null : elements),
    elementCount: () => attachments.length,
  })
}

/** The network of a case, which has no other member. */
function networkOf(given: z.output<typeof network>, more: readonly string[] = []): Network {
  const { name, nad, topology, role, allowPersistentIPs } = given
  const definition: NetworkDefinition = {
    nad,
    name,
    plugin: 'ovn-k8s-cni-overlay',
    topology,
    role: role === 'primary' ? 'primary' : 'secondary',
    addressing: 'subnets',
    allowPersistentIPs,
    claims: topology === 'layer3' ? 'layer3' : allowPersistentIPs ? 'honoured' : 'notAllowed',
    subnets: [],
    excludes: [],
    reserved: [],
    infrastructure: [],
  }
  return { definition, nads: new Set([nad, ...more]), disagreeing: [] }
}

function elementOf({ nad, interface: ifname, ips, mac, claim }: PodAttachment) {
  const [namespace, name] = nad.split('/')
  return {
    namespace,
    name,
    ...(ifname !== undefined && { interface: ifname }),
    ...(ips.length > 0 && { ips: ips.map(textOf) }),
    ...(mac !== undefined && { mac }),
    ...(claim !== undefined && { ipamClaimReference: claim }),
  }
}

function textOf({ address, prefixLength }: InterfaceAddress): string {
  const text = Address.format(address)
  return prefixLength === undefined ? text : `${text}/${prefixLength}`
}

function renderingOf(expect: unknown, { kind, object, namespace, enablePersistentIPs, spec }: Rendering): Answer {
  const network = asKind(spec)
  const udn = {
    apiVersion: 'k8s.ovn.org/v1',
    kind,
    metadata: { name: object, ...(kind === 'UserDefinedNetwork' && { namespace }) },
    spec: kind === 'UserDefinedNetwork' ? network : { network },
  }
  const read = readUserDefinedNetwork(udn as never, { namespace, persistentIPs: enablePersistentIPs })
  if (!read.ok) return refused(expect, read, 'failed to render CNI network config: ')
  const answer = answerKeys(expect, { error: () => null, config: answersOf(read.value) })
  if (answer.kind !== 'answered' || !read.value.allowPersistentIPs) return answer
  // a configuration that a case expects without it
  const { config, ...rest } = answer.got as { readonly config: object }
  return answered({ ...rest, config: { ...config, allowPersistentIPs: true } })
}

/** Cases have the number of a VLAN where the kind has an access port, and texts where it has subnets. */
function asKind(spec: Rendering['spec']): object {
  const { localnet, layer3 } = spec
  const id = isRecord(localnet) && typeof localnet.vlan === 'number' ? localnet.vlan : undefined
  const subnets = isRecord(layer3) && Array.isArray(layer3.subnets) ? layer3.subnets.map(nodeSubnet) : undefined
  return {
    ...spec,
    ...(isRecord(localnet) && { localnet: { ...localnet, ...(id && { vlan: { mode: 'Access', access: { id } } }) } }),
    ...(isRecord(layer3) && { layer3: { ...layer3, ...(subnets && { subnets }) } }),
  }
}

function nodeSubnet(subnet: unknown): unknown {
  if (typeof subnet !== 'string') return subnet
  const [address, length, host] = subnet.split('/')
  return { cidr: `${address}/${length}`, ...(host !== undefined && { hostSubnet: Number(host) }) }
}
