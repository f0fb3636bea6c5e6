import { Ledger } from '../../allocator/index.js'
import { type Cover, frozenSet } from '../../cidr/internal.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import type { ObjectRef } from '../../crd/meta/object.js'
import { check } from '../../errors/check.js'
import { compareText } from '../../plan/cached-objects.js'
import type { Extent, Holder, Holding } from '../../plan/index.js'
import { LedgerFamilyView, type ViewFacts } from './family.js'
import { holdingsIn, readRanges } from './read.js'
import { NAMED_RANGES, type NetworkView, type NetworkViewInput, type ViewProblem } from './view.js'

type RangeSet = RangeSet.RangeSet

/** The configured ranges beside ClusterCIDRs. */
export type ConfiguredRanges = Pick<NetworkViewInput, 'extraCIDRs' | 'serviceCIDRs' | 'pools'>

/** The problems of each object that has some. */
export type Problems = readonly (readonly ViewProblem[])[]

/** A view that is read from ledgers. */
export class LedgerView implements NetworkView {
  readonly ipv4: LedgerFamilyView
  readonly ipv6: LedgerFamilyView
  readonly #problems: () => Problems
  #known: RangeSet = RangeSet.empty

  constructor(facts: ViewFacts, problems: () => Problems) {
    this.ipv4 = new LedgerFamilyView(4, facts)
    this.ipv6 = new LedgerFamilyView(6, facts)
    this.#problems = problems
  }

  get problems(): readonly ViewProblem[] {
    const all = [...this.#problems()].sort(([left], [right]) => compareText(left!.about, right!.about))
    return all.flat().map((problem) => ({ ...problem }))
  }

  /** How many objects have problems. O(problems). */
  get problemCount(): number {
    return this.#problems().length
  }

  get known(): RangeSet {
    const { known: v4 } = this.ipv4
    const { known: v6 } = this.ipv6
    // the object stays the same while the ranges of a family are the same
    if (this.#known.v4 !== v4.v4 || this.#known.v6 !== v6.v6) this.#known = frozenSet({ v4: v4.v4, v6: v6.v6 })
    return this.#known
  }

  summary(max: number): Cover {
    return RangeSet.cover(this.known, { maxPrefixes: max })
  }

  /** Takes in that the holders of extents have changed. */
  touch(extents: Iterable<Extent>): void {
    for (const extent of extents) (extent.prefix.address.family === 4 ? this.ipv4 : this.ipv6).touch(extent)
  }
}

/** A ledger of a view. No address is offered, so its space is empty. */
export function newLedger(): Ledger<Holder> {
  return new Ledger({ space: RangeSet.empty })
}

/** Records what an object, or an option, holds. */
export function record(
  ledgerOf: ViewFacts['ledger'],
  id: string,
  holdings: readonly Holding[],
  object: ObjectRef | undefined,
): void {
  for (const [index, { pool, prefix, key, field }] of holdings.entries()) {
    const ledger = ledgerOf(pool as Parameters<ViewFacts['ledger']>[0])
    ledger.set(`${id} ${index}`, { prefix, reason: 'held', holder: { key, field, object } })
  }
}

/** Records the ranges of options. Returns their problems. */
export function recordConfigured(ledgerOf: ViewFacts['ledger'], configured: ConfiguredRanges): Problems {
  const { extraCIDRs = [], serviceCIDRs = [], pools = [] } = configured
  const services = serviceCIDRs.map((given) => (typeof given === 'string' ? { name: given, cidrs: [given] } : given))
  return Object.entries({ pods: extraCIDRs, services, pools } as const).flatMap(([role, list]) =>
    list.flatMap((given, nth) => {
      check('networkView', 'ranges', given, NAMED_RANGES)
      const reading = readRanges(role as 'pods', given)
      record(ledgerOf, `option ${nth}`, holdingsIn(role as 'pods', given.name, reading), given.source)
      return reading.problems.length > 0 ? [reading.problems] : []
    }),
  )
}
