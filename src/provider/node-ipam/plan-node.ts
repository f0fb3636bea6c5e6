import { Prefix } from '../../cidr/index.js'
import { listed } from '../../errors/listed.js'
import { type Plan, patchIfFields } from '../../plan/index.js'
import type { TrimmedObject } from '../../plan/selection.js'
import type { EventCause } from '../../plan/sent-events.js'
import { endingRanges, KEYS, type NodeIPAMContext } from './context.js'
import type { NodeFacts } from './node.js'
import type { NodeOutcome, SubnetProblem } from './outcome.js'
import type { NodeRange } from './range.js'
import { chooseSubnets, isActive, isOwned, rangesFor, type SubnetChoice, serviceRanges, stateOf } from './subnets.js'

/** The plan for a Node. O(ranges x log ranges). */
export function planNode(name: string, context: NodeIPAMContext): Plan<NodeOutcome> | undefined {
  const { cache, state, sent } = context
  const entry = cache.nodes.entry(name)
  if (entry?.ok !== true) return undefined
  const { value: node, object } = entry
  if (node.unreadable !== undefined) return { outcome: { kind: 'unreadable', message: node.unreadable }, effects: [] }
  const key = KEYS.format('Node', name)
  if (!node.isBare) {
    const problems = [...conflictsOf(node, context), ...orphansOf(node, context)]
    const effects = sent.newEvents(key, object, problems)
    const [first] = problems
    if (first === undefined) {
      return { outcome: { kind: 'ready', message: `Node ${name} has ${formatAll(node.subnets)}` }, effects }
    }
    const message = problems.map((each) => each.message).join('; ')
    return { outcome: { kind: first.reason === 'CIDRConflict' ? 'conflict' : 'notOwned', message, problems }, effects }
  }
  if (node.isDeleting) return { outcome: { kind: 'deleting', message: `Node ${name} is being deleted` }, effects: [] }
  const choice = chooseSubnets(node, context)
  if (choice === undefined) {
    state.waiting.add(name)
    const ranges = rangesFor(node, context)
    const cause = notAvailable(node, ranges, context)
    // it is planned again when that range gives subnets, or when the store refuses its finalizer
    const isSoon = ranges.some((range) => stateOf(range.name, context) === 'opening')
    const effects = isSoon ? [] : sent.newEvents(key, object, [cause], REFUSALS)
    return { outcome: { kind: 'waiting', message: cause.message }, effects }
  }
  state.waiting.delete(name)
  sent.forget(key, REFUSALS)
  return assign(object, choice)
}

/** A refusal is reported once, whatever the number of tries. */
const REFUSALS = ['CIDRAssignmentFailed'] as const

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
  const message = `${formatAll(choice.subnets)} of ${choice.range} for Node ${name}`
  return { outcome: { kind: 'assigned', message, node: name, choice }, effects }
}

/**
 * Why no range has subnets for a Node. Includes the number of subnets of each range: a /24 divided
 * into /24 has one.
 */
function notAvailable(node: NodeFacts, ranges: readonly NodeRange[], context: NodeIPAMContext): EventCause {
  const waits = (cause: string, message: string) => ({ reason: 'CIDRNotAvailable', cause, message }) as const
  if (ranges.length === 0) {
    const ending = endingRanges(context)
    const which =
      ending.length === 0 ? '' : `; being deleted: ${listed(ending, ', ', ({ object }) => object.metadata.name)}`
    return waits('no range', `no range is for Node ${node.name}${which}`)
  }
  if (!ranges.some((range) => isActive(range, context))) {
    const names = listed(ranges, ', ', ({ name }) => name)
    return waits('not active', `the ranges for Node ${node.name} are not Active in the ClusterNetwork: ${names}`)
  }
  const format = ({ name, spaces, capacity }: NodeRange) => {
    const prefixes = spaces.map(({ prefix, length }) => {
      const [widest] = context.holdings.ledger().overlapping(prefix)
      const isWhole = widest !== undefined && Prefix.contains(widest.prefix, prefix)
      const where = isWhole ? `, all of it in ${Prefix.format(widest.prefix)} of ${widest.holder.key}` : ''
      return `${Prefix.format(prefix)} in /${length}${where}`
    })
    const refused = stateOf(name, context) === 'refused' ? '; its finalizer cannot be written' : ''
    return `${name} (${prefixes.join(', ')}; subnets in all: ${capacity}${refused})`
  }
  return waits('none free', `no free subnets for Node ${node.name} in ${listed(ranges, ', ', format)}`)
}

/**
 * The conflicts of a Node: its subnets overlap those of other Nodes or service ranges, or its
 * fields contradict each other. O(subnets x service ranges), for any number of Nodes.
 */
function conflictsOf({ name, subnets, problems }: NodeFacts, context: NodeIPAMContext): readonly SubnetProblem[] {
  const ranges = serviceRanges(context)
  const contradictions = problems.slice(0, 1).map((cause) => {
    const message = `Node ${name}: ${listed(problems, '; ')}`
    return { reason: 'CIDRConflict', message, subnets: [], cause } as const
  })
  return [
    ...subnets.flatMap((subnet) => overlapOf(name, subnet, 'Node', othersAt(subnet, name, context))),
    ...subnets.flatMap((subnet) => {
      const others = ranges.filter(([prefix]) => Prefix.overlaps(prefix, subnet))
      return overlapOf(name, subnet, 'service range', others)
    }),
    ...contradictions,
  ]
}

/** The subnets of other Nodes that overlap a subnet of a Node, one by one. */
function* othersAt(subnet: Prefix, name: string, { holdings }: NodeIPAMContext): Iterable<readonly [Prefix, string]> {
  const own = KEYS.format('Node', name)
  for (const { prefix, reason, holder } of holdings.ledger().overlapping(subnet)) {
    if (reason === 'held' && holder.key !== own) yield [prefix, holder.key]
  }
}

/** @param others prefixes, and the keys of their holders */
function overlapOf(
  name: string,
  subnet: Prefix,
  kind: string,
  others: Iterable<readonly [Prefix, string]>,
): readonly SubnetProblem[] {
  const text = Prefix.format(subnet)
  const sentences = listed(others, '; ', ([prefix, key]) => `${text} overlaps ${Prefix.format(prefix)} of ${key}`)
  if (sentences === '') return []
  return [
    { reason: 'CIDRConflict', message: `Node ${name}: ${sentences}`, subnets: [subnet], cause: `${text} ${kind}` },
  ]
}

/** The subnets of a Node in no range: neither in one that gives subnets, nor in another one. */
function orphansOf({ name, subnets }: NodeFacts, context: NodeIPAMContext): readonly SubnetProblem[] {
  const orphans = subnets.filter((subnet) => !isOwned(subnet, context))
  return orphans.map((subnet) => {
    const cause = Prefix.format(subnet)
    return { reason: 'CIDRNotOwned', message: `Node ${name}: ${cause} in no range`, subnets: [subnet], cause }
  })
}

function formatAll(prefixes: readonly Prefix[]): string {
  return listed(prefixes, ', ', Prefix.format)
}
