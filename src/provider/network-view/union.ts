import { frozenSet, PrefixMap } from '../../cidr/internal.js'
import type { Prefix } from '../../cidr/nouns/prefix.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'

type RangeSet = RangeSet.RangeSet

/**
 * The exact union of prefixes that are added and removed. A prefix counts as often as it was added.
 * Adding and removing cost O(length of the prefix). Reading after a change costs O(ranges of the
 * set), and the content of the changed prefixes.
 */
export class PrefixUnion {
  readonly #counts = new PrefixMap<number>()
  #changed: Prefix[] = []
  #set: RangeSet = RangeSet.empty

  add(prefix: Prefix): void {
    const count = this.#counts.get(prefix) ?? 0
    this.#counts.set(prefix, count + 1)
    if (count === 0) this.#changed.push(prefix)
  }

  /** Removes a prefix that was added. */
  remove(prefix: Prefix): void {
    const count = this.#counts.get(prefix) ?? 0
    if (count > 1) this.#counts.set(prefix, count - 1)
    else if (this.#counts.delete(prefix)) this.#changed.push(prefix)
  }

  /** The same object until the addresses change. */
  get set(): RangeSet {
    if (this.#changed.length === 0) return this.#set
    // only the changed prefixes are computed again: all of each, or the parts that still exist
    const touched = RangeSet.fromPrefixes(this.#changed)
    const left = this.#changed.flatMap((prefix) =>
      this.#counts.covering(prefix).length > 0 ? [prefix] : this.#counts.coveredBy(prefix).map((entry) => entry.prefix),
    )
    this.#changed = []
    const set = RangeSet.union(RangeSet.subtract(this.#set, touched), RangeSet.fromPrefixes(left))
    if (!RangeSet.equals(set, this.#set)) this.#set = frozenSet(set)
    return this.#set
  }
}
