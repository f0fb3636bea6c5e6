import { nodeSubnets } from '../../crd/core/node-subnets.js'
import { refOf } from '../../crd/meta/object.js'
import type { Refusal } from '../../plan/effect.js'
import type { EventEffect, Plan } from '../../plan/index.js'
import { patched } from '../../plan/patched.js'
import { KEYS, type NodeIPAMContext, waitingNodes } from './context.js'
import type { NodeIPAMOutcome } from './outcome.js'
import { advance, stateOf } from './subnets.js'

/**
 * Reports a write that the store has refused, once for each cause. After a refused finalizer of a
 * ClusterCIDR, Nodes that have waited for it get subnets of the next range.
 */
export function planRefused(key: string, refusal: Refusal, context: NodeIPAMContext): Plan<NodeIPAMOutcome> {
  const read = KEYS.read(key)
  const node = read?.kind === 'Node' ? context.cache.nodes.entry(read.name) : undefined
  if (node?.ok === true && refusal.effect.kind === 'patch') {
    // it may be refused for its subnets: the next try has others
    const { subnets } = nodeSubnets(patched(node.object, refusal.effect.patch))
    advance({ ...node.value, subnets }, context)
  }
  const isWaitedFor = read?.kind === 'ClusterCIDR' && stateOf(read.name, context) === 'opening'
  if (isWaitedFor) context.state.refused.add(read.name)
  return {
    outcome: { kind: 'failed', message: refusal.message },
    effects: eventsOf(key, refusal, context),
    wakes: isWaitedFor ? waitingNodes(context) : [],
  }
}

/** The Event about the object of a write that was refused, if its cause is new. */
function eventsOf(key: string, { effect, code, message }: Refusal, { sent }: NodeIPAMContext): readonly EventEffect[] {
  if (effect.kind !== 'patch' && effect.kind !== 'create') return []
  const about = effect.kind === 'patch' ? effect.ref : refOf(effect.object)
  const uid = effect.kind === 'patch' ? effect.if.uid : undefined
  const reason = KEYS.read(key)?.kind === 'Node' ? 'CIDRAssignmentFailed' : 'WriteRefused'
  // the message of the store may contain the subnets of this try
  if (!sent.note(key, uid, { reason, message, cause: code })) return []
  return [{ kind: 'event', about, uid, type: 'Warning', reason, message }]
}
