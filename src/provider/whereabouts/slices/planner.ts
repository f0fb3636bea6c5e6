import { Ledger } from '../../../allocator/index.js'
import { RangeSet } from '../../../cidr/index.js'
import { check, type KindOf } from '../../../errors/check.js'
import { refuse } from '../../../errors/refuse.js'
import type { DefinedPlanner } from '../../../plan/define-planner.js'
import type { Refusal } from '../../../plan/effect.js'
import type { EventEffect, Plan } from '../../../plan/index.js'
import { definePlanner, eventAbout } from '../../../plan/index.js'
import { KEYS, type NodeSliceContext, type NodeSliceState, type NodeSliceWatches, slicedBy } from './context.js'
import { definitionWatch } from './definition.js'
import type { NodeSliceOutcome } from './outcome.js'
import { planDefinition } from './plan-definition.js'
import { planSlicePool } from './plan-slice-pool.js'
import { wakesOfDefinition, wakesOfNode, wakesOfRows, wakesOfSlicePool } from './wakes.js'
import { nodeWatch, rowWatch, slicePoolWatch } from './watches.js'

export interface NodeSliceOptions {
  /**
   * The namespace of the NodeSlicePools and of the IPPools: `WHEREABOUTS_NAMESPACE` of upstream's
   * controllers. Default `kube-system`. Definitions of all namespaces are served.
   */
  readonly namespace?: string | undefined
}

const NODE_SLICE_OPTIONS: KindOf<NodeSliceOptions> = { namespace: 'text?' }

/**
 * A planner with the keys `NodeSlicePool namespace/name` and `NetworkAttachmentDefinition
 * namespace/name`.
 */
export type NodeSlicePlanner = DefinedPlanner<NodeSliceOutcome, NodeSliceWatches, NodeSliceState>

/**
 * Divides the ranges of whereabouts networks with `node_slice_size` into slices, and gives each
 * Node one: the node slice controller. It writes NodeSlicePools as upstream does, and nodes of
 * either implementation read them.
 *
 * - A Node has one slice of a network, and keeps it while it exists.
 * - The slice of a deleted Node is freed when the IPPool of the slice has no rows any more: the
 *   sweep removes the rows of Pods that are gone. A Node that waits gets the slice at once.
 * - A slice is offered if each definition of the network has an address in it that is not excluded.
 * - A range or a slice size that is changed is written when the slices that end with it have no
 *   rows. Until then the change is refused, by an Event about the definition.
 * - Of definitions with one network name and different divisions, the oldest is served.
 * - A NodeSlicePool is deleted with its last definition, when its slices have no rows.
 *
 * Rows decide: an IPPool with rows keeps its slice for its node, also if the NodeSlicePool was
 * deleted or changed by hand. So a restart changes nothing. One process at a time may run it: elect
 * a leader.
 *
 * A heartbeat of a Node, and a row in a pool that has others, make no plan. A plan costs O(slices +
 * nodes), and its patch has the changed slices only.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function whereaboutsNodeSlices(options: NodeSliceOptions = {}): NodeSlicePlanner {
  check('whereaboutsNodeSlices', 'options', options, NODE_SLICE_OPTIONS)
  const { namespace = 'kube-system' } = options
  if (namespace === '') refuse('whereaboutsNodeSlices', 'namespace', 'the name of a namespace', namespace)

  return definePlanner<NodeSliceOutcome, NodeSliceWatches, NodeSliceState>({
    name: 'whereabouts-node-slices',
    watches: {
      definitions: definitionWatch,
      nodes: nodeWatch,
      slicePools: slicePoolWatch(namespace),
      pools: rowWatch(namespace),
    },
    state: () => ({ namespace }),
    // the slices of thousands of Nodes are in one object: a ledger would take longer than the plan.
    // With one, which stays empty, the floor notes the Events of plans that are carried out
    holds: {},
    ledger: () => new Ledger({ space: RangeSet.parse([]) }),
    wakes: {
      definitions: wakesOfDefinition,
      nodes: wakesOfNode,
      slicePools: wakesOfSlicePool,
      pools: wakesOfRows,
    },
    plan(key, context) {
      const { kind, name = '' } = KEYS.read(key) ?? {}
      if (kind === 'NodeSlicePool') return planSlicePool(key, name, context)
      return kind === 'NetworkAttachmentDefinition' ? planDefinition(name, context) : undefined
    },
    refused: planRefused,
    // one plan for all Nodes that have come or gone together
    isAggregate: (key) => KEYS.read(key)?.kind === 'NodeSlicePool',
  })
}

/** Reports a write that the store has refused, about the oldest definition, once for each cause. */
function planRefused(key: string, refusal: Refusal, context: NodeSliceContext): Plan<NodeSliceOutcome> {
  const { code, message } = refusal
  return { outcome: { kind: 'failed', message }, effects: eventsOf(key, { code, message }, context) }
}

function eventsOf(
  key: string,
  { code, message }: Pick<Refusal, 'code' | 'message'>,
  context: NodeSliceContext,
): readonly EventEffect[] {
  const read = KEYS.read(key)
  const short = read?.name.slice(context.state.namespace.length + 1) ?? ''
  const [oldest] = read?.kind === 'NodeSlicePool' ? slicedBy(short, context) : []
  if (oldest === undefined) return []
  const { object } = oldest
  if (!context.sent.note(key, object.metadata.uid, { reason: 'WriteRefused', message, cause: code })) return []
  return [eventAbout(object, { type: 'Warning', reason: 'WriteRefused', message })]
}
