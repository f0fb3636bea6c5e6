import type { Prefix } from '../../cidr/index.js'
import { Node, nodeSubnets } from '../../crd/core/index.js'
import { keepNode } from '../../crd/core/node-subnets.js'
import { isDeleting, type Json, type KubeObject } from '../../crd/meta/object.js'
import { sameJson } from '../../crd/meta/patch.js'
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
  /** What the facts are made from. */
  readonly source: object
}

/** The Nodes, trimmed to save memory. A heartbeat leads to the same facts, and so to no plan. */
export const nodeWatch: TrimmedWatch<NodeFacts> = {
  ...Node.info,
  keep: keepNode,
  parse({ apiVersion, kind, metadata, spec }, before) {
    const { name, uid, labels, creationTimestamp, deletionTimestamp } = metadata
    // without the version and the addresses, which change with each heartbeat
    const source = { apiVersion, kind, metadata: { name, uid, labels, creationTimestamp, deletionTimestamp }, spec }
    if (before !== undefined && sameJson(before.source as Json, source as Json)) {
      return { ok: true, value: before }
    }
    const read = Node.safeParse(source)
    // an unreadable Node has the subnets that it names
    const { subnets, problems } = nodeSubnets(source)
    return {
      ok: true,
      value: {
        name,
        metadata: { name, labels },
        subnets,
        problems: problems.map(({ message }) => message),
        unreadable: read.ok ? undefined : read.failure.message,
        isBare: read.ok && (read.value.spec.podCIDR ?? '') === '' && (read.value.spec.podCIDRs ?? []).length === 0,
        isDeleting: isDeleting(source),
        source,
      },
    }
  },
  indexes: {
    // Nodes that still need subnets
    bare: ({ isBare, isDeleting }) => (isBare && !isDeleting ? ['yes'] : []),
  },
}
