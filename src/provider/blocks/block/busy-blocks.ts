import * as RangeSet from '../../../cidr/nouns/range-set.js'
import type { KnownBlocks, OthersBlock } from '../tasks/known-blocks.js'

/** Blocks that another writer writes, and blocks where a write may meet another one. */
export interface Busy {
  /**
   * Sets of blocks to leave out: the next one is tried when nothing is free outside the one before.
   */
  readonly tries: () => Iterable<RangeSet.RangeSet>
  /** Blocks that another task of this process writes, or in which this task met another writer. */
  readonly met: RangeSet.RangeSet
}

const EVERYTHING = /* @__PURE__ */ RangeSet.parse(['0.0.0.0/0', '::/0'])

/** @param contended blocks in which the task has met another writer */
export function busyOf({
  known,
  contended,
  nowMs,
  usesLocks,
}: {
  readonly known: KnownBlocks
  readonly contended: RangeSet.RangeSet
  readonly nowMs: number
  readonly usesLocks: boolean
}): Busy {
  const own = known.inFlightAt(nowMs)
  const others = known.othersAt(nowMs)
  const met = RangeSet.union(contended, own)
  const setOf = (blocks: readonly OthersBlock[]) => RangeSet.fromPrefixes(blocks.map(({ prefix }) => prefix))
  return {
    met,
    *tries() {
      yield RangeSet.union(met, setOf(others))
      if (usesLocks) {
        const last = others.filter(({ isLast }) => isLast)
        // waiting for a task of this process costs less than a conflict with another writer
        yield setOf(last)
        yield RangeSet.subtract(EVERYTHING, own)
        // a writer without a block of its own takes the block that was least recently written by
        // another writer
        for (let part = 1; part < 4; part++) yield RangeSet.union(own, setOf(last.slice((last.length * part) >> 2)))
      }
      yield met
    },
  }
}
