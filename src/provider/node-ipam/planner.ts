import type { LedgerEntry } from '../../allocator/index.js'
import type { Prefix } from '../../cidr/index.js'
import { ClusterNetwork } from '../../crd/ipam-kit/index.js'
import type { ClusterCIDRSpec } from '../../crd/node-ipam/cluster-cidr.js'
import { ClusterCIDR } from '../../crd/node-ipam/index.js'
import { check, type KindOf } from '../../errors/check.js'
import { describe } from '../../errors/index.js'
import type { DefinedPlanner } from '../../plan/define-planner.js'
import { definePlanner, modelWatch, type Watch } from '../../plan/index.js'
import { SentEvents } from '../../plan/sent-events.js'
import { type NodeIPAMState, type NodeIPAMWatches, type RangeFacts, rangeKey } from './context.js'
import { DEFAULT_CLUSTER_CIDR } from './flags.js'
import { nodeWatch } from './node.js'
import type { NodeIPAMOutcome } from './outcome.js'
import { planNode } from './plan-node.js'
import { planDefault, planRange } from './plan-range.js'
import { planRefused } from './plan-refused.js'
import { planService } from './plan-service.js'
import { NODE_RANGE, type NodeRange, rangePrefixes, readRange } from './range.js'
import type { RangeOrder } from './rank.js'
import { serviceWatch } from './service-range.js'
import { NodeSubnets, type SubnetCursors, type SubnetHolder } from './subnets.js'
import { wakesOfNetwork, wakesOfNode, wakesOfRange, wakesOfRelease, wakesOfService, without } from './wakes.js'

export interface NodeIPAMOptions {
  /** Default `numeric`. */
  readonly order?: RangeOrder | undefined
  /** Prefixes that Nodes get no subnet of: the service ranges. Default: none. */
  readonly serviceCIDRs?: readonly Prefix[] | undefined
  /**
   * Whether the ranges of all ServiceCIDR objects count as such prefixes: from Kubernetes 1.33 on.
   * Default false.
   */
  readonly watchServiceCIDRs?: boolean | undefined
  /**
   * The spec of a ClusterCIDR `default-cluster-cidr`, created if it does not exist:
   * {@link defaultClusterCIDR}. Default: none.
   */
  readonly defaultClusterCIDR?: ClusterCIDRSpec | undefined
  /**
   * A range instead of ClusterCIDRs, as in kube-controller-manager: {@link flagRange}. ClusterCIDRs
   * are not watched then.
   */
  readonly range?: NodeRange | undefined
  /**
   * Name of a ClusterNetwork. Nodes get subnets only of ranges that are `Active` in its status, so
   * that every component knows a range before it is used. Default: none, and ranges are used at
   * once.
   */
  readonly network?: string | undefined
  /** Where the search in each range begins: a hint. Default: at the first subnet. */
  readonly cursors?: SubnetCursors | undefined
}

const NODE_IPAMOPTIONS: KindOf<NodeIPAMOptions> = {
  order: ['one?', { numeric: 1, upstream: 1 }],
  serviceCIDRs: ['list?', 'object'],
  watchServiceCIDRs: 'flag?',
  defaultClusterCIDR: 'object?',
  range: NODE_RANGE,
  network: 'text?',
  cursors: 'iterable?',
}

/**
 * Node IPAM as a `Planner`: keys are `Node name`, `ClusterCIDR name` and `ServiceCIDR name`.
 */
export interface NodeIPAMPlanner
  extends Omit<DefinedPlanner<NodeIPAMOutcome, NodeIPAMWatches, NodeIPAMState>, 'entries'> {
  /**
   * The subnets in use: those of Nodes, those about to be written, and service ranges. In the order
   * of their prefixes. O(n log n).
   */
  entries(): readonly LedgerEntry<SubnetHolder>[]
}

const rangeWatch: Watch<RangeFacts> = {
  ...ClusterCIDR.info,
  parse(object) {
    const parsed = ClusterCIDR.safeParse(object)
    const read = parsed.ok ? readRange(parsed.value) : ({ ok: false, problem: describe(parsed.failure) } as const)
    return { ok: true, value: { object, read, prefixes: rangePrefixes(object) } }
  },
}

