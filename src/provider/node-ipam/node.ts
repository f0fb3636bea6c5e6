import type { Prefix } from '../../cidr/index.js'
import { Node, nodeSubnets } from '../../crd/core/index.js'
import { keepNode } from '../../crd/core/node-subnets.js'
import { isDeleting, type KubeObject } from '../../crd/meta/object.js'
import { describe } from '../../errors/index.js'
import type { TrimmedWatch } from '../../plan/index.js'

/** The fields of a Node that node IPAM reads. */
export interface NodeFacts {
  readonly name: string
  readonly metadata: Pick<KubeObject['metadata'], 'name' | 'labels'>
  /** The subnets of its Pods, also invalid ones. */
  readonly subnets: readonly Prefix[]
  readonly problems: readonly string[]
  /** Why the Node cannot be parsed. Its `podCIDRs` are in use all the same. */
  readonly unreadable: string | undefined
  /** Whether it has no `podCIDRs` yet. */
  readonly isBare: boolean
  readonly isDeleting: boolean
  /** The fields above as one text. */
  readonly signature: string
}

/** The Nodes, trimmed to save memory. A heartbeat leads to the same facts, and so to no plan. */
export const nodeWatch: TrimmedWatch<NodeFacts> = {
  ...Node.info,
  keep: keepNode,
  parse(object, before) {
    // addresses are dropped: their content does not matter here
    const read = Node.safeParse({ ...object, status: undefined })
    const unreadable = read.ok ? undefined : describe(read.failure)
    const { uid, labels } = object.metadata
    const { podCIDR, podCIDRs } = (object.spec ?? {}) as { readonly [key: string]: unknown }
    const signature = JSON.stringify([uid, labels, podCIDR, podCIDRs, isDeleting(object), unreadable])
    if (before?.signature === signature) return { ok: true, value: before }
    const { name } = object.metadata
    const isBare = read.ok && (podCIDR ?? '') === '' && (read.value.spec.podCIDRs ?? []).length === 0
    // an unreadable Node has the subnets that it names
    const { subnets, problems } = nodeSubnets(object)
    const facts = { name, metadata: { name, labels }, unreadable, isBare, isDeleting: isDeleting(object), signature }
    return { ok: true, value: { ...facts, subnets, problems: problems.map(({ message }) => message) } }
  },
  indexes: {
    // Nodes that still need subnets
    bare: ({ isBare, isDeleting }) => (isBare && !isDeleting ? ['yes'] : []),
  },
}
