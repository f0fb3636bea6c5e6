import type { Pod } from '../../../crd/core/index.js'
import { PRIMARY_CLAIM_ANNOTATION } from '../../../crd/ipamclaims/index.js'
import {
  DEFAULT_NETWORK_ANNOTATION,
  type InterfaceAddress,
  NETWORKS_ANNOTATION,
  type NetworkSelection,
  readNetworkSelection,
} from '../../../crd/multinet/index.js'
import { check, type KindOf } from '../../../errors/check.js'
import { INVALID_OBJECT } from '../../../errors/definitions.js'
import { failWith } from '../../../errors/failure.js'
import { ok, type Result } from '../../../errors/index.js'
import type { Network } from '../network/agreement.js'
import { DEFAULT_NETWORK } from '../network/definition.js'

/** An interface that a Pod asks for in a network. */
export interface PodAttachment {
  /**
   * The NetworkAttachmentDefinition: `namespace/name`. A second interface of the same one has the
   * key `namespace/name/1`, a third one `namespace/name/2`.
   */
  readonly key: string
  /** `namespace/name` of the NetworkAttachmentDefinition. */
  readonly nad: string
  readonly interface?: string | undefined
  /** The addresses that the Pod asks for. Empty: any. */
  readonly ips: readonly InterfaceAddress[]
  readonly mac?: string | undefined
  /**
   * The name of an IPAMClaim in the namespace of the Pod, also if the definition of the network is
   * in another one. The name is input of a tenant.
   */
  readonly claim?: string | undefined
}

/** What a Pod asks of one network. */
export interface PodAttachments {
  /** Whether the Pod is in the network. Pods are in the default network without an attachment. */
  readonly isInNetwork: boolean
  readonly attachments: readonly PodAttachment[]
}

export interface PodAttachmentOptions {
  /** The primary network of the namespace of the Pod. Left out: the default network. */
  readonly primary?: Network | undefined
  /**
   * Whether a Pod can ask for addresses and a MAC address of its primary network, as with the
   * feature gate of preconfigured addresses. A network of layer3 takes the MAC address alone.
   * Default false.
   */
  readonly staticRequests?: boolean | undefined
  /** The namespace of the definition of the default network. Default `ovn-kubernetes`. */
  readonly defaultNetworkNamespace?: string | undefined
}

const NETWORK = {
  definition: 'object',
  nads: (given: unknown) => (isTexts(given) ? undefined : 'a Set of texts'),
} as const

function isTexts(given: unknown): boolean {
  return given instanceof Set && [...given].every((each) => typeof each === 'string')
}

const OPTIONS: KindOf<PodAttachmentOptions> = {
  primary: ['open?', NETWORK],
  staticRequests: 'flag?',
  defaultNetworkNamespace: 'text?',
}
const NAMESPACE = 'ovn-kubernetes'

/** What a Pod asks of a network, or what is wrong with its annotations. */
export type PodAttachmentsResult = Result<
  PodAttachments,
  'MALFORMED_NETWORK_SELECTION' | 'MALFORMED_EMBEDDED_JSON' | 'INVALID_OBJECT'
>

/**
 * What a Pod asks of one network, from its annotations. Each element of its network selection that
 * names a definition of the network is an attachment. Its primary network is one without being
 * named. A claim of the primary network stands in `v1.multus-cni.io/default-network`, or in the
 * deprecated `k8s.ovn.org/primary-udn-ipamclaim`; the first one wins. O(length of the annotations).
 *
 * @returns the failure of the annotation that cannot be read. `INVALID_OBJECT` also for an element
 * that names a primary network, for a localnet that is named twice, and for the annotation of the
 * default network that names another one
 * @example
 * import { Address } from 'ipam-kit/cidr'
 * import { unwrap } from 'ipam-kit/errors'
 * const config = JSON.stringify({ name: 'lab', type: 'ovn-k8s-cni-overlay', topology: 'localnet', netAttachDefName: 'a/blue' })
 * const definition = unwrap(readNetwork({ metadata: { name: 'blue', namespace: 'a' }, spec: { config } }))
 * const network = networkOfDefinitions([{ definition }])
 * const annotations = { 'k8s.v1.cni.cncf.io/networks': '[{"name":"blue","ipam-claim-reference":"vm1.net"}]' }
 * const read = podAttachments({ metadata: { name: 'p', namespace: 'a', annotations }, spec: {} }, network)
 * read.ok && read.value.attachments.map(({ key, claim }) => [key, claim]) // [['a/blue', 'vm1.net']]
 */
export function podAttachments(
  pod: Pick<Pod, 'metadata' | 'spec'>,
  network: Network,
  options: PodAttachmentOptions = {},
): PodAttachmentsResult {
  check('podAttachments', 'pod', pod, [
    'open',
    {
      metadata: ['open', { name: 'text', namespace: 'text?', annotations: 'object?' }],
      spec: ['open', { hostNetwork: 'flag?' }],
    },
  ])
  check<unknown>('podAttachments', 'network', network, ['open', NETWORK])
  check('podAttachments', 'options', options, OPTIONS)
  if (pod.spec.hostNetwork === true) return ok({ isInNetwork: false, attachments: [] })
  if (network.definition.claims === 'defaultNetwork') return inDefaultNetwork(pod)

  const named = namedAttachments(pod, network)
  if (!named.ok) return named
  const { primary } = options
  const isPrimary =
    primary !== undefined &&
    primary.definition.name === network.definition.name &&
    network.definition.topology !== 'localnet'
  if (!isPrimary) return ok({ isInNetwork: named.value.length > 0, attachments: named.value })
  const own = primaryAttachment(pod, primary, network, options)
  if (!own.ok) return own
  const others = named.value.filter(({ key }) => key !== own.value.key)
  return ok({ isInNetwork: true, attachments: [...others, own.value] })
}

