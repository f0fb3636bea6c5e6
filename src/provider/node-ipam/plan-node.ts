import { Prefix } from '../../cidr/index.js'
import { isDeleting } from '../../crd/meta/object.js'
import { listed } from '../../errors/listed.js'
import { type Plan, patchIfFields } from '../../plan/index.js'
import type { TrimmedObject } from '../../plan/selection.js'
import { type NodeIPAMContext, newEvents, nodeKey, type Reservation } from './context.js'
import type { NodeFacts } from './node.js'
import type { NodeOutcome, SubnetProblem } from './outcome.js'
import type { ReadShared } from './reservations.js'
import type { SubnetChoice } from './subnets.js'

/** The plan for a Node. O(ranges x log ranges + Nodes that share its subnets). */
export function planNode(
  name: string,
  context: NodeIPAMContext,
  shared: ReadShared | undefined,
  nowMs: number,
): Plan<NodeOutcome> | undefined {
  const { cache, state } = context
  const entry = cache.nodes.entry(name)
  if (entry?.ok !== true) return undefined
  const { value: node, object } = entry
  if (node.unreadable !== undefined) return { outcome: { kind: 'unreadable', message: node.unreadable }, effects: [] }
  const key = nodeKey(name)
  if (!node.isBare) {
    const problems = [...conflictsOf(node, context), ...orphansOf(node, context)]
    const effects = newEvents(key, object, problems, context)
    const [first] = problems
    if (first === undefined) {
      return { outcome: { kind: 'ready', message: `Node ${name} has ${formatAll(node.subnets)}` }, effects }
    }
    const message = problems.map((each) => each.message).join('; ')
    return { outcome: { kind: first.reason === 'CIDRConflict' ? 'conflict' : 'notOwned', message, problems }, effects }
  }
  if (node.isDeleting) return { outcome: { kind: 'deleting', message: `Node ${name} is being deleted` }, effects: [] }
  const reservation = state.reservations.get(name)
  if (shared !== undefined && reservation !== undefined && reservation.uid === object.metadata.uid) {
    return planReserved(node, object, reservation, context, shared, nowMs)
  }
  const choice = state.subnets.choose(node)
  if (choice === undefined) {
    state.waiting.add(name)
    const message = notAvailable(node, context)
    // it is planned again when that range gives subnets
    const isSoon = state.subnets.rangesFor(node).some((range) => state.subnets.isOpening(range))
    const causes = isSoon ? [] : [{ reason: 'CIDRNotAvailable', message } as const]
    return { outcome: { kind: 'waiting', message }, effects: newEvents(key, object, causes, context, REFUSALS) }
  }
  state.waiting.delete(name)
  state.sent.retain(key, REFUSALS)
  if (shared !== undefined) {
    const message = `Node ${name} waits for an entry in ${shared.name}`
    // another controller may take them for another Node
    return { outcome: { kind: 'waiting', message }, effects: [], requeueAfterSeconds: shared.takeOverSeconds }
  }
  return assign(object, choice)
}

/** A refusal is reported once, whatever the number of tries. */
const REFUSALS = ['CIDRAssignmentFailed'] as const

/**
 * The patch for an entry: by the controller that has made it, or by any other one after a while.
 */
function planReserved(
  { name }: NodeFacts,
  object: TrimmedObject,
  reservation: Reservation,
  context: NodeIPAMContext,
  { name: range, identity, takeOverSeconds }: ReadShared,
  nowMs: number,
): Plan<NodeOutcome> {
  const { by, podCIDRs, subnets } = reservation
  if (subnets.length !== podCIDRs.length || subnets.length === 0) {
    return { outcome: { kind: 'failed', message: `the entry of Node ${name} in ${range} cannot be read` }, effects: [] }
  }
  const problems = conflictsOf({ name, subnets, problems: [] }, context, 'Node')
  const effects = newEvents(nodeKey(name), object, problems, context, REFUSALS)
  const [problem] = problems
  if (problem !== undefined) {
    // its entry stays: a patch for it may be in flight
    const message = `${problem.message}: delete one of these Nodes and create it again`
    return { outcome: { kind: 'conflict', message, problems }, effects }
  }
  reservation.sinceMs ??= nowMs
  const waitMs = reservation.sinceMs + takeOverSeconds * 1000 - nowMs
  if (by !== identity && waitMs > 0) {
    const message = `Node ${name} gets ${formatAll(subnets)} from ${by}`
    return { outcome: { kind: 'waiting', message }, effects: [], requeueAfterSeconds: Math.ceil(waitMs / 1000) }
  }
  return assign(object, { range, subnets })
}

