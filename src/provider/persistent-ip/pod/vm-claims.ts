import { vmClaimName } from '../../../crd/ipamclaims/index.js'
import type { VirtualMachineInstance, VMInterface } from '../../../crd/kubevirt/index.js'
import type { ObjectMeta } from '../../../crd/meta/object.js'
import type { NetworkAttachmentDefinition } from '../../../crd/multinet/index.js'
import { check, type KindOf } from '../../../errors/check.js'
import { CLAIM_NAME_CONFLICT } from '../../../errors/definitions.js'
import { failWith } from '../../../errors/failure.js'
import type { Result } from '../../../errors/index.js'
import type { NetworkDefinition } from '../network/definition.js'
import { readNetwork } from '../network/read-network.js'

/** The definitions that the networks of a virtual machine name. A cache can answer. */
export interface VMDefinitions {
  /** The definition of a name; `undefined`: it does not exist. */
  definition(namespace: string, name: string): NetworkAttachmentDefinition | undefined
  /** The definitions of a namespace. */
  definitionsIn(namespace: string): Iterable<NetworkAttachmentDefinition>
}

/** A network of a virtual machine whose addresses a claim holds. */
export interface VMClaim {
  /** The name of the network in the spec of the virtual machine. */
  readonly network: string
  readonly definition: NetworkDefinition
  /** Whether it is the network of the Pod: the primary network of the namespace. */
  readonly isPrimary: boolean
  /** Left out: the virtual machine has no interface in the network. */
  readonly interface?: VMInterface | undefined
  /** The name of the claim. A failure says why the network cannot have a claim of this name. */
  readonly name: Result<string, 'INVALID_CLAIM_NAME' | 'CLAIM_NAME_CONFLICT'>
}

/** The claims of a virtual machine. */
export interface VMClaims {
  /** In the order of the networks in the spec. */
  readonly claims: readonly VMClaim[]
  /** The definitions that do not exist, as `namespace/name`: their networks may have claims. */
  readonly missing: readonly string[]
  /** Why definitions cannot be read: their networks may have claims too. */
  readonly unreadable: readonly NetworkFailure[]
}

export interface VMClaimOptions {
  /**
   * Whether the addresses of a network of a machine stay. An `ephemeral` network has no claim, and
   * its Pods get other addresses each time. The claims and the answers for Pods need the same
   * function: a Pod that names a claim waits until it exists. It is pure and does not throw. Left
   * out: all addresses stay.
   *
   * @param instance the metadata of the instance
   * @param network the name of the network in its spec
   */
  readonly sticky?: ((instance: ObjectMeta, network: string) => 'keep' | 'ephemeral') | undefined
}

/** Why a definition cannot be read. */
export type NetworkFailure = Extract<ReturnType<typeof readNetwork>, { readonly ok: false }>['failure']

/**
 * The claims that a virtual machine of KubeVirt has: one for each network of its spec whose
 * definition honours claims. The network of the Pod is the primary network of the namespace. A
 * network that replaces the one of the Pod has none, as upstream.
 *
 * The names of two networks can be made the same: `a_b` and `a.b`. The first network in the spec
 * has the name, and the other one has no claim: upstream lets both share one, and its address. Two
 * virtual machines of one name in time, and `a.b` with `c` and `a` with `b.c`, are told apart by
 * the owner of the claim. O(networks + definitions in the namespace).
 *
 * @example
 * const config = '{"name":"lab","type":"macvlan","allowPersistentIPs":true}'
 * const definition = (namespace, name) => ({ metadata: { name, namespace }, spec: { config } })
 * const networks = ['a_b', 'a.b'].map((name) => ({ name, multus: { networkName: 'blue' } }))
 * const instance = { metadata: { name: 'vm1', namespace: 'a' }, spec: { networks } }
 * const { claims } = vmClaims(instance, { definition, definitionsIn: () => [] })
 * claims.map(({ name }) => (name.ok ? name.value : name.failure.code)) // ['vm1.a.b', 'CLAIM_NAME_CONFLICT']
 */