type PodMeta = Pick<Pod, 'metadata'>
type Attachments<T> = Result<T, 'MALFORMED_NETWORK_SELECTION' | 'MALFORMED_EMBEDDED_JSON' | 'INVALID_OBJECT'>

function selectionOf({ metadata }: PodMeta, annotation: string): Attachments<readonly NetworkSelection[]> {
  const text = metadata.annotations?.[annotation]
  return typeof text === 'string' ? readNetworkSelection(text, metadata.namespace ?? '') : ok([])
}

function inDefaultNetwork(pod: PodMeta): PodAttachmentsResult {
  const element = defaultSelection(pod)
  if (!element.ok) return element
  const attachments = element.value === undefined ? [] : [attachmentOf(element.value, 0)]
  return ok({ isInNetwork: true, attachments })
}

/** The interfaces that the network selection of a Pod asks for. */
function namedAttachments(pod: PodMeta, network: Network): Attachments<readonly PodAttachment[]> {
  const selection = selectionOf(pod, NETWORKS_ANNOTATION)
  if (!selection.ok) return selection
  const { name, role, topology } = network.definition
  const counts = new Map<string, number>()
  const attachments: PodAttachment[] = []
  for (const element of selection.value) {
    const nad = nadOf(element)
    if (!network.nads.has(nad)) continue
    if (role === 'primary') {
      const problem = `unexpected primary network ${JSON.stringify(name)} specified with a NetworkSelectionElement`
      return wrong(pod, NETWORKS_ANNOTATION, `${problem} of ${nad}`)
    }
    const count = counts.get(nad) ?? 0
    if (count > 0 && topology === 'localnet') {
      const { namespace = '', name: podName } = pod.metadata
      const problem = `cannot have same networkSelectionElement ${nad} of type localnet multiple times`
      return wrong(pod, NETWORKS_ANNOTATION, `pod ${namespace}/${podName} ${problem}`)
    }
    counts.set(nad, count + 1)
    attachments.push(attachmentOf(element, count))
  }
  return ok(attachments)
}

function attachmentOf(element: NetworkSelection, count: number): PodAttachment {
  const { interface: name, ips, mac, ipamClaimReference: claim } = element
  const nad = nadOf(element)
  return {
    key: count === 0 ? nad : `${nad}/${count}`,
    nad,
    ...(name !== undefined && { interface: name }),
    ips,
    ...(mac !== undefined && { mac }),
    ...(claim !== undefined && { claim }),
  }
}

/** The interface of a Pod in the primary network of its namespace. */
function primaryAttachment(
  pod: PodMeta,
  primary: Network,
  network: Network,
  { staticRequests = false, defaultNetworkNamespace = NAMESPACE }: PodAttachmentOptions,
): Attachments<PodAttachment> {
  const { namespace = '', annotations } = pod.metadata
  const nad = [...primary.nads].find((each) => each.startsWith(`${namespace}/`))
  if (nad === undefined) return wrong(pod, undefined, `no active NAD found for namespace ${JSON.stringify(namespace)}`)
  const { claims, role } = network.definition
  const hasClaims = role === 'primary' && claims === 'honoured'
  const selection: Attachments<NetworkSelection | undefined> =
    hasClaims || staticRequests ? defaultSelection(pod) : ok(undefined)
  if (!selection.ok) return selection
  const element = selection.value
  const claim = element?.ipamClaimReference ?? annotations?.[PRIMARY_CLAIM_ANNOTATION]
  const asked = staticRequests ? element : undefined
  const problem = asked && elementProblem(asked, defaultNetworkNamespace)
  if (problem !== undefined) return wrong(pod, DEFAULT_NETWORK_ANNOTATION, problem)
  return ok({
    key: nad,
    nad,
    ips: primary.definition.topology === 'layer2' ? (asked?.ips ?? []) : [],
    ...(asked?.mac !== undefined && { mac: asked.mac }),
    ...(hasClaims && typeof claim === 'string' && claim !== '' && { claim }),
  })
}

function elementProblem({ namespace, name }: NetworkSelection, expected: string): string | undefined {
  if (namespace !== expected) {
    return `unexpected default NSE namespace ${JSON.stringify(namespace)}, expected ${JSON.stringify(expected)}`
  }
  if (name === DEFAULT_NETWORK) return undefined
  return `unexpected default NSE name ${JSON.stringify(name)}, expected ${JSON.stringify(DEFAULT_NETWORK)}`
}

/** The one element of the annotation of the default network. */
function defaultSelection(pod: PodMeta): Attachments<NetworkSelection | undefined> {
  const read = selectionOf(pod, DEFAULT_NETWORK_ANNOTATION)
  if (!read.ok) return read
  if (read.value.length <= 1) return ok(read.value[0])
  return wrong(pod, DEFAULT_NETWORK_ANNOTATION, 'more than one default network is specified')
}

function nadOf({ namespace, name }: NetworkSelection): string {
  return `${namespace}/${name}`
}

function wrong({ metadata: { name } }: PodMeta, annotation: string | undefined, message: string) {
  const path = annotation === undefined ? 'metadata.namespace' : `metadata.annotations[${annotation}]`
  return failWith(INVALID_OBJECT, { kind: 'Pod', name, issues: [{ path, message }] })
}
