import { Prefix } from '../../cidr/index.js'
import type { ClusterNetwork } from '../../crd/ipam-kit/index.js'
import { hasFinalizer, isDeleting } from '../../crd/meta/object.js'
import { CLUSTER_CIDR_FINALIZER } from '../../crd/node-ipam/index.js'
import type { Parsed } from '../../plan/cached-objects.js'
import type { Delta } from '../../plan/index.js'
import type { TrimmedObject } from '../../plan/selection.js'
import { type NodeIPAMContext, nodeKey, type RangeFacts, rangeKey, serviceKey, waitingNodes } from './context.js'
import type { NodeFacts } from './node.js'
import type { ServiceFacts } from './service-range.js'

/**
 * Wakes the Node, and the Nodes whose conflicts begin or end with its subnets. After a release also
 * what waits for subnets: Nodes, and ranges that are being deleted.
 */
export function wakesOfNode(
  { ref, before, now }: Delta<NodeFacts, TrimmedObject>,
  context: NodeIPAMContext,
): readonly string[] {
  const { subnets, sent, waiting } = context.state
  const had = parsedOf(before)
  const has = parsedOf(now)
  if (had !== undefined && had === has) return []
  const key = nodeKey(ref.name)
  if (has?.isBare !== true) waiting.delete(ref.name)
  if (now === undefined) sent.forget(key)
  const released = without(had?.subnets ?? [], has?.subnets ?? [])
  const taken = without(has?.subnets ?? [], had?.subnets ?? [])
  if (released.length + taken.length === 0) return [key]
  const concerned = subnets.setNode(ref.name, has?.subnets ?? [])
  return [key, ...concerned.map(nodeKey), ...wakesOfRelease(released, context)]
}

/** Wakes what waits for released subnets: Nodes, and ranges that are being deleted. */
export function wakesOfRelease(released: readonly Prefix[], context: NodeIPAMContext): readonly string[] {
  if (released.length === 0) return []
  const keys = [...waitingNodes(context)]
  for (const facts of context.cache.ranges ?? []) {
    const isAbout = facts.prefixes.some((prefix) => released.some((subnet) => Prefix.overlaps(prefix, subnet)))
    if (isAbout && isDeleting(facts.object)) keys.push(rangeKey(facts.object.metadata.name))
  }
  return keys
}

/** Updates the open ranges, and wakes Nodes that wait for one if they have changed. */
export function wakesOfNetwork({ before, now }: Delta<ClusterNetwork>, context: NodeIPAMContext) {
  const [had, has] = [openIn(parsedOf(before)), openIn(parsedOf(now))]
  context.state.subnets.setOpen(has)
  return [...has].every((cidr) => had.has(cidr)) ? [] : waitingNodes(context)
}

function openIn(network: ClusterNetwork | undefined): ReadonlySet<string> {
  const active = (network?.status?.ranges ?? []).filter(({ state }) => state === 'Active')
  return new Set(active.map(({ cidr }) => cidr))
}

/** Wakes the range, Nodes with subnets of it, and Nodes that wait for one. */
export function wakesOfRange({ ref: { name }, before, now }: Delta<RangeFacts>, context: NodeIPAMContext) {
  const { state } = context
  const [had, has] = [parsedOf(before), parsedOf(now)]
  if (has === undefined) state.subnets.setRange(name, undefined)
  else openRange(has, context)
  if (now === undefined) state.sent.forget(rangeKey(name))
  // a Node with a subnet is concerned by the prefixes alone
  const prefixes = changed(had?.prefixes ?? [], has?.prefixes ?? [])
  return [rangeKey(name), ...state.subnets.nodesIn(prefixes).map(nodeKey), ...waitingNodes(context)]
}

/** Updates which subnets a ClusterCIDR gives. */
function openRange({ object, read, prefixes }: RangeFacts, { state }: NodeIPAMContext): void {
  const isOpen = read.ok && !isDeleting(object)
  // without its finalizer a ClusterCIDR may be deleted before a subnet of it is written
  const source = hasFinalizer(object, CLUSTER_CIDR_FINALIZER) ? 'open' : 'opening'
  state.subnets.setRange(object.metadata.name, { range: isOpen ? read.value : undefined, prefixes, state: source })
}

/** Wakes the ServiceCIDR, Nodes with subnets of it, and Nodes that wait for one. */
export function wakesOfService({ ref: { name }, before, now }: Delta<ServiceFacts>, context: NodeIPAMContext) {
  const { state } = context
  const [had, has] = [parsedOf(before)?.prefixes ?? [], parsedOf(now)?.prefixes ?? []]
  state.subnets.setServiceRange(name, has)
  if (now === undefined) state.sent.forget(serviceKey(name))
  return [serviceKey(name), ...state.subnets.nodesIn(changed(had, has)).map(nodeKey), ...waitingNodes(context)]
}

/** The prefixes that are in one of two lists. */
function changed(before: readonly Prefix[], now: readonly Prefix[]): readonly Prefix[] {
  return [...without(before, now), ...without(now, before)]
}

/** Prefixes that are not among others. */
export function without(prefixes: readonly Prefix[], others: readonly Prefix[]): readonly Prefix[] {
  return prefixes.filter((prefix) => !others.some((other) => Prefix.equals(prefix, other)))
}

function parsedOf<T>(entry: Parsed<T> | undefined): T | undefined {
  return entry?.ok === true ? entry.value : undefined
}
