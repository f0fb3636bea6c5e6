import { eachRange } from '../../../cidr/internal.js'
import * as Address from '../../../cidr/nouns/address.js'
import * as Prefix from '../../../cidr/nouns/prefix.js'
import * as RangeSet from '../../../cidr/nouns/range-set.js'

type Prefix = Prefix.Prefix
type RangeSet = RangeSet.RangeSet

/** So many changes are collected at least. */
const FEW = 1024

/**
 * A set of blocks of one length. What changes is collected, and taken in at once before the set is
 * looked at: to learn n blocks takes O(n log n).
 */
export class MarkedBlocks {
  #set: RangeSet = RangeSet.empty
  /** What differs from the set, by the first address. */
  readonly #changes = new Map<bigint, { readonly prefix: Prefix; readonly isIn: boolean }>()

  /** Whether a block is in it from here on. O(log n), amortised. */
  mark(prefix: Prefix, isIn: boolean): void {
    const key = Address.toBigInt(Prefix.first(prefix))
    if (RangeSet.contains(this.#set, prefix) === isIn) this.#changes.delete(key)
    else this.#changes.set(key, { prefix, isIn })
    // who never looks at the set has no more changes than ranges
    const { v4, v6 } = this.#set
    if (this.#changes.size > FEW + v4.firsts.length + v6.firsts.length) this.#apply()
  }

  /** Takes all of a set in. */
  add(set: RangeSet): void {
    this.#apply()
    this.#set = RangeSet.union(this.#set, set)
  }

  /** The same object until something changes. */
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

/** The first of the fewest prefixes that make a set, as texts. O(`most`). */
export function firstTexts(set: RangeSet, most: number): readonly string[] {
  const ranges = []
  for (const range of eachRange(set)) {
    if (ranges.push(range) >= most) break
  }
  return RangeSet.formatPrefixes(RangeSet.fromRanges(ranges)).slice(0, most)
}
