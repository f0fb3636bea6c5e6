import { Prefix } from '../../cidr/index.js'
import { ClusterNetwork } from '../../crd/ipam-kit/index.js'
import type { Moved } from '../../plan/holdings.js'
import type { Delta, Parsed, Watch } from '../../plan/index.js'
import { modelWatch } from '../../plan/index.js'
import type { TrimmedObject } from '../../plan/selection.js'
import { endingRanges, KEYS, type NodeIPAMContext, type RangeFacts, waitingNodes } from './context.js'
import type { NodeFacts } from './node.js'
import type { ServiceFacts } from './service-range.js'
import { advance, nodesIn } from './subnets.js'

/** Wakes the Node, if what is read of it has changed. */
export function wakesOfNode(
  { ref, before, now }: Delta<NodeFacts, TrimmedObject>,
  context: NodeIPAMContext,
): readonly string[] {
  const [had, has] = [parsedOf(before), parsedOf(now)]
  if (had !== undefined && had === has) return []
  const key = KEYS.format('Node', ref)
  if (has?.isBare !== true) context.state.waiting.delete(ref.name)
  if (has === undefined) context.sent.forget(key)
  else if (had?.isBare === true && !has.isBare) advance(has, context)
  return [key]
}

/**
 * After a release: the Nodes that wait. After any change of their holders: the ranges that are
 * being deleted, also if a service range has what a Node has released.
 */
export function wakesOfMoved({ touched, freed }: Moved, context: NodeIPAMContext): readonly string[] {
  const ending = endingRanges(context).filter(({ prefixes }) =>
    prefixes.some((range) => touched.some(({ prefix }) => Prefix.overlaps(range, prefix))),
  )
  return [
    ...(freed.length > 0 ? waitingNodes(context) : []),
    ...ending.map(({ object }) => KEYS.format('ClusterCIDR', object.metadata)),
  ]
}

/** Only the ClusterNetwork of this name, by the ranges that are Active in it. */
export function networkWatch(name: string): Watch<ClusterNetwork> {
  return modelWatch(ClusterNetwork, { fields: { 'metadata.name': name }, indexes: { active: activeIn } })
}

/** Wakes the Nodes that wait if a range is Active that was not. */
export function wakesOfNetwork({ before, now }: Delta<ClusterNetwork>, context: NodeIPAMContext): readonly string[] {
  const had = new Set(activeIn(parsedOf(before)))
  return activeIn(parsedOf(now)).every((cidr) => had.has(cidr)) ? [] : waitingNodes(context)
}

function activeIn(network: ClusterNetwork | undefined): readonly string[] {
  return (network?.status?.ranges ?? []).flatMap(({ cidr, state }) => (state === 'Active' ? [cidr] : []))
}

/** Wakes the range, Nodes with subnets of it, and Nodes that wait for one. */
export function wakesOfRange({ ref, before, now }: Delta<RangeFacts>, context: NodeIPAMContext): readonly string[] {
  const { state, sent } = context
  const key = KEYS.format('ClusterCIDR', ref)
  state.ranges = undefined
  state.refused.delete(ref.name)
  if (now === undefined) sent.forget(key)
  return [key, ...wakesOfPrefixes(before, now, context)]
}

/** Wakes the ServiceCIDR, Nodes with subnets of it, and Nodes that wait for one. */
export function wakesOfService({ ref, before, now }: Delta<ServiceFacts>, context: NodeIPAMContext): readonly string[] {
  const key = KEYS.format('ServiceCIDR', ref)
  if (now === undefined) context.sent.forget(key)
  return [key, ...wakesOfPrefixes(before, now, context)]
}

/** The Nodes with subnets of prefixes that only one version has, and the Nodes that wait. */
function wakesOfPrefixes(
  before: Parsed<RangeFacts | ServiceFacts> | undefined,
  now: Parsed<RangeFacts | ServiceFacts> | undefined,
  context: NodeIPAMContext,
): readonly string[] {
  const [had, has] = [parsedOf(before)?.prefixes ?? [], parsedOf(now)?.prefixes ?? []]
  const names = nodesIn([...without(had, has), ...without(has, had)], context)
  return [...names.map((name) => KEYS.format('Node', name)), ...waitingNodes(context)]
}

/** Prefixes that are not among others. */
function without(prefixes: readonly Prefix[], others: readonly Prefix[]): readonly Prefix[] {
  return prefixes.filter((prefix) => !others.some((other) => Prefix.equals(prefix, other)))
}

function parsedOf<T>(entry: Parsed<T> | Parsed<T, TrimmedObject> | undefined): T | undefined {
  return entry?.ok === true ? entry.value : undefined
}
