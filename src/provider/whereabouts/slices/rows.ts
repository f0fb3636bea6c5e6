import * as Prefix from '../../../cidr/nouns/prefix.js'
import { Node } from '../../../crd/core/index.js'
import type { NodeSliceAllocation } from '../../../crd/whereabouts/index.js'
import { IPPool, poolName } from '../../../crd/whereabouts/index.js'
import { type Effect, guard, proofOfAbsence } from '../../../plan/index.js'
import type { NodeSliceContext, RowFacts } from './context.js'

/** The rows of the slices of one network. */
export class NetworkRows {
  readonly #context: NodeSliceContext
  readonly #networkName: string
  readonly #slicePool: string

  /**
   * @param networkName `network_name`, or empty
   * @param slicePool the name of the NodeSlicePool
   */
  constructor(context: NodeSliceContext, networkName: string, slicePool: string) {
    this.#context = context
    this.#networkName = networkName
    this.#slicePool = slicePool
  }

  /** The nodes that have rows in a slice, by slice. O(slices + rows of pools there). */
  inSlices(slices: readonly string[]): ReadonlyMap<string, readonly string[]> {
    const occupied = new Map<string, readonly string[]>()
    for (const slice of slices) {
      for (const pool of this.#context.cache.pools.each('rows', slice)) {
        const node = this.#nodeOf(pool)
        if (node !== undefined) occupied.set(slice, [...(occupied.get(slice) ?? []), node])
      }
    }
    return occupied
  }

  /**
   * The pools with rows that overlap ranges and are of none of these slices. Without those of
   * slices that another NodeSlicePool lists. O(pools with rows).
   */
  besides(ranges: readonly Prefix.Prefix[], slices: ReadonlySet<string>): readonly RowFacts[] {
    const { cache } = this.#context
    return cache.pools.by('any', 'yes').filter((pool) => {
      if (slices.has(pool.text) || !ranges.some((range) => Prefix.overlaps(range, pool.range))) return false
      const node = this.#nodeOf(pool)
      return node !== undefined && !this.#isElsewhere(node, pool)
    })
  }

  /** Whether the pool of a slice and a node has rows, or cannot be read. O(1). */
  has({ nodeName, sliceRange }: NodeSliceAllocation): boolean {
    const entry = this.#entry(nodeName, sliceRange)
    return entry !== undefined && (!entry.ok || entry.value.hasRows)
  }

  /**
   * Effects that stop the plan if the assignment of a slice has not ended: its pool has got a row,
   * or its node exists though the cache does not know it.
   */
  proofs({ nodeName, sliceRange }: NodeSliceAllocation): readonly Effect[] {
    const { cache, state } = this.#context
    const name = poolName({ range: sliceRange, networkName: this.#networkName, nodeName })
    const entry = this.#entry(nodeName, sliceRange)
    const why = `slice ${sliceRange} of Node ${nodeName} is freed`
    const node = { apiVersion: Node.info.apiVersion, kind: Node.info.kind, name: nodeName }
    const { apiVersion, kind } = IPPool.info
    return [
      ...(cache.nodes.get(nodeName) === undefined ? proofOfAbsence({ ref: node }, why) : []),
      ...(entry !== undefined ? [guard(entry.object, why)] : []),
      ...(entry === undefined && name.ok
        ? proofOfAbsence({ ref: { apiVersion, kind, namespace: state.namespace, name: name.value } }, why)
        : []),
    ]
  }

  #entry(nodeName: string, range: string) {
    const { cache, state } = this.#context
    const name = poolName({ range, networkName: this.#networkName, nodeName })
    return name.ok ? cache.pools.entry({ namespace: state.namespace, name: name.value }) : undefined
  }

  /**
   * The node of a pool of this network. `undefined`: it is of another network, or of no slice.
   * Names are not escaped: `a-b-c` is node `c` of network `a-b` if there is such a network, and
   * node `b-c` of network `a` if there is such a Node.
   */
  #nodeOf({ prefix }: RowFacts): string | undefined {
    const { cache } = this.#context
    const start = this.#networkName === '' ? 0 : this.#networkName.length + 1
    if (prefix.length <= start || (start > 0 && !prefix.startsWith(`${this.#networkName}-`))) return undefined
    const node = prefix.slice(start)
    if (cache.nodes.get(node) !== undefined) return node
    for (let dash = prefix.indexOf('-', start); dash >= 0; dash = prefix.indexOf('-', dash + 1)) {
      if (cache.definitions.countBy('networkName', prefix.slice(0, dash)) > 0) return undefined
    }
    return node
  }

  #isElsewhere(node: string, { text }: RowFacts): boolean {
    const { cache } = this.#context
    return [...cache.slicePools].some(
      ({ name, allocations }) =>
        name !== this.#slicePool &&
        allocations.some(({ nodeName, sliceRange }) => sliceRange === text && nodeName === node),
    )
  }
}
