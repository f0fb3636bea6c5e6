import { Prefix } from '../../cidr/index.js'
import type { SelectableNode } from '../../crd/core/node-selector.js'
import { HAS_META, META } from '../../crd/meta/object.js'
import type { ClusterCIDR } from '../../crd/node-ipam/index.js'
import { check, type KindOf } from '../../errors/check.js'
import { compareText } from '../../plan/cached-objects.js'
import { byAge } from '../../plan/index.js'
import { type NodeRange, readRange } from './range.js'

/**
 * The order of ranges.
 *
 * - `numeric`: prefixes by address, and ranges without a selector by the same rules as others
 * - `upstream`: as node-ipam-controller, prefixes by their text (`10.10.0.0/16` before
 *   `9.0.0.0/16`), and ranges without a selector in the order of their creation
 */
export type RangeOrder = 'numeric' | 'upstream'

const ORDER: KindOf<RangeOrder> = ['one', { numeric: 1, upstream: 1 }]

/** The fields that decide between two ranges that select a Node. */
export interface RankedRange extends Pick<NodeRange, 'capacity' | 'perNodeHostBits' | 'selectorText'> {
  /** The number of requirements of its selector that the Node meets. */
  readonly score: number
  /** IPv4 if it has any, else IPv6. */
  readonly prefix: Prefix
}

const RANKED: KindOf<RankedRange> = ['open', { score: 'number', prefix: 'object', selectorText: 'text' }]

/**
 * Orders two ranges that select one Node; below 0: try the left one first. The first difference
 * counts:
 *
 * - P0: more requirements that the Node meets
 * - P1: fewer subnets
 * - P2: fewer addresses in a subnet
 * - P3: the text of the selector
 * - P4: the prefix
 *
 * Source: KEP-2593.
 */
export function compareRanges(left: RankedRange, right: RankedRange, order: RangeOrder = 'numeric'): number {
  check('compareRanges', 'left', left, RANKED)
  check('compareRanges', 'right', right, RANKED)
  check('compareRanges', 'order', order, ORDER)

  return right.score - left.score || compareFixed(left, right, order)
}

const CLUSTER_CIDR: KindOf<ClusterCIDR> = ['open', { metadata: META, spec: 'object' }]

const OPTIONS: KindOf<{ readonly order?: RangeOrder | undefined }> = {
  order: ['one?', { numeric: 1, upstream: 1 }],
}

/**
 * The ranges that a Node can get its subnets from, in the order to try: those that select it by
 * {@link compareRanges}, then those without a selector. Ranges that are being deleted and invalid
 * ranges ({@link readRange}) are left out. O(n log n).
 *
 * @param clusterCIDRs in any order
 */
export function rankClusterCIDRs(
  node: SelectableNode,
  clusterCIDRs: readonly ClusterCIDR[],
  options: { readonly order?: RangeOrder | undefined } = {},
): readonly ClusterCIDR[] {
  check('rankClusterCIDRs', 'node', node, HAS_META)
  check('rankClusterCIDRs', 'clusterCIDRs', clusterCIDRs, ['list', CLUSTER_CIDR])
  check('rankClusterCIDRs', 'options', options, OPTIONS)
  const { order = 'numeric' } = options

  const objects = new Map<NodeRange, ClusterCIDR>()
  for (const object of [...clusterCIDRs].sort(byAge)) {
    const read = object.metadata.deletionTimestamp === undefined ? readRange(object) : undefined
    if (read?.ok === true) objects.set(read.value, object)
  }
  return rankFor(node, inFixedOrder([...objects.keys()], order)).map((range) => objects.get(range)!)
}

/** Ranges in the order that does not depend on a Node, for {@link rankFor}. O(n log n). */
export function inFixedOrder(ranges: readonly NodeRange[], order: RangeOrder): readonly NodeRange[] {
  const selecting = ranges.filter(({ score }) => score !== undefined)
  const others = ranges.filter(({ score }) => score === undefined)
  const compare = (left: NodeRange, right: NodeRange) => compareFixed(withPrefix(left), withPrefix(right), order)
  return [...selecting.sort(compare), ...(order === 'numeric' ? others.sort(compare) : others)]
}

/**
 * The ranges for a Node, of those that are in their fixed order. O(n) and a sort of those that
 * select it.
 */
export function rankFor(node: SelectableNode, ranges: readonly NodeRange[]): readonly NodeRange[] {
  const selecting: { readonly range: NodeRange; readonly score: number }[] = []
  const others: NodeRange[] = []
  for (const range of ranges) {
    const score = range.score?.(node)
    if (score === undefined) others.push(range)
    else if (score > 0) selecting.push({ range, score })
  }
  if (selecting.length > 1) selecting.sort((left, right) => right.score - left.score)
  return [...selecting.map(({ range }) => range), ...others]
}

type FixedRank = Omit<RankedRange, 'score'>

function compareFixed(left: FixedRank, right: FixedRank, order: RangeOrder): number {
  if (left.capacity !== right.capacity) return left.capacity < right.capacity ? -1 : 1
  return (
    left.perNodeHostBits - right.perNodeHostBits ||
    compareText(left.selectorText, right.selectorText) ||
    (order === 'numeric'
      ? Prefix.compare(left.prefix, right.prefix)
      : compareText(Prefix.format(left.prefix), Prefix.format(right.prefix)))
  )
}

function withPrefix(range: NodeRange): FixedRank {
  const { capacity, perNodeHostBits, selectorText, spaces } = range
  return { capacity, perNodeHostBits, selectorText, prefix: spaces[0]!.prefix }
}
