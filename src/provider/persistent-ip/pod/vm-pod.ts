import * as Address from '../../../cidr/nouns/address.js'
import { PRIMARY_CLAIM_ANNOTATION } from '../../../crd/ipamclaims/index.js'
import { ADDRESSES_ANNOTATION, VirtualMachineInstance, VM_POD_ANNOTATION } from '../../../crd/kubevirt/index.js'
import {
  type Admission,
  annotationsPatch,
  groupOf,
  type KubeObject,
  type OwnerReference,
} from '../../../crd/meta/index.js'
import {
  DEFAULT_NETWORK_ANNOTATION,
  NETWORKS_ANNOTATION,
  type NetworkSelection,
  readNetworkSelection,
} from '../../../crd/multinet/index.js'
import { check, type KindOf } from '../../../errors/check.js'
import { DEFAULT_NETWORK } from '../network/definition.js'
import { requestedAddresses } from './address-requests.js'
import { namedElements, sharedInterfaces } from './named-elements.js'
import { primaryIn, type VMClaim, type VMClaimOptions, type VMDefinitions, vmClaims } from './vm-claims.js'

/** A Pod that is created or updated. */
export interface VMPodRequest {
  readonly operation: 'CREATE' | 'UPDATE'
  /** As it was sent. Its namespace is that of the request. */
  readonly pod: Pick<KubeObject, 'metadata'>
}

/** The objects that the answer for a Pod depends on. The cache of a controller has them. */
export interface VMPodObjects extends VMDefinitions {
  /** The instance of a name; `undefined`: it does not exist. */
  instance(namespace: string, name: string): VirtualMachineInstance | undefined
}

export interface VMPodOptions extends VMClaimOptions {
  /**
   * The answer for a Pod whose virtual machine is not known. `Ignore`, the default: the Pod is
   * allowed as it is, with a warning, and gets addresses that do not stay. `Fail`: it is refused
   * with code 500, and its creation is tried again. Neither waits.
   */
  readonly failurePolicy?: 'Ignore' | 'Fail' | undefined
  /** The namespace of the definition of the default network. Default `ovn-kubernetes`. */
  readonly defaultNetworkNamespace?: string | undefined
}

const VM_POD_OPTIONS: KindOf<VMPodOptions> = {
  failurePolicy: ['one?', { Ignore: 1, Fail: 1 }],
  defaultNetworkNamespace: 'text?',
  sticky: 'function?',
}

/** The answer for a Pod. */
export interface VMPodAnswer {
  readonly admission: Admission
  /**
   * Why an allowed Pod has no patch, in the words of ipam-extensions of KubeVirt. Left out: it has
   * one, or it is refused.
   */
  readonly note?: 'not a VM' | 'no mutation required' | 'mutation not needed' | 'carry on' | undefined
}

/**
 * The admission of a Pod that runs a virtual machine: a JSON patch that names the claims of its
 * networks. It reads objects and changes none, so it serves a dry run too. The names are computed:
 * whether a claim exists, and whose it is, is checked where its addresses are given.
 *
 * - An element of the network selection gets the claim of the network of the virtual machine with
 *   that definition. The second element of one definition gets the claim of the second network.
 * - A Pod gets the claim of the primary network of its namespace, and the addresses and the MAC
 *   address that the virtual machine asks for.
 * - An instance whose uid is not that of the owner of the Pod is of another machine of the name. It
 *   counts as not known for a new Pod, and a Pod that exists stays as it is.
 * - An element whose definition does not exist or cannot be read stays as it is, with a warning.
 *
 * O(size of the annotations, and of the definitions in the namespace).
 *
 * @example
 * const config = '{"name":"lab","type":"macvlan","allowPersistentIPs":true}'
 * const nad = { metadata: { name: 'blue', namespace: 'a' }, spec: { config } }
 * const networks = [{ name: 'net', multus: { networkName: 'blue' } }]
 * const objects = {
 *   instance: () => ({ metadata: { name: 'vm1', namespace: 'a' }, spec: { networks } }),
 *   definition: () => nad,
 *   definitionsIn: () => [nad],
 * }
 * const annotations = { 'kubevirt.io/domain': 'vm1', 'k8s.v1.cni.cncf.io/networks': 'a/blue' }
 * const pod = { metadata: { name: 'p', namespace: 'a', annotations } }
 * const { admission } = admitVMPod({ operation: 'CREATE', pod }, objects)
 * admission.allowed && admission.patch?.map(({ value }) => value) // ['[{"name":"blue","namespace":"a","ipam-claim-reference":"vm1.net"}]']
 */
