import { hasFinalizer, isDeleting } from '../../crd/meta/object.js'
import type { ClusterCIDRSpec } from '../../crd/node-ipam/cluster-cidr.js'
import { CLUSTER_CIDR_FINALIZER, ClusterCIDR } from '../../crd/node-ipam/index.js'
import { listed } from '../../errors/listed.js'
import { addFinalizer, type Plan, removeFinalizer } from '../../plan/index.js'
import { KEYS, type NodeIPAMContext } from './context.js'
import { DEFAULT_CLUSTER_CIDR } from './flags.js'
import type { RangeOutcome } from './outcome.js'
import { nodesIn } from './subnets.js'

/** How many problems of a ClusterCIDR are told in Events. */
const MOST_EVENTS = 20

/** The plan for a ClusterCIDR. O(subnets in it) while it is being deleted, else O(1). */
export function planRange(name: string, context: NodeIPAMContext): Plan<RangeOutcome> | undefined {
  const facts = context.cache.ranges?.get(name)
  if (facts === undefined) return undefined
  const { object, read, prefixes } = facts
  const isKept = hasFinalizer(object, CLUSTER_CIDR_FINALIZER)
  if (isDeleting(object)) {
    const nodes = nodesIn(prefixes, context)
    if (nodes.length > 0) {
      const message = `ClusterCIDR ${name} is kept until these Nodes are deleted: ${listed(nodes, ', ')}`
      return { outcome: { kind: 'blocked', message, nodes }, effects: [] }
    }
    const effects = isKept ? [removeFinalizer(object, CLUSTER_CIDR_FINALIZER, 'no Node has a subnet of the range')] : []
    return { outcome: { kind: 'released', message: `no Node has a subnet of ClusterCIDR ${name}` }, effects }
  }
  const key = KEYS.format('ClusterCIDR', name)
  if (!read.ok) {
    const message = `ClusterCIDR ${name} gives no subnets: ${read.problem}`
    const cause = { reason: 'InvalidClusterCIDR', message, cause: read.problem } as const
    const effects = context.sent.newEvents(key, object, [cause])
    return { outcome: { kind: 'invalid', message }, effects }
  }
  const causes = read.problems.slice(0, MOST_EVENTS).map((problem) => {
    const message = `a term of ClusterCIDR ${name} selects no Node: ${problem}`
    return { reason: 'InvalidClusterCIDR', message, cause: problem } as const
  })
  const events = context.sent.newEvents(key, object, causes, isKept ? [] : ['WriteRefused'])
  const why = 'keep the range while Nodes have subnets of it'
  const effects = isKept ? events : [addFinalizer(object, CLUSTER_CIDR_FINALIZER, why), ...events]
  return { outcome: { kind: 'active', message: `ClusterCIDR ${name} gives subnets` }, effects }
}

/** The creation of the ClusterCIDR for the flags, if it does not exist. */
export function planDefault(spec: ClusterCIDRSpec, context: NodeIPAMContext): Plan<RangeOutcome> | undefined {
  const existing = planRange(DEFAULT_CLUSTER_CIDR, context)
  if (existing !== undefined) return existing
  const { apiVersion, kind } = ClusterCIDR.info
  const metadata = { name: DEFAULT_CLUSTER_CIDR, finalizers: [CLUSTER_CIDR_FINALIZER] }
  const object: ClusterCIDR = { apiVersion, kind, metadata, spec }
  const message = `ClusterCIDR ${DEFAULT_CLUSTER_CIDR} is created from flags`
  const why = 'flags name a range without a ClusterCIDR'
  return { outcome: { kind: 'active', message }, effects: [{ kind: 'create', object, why }] }
}
