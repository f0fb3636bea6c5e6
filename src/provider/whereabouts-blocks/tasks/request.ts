import { whyNotAddress } from '../../../cidr/internal.js'
import { check, type Kind } from '../../../errors/check.js'
import { assertKnown, type KnownBlocks } from '../../blocks/tasks/known-blocks.js'
import { assertRequest, type BlockOwner, type Labels } from '../../blocks/tasks/request.js'
import type { CheckRequest, GcRequest, InterfaceRequest, NetworkRequest } from '../../whereabouts/tasks/request.js'
import type { BlockNetwork } from '../config/network.js'
import { NETWORK } from '../config/network-kind.js'
import { NAMESPACE_LABEL } from '../config/range-pool.js'

/** The network of a request. Pools and blocks are cluster-scoped. */
export interface BlockNetworkRequest extends Omit<NetworkRequest, 'config' | 'namespace'> {
  readonly network: BlockNetwork
}

/** One interface of one container. */
export interface BlockInterfaceRequest
  extends BlockNetworkRequest,
    Omit<InterfaceRequest, 'config' | 'namespace' | 'nodeName'> {
  /**
   * `K8S_POD_UID` of CNI_ARGS. An ADD without it reads the Pod. A DEL or CHECK without it finds the
   * rows by their container.
   */
  readonly podUid?: string | undefined
  readonly mac?: string | undefined
  /**
   * Labels of the Pod's namespace, for pools with a `namespaceSelector`. Its name is known without.
   */
  readonly namespaceLabels?: Labels | undefined
  /**
   * Labels of the Node, for pools with a `nodeSelector`. Left out: an ADD reads the Node of
   * `nodeName` for such a pool.
   */
  readonly nodeLabels?: Labels | undefined
}

/** What `blockCheck` compares with the rows. */
export interface BlockCheckRequest extends BlockInterfaceRequest, Pick<CheckRequest, 'addresses'> {}

/** What `blockGc` frees the other rows of. */
export interface BlockGcRequest extends BlockNetworkRequest, Pick<GcRequest, 'nodeName' | 'valid' | 'record'> {
  readonly nodeName: string
}

const LABELS = ['record?', 'text'] as const

export const BLOCK_NETWORK_REQUEST: Kind = ['open', { network: NETWORK, nodeName: 'text?' }]

const ATTACHMENT = { containerId: 'text', ifname: 'text' } as const

export const BLOCK_GC_REQUEST: Kind = [
  'open',
  {
    network: NETWORK,
    nodeName: 'text',
    valid: ['list?', ['open', ATTACHMENT]],
    record: ['list?', ['open', { ...ATTACHMENT, network: 'text', addedMs: 'number' }]],
  },
]

const INTERFACE: Kind = [
  'open',
  {
    network: NETWORK,
    nodeName: 'text?',
    containerId: 'text',
    ifname: 'text',
    podNamespace: 'text',
    podName: 'text',
    podUid: 'text?',
    addresses: ['list?', whyNotAddress],
    mac: 'text?',
    namespaceLabels: LABELS,
    nodeLabels: LABELS,
  },
]

/** @throws IpamError `INVALID_ARGUMENT`, also for texts that no row can have */
export function assertInterface(of: string, request: BlockInterfaceRequest, known: KnownBlocks): void {
  check<unknown>(of, 'request', request, INTERFACE)
  assertKnown(of, known)
  assertRequest(of, { ...rowTexts(request, request.podUid || 'unknown'), pools: ['any'], families: [4] })
}

/** The owner of the rows of a request, and what its rows say of it. */
export function rowTexts(request: BlockInterfaceRequest, uid: string) {
  const { podNamespace, podName, ifname, containerId, mac, nodeName, nodeLabels: labels, namespaceLabels } = request
  const owner: BlockOwner = { uid, name: `${podNamespace}/${podName}` }
  return {
    owner,
    interface: ifname,
    container: containerId,
    mac: mac || undefined,
    node: nodeName ? { name: nodeName, labels } : undefined,
    namespaceLabels: { [NAMESPACE_LABEL]: podNamespace, ...namespaceLabels },
  }
}
