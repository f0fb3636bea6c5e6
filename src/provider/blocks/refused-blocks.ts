import type * as Prefix from '../../cidr/nouns/prefix.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import type { Effect } from '../../plan/index.js'

/** A write of a row into a block. */
interface Attempt {
  readonly effect: Effect
  readonly block: string
  readonly prefix: Prefix.Prefix
}

/**
 * The blocks in which the store takes no row of a task: a webhook denies it, or the object is too large. They stop no pool whose other blocks have room. Where
 * there is no other they are tried once more, so that it is the store that says what is wrong.
 */
export class RefusedBlocks {
  readonly #limit: number
  #last: Attempt | undefined
  #count = 0
  #isLastTry = false
  #set: RangeSet.RangeSet = RangeSet.empty

  /** @param limit after so many of them it is the end */
  constructor(limit: number) {
    this.#limit = limit
  }

  /** Where no row is to be written for now. */
  get set(): RangeSet.RangeSet {
    return this.#set
  }

  /** Something is about to be written. */
  tries({ effect, block, prefix }: Attempt): void {
    this.#last = { effect, block, prefix }
  }

  /** The block of which an effect is, if it was the last that was tried. */
  blockOf(effect: Effect): string | undefined {
    return this.#last?.effect === effect ? this.#last.block : undefined
  }

  /** The store has refused what was tried last. @returns whether another block is to be tried */
  add(): boolean {
    const last = this.#last
    if (last === undefined || this.#isLastTry || ++this.#count > this.#limit) return false
    // it was tried all the same: no other would do
    if (RangeSet.contains(this.#set, last.prefix)) return false
    this.#set = RangeSet.union(this.#set, RangeSet.fromPrefixes([last.prefix]))
    return true
  }

  /** No other block has room. @returns whether one of these is to be tried once more */
  retry(): boolean {
    if (RangeSet.isEmpty(this.#set)) return false
    this.#isLastTry = true
    this.#set = RangeSet.empty
    return true
  }
}
