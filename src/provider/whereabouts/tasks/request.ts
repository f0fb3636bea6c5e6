import type { Address } from '../../../cidr/nouns/address.js'
import type { Kind } from '../../../errors/check.js'
import type { RowOwner } from '../choose/owner.js'
import type { WhereaboutsConfig } from '../config/types.js'

/** The network of a request, and where its objects are. */
export interface NetworkRequest {
  readonly config: WhereaboutsConfig
  /** The namespace of the pools and reservations. Empty or left out: `kube-system`. */
  readonly namespace?: string | undefined
  /** The Node of this plugin. Needed for node slices and by `gc`. */
  readonly nodeName?: string | undefined
}

/** One interface of one container. */
export interface InterfaceRequest extends NetworkRequest {
  /** `CNI_CONTAINERID`. */
  readonly containerId: string
  /** `CNI_IFNAME`. */
  readonly ifname: string
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

const NETWORK = { config: 'object', namespace: 'text?', nodeName: 'text?' } as const

export const INTERFACE_REQUEST: Kind = [
  'open',
  { ...NETWORK, containerId: 'text', ifname: 'text', podNamespace: 'text', podName: 'text', podUid: 'text?' },
]

export const NETWORK_REQUEST: Kind = ['open', NETWORK]

const ATTACHMENT = { containerId: 'text', ifname: 'text' } as const

export const GC_REQUEST: Kind = [
  'open',
  {
    ...NETWORK,
    nodeName: 'text',
    valid: ['list?', ['open', ATTACHMENT]],
    record: ['list?', ['open', { ...ATTACHMENT, network: 'text', addedMs: 'number' }]],
  },
]

/** The namespace of upstream if the kubeconfig names none. */
export const DEFAULT_NAMESPACE = 'kube-system'

export function ownerOf({ podNamespace, podName, containerId, ifname }: InterfaceRequest): RowOwner {
  return { podref: `${podNamespace}/${podName}`, id: containerId, ifname }
}
