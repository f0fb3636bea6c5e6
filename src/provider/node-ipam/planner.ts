import { Ledger, type LedgerEntry } from '../../allocator/index.js'
import { type Prefix, RangeSet } from '../../cidr/index.js'
import { isDeleting } from '../../crd/meta/object.js'
import type { ClusterCIDRSpec } from '../../crd/node-ipam/cluster-cidr.js'
import { ClusterCIDR } from '../../crd/node-ipam/index.js'
import { check, type KindOf } from '../../errors/check.js'
import type { DefinedPlanner } from '../../plan/define-planner.js'
import type { Holder } from '../../plan/holdings.js'
import { definePlanner, type Watch } from '../../plan/index.js'
import { KEYS, type NodeIPAMState, type NodeIPAMWatches, type RangeFacts, type SubnetCursors } from './context.js'
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
import { heldByNode, heldByService, SERVICE_RANGES } from './subnets.js'
import { usageOf } from './usage.js'
import { networkWatch, wakesOfMoved, wakesOfNetwork, wakesOfNode, wakesOfRange, wakesOfService } from './wakes.js'

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

/** A planner of Nodes: keys are `Node name`, `ClusterCIDR name` and `ServiceCIDR name`. */
export type NodeIPAMPlanner = DefinedPlanner<NodeIPAMOutcome, NodeIPAMWatches, NodeIPAMState>

const EVERYTHING = /* @__PURE__ */ RangeSet.parse(['0.0.0.0/0', '::/0'])

const rangeWatch: Watch<RangeFacts> = {
  ...ClusterCIDR.info,
  parse(object) {
    const parsed = ClusterCIDR.safeParse(object)
    const read = parsed.ok ? readRange(parsed.value) : ({ ok: false, problem: parsed.failure.message } as const)
    return { ok: true, value: { object, read, prefixes: rangePrefixes(object) } }
  },
  indexes: { ending: (_, object) => (isDeleting(object) ? ['yes'] : []) },
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
  /** The subnets of Nodes whose conflicts have begun or ended since the last move. */
  const changed = new Set<LedgerEntry<Holder>>()
  return definePlanner<NodeIPAMOutcome, NodeIPAMWatches, NodeIPAMState>({
    name: 'node-ipam',
    watches: {
      nodes: nodeWatch,
      ...(range === undefined && { ranges: rangeWatch }),
      ...(watchServiceCIDRs && { services: serviceWatch }),
      ...(options.network !== undefined && { network: networkWatch(options.network) }),
    },
    state(_, before, { holdings }) {
      for (const [index, prefix] of serviceCIDRs.entries()) {
        holdings.ledger().set(`${index}`, { prefix, reason: 'foreign', holder: { key: SERVICE_RANGES } })
      }
      const cursors = before?.cursors ?? options.cursors ?? new Map()
      return { order, range, serviceCIDRs, cursors, waiting: new Set(), refused: new Set(), ranges: undefined }
    },
    holds: { nodes: heldByNode, services: heldByService },
    usage: usageOf,
    ledger: () =>
      new Ledger({ space: EVERYTHING }, { onConflict: (entry) => changed.delete(entry) || changed.add(entry) }),
    moved(moved, context) {
      const keys = [...changed].map(({ holder }) => holder.key)
      changed.clear()
      return [...keys, ...wakesOfMoved(moved, context)]
    },
    wakes: {
      nodes(delta, context) {
        const keys = wakesOfNode(delta, context)
        const isMissing = spec !== undefined && context.cache.ranges?.entry(DEFAULT_CLUSTER_CIDR) === undefined
        return isMissing ? [...keys, KEYS.format('ClusterCIDR', DEFAULT_CLUSTER_CIDR)] : keys
      },
      ranges: wakesOfRange,
      services: wakesOfService,
      network: wakesOfNetwork,
    },
    plan(key, context) {
      const { kind, name = '' } = KEYS.read(key) ?? {}
      switch (kind) {
        case 'Node':
          return planNode(name, context)
        case 'ClusterCIDR':
          if (spec !== undefined && name === DEFAULT_CLUSTER_CIDR) return planDefault(spec, context)
          return planRange(name, context)
        case 'ServiceCIDR':
          return planService(name, context)
        default:
          return undefined
      }
    },
    refused: planRefused,
    isAggregate: (key) => KEYS.read(key)?.kind === 'ClusterCIDR',
    isServed(key, { cache }) {
      const read = KEYS.read(key)
      return read?.kind === 'Node' && cache.nodes.get(read.name)?.isBare === false
    },
  })
}
