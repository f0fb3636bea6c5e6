import { whyNotAddress, whyNotPrefix } from '../../../cidr/internal.js'
import type { Address } from '../../../cidr/nouns/address.js'
import { isIfname, isName } from '../../../cni/environment.js'
import { labelProblem, subdomainProblem } from '../../../crd/meta/names.js'
import type { Kind } from '../../../errors/check.js'
import type { RowOwner } from '../choose/owner.js'
import type { WhereaboutsConfig } from '../config/types.js'

/** The network of a request, and where its objects are. */
export interface NetworkRequest {
  /** Of `readWhereaboutsConfig`. */
  readonly config: WhereaboutsConfig
  /** The namespace of the pools and reservations. Empty or left out: `kube-system`. */
  readonly namespace?: string | undefined
  /** The Node of this plugin. Needed for node slices and by `gc`. */
  readonly nodeName?: string | undefined
}

/** One interface of one container. */
export interface InterfaceRequest extends NetworkRequest {
  /** `CNI_CONTAINERID`: letters, digits, `_`, `.` and `-`. */
  readonly containerId: string
  /** `CNI_IFNAME`: up to 15 characters. */
  readonly ifname: string
  /** `K8S_POD_NAMESPACE`. For `del` it can be empty, as `podName` can. */
  readonly podNamespace: string
  readonly podName: string
  /**
   * `K8S_POD_UID` of `CNI_ARGS`. With it, an ADD that comes late does not take a row over from a
   * later Pod of the same name. Empty or left out: the name alone counts.
   */
  readonly podUid?: string | undefined
}

/** What `check` compares with the rows. */
export interface CheckRequest extends InterfaceRequest {
  /** The addresses of the earlier result. Left out: any address will do. */
  readonly addresses?: readonly Address[] | undefined
}

/** An interface of a container, as a runtime lists it. */
export interface Attachment {
  readonly containerId: string
  readonly ifname: string
}

/** A container that this Node has added, from a record that the plugin keeps on the Node. */
export interface AttachmentRecord extends Attachment {
  /** `name` of the network configuration. */
  readonly network: string
  /** When it was added, in milliseconds since 1970. */
  readonly addedMs: number
  /**
   * Whether the configuration of its ADD named a claim. Left out: it is not known, and GC keeps the
   * row if the network has no reservations, or if the configuration of the GC names a claim.
   */
  readonly hasClaim?: boolean | undefined
}

/** What `gc` frees the other rows of. */
export interface GcRequest extends NetworkRequest {
  readonly nodeName: string
  /**
   * The attachments that exist, by the runtime. An empty list: none exists. Left out: the runtime
   * does not say, and nothing is freed.
   */
  readonly valid?: readonly Attachment[] | undefined
  /** What this Node has added. Default: it keeps no record. */
  readonly record?: readonly AttachmentRecord[] | undefined
}

/** A test of a text; `undefined` where it is right. */
type TextTest = (given: unknown) => string | undefined

export const textThat =
  (expected: string, isRight: (text: string) => boolean): TextTest =>
  (given) =>
    typeof given === 'string' && isRight(given) ? undefined : expected

const containerId = textThat('the id of a container', isName)
const ifname = textThat('the name of an interface', isIfname)
const podNamespace = textThat('the name of a namespace', (text) => labelProblem(text) === undefined)
const podName = textThat('the name of a Pod', (text) => subdomainProblem(text) === undefined)

/** A text that can be empty. */
export const orEmpty =
  (test: TextTest): TextTest =>
  (given) =>
    given === '' ? undefined : test(given)

const RANGE: Kind = [
  'open',
  { prefix: whyNotPrefix, start: ['is?', whyNotAddress], end: ['is?', whyNotAddress], exclude: ['list', 'text'] },
]

/** What the tasks read of a `WhereaboutsConfig`. */
export const CONFIG: Kind = [
  'open',
  {
    ranges: ['list', RANGE],
    gateway: ['is?', whyNotAddress],
    routes: ['list', 'object'],
    dns: 'object?',
    addresses: ['list', ['open', { prefix: whyNotPrefix, gateway: ['is?', whyNotAddress] }]],
    asked: ['list', ['open', { address: whyNotAddress, gateway: ['is?', whyNotAddress], path: 'text' }]],
    overlappingRanges: 'flag',
    networkName: 'text?',
    nodeSliceSize: 'text?',
    name: 'text?',
    claim: ['open?', { name: 'text', namespace: 'text?', owner: ['open?', { uid: 'text' }] }],
    gc: 'flag',
  },
]

export const namespace = textThat('the name of a namespace, or an empty text', (text) => !labelProblem(text))

const NETWORK = { config: CONFIG, namespace: ['is?', orEmpty(namespace)], nodeName: 'text?' } as const

const INTERFACE = { ...NETWORK, containerId, ifname, podUid: 'text?' } as const

export const INTERFACE_REQUEST: Kind = ['open', { ...INTERFACE, podNamespace, podName }]

/** A runtime may leave the Pod out of a DEL: rows are found by container and interface. */
export const DEL_REQUEST: Kind = [
  'open',
  { ...INTERFACE, podNamespace: orEmpty(podNamespace), podName: orEmpty(podName) },
]

export const CHECK_REQUEST: Kind = [
  'open',
  { ...INTERFACE, podNamespace, podName, addresses: ['list?', whyNotAddress] },
]

export const NETWORK_REQUEST: Kind = ['open', NETWORK]

const ATTACHMENT = { containerId: 'text', ifname: 'text' } as const

export const GC_REQUEST: Kind = [
  'open',
  {
    ...NETWORK,
    nodeName: textThat('the name of a Node', (text) => text !== ''),
    valid: ['list?', ['open', ATTACHMENT]],
    record: ['list?', ['open', { ...ATTACHMENT, network: 'text', addedMs: 'number', hasClaim: 'flag?' }]],
  },
]

/** The namespace of upstream if the kubeconfig names none. */
export const DEFAULT_NAMESPACE = 'kube-system'

export function ownerOf({ podNamespace, podName, containerId, ifname }: InterfaceRequest): RowOwner {
  return { podref: `${podNamespace}/${podName}`, id: containerId, ifname }
}
