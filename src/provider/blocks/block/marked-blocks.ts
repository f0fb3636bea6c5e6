import { eachRange } from '../../../cidr/internal.js'
import * as Address from '../../../cidr/nouns/address.js'
import * as Prefix from '../../../cidr/nouns/prefix.js'
import * as RangeSet from '../../../cidr/nouns/range-set.js'

type Prefix = Prefix.Prefix
type RangeSet = RangeSet.RangeSet

/** Changes are applied once at least this number of them is collected. */
const FEW = 1024

/**
 * A set of blocks of one length. Changes are collected, and applied together before the set is
 * read: to learn n blocks takes O(n log n).
 */
export class MarkedBlocks {
  #set: RangeSet = RangeSet.empty
  /** Changes that are not applied yet, by the first address. */
  readonly #changes = new Map<bigint, { readonly prefix: Prefix; readonly isIn: boolean }>()

  /** Adds a block to the set, or removes it. O(log n), amortised. */
  mark(prefix: Prefix, isIn: boolean): void {
    const key = Address.toBigInt(Prefix.first(prefix))
    if (RangeSet.contains(this.#set, prefix) === isIn) this.#changes.delete(key)
    else this.#changes.set(key, { prefix, isIn })
    // a set that is never read keeps no more changes than it has ranges
    const { v4, v6 } = this.#set
    if (this.#changes.size > FEW + v4.firsts.length + v6.firsts.length) this.#apply()
  }

  /** Adds all ranges of a set. */
  add(set: RangeSet): void {
    this.#apply()
    this.#set = RangeSet.union(this.#set, set)
  }

  /** The set. The same object until something changes. */
  get set(): RangeSet {
    this.#apply()
    return this.#set
  }

  #apply(): void {
    if (this.#changes.size === 0) return
    const changes = [...this.#changes.values()]
    const those = (isWanted: boolean) =>
      RangeSet.fromPrefixes(changes.filter(({ isIn }) => isIn === isWanted).map(({ prefix }) => prefix))
    this.#set = RangeSet.union(RangeSet.subtract(this.#set, those(false)), those(true))
    this.#changes.clear()
  }
}

/** The set as prefixes: the first of the fewest that make it, as texts. O(`most`). */
export function firstTexts(set: RangeSet, most: number): readonly string[] {
  const ranges = []
  for (const range of eachRange(set)) {
    if (ranges.push(range) >= most) break
  }
  return RangeSet.formatPrefixes(RangeSet.fromRanges(ranges)).slice(0, most)
}
