import * as RangeSet from '../../cidr/nouns/range-set.js'
import type { KnownBlocks } from './known-blocks.js'

/** Blocks that somebody writes, and where it would cost to write too. */
export interface Busy {
  /** Which to leave out, in turn, until one is left. */
  readonly tries: () => Iterable<RangeSet.RangeSet>
  /** Where this task would meet another one of its process, or has met somebody. */
  readonly met: RangeSet.RangeSet
}

export const NOBODY: Busy = { tries: () => [], met: RangeSet.empty }

const EVERYTHING = /* @__PURE__ */ RangeSet.parse(['0.0.0.0/0', '::/0'])

/** Of the blocks of others, so many that were written last are left out: who has none to itself takes one that is rather one too many for another. */
const OTHERS_LEFT_OUT = [0.75, 0.5, 0.25]

/** @param contended blocks in which the task has met somebody */
export function busyOf({
  known,
  contended,
  nowMs,
  takesTurns,
}: {
  readonly known: KnownBlocks
  readonly contended: RangeSet.RangeSet
  readonly nowMs: number
  readonly takesTurns: boolean
}): Busy {
  const own = known.underWayAt(nowMs)
  const others = known.othersAt(nowMs)
  const met = RangeSet.union(contended, own)
  const lastOf = (share: number) => RangeSet.fromPrefixes(others.slice(Math.floor(others.length * (1 - share))))
  return {
    met,
    *tries() {
      const all = lastOf(1)
      yield RangeSet.union(met, all)
      if (takesTurns) {
        // rather to wait for a task of this process than to meet others
        yield all
        yield RangeSet.subtract(EVERYTHING, own)
        for (const share of OTHERS_LEFT_OUT) yield RangeSet.union(own, lastOf(share))
      }
      yield met
    },
  }
}
