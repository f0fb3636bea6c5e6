import type { Prefix } from '../../cidr/index.js'
import { Node, nodeSubnets } from '../../crd/core/index.js'
import { isDeleting, type KubeObject } from '../../crd/meta/object.js'
import { describe } from '../../errors/index.js'
import type { TrimmedWatch } from '../../plan/index.js'

/** What node IPAM reads of a Node. */
export interface NodeFacts {
  readonly name: string
  readonly metadata: Pick<KubeObject['metadata'], 'name' | 'labels'>
  /** What its Pods have, also if it cannot be used. */
  readonly subnets: readonly Prefix[]
  readonly problems: readonly string[]
  /** Why the Node is no Node. What its `podCIDRs` say is in use all the same. */
  readonly unreadable: string | undefined
  /** Whether it has no `podCIDRs` yet. */
  readonly isBare: boolean
  readonly isDeleting: boolean
  /** All of the above as one text. */
  readonly signature: string
}

/**
 * The Nodes, without what takes their space: status, annotations, managed fields. A heartbeat leads to the same facts, and so to no plan. Planners that share it share
 * one watch.
 */
export const nodeWatch: TrimmedWatch<NodeFacts> = {
  ...Node.info,
  keep: keepNode,
  parse(object, before) {
    const read = Node.safeParse(object)
    const unreadable = read.ok ? undefined : describe(read.failure)
    const { metadata, spec } = read.ok ? read.value : remnantOf(object)
    const { uid, labels } = metadata
    const signature = JSON.stringify([uid, labels, spec.podCIDR, spec.podCIDRs, isDeleting(object), unreadable])
    if (before?.signature === signature) return { ok: true, value: before }
    const { name } = object.metadata
    const isBare = read.ok && (spec.podCIDR ?? '') === '' && (spec.podCIDRs ?? []).length === 0
    const facts = { name, metadata: { name, labels }, unreadable, isBare, isDeleting: isDeleting(object), signature }
    return { ok: true, value: { ...facts, ...nodeSubnets({ spec }) } }
  },
  indexes: {
    // Nodes to which a subnet is still to be given
    bare: ({ isBare, isDeleting }) => (isBare && !isDeleting ? ['yes'] : []),
  },
}

function keepNode({ apiVersion, kind, metadata, ...rest }: KubeObject): KubeObject {
  const { name, uid, resourceVersion, labels, creationTimestamp, deletionTimestamp } = metadata
  const { podCIDR, podCIDRs } = (rest as Partial<Node>).spec ?? {}
  const spec = { ...(podCIDR !== undefined && { podCIDR }), ...(podCIDRs !== undefined && { podCIDRs }) }
  const kept = { name, uid, resourceVersion, labels, creationTimestamp, deletionTimestamp }
  return { apiVersion, kind, metadata: kept, spec } as KubeObject
}

/** What can be read of a Node that is none: it has what it says it has. */
function remnantOf({ metadata: { name, uid }, spec }: KubeObject): Pick<Node, 'metadata' | 'spec'> {
  const { podCIDR, podCIDRs } = (spec ?? {}) as { readonly [key: string]: unknown }
  const texts = [podCIDRs].flat().filter((text) => typeof text === 'string')
  return { metadata: { name, uid }, spec: { podCIDRs: texts, ...(typeof podCIDR === 'string' && { podCIDR }) } }
}