export function vmClaims(
  instance: Pick<VirtualMachineInstance, 'metadata' | 'spec'>,
  definitions: VMDefinitions,
  options: VMClaimOptions = {},
): VMClaims {
  check<unknown>('vmClaims', 'instance', instance, INSTANCE)
  check<unknown>('vmClaims', 'definitions', definitions, DEFINITIONS)
  check('vmClaims', 'options', options, OPTIONS)
  const { name: vm, namespace = '' } = instance.metadata
  const claims: VMClaim[] = []
  const missing: string[] = []
  const unreadable: NetworkFailure[] = []
  const owners = new Map<string, string>()
  for (const { name: network, pod, multus } of instance.spec.networks ?? []) {
    if (multus?.default === true || (pod === undefined && multus === undefined)) continue
    if (options.sticky?.(instance.metadata, network) === 'ephemeral') continue
    const isPrimary = multus === undefined
    const nad = isPrimary ? undefined : nadOf(multus.networkName, namespace)
    const found = nad === undefined ? primaryIn(namespace, definitions) : definitionOf(nad, definitions)
    if (nad !== undefined && found === undefined) missing.push(nad)
    unreadable.push(...(found?.unreadable ?? []))
    const definition = found?.definition
    if (definition?.claims !== 'honoured') continue
    const nic = instance.spec.domain?.devices?.interfaces?.find(({ name }) => name === network)
    const name = nameFor(vm, network, owners)
    claims.push({ network, definition, isPrimary, ...(nic && { interface: nic }), name })
  }
  return { claims, missing, unreadable }
}

const INSTANCE = [
  'open',
  {
    metadata: ['open', { name: 'text', namespace: 'text?' }],
    spec: ['open', { networks: ['list?', ['open', { name: 'text' }]], domain: 'object?' }],
  },
] as const
const OPTIONS: KindOf<VMClaimOptions> = { sticky: 'function?' }
const DEFINITIONS = ['open', { definition: 'function', definitionsIn: 'function' }] as const

/** The definitions that a virtual machine names beside the network of its Pod. */
export function secondaryDefinitions({ metadata, spec }: Pick<VirtualMachineInstance, 'metadata' | 'spec'>): readonly {
  readonly namespace: string
  readonly name: string
}[] {
  return (spec.networks ?? []).flatMap(({ multus }) => {
    if (multus === undefined || multus.default === true) return []
    const [namespace = '', name = ''] = nadOf(multus.networkName, metadata.namespace ?? '').split('/')
    return [{ namespace, name }]
  })
}

/** `namespace/name` of a definition that may be named without its namespace. */
function nadOf(name: string, namespace: string): string {
  return name.includes('/') ? name : `${namespace}/${name}`
}

interface Found {
  readonly definition?: NetworkDefinition | undefined
  readonly unreadable: readonly NetworkFailure[]
}

function definitionOf(nad: string, { definition }: VMDefinitions): Found | undefined {
  const [namespace = '', name = ''] = nad.split('/')
  const found = definition(namespace, name)
  const read = found && readNetwork(found)
  if (read === undefined) return undefined
  return read.ok ? { definition: read.value, unreadable: [] } : { unreadable: [read.failure] }
}

/**
 * The primary network of a namespace: the first definition by name that has the role. One that
 * cannot be read may have it too.
 */
export function primaryIn(namespace: string, { definitionsIn }: Pick<VMDefinitions, 'definitionsIn'>): Found {
  const reads = [...definitionsIn(namespace)].map((nad) => readNetwork(nad))
  const [definition] = reads
    .flatMap((read) => (read.ok && read.value.role === 'primary' ? [read.value] : []))
    .sort((left, right) => (left.nad < right.nad ? -1 : 1))
  return { definition, unreadable: reads.flatMap((read) => (read.ok ? [] : [read.failure])) }
}

/** @param owners the network of each name that is taken */
function nameFor(vm: string, network: string, owners: Map<string, string>): VMClaim['name'] {
  const name = vmClaimName({ vm, network })
  if (!name.ok) return name
  const first = owners.get(name.value)
  if (first !== undefined) return failWith(CLAIM_NAME_CONFLICT, { name: name.value, first, second: network })
  owners.set(name.value, network)
  return name
}