export function admitVMPod(request: VMPodRequest, objects: VMPodObjects, options: VMPodOptions = {}): VMPodAnswer {
  check<unknown>('admitVMPod', 'request', request, REQUEST)
  check<unknown>('admitVMPod', 'objects', objects, OBJECTS)
  check('admitVMPod', 'options', options, VM_POD_OPTIONS)
  const { metadata } = request.pod
  const { namespace = '', name = '', annotations = {} } = metadata
  const domain = annotations[VM_POD_ANNOTATION]
  if (typeof domain !== 'string') return unchanged('not a VM')
  const selection = readNetworkSelection(annotations[NETWORKS_ANNOTATION] ?? '', namespace)
  if (!selection.ok) {
    return refused(400, 'failed to parse pod network selection elements', [selection.failure.message])
  }
  const elements = selection.value
  if (elements.length === 0 && primaryIn(namespace, objects).definition === undefined) {
    return unchanged('no mutation required')
  }
  const known = objects.instance(namespace, domain)
  const isEarlier = known !== undefined && isOfAnother(metadata, known)
  // a Pod that outlives its machine has to lose its finalizers
  if (isEarlier && request.operation === 'UPDATE') return unchanged('carry on')
  const instance = isEarlier ? undefined : known
  if (instance === undefined) {
    const missing = `virtualmachineinstances.kubevirt.io ${JSON.stringify(domain)} not found`
    const problem = `failed to access the VMI running in pod ${JSON.stringify(`${namespace}/${name}`)}: ${missing}`
    return options.failurePolicy === 'Fail' ? refused(500, problem) : unchanged('carry on', [problem])
  }
  const { claims, missing, unreadable } = vmClaims(instance, objects, { sticky: options.sticky })
  const warnings = [
    ...sharedInterfaces(elements),
    ...missing.map((nad) => `NetworkAttachmentDefinition ${nad} does not exist`),
    ...unreadable.map((failure) => failure.message),
    ...claims.flatMap((claim) => (claim.name.ok ? [] : [claim.name.failure.message])),
  ]
  const text = withClaims(elements, claims)
  const own = primaryAnnotations(request, instance, claims, options)
  if ('code' in own) return refused(own.code, own.message, warnings)
  const set = { ...(text !== undefined && { [NETWORKS_ANNOTATION]: text }), ...own.set }
  const patch = annotationsPatch(request.pod, set)
  if (patch.length > 0) return { admission: { allowed: true, warnings, patch } }
  return unchanged(Object.keys(set).length === 0 ? 'carry on' : 'mutation not needed', warnings)
}

/**
 * Whether a Pod is of another instance of the same name. A cache that is late has the instance
 * before, and its networks.
 */
function isOfAnother({ ownerReferences: owners = [] }: KubeObject['metadata'], { metadata }: KubeObject): boolean {
  const { apiVersion, kind } = VirtualMachineInstance.info
  const isInstance = (owner: OwnerReference) =>
    owner.kind === kind && groupOf(owner.apiVersion) === groupOf(apiVersion) && owner.name === metadata.name
  return metadata.uid !== undefined && owners.some((owner) => isInstance(owner) && owner.uid !== metadata.uid)
}

const REQUEST = [
  'open',
  {
    operation: ['one', { CREATE: 1, UPDATE: 1 }],
    pod: ['open', { metadata: ['open', { name: 'text?', namespace: 'text?', annotations: ['record?', 'text'] }] }],
  },
] as const
const OBJECTS = ['open', { instance: 'function', definition: 'function', definitionsIn: 'function' }] as const

function unchanged(note: NonNullable<VMPodAnswer['note']>, warnings: readonly string[] = []): VMPodAnswer {
  return { admission: { allowed: true, warnings }, note }
}

function refused(code: 400 | 403 | 500, message: string, warnings: readonly string[] = []): VMPodAnswer {
  return { admission: { allowed: false, code, message, errors: [], ...(warnings.length > 0 && { warnings }) } }
}

/** The network selection with claims; `undefined`: no element has one. */
function withClaims(elements: readonly NetworkSelection[], claims: readonly VMClaim[]): string | undefined {
  const left = claims.filter(({ isPrimary }) => !isPrimary)
  const names = elements.map(({ namespace, name }) => {
    const index = left.findIndex(({ definition }) => definition.nad === `${namespace}/${name}`)
    const [claim] = index < 0 ? [] : left.splice(index, 1)
    return claim?.name.ok ? claim.name.value : undefined
  })
  return namedElements(elements, names)
}

const CLAIM = 'ipam-claim-reference'

type Primary =
  | { readonly set: { readonly [annotation: string]: string } }
  | { readonly code: 403 | 500; readonly message: string }

/** The annotations of a Pod in its primary network. */
function primaryAnnotations(
  { operation, pod }: VMPodRequest,
  instance: VirtualMachineInstance,
  claims: readonly VMClaim[],
  { defaultNetworkNamespace = 'ovn-kubernetes' }: VMPodOptions,
): Primary {
  const own = claims.find(({ isPrimary }) => isPrimary)
  if (own?.interface === undefined) return { set: {} }
  const { name: claim, definition, network, interface: nic } = own
  if (operation === 'CREATE' && pod.metadata.annotations?.[DEFAULT_NETWORK_ANNOTATION] !== undefined) {
    const annotation = JSON.stringify(DEFAULT_NETWORK_ANNOTATION)
    return { code: 403, message: `multus default network annotation ${annotation} is not allowed on pod creation` }
  }
  const subnets = definition.subnets.map(({ prefix }) => prefix)
  const annotation = instance.metadata.annotations?.[ADDRESSES_ANNOTATION]
  const asked = requestedAddresses({ annotation, network, subnets })
  if (!asked.ok) return { code: 500, message: asked.failure.message }
  if (!claim.ok) return { code: 500, message: claim.failure.message }
  const ips = asked.value.map(({ address, prefixLength }) => `${Address.format(address)}/${prefixLength}`)
  const { macAddress = '' } = nic
  const element = {
    name: DEFAULT_NETWORK,
    namespace: defaultNetworkNamespace,
    ...(ips.length > 0 && { ips }),
    ...(macAddress !== '' && { mac: macAddress }),
    [CLAIM]: claim.value,
  }
  const hasRequest = ips.length > 0 || macAddress !== ''
  return {
    set: {
      ...(hasRequest && { [DEFAULT_NETWORK_ANNOTATION]: JSON.stringify([element]) }),
      [PRIMARY_CLAIM_ANNOTATION]: claim.value,
    },
  }
}
