import * as Prefix from '../../cidr/nouns/prefix.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import type { FamilyView } from './view.js'

type Prefix = Prefix.Prefix

/** The objects of a consumer that keeps an object, or an entry, for each range. */
export interface OwnRanges {
  /**
   * Disjoint, in order. The prefix of a range depends on no other range and on no Node, as long as
   * no other range contains it.
   */
  readonly prefixes: readonly Prefix[]
  /** Ranges that lie in one of them, each once. */
  readonly nested: readonly Prefix[]
  /** Subnets of Nodes in no range that have a range in them: they have no object. */
  readonly around: readonly Prefix[]
}

/**
 * The known ranges as they are configured, and the subnets of Nodes that are in no range. They are
 * never merged: an object that is made of two ranges would be another object when one of them comes
 * or goes. A subnet of a Node never takes the place of a range. O(n log n).
 *
 * @param isTaken whether the consumer takes a range at all
 */
export function ownRanges(view: FamilyView, isTaken: (prefix: Prefix) => boolean): OwnRanges {
  const taken = (list: readonly { readonly prefix: Prefix }[]) => list.map(({ prefix }) => prefix).filter(isTaken)
  const ranges = outermost(taken([...view.active, ...view.proposed, ...view.terminating]))
  const space = RangeSet.fromPrefixes(ranges.prefixes)
  const orphans = taken(view.orphans)
  const beside = outermost(orphans.filter((prefix) => !RangeSet.overlaps(space, prefix)))
  return {
    prefixes: [...ranges.prefixes, ...beside.prefixes].sort(Prefix.compare),
    nested: [...ranges.nested, ...beside.nested],
    around: orphans.filter((prefix) => RangeSet.overlaps(space, prefix)),
  }
}

function outermost(list: readonly Prefix[]): Pick<OwnRanges, 'prefixes' | 'nested'> {
  const all = [...list].sort(Prefix.compare)
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
