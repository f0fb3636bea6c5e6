import { refuse } from '../../errors/refuse.js'
import { assertPrefix, type Prefix } from '../nouns/prefix-core.js'
import { assertRange, notAMember } from '../nouns/range-check.js'
import type { Range } from '../nouns/range-core.js'
import type { Address } from '../nouns/types.js'
import { assertAddress } from '../text/checks.js'
import { assertSet, empty, type RangeSet, subtract, union } from './range-set.js'
import { Spans } from './spans.js'

/**
 * Builds a set from additions and removals, in the order of the calls. It is cheaper than a new set
 * for each step: a call is amortised O(1). Each switch between adding and removing costs a sweep
 * over the collected ranges.
 *
 * @example
 * const builder = RangeSet.builder().add(Prefix.parse('10.0.0.0/29')).remove(Address.parse('10.0.0.1'))
 * RangeSet.format(builder.build()) // ['10.0.0.0-10.0.0.0', '10.0.0.2-10.0.0.7']
 */
export class RangeSetBuilder {
  #set: RangeSet = empty
  readonly #spans = new Spans()
  #removing = false
  #built = false

  /**
   * Adds an address, or all of a prefix, a range or a set.
   *
   * @throws IpamError `FAMILY_MISMATCH`, `INVALID_RANGE`; `INVALID_ARGUMENT` after {@link build}
   * @example
   * RangeSet.format(RangeSet.builder().add(Prefix.parse('10.0.0.0/30')).build()) // ['10.0.0.0-10.0.0.3']
   */
  add(member: Address | Prefix | Range | RangeSet): this {
    this.#note(member, false)
    return this
  }

  /**
   * Removes an address, or all of a prefix, a range or a set, from the additions so far.
   *
   * @throws IpamError `FAMILY_MISMATCH`, `INVALID_RANGE`; `INVALID_ARGUMENT` after {@link build}
   * @example
   * const everything = Prefix.parse('10.0.0.0/30')
   * RangeSet.isEmpty(RangeSet.builder().add(everything).remove(everything).build()) // true
   */
  remove(member: Address | Prefix | Range | RangeSet): this {
    this.#note(member, true)
    return this
  }

  /**
   * Returns the set and closes the builder. O(n).
   *
   * @throws IpamError `INVALID_ARGUMENT` the second time
   * @example
   * RangeSet.size(RangeSet.builder().add(Address.parse('10.0.0.1')).build()) // 1n
   */
  build(): RangeSet {
    this.#assertOpen()
    this.#built = true
    this.#flush()
    return this.#set
  }

  #note(member: Address | Prefix | Range | RangeSet, removing: boolean): void {
    this.#assertOpen()
    if (removing !== this.#removing) {
      this.#flush()
      this.#removing = removing
    }
    const of = removing ? 'RangeSetBuilder.remove' : 'RangeSetBuilder.add'
    if (typeof member !== 'object' || member === null) throw notAMember(of, 'member', member)
    if ('family' in member) {
      assertAddress(of, 'member', member)
      this.#spans.addOrdered(member, member)
    } else if ('address' in member) {
      assertPrefix(of, 'member', member)
      this.#spans.addPrefix(member)
    } else if ('first' in member) {
      assertRange(of, 'member', member)
      this.#spans.addOrdered(member.first, member.last)
    } else if ('v4' in member) {
      assertSet(of, 'member', member)
      this.#apply(member)
    } else throw notAMember(of, 'member', member)
  }

  #flush(): void {
    if (!this.#spans.isEmpty) this.#apply(this.#spans.take())
  }

  #apply(set: RangeSet): void {
    this.#set = this.#removing ? subtract(this.#set, set) : union(this.#set, set)
  }

  #assertOpen(): void {
    if (!this.#built) return
    refuse('RangeSet.builder', 'builder', 'one that is still open', 'built')
  }
}

/**
 * A builder of a set, which begins empty.
 *
 * @example
 * RangeSet.isEmpty(RangeSet.builder().build()) // true
 */
export function builder(): RangeSetBuilder {
  return new RangeSetBuilder()
}