/**
 * Gives subnets to a Node: writes both fields in one patch, on the condition that the Node has no
 * subnets: they cannot be changed later.
 */
function assign(object: TrimmedObject, choice: SubnetChoice): Plan<NodeOutcome> {
  const { name } = object.metadata
  const podCIDRs = choice.subnets.map(Prefix.format)
  const patch = [
    { op: 'add', path: '/spec/podCIDR', value: podCIDRs[0]! },
    { op: 'add', path: '/spec/podCIDRs', value: podCIDRs },
  ] as const
  const why = `the Node has no subnets; these are free in ${choice.range}`
  const effects = [patchIfFields(object, { 'spec.podCIDRs': null }, patch, why)]
  const message = `${listed(podCIDRs, ', ')} of ${choice.range} for Node ${name}`
  return { outcome: { kind: 'assigned', message, node: name, choice }, effects }
}

/**
 * Why no range has subnets for a Node. Includes the number of subnets of each range: a /24 divided
 * into /24 has one.
 */
function notAvailable(node: NodeFacts, { cache, state }: NodeIPAMContext): string {
  const ranges = state.subnets.rangesFor(node)
  if (ranges.length > 0 && !ranges.some((range) => state.subnets.isOpen(range))) {
    const names = ranges.map((range) => range.name)
    return `the ranges for Node ${node.name} are not Active in the ClusterNetwork: ${listed(names, ', ')}`
  }
  if (ranges.length > 0) {
    const names = ranges.map(({ name, spaces, capacity }) => {
      const prefixes = spaces.map(({ prefix, length }) => {
        const service = state.subnets.serviceRangeOver(prefix)
        const where = service === undefined ? '' : `, all of it in the service range ${Prefix.format(service)}`
        return `${Prefix.format(prefix)} in /${length}${where}`
      })
      return `${name} (${prefixes.join(', ')}; subnets in all: ${capacity})`
    })
    return `no free subnets for Node ${node.name} in ${listed(names, ', ')}`
  }
  const ending = [...(cache.ranges ?? [])].filter(({ object }) => isDeleting(object)).length
  const which = ending === 0 ? '' : `; being deleted: ${ending}`
  return `no range is for Node ${node.name}${which}`
}

/**
 * The conflict of a Node, if it has one: its subnets overlap others, or its fields contradict each
 * other.
 *
 * @param kind of the others. Left out: all
 */
function conflictsOf(
  { name, subnets, problems }: Pick<NodeFacts, 'name' | 'subnets' | 'problems'>,
  { state }: NodeIPAMContext,
  kind?: 'Node',
): readonly SubnetProblem[] {
  const shared = new Set<Prefix>()
  const sentences: string[] = []
  for (const subnet of subnets) {
    for (const { prefix, reason, holder } of state.subnets.ledger.holders(subnet)) {
      if (reason === 'pending' || holder.key === nodeKey(name) || holder.kind !== (kind ?? holder.kind)) continue
      shared.add(subnet)
      sentences.push(`${Prefix.format(subnet)} overlaps ${Prefix.format(prefix)} of ${holder.key}`)
    }
  }
  const all = [...sentences, ...problems]
  if (all.length === 0) return []
  return [{ reason: 'CIDRConflict', message: `Node ${name}: ${listed(all, '; ')}`, subnets: [...shared] }]
}

/**
 * The subnets of a Node that are in no range: neither in one that gives subnets, nor in any other
 * existing one.
 */
function orphansOf({ name, subnets }: NodeFacts, { state }: NodeIPAMContext): readonly SubnetProblem[] {
  const orphans = subnets.filter((subnet) => !state.subnets.isOwned(subnet))
  if (orphans.length === 0) return []
  return [{ reason: 'CIDRNotOwned', message: `Node ${name}: ${formatAll(orphans)} in no range`, subnets: orphans }]
}

function formatAll(prefixes: readonly Prefix[]): string {
  return listed(prefixes.map(Prefix.format), ', ')
}
