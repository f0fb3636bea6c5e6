import { refOf } from '../../crd/meta/object.js'
import type { Refusal } from '../../plan/effect.js'
import type { EventEffect } from '../../plan/index.js'
import type { RefusedPlan } from '../../plan/planner.js'
import { type NodeIPAMContext, nodeKey, waitingNodes } from './context.js'
import type { NodeIPAMOutcome } from './outcome.js'

/**
 * Reports a write that the store has refused, once for each cause, and wakes the Nodes that wait
 * for it: no write is waited for as if it could not fail.
 *
 * - The finalizer of a ClusterCIDR: Nodes get subnets of the next range.
 * - The entries of several controllers: each Node that waits for an entry reports it.
 */
export function planRefused(
  key: string,
  refusal: Refusal,
  context: NodeIPAMContext,
): RefusedPlan<NodeIPAMOutcome> & { readonly wakes: readonly string[] } {
  const { state } = context
  const { code, message } = refusal
  const [kind, name = ''] = key.split(' ')
  const plan = { outcome: { kind: 'failed', message }, effects: eventsOf(key, refusal, context) } as const
  switch (kind) {
    case 'ClusterCIDR':
      return { ...plan, wakes: state.subnets.refuse(name) ? waitingNodes(context) : [] }
    case 'SubnetReservations': {
      const isNew = state.entriesRefused?.code !== code
      state.entriesRefused = { code, message }
      return { ...plan, wakes: isNew ? context.cache.nodes.by('bare', 'yes').map((node) => nodeKey(node.name)) : [] }
    }
    default:
      return { ...plan, wakes: [] }
  }
}

/** The Event about the object of a write that was refused, if its cause is new. */
function eventsOf(key: string, { effect, code, message }: Refusal, { state }: NodeIPAMContext): readonly EventEffect[] {
  if (effect.kind !== 'patch' && effect.kind !== 'create') return []
  const about = effect.kind === 'patch' ? effect.ref : refOf(effect.object)
  const uid = effect.kind === 'patch' ? effect.if.uid : undefined
  const reason = key.startsWith('Node ') ? 'CIDRAssignmentFailed' : 'WriteRefused'
  // the message of the store may contain the subnets of this try
  if (!state.sent.note(key, uid, { reason, message, cause: code })) return []
  return [{ kind: 'event', about, uid, type: 'Warning', reason, message }]
}
