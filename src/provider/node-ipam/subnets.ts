import { Address, Prefix, PrefixMap } from '../../cidr/index.js'
import { hasFinalizer, isDeleting } from '../../crd/meta/object.js'
import { CLUSTER_CIDR_FINALIZER } from '../../crd/node-ipam/index.js'
import type { Holding } from '../../plan/holdings.js'
import type { Parsed } from '../../plan/index.js'
import type { TrimmedObject } from '../../plan/selection.js'
import { KEYS, type NodeIPAMContext, type Ranges } from './context.js'
import type { NodeFacts } from './node.js'
import type { NodeRange, SubnetSpace } from './range.js'
import { inFixedOrder, rankFor } from './rank.js'
import type { ServiceFacts } from './service-range.js'

/** The subnets for a Node, and the name of their range. */
export interface SubnetChoice {
  readonly range: string
  readonly subnets: readonly Prefix[]
}

/**
 * Whether a range gives subnets.
 *
 * - `open`: it does
 * - `opening`: soon, after the write of its finalizer; Nodes wait for it
 * - `refused`: the store has refused that write; Nodes get subnets of the next range
 */
type RangeState = 'open' | 'opening' | 'refused'

export function stateOf(name: string, { cache, state }: NodeIPAMContext): RangeState {
  const object = cache.ranges?.get(name)?.object
  // without its finalizer a ClusterCIDR may be deleted before a subnet of it is written
  if (object === undefined || hasFinalizer(object, CLUSTER_CIDR_FINALIZER)) return 'open'
  return state.refused.has(name) ? 'refused' : 'opening'
}

/** Whether Nodes may get subnets of a range now: it is Active in the ClusterNetwork, if any. */
export function isActive({ spaces }: NodeRange, { cache: { network } }: NodeIPAMContext): boolean {
  return spaces.every(({ prefix }) => network?.countBy('active', Prefix.format(prefix)) !== 0)
}

/**
 * The subnets for a Node. `undefined` if no range has a free one of each of its spaces, or if the
 * first that has is `opening`. O(ranges x log ranges).
 */
export function chooseSubnets(node: NodeFacts, context: NodeIPAMContext): SubnetChoice | undefined {
  for (const range of rangesFor(node, context)) {
    const { name } = range
    const state = stateOf(name, context)
    const subnets = state === 'refused' || !isActive(range, context) ? undefined : nextOf(range, context)
    if (subnets !== undefined) return state === 'opening' ? undefined : { range: name, subnets }
  }
  return undefined
}

/** The ranges that a Node may get subnets from, in the order to try. */
export function rangesFor(node: NodeFacts, context: NodeIPAMContext): readonly NodeRange[] {
  return rankFor(node, rangesOf(context).ordered)
}

/** Whether a range names a prefix that contains this subnet. */
export function isOwned(subnet: Prefix, context: NodeIPAMContext): boolean {
  return rangesOf(context).prefixes.longestMatch(subnet) !== undefined
}

function rangesOf(context: NodeIPAMContext): Ranges {
  const { cache, state } = context
  if (state.ranges === undefined) {
    const { order, range } = state
    const all = [...(cache.ranges ?? [])]
    const giving = all.flatMap(({ object, read }) => (read.ok && !isDeleting(object) ? [read.value] : []))
    const own = range === undefined ? [] : range.spaces.map(({ prefix }) => prefix)
    const prefixes = [...own, ...all.flatMap((facts) => facts.prefixes)]
    state.ranges = {
      ordered: inFixedOrder(range === undefined ? giving : [range], order),
      prefixes: new PrefixMap(prefixes.map((prefix) => [prefix, true])),
    }
  }
  return state.ranges
}

/** A free subnet of each space of a range, or nothing. */
function nextOf({ name, spaces }: NodeRange, { holdings, state }: NodeIPAMContext): readonly Prefix[] | undefined {
  const subnets: Prefix[] = []
  for (const [index, { prefix, within, length }] of spaces.entries()) {
    const cursor = state.cursors.get(`${name} ${index}`)
    const { family } = prefix.address
    const from = cursor?.family === family ? cursor : undefined
    const next = holdings.ledger().next({ family, length, within, order: 'around', from })
    if (next === undefined) return undefined
    subnets.push(next)
  }
  return subnets
}

/** The next search in the range of the subnets of a Node begins behind them. O(ranges). */
export function advance(node: NodeFacts, context: NodeIPAMContext): void {
  const { cursors } = context.state
  const range = rangesFor(node, context).find(({ spaces }) =>
    spaces.every((space, index) => isOf(space, node.subnets[index])),
  )
  for (const index of range?.spaces.keys() ?? []) {
    const next = Address.next(Prefix.last(node.subnets[index]!))
    if (next === undefined) cursors.delete(`${range?.name} ${index}`)
    else cursors.set(`${range?.name} ${index}`, next)
  }
}

function isOf({ prefix, length }: SubnetSpace, subnet: Prefix | undefined): boolean {
  return subnet?.length === length && Prefix.contains(prefix, subnet)
}

/**
 * The names of the Nodes whose subnets overlap one of these prefixes: for each prefix in the order
 * of their subnets.
 */
export function nodesIn(prefixes: readonly Prefix[], { holdings }: NodeIPAMContext): readonly string[] {
  const names = new Set<string>()
  for (const { holder } of prefixes.flatMap((prefix) => holdings.ledger().holders(prefix))) {
    const read = KEYS.read(holder.key)
    if (read?.kind === 'Node') names.add(read.name)
  }
  return [...names]
}

/** A Node holds the subnets that it names, also if it cannot be parsed. */
export function heldByNode(entry: Parsed<NodeFacts, TrimmedObject>): readonly Holding[] {
  const key = KEYS.format('Node', entry.object.metadata)
  const subnets = entry.ok ? entry.value.subnets : []
  return subnets.map((prefix) => ({ prefix, key, field: 'spec.podCIDRs' }))
}

/** No Node gets a part of what a ServiceCIDR names. */
export function heldByService(entry: Parsed<ServiceFacts>): readonly Holding[] {
  const key = KEYS.format('ServiceCIDR', entry.object.metadata)
  const prefixes = entry.ok ? entry.value.prefixes : []
  return prefixes.map((prefix) => ({ prefix, reason: 'foreign', key, field: 'spec.cidrs' }))
}

/** The key of the service ranges of the options. */
export const SERVICE_RANGES = 'the service ranges'

/** All service ranges, and the keys of their holders. O(service ranges). */
export function serviceRanges({ cache, state }: NodeIPAMContext): readonly (readonly [Prefix, string])[] {
  const ofObjects = [...(cache.services ?? [])].flatMap(({ object, prefixes }) =>
    prefixes.map((prefix) => [prefix, KEYS.format('ServiceCIDR', object.metadata)] as const),
  )
  return [...state.serviceCIDRs.map((prefix) => [prefix, SERVICE_RANGES] as const), ...ofObjects]
}
