import * as RangeSet from '../../../cidr/nouns/range-set.js'
import type { KnownBlocks, OthersBlock } from '../tasks/known-blocks.js'

/** Blocks that somebody writes, and where it would cost to write too. */
export interface Busy {
  /** Which to leave out, in turn, until one is left. */
  readonly tries: () => Iterable<RangeSet.RangeSet>
  /** Where this task would meet another one of its process, or has met somebody. */
  readonly met: RangeSet.RangeSet
}

const EVERYTHING = /* @__PURE__ */ RangeSet.parse(['0.0.0.0/0', '::/0'])

/** @param contended blocks in which the task has met somebody */
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
        // rather to wait for a task of this process than to meet others
        yield setOf(last)
        yield RangeSet.subtract(EVERYTHING, own)
        // who has none to itself takes one that is rather one too many for another: of those of
        // others that was written least lately
        for (let part = 1; part < 4; part++) yield RangeSet.union(own, setOf(last.slice((last.length * part) >> 2)))
      }
      yield met
    },
  }
}
