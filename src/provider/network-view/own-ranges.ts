import * as Prefix from '../../cidr/nouns/prefix.js'
import type { FamilyView } from './view.js'

type Prefix = Prefix.Prefix

/** The objects of a consumer that keeps an object, or an entry, for each range. */
export interface OwnRanges {
  /**
   * Disjoint, in order. The prefix of a range depends on no other range, as long as no other one
   * contains it.
   */
  readonly prefixes: readonly Prefix[]
  /** Ranges that lie in one of them, each once. */
  readonly nested: readonly Prefix[]
}

/**
 * The known ranges as they are configured, and the subnets of Nodes that are in no range. They are
 * never merged: an object that is made of two ranges would be another object when one of them comes
 * or goes. O(n log n).
 *
 * @param isTaken whether the consumer takes a range at all
 */
export function ownRanges(view: FamilyView, isTaken: (prefix: Prefix) => boolean): OwnRanges {
  const all = configuredIn(view).filter(isTaken).sort(Prefix.compare)
  const prefixes: Prefix[] = []
  const nested: Prefix[] = []
  // an outer prefix is in front of those in it
  for (const prefix of all) {
    const last = prefixes.at(-1)
    if (last === undefined || !Prefix.contains(last, prefix)) prefixes.push(prefix)
    else if (!isSame(last, prefix) && !isSame(nested.at(-1), prefix)) nested.push(prefix)
  }
  return { prefixes, nested }
}

/** Every known prefix: those of ranges, and of subnets in no range. */
export function configuredIn({ active, proposed, terminating, orphans }: FamilyView): readonly Prefix[] {
  return [...active, ...proposed, ...terminating, ...orphans].map(({ prefix }) => prefix)
}

function isSame(left: Prefix | undefined, right: Prefix): boolean {
  return left !== undefined && Prefix.equals(left, right)
}
