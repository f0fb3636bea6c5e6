import * as Prefix from '../../../cidr/nouns/prefix.js'
import type { NodeSliceAllocation } from '../../../crd/whereabouts/index.js'
import { check, type KindOf } from '../../../errors/check.js'

/** Which nodes have the slices of a range, and which nodes need one. */
export interface SliceInput {
  /** All slices of the range, as CIDR texts of RFC 5952, in order: `slicesOf`. */
  readonly slices: readonly string[]
  /** `status.allocations` of the NodeSlicePool. Left out: none exists. */
  readonly before?: readonly NodeSliceAllocation[] | undefined
  /** The names of the nodes that exist. Those that are first get slices first. */
  readonly nodes: readonly string[]
  /** Slices in which no address is usable. No node gets one, and a node that has one keeps it. */
  readonly excluded?: readonly string[] | undefined
  /**
   * The nodes whose pools of a slice have rows, by slice. A slice with rows of a node is not given
   * to another one, also if the node does not exist any more.
   */
  readonly occupied?: readonly SliceRows[] | undefined
}

/** The nodes whose pools of a slice have rows. */
export interface SliceRows {
  readonly sliceRange: string
  readonly nodeNames: readonly string[]
}

const SLICE_INPUT: KindOf<SliceInput> = {
  slices: ['list', 'text'],
  before: ['list?', ['open', { nodeName: 'text', sliceRange: 'text' }]],
  nodes: ['list', 'text'],
  excluded: ['list?', 'text'],
  occupied: ['list?', ['open', { sliceRange: 'text', nodeNames: ['list', 'text'] }]],
}

/** The slices of all nodes. */
export interface AssignedSlices {
  /**
   * The new `status.allocations`, in the order of the slices. It lists the slices that nodes have,
   * and those that are free for the next node.
   */
  readonly allocations: readonly NodeSliceAllocation[]
  /** The nodes without a slice, in their order. No slice is free then. */
  readonly waiting: readonly string[]
  /** Slices of nodes that do not exist any more. They are kept while they have rows. */
  readonly kept: readonly NodeSliceAllocation[]
  /** Assignments of `before` that have ended, as `before` has them. */
  readonly freed: readonly NodeSliceAllocation[]
  /** Slices that are not listed, as they have rows of nodes that cannot have them. */
  readonly withheld: readonly string[]
}

/**
 * Assigns slices to nodes: one to each node, and each to one node. O(slices + nodes).
 *
 * - A node keeps the slice that it has. Of several, it keeps the first that has its rows.
 * - A node that has rows in no slice of its own, and is alone in another one, gets that one. This
 *   restores a status that was deleted or edited.
 * - A node that does not exist any more keeps its slice while that has its rows.
 * - A node without a slice gets the first free one.
 * - A slice of `before` that is not in `slices` is dropped.
 *
 * Upstream frees the slice of a deleted node while it has rows, and gives a free slice to a waiting
 * node only at the next change of a node.
 *
 * @example
 * const { allocations } = assignSlices({ slices: ['10.0.0.0/25', '10.0.0.128/25'], nodes: ['a'] })
 * allocations.map(({ nodeName, sliceRange }) => [nodeName, sliceRange]) // [['a', '10.0.0.0/25'], ['', '10.0.0.128/25']]
 */
export function assignSlices(input: SliceInput): AssignedSlices {
  check('assignSlices', 'input', input, SLICE_INPUT)
  const { excluded, occupied = [], ...rest } = input
  return assign({
    ...rest,
    excluded: new Set(excluded),
    occupied: new Map(occupied.map(({ sliceRange, nodeNames }) => [sliceRange, nodeNames])),
  })
}

/** As {@link SliceInput}, for lookups. */
interface CheckedInput extends Pick<SliceInput, 'slices' | 'before' | 'nodes'> {
  readonly excluded: ReadonlySet<string>
  readonly occupied: ReadonlyMap<string, readonly string[]>
}

/** {@link assignSlices} of an input that was checked. */
export function assign(input: CheckedInput): AssignedSlices {
  const { slices, before = [], nodes, excluded, occupied } = input
  const live = new Set(nodes)
  const held = new HeldSlices(slices)
  const entries = before.filter(({ nodeName }) => nodeName !== '').map((entry) => held.read(entry))
  const hasRows = (node: string, slice: string) => occupied.get(slice)?.includes(node) === true
  for (const { node, slice } of entries) if (hasRows(node, slice)) held.give(slice, node)
  // a person may have edited the status: rows show which slice a node uses
  for (const [slice, [owner, ...others]] of occupied) {
    if (owner !== undefined && others.length === 0 && live.has(owner)) held.give(slice, owner)
  }
  for (const { node, slice } of entries) if (live.has(node)) held.give(slice, node)
  const withheld = new Set<string>()
  for (const [slice, owners] of occupied) {
    if (held.nodeOf(slice) !== undefined) continue
    if (owners.length !== 1 || !held.give(slice, owners[0]!)) withheld.add(slice)
  }
  const listed = slices.filter(
    (slice) => held.nodeOf(slice) !== undefined || !(excluded.has(slice) || withheld.has(slice)),
  )
  const free = listed.filter((slice) => held.nodeOf(slice) === undefined).values()
  const waiting: string[] = []
  for (const node of live) {
    if (held.has(node)) continue
    const next = free.next()
    if (next.done === true) waiting.push(node)
    else held.give(next.value, node)
  }
  const allocations = listed.map((sliceRange) => ({ nodeName: held.nodeOf(sliceRange) ?? '', sliceRange }))
  return {
    allocations,
    waiting,
    kept: allocations.filter(({ nodeName }) => nodeName !== '' && !live.has(nodeName)),
    freed: entries.flatMap(({ node, slice, entry }) => (held.nodeOf(slice) === node ? [] : [entry])),
    withheld: [...withheld],
  }
}

/** The slices that nodes have, while they are assigned. */
class HeldSlices {
  readonly #nodes = new Map<string, string | undefined>()
  readonly #having = new Set<string>()

  constructor(slices: readonly string[]) {
    for (const slice of slices) this.#nodes.set(slice, undefined)
  }

  /** An entry of a status. Its slice may be written in another text. */
  read(entry: NodeSliceAllocation) {
    const { nodeName, sliceRange } = entry
    if (this.#nodes.has(sliceRange)) return { node: nodeName, slice: sliceRange, entry }
    const parsed = Prefix.safeParse(sliceRange)
    return { node: nodeName, slice: parsed.ok ? Prefix.format(parsed.value) : sliceRange, entry }
  }

  nodeOf(slice: string): string | undefined {
    return this.#nodes.get(slice)
  }

  has(node: string): boolean {
    return this.#having.has(node)
  }

  /** Gives a slice to a node, if neither has one. */
  give(slice: string, node: string): boolean {
    if (!this.#nodes.has(slice) || this.#nodes.get(slice) !== undefined || this.#having.has(node)) return false
    this.#nodes.set(slice, node)
    this.#having.add(node)
    return true
  }
}
