import { Prefix } from '../../cidr/index.js'
import { isDeleting } from '../../crd/meta/object.js'
import { listed } from '../../errors/listed.js'
import { type JsonPatchEffect, type Plan, patchIfFields } from '../../plan/index.js'
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
  const key = nodeKey(name)
  if (node.unreadable !== undefined) return { outcome: { kind: 'unreadable', message: node.unreadable }, effects: [] }
  if (!node.isBare) {
    const problems = [conflictOf(node, context), orphansOf(node, context)].filter((each) => each !== undefined)
    const effects = newEvents(key, object, problems, context)
    if (problems.length === 0) {
      return { outcome: { kind: 'ready', message: `Node ${name} has ${formatAll(node.subnets)}` }, effects }
    }
    const kind = problems[0]!.reason === 'CIDRConflict' ? 'conflict' : 'notOwned'
    const message = problems.map((each) => each.message).join('; ')
    return { outcome: { kind, message, problems }, effects }
  }
  if (node.isDeleting) return { outcome: { kind: 'deleting', message: `Node ${name} is being deleted` }, effects: [] }
  const reservation = state.reservations.get(name)
  if (shared !== undefined && reservation !== undefined && reservation.uid === object.metadata.uid) {
    return planReserved(node, object, reservation, { context, shared, nowMs })
  }
  const choice = state.subnets.choose(node)
  if (choice === undefined) state.waiting.add(name)
  else state.waiting.delete(name)
  // a refusal is reported once, whatever the number of tries
  const open = ['CIDRAssignmentFailed'] as const
  if (choice === undefined) {
    const message = notAvailable(node, context)
    // it is planned again when that range gives subnets
    const isSoon = state.subnets.rangesFor(node).some((range) => state.subnets.isOpening(range))
    const causes = isSoon ? [] : [{ reason: 'CIDRNotAvailable', message } as const]
    const effects = newEvents(key, object, causes, context, open)
    return { outcome: { kind: 'waiting', message }, effects }
  }
  state.sent.retain(key, open)
  if (shared !== undefined) {
    const message = `Node ${name} waits for an entry in ${shared.name}`
    // another controller may take them for another Node
    return { outcome: { kind: 'waiting', message }, effects: [], requeueAfterSeconds: shared.takeOverSeconds }
  }
  const message = `${formatAll(choice.subnets)} of ${choice.range} for Node ${name}`
  return { outcome: { kind: 'assigned', message, node: name, choice }, effects: [assign(object, choice)] }
}

/**
 * The patch for an entry: by the controller that has made it, or by any other one after a while.
 */
function planReserved(
  node: NodeFacts,
  object: TrimmedObject,
  reservation: Reservation,
  {
    context,
    shared,
    nowMs,
  }: { readonly context: NodeIPAMContext; readonly shared: ReadShared; readonly nowMs: number },
): Plan<NodeOutcome> {
  const { name } = node
  const { name: range, identity, takeOverSeconds } = shared
  const { by, podCIDRs, subnets } = reservation
  if (subnets.length !== podCIDRs.length || subnets.length === 0) {
    return { outcome: { kind: 'failed', message: `the entry of Node ${name} in ${range} cannot be read` }, effects: [] }
  }
  const problem = conflictOf({ name, subnets, problems: [] }, context, 'Node')
  const effects = newEvents(nodeKey(name), object, problem === undefined ? [] : [problem], context, [
    'CIDRAssignmentFailed',
  ])
  if (problem !== undefined) {
    // its entry stays: a patch for it may be in flight
    const message = `${problem.message}: delete one of these Nodes and create it again`
    return { outcome: { kind: 'conflict', message, problems: [problem] }, effects }
  }
  reservation.sinceMs ??= nowMs
  const waitMs = reservation.sinceMs + takeOverSeconds * 1000 - nowMs
  if (by !== identity && waitMs > 0) {
    const message = `Node ${name} gets ${formatAll(subnets)} from ${by}`
    return { outcome: { kind: 'waiting', message }, effects: [], requeueAfterSeconds: Math.ceil(waitMs / 1000) }
  }
  const choice = { range, subnets }
  const message = `${formatAll(subnets)} of ${range} for Node ${name}`
  return { outcome: { kind: 'assigned', message, node: name, choice }, effects: [assign(object, choice)] }
}

/**
 * Writes both fields in one patch, on the condition that the Node has no subnets: they cannot be
 * changed later.
 */
function assign(node: TrimmedObject, { range, subnets }: SubnetChoice): JsonPatchEffect {
  const podCIDRs = subnets.map(Prefix.format)
  const patch = [
    { op: 'add', path: '/spec/podCIDR', value: podCIDRs[0]! },
    { op: 'add', path: '/spec/podCIDRs', value: podCIDRs },
  ] as const
  return patchIfFields(node, { 'spec.podCIDRs': null }, patch, `the Node has no subnets; these are free in ${range}`)
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
 * The conflict of a Node: its subnets overlap others, or its fields contradict each other.
 *
 * @param kind of the others. Left out: all
 */
function conflictOf(
  { name, subnets, problems }: Pick<NodeFacts, 'name' | 'subnets' | 'problems'>,
  { state }: NodeIPAMContext,
  kind?: 'Node',
): SubnetProblem | undefined {
  const shared: Prefix[] = []
  const sentences: string[] = []
  for (const subnet of subnets) {
    const others = state.subnets.ledger
      .holders(subnet)
      .filter(({ reason, holder }) => reason !== 'pending' && holder.key !== nodeKey(name))
      .filter(({ holder }) => kind === undefined || holder.kind === kind)
    if (others.length > 0) shared.push(subnet)
    for (const { prefix, holder } of others) {
      sentences.push(`${Prefix.format(subnet)} overlaps ${Prefix.format(prefix)} of ${holder.key}`)
    }
  }
  const all = [...sentences, ...problems]
  if (all.length === 0) return undefined
  return { reason: 'CIDRConflict', message: `Node ${name}: ${listed(all, '; ')}`, subnets: shared }
}

/**
 * The subnets of a Node that are in no range: neither in one that gives subnets, nor in any other
 * existing one.
 */
function orphansOf({ name, subnets }: NodeFacts, { cache, state }: NodeIPAMContext): SubnetProblem | undefined {
  const isKnown = (subnet: Prefix) => {
    for (const { prefixes } of cache.ranges ?? []) if (isWithin(subnet, prefixes)) return true
    return state.subnets.ranges().some(({ spaces }) => spaces.some(({ prefix }) => Prefix.contains(prefix, subnet)))
  }
  const orphans = subnets.filter((subnet) => !isKnown(subnet))
  if (orphans.length === 0) return undefined
  return { reason: 'CIDRNotOwned', message: `Node ${name}: ${formatAll(orphans)} in no range`, subnets: orphans }
}

function isWithin(subnet: Prefix, prefixes: readonly Prefix[]): boolean {
  return prefixes.some((prefix) => Prefix.contains(prefix, subnet))
}

function formatAll(prefixes: readonly Prefix[]): string {
  return listed(prefixes.map(Prefix.format), ', ')
}