/**
 * Gives Nodes the subnets of their Pods, from ClusterCIDRs, or from a range of flags.
 *
 * - A Node gets one subnet of each family of a range, or none: in one patch, on the condition that
 *   it has none.
 * - A subnet is in use until the Node object does not exist any more, whatever its labels say.
 * - A ClusterCIDR gives subnets when it has its finalizer, and none when it is being deleted. It
 *   keeps its finalizer while a subnet of a Node overlaps it.
 * - A Node that waits is planned again after each release of a subnet, when a range is added or
 *   changed, and when its labels change.
 *
 * Which subnets are in use is read from the Nodes alone, so that a restart loses nothing. One
 * process at a time may run it: elect a leader. Two processes can give one subnet to two Nodes,
 * which is reported on both.
 *
 * A change of a Node costs O(ranges), and wakes the Nodes that wait when it releases a subnet. A
 * plan costs O(ranges x log ranges), whatever their size.
 *
 * @see https://kep.k8s.io/2593
 */
export function nodeIPAM(options: NodeIPAMOptions = {}): NodeIPAMPlanner {
  check('nodeIPAM', 'options', options, NODE_IPAMOPTIONS)

  const { order = 'numeric', serviceCIDRs = [], watchServiceCIDRs = false, range } = options
  const spec = range === undefined ? options.defaultClusterCIDR : undefined
  const planner = definePlanner<NodeIPAMOutcome, NodeIPAMWatches, NodeIPAMState>({
    name: 'node-ipam',
    watches: {
      nodes: nodeWatch,
      ...(range === undefined && { ranges: rangeWatch }),
      ...(watchServiceCIDRs && { services: serviceWatch }),
      ...(options.network !== undefined && {
        network: modelWatch(ClusterNetwork, { fields: { 'metadata.name': options.network } }),
      }),
    },
    state(_, before) {
      const subnets = new NodeSubnets(order, before?.subnets.cursors ?? options.cursors)
      subnets.setServiceRange('', serviceCIDRs)
      if (range !== undefined) {
        subnets.setRange(range.name, { range, prefixes: range.spaces.map(({ prefix }) => prefix), state: 'open' })
      }
      if (options.network !== undefined) subnets.setOpen(new Set())
      return { subnets, sent: before?.sent ?? new SentEvents(), waiting: new Set() }
    },
    wakes: {
      nodes(delta, context) {
        const keys = wakesOfNode(delta, context)
        const isMissing = spec !== undefined && context.cache.ranges?.entry(DEFAULT_CLUSTER_CIDR) === undefined
        return isMissing ? [...keys, rangeKey(DEFAULT_CLUSTER_CIDR)] : keys
      },
      ranges: wakesOfRange,
      services: wakesOfService,
      network: wakesOfNetwork,
    },
    plan(key, context) {
      const [kind, name = ''] = key.split(' ')
      switch (kind) {
        case 'Node':
          return planNode(name, context)
        case 'ServiceCIDR':
          return planService(name, context)
        default:
          if (spec !== undefined && name === DEFAULT_CLUSTER_CIDR) return planDefault(spec, context)
          return planRange(name, context)
      }
    },
    refused: planRefused,
    // subnets about to be written are given to no other Node, and an Event is sent once
    reserve(plan, context) {
      const { subnets, sent } = context.state
      const outcome = plan.outcome as NodeIPAMOutcome
      const assigned = outcome.kind === 'assigned' ? outcome : undefined
      if (assigned !== undefined) {
        subnets.setNode(assigned.node, assigned.choice.subnets, 'pending')
        subnets.advance(assigned.choice)
      }
      return (isDone = true) => {
        if (isDone) sent.sendAll(plan)
        if (assigned === undefined) return []
        subnets.setNode(assigned.node, [], 'pending')
        // the Node may have got others meanwhile, set by hand
        const had = context.cache.nodes.get(assigned.node)?.subnets ?? []
        return wakesOfRelease(without(assigned.choice.subnets, had), context)
      }
    },
    isAggregate: (key) => key.startsWith('ClusterCIDR '),
    isServed: (key, { cache }) => cache.nodes.get(key.slice('Node '.length))?.isBare === false,
  })
  return Object.assign(planner, { entries: () => planner.context.state.subnets.ledger.entries() })
}
