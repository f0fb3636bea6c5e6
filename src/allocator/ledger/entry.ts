import type { Address, Family, Prefix, RangeSet } from '../../cidr/index.js'

/**
 * Why an extent has a holder.
 *
 * | reason | offered to | counts as free |
 * |---|---|---|
 * | `held`: in use | no holder | no |
 * | `pending`: about to be written | no holder | yes, until it is written |
 * | `kept`: reserved for one holder | that holder only | no |
 * | `cooldown`: released, not to be reused before a time | no holder before that time | no |
 * | `former`: released, and its holder may return | other holders only when nothing else is free, the oldest first | yes |
 * | `foreign`: in use by another pool or system | no holder | no |
 */
export type HoldReason = 'held' | 'pending' | 'kept' | 'cooldown' | 'former' | 'foreign'

/**
 * The holder of an extent. A caller adds its own fields, such as the kind and the uid of an object.
 */
export interface LedgerHolder {
  /**
   * Identifies the holder: `LedgerQuery.for` compares it. Several entries of one holder are in no
   * conflict.
   */
  readonly key: string
}

/** One holder of one extent: the shape that maps, metrics, views and checks read. */
export interface LedgerEntry<H extends LedgerHolder = LedgerHolder> {
  /** The extent, host bits cleared. An address is a /32 or a /128. */
  readonly prefix: Prefix
  readonly reason: HoldReason
  readonly holder: H
  /** When the holder got the extent for this reason, in milliseconds since 1970. */
  readonly sinceMs?: number | undefined
  /**
   * The end of the entry, in milliseconds since 1970. Only `cooldown` entries end at this time: see
   * {@link Ledger.expire}.
   */
  readonly untilMs?: number | undefined
}

/** The space of a ledger, and its units. */
export interface LedgerSpec {
  readonly space: RangeSet
  /**
   * The length of a unit, such as 64 for the /64 of a node. A unit lies completely in the space.
   * Default: the length of an address.
   */
  readonly length?: number | undefined
}

/** What a ledger tells its caller. */
export interface LedgerOptions<H extends LedgerHolder = LedgerHolder> {
  /**
   * Called with each recorded `held` entry that begins to overlap one of another holder, or does
   * not overlap one any more. An entry that is removed is not reported.
   */
  readonly onConflict?: ((entry: LedgerEntry<H>) => void) | undefined
}

/** Narrows {@link Ledger.next}. */
export interface LedgerQuery {
  /** Default: IPv4 before IPv6, or the family of `from`. */
  readonly family?: Family | undefined
  /** The search begins at this address. */
  readonly from?: Address | undefined
  /**
   * `lowest`: the search ends at the end of the space. `around`: it continues at the beginning of
   * the space. Default `lowest`.
   */
  readonly order?: 'lowest' | 'around' | undefined
  /**
   * The length of the wanted unit, if it is wider than a unit of the ledger: 24 for a /24 in a
   * ledger of addresses.
   */
  readonly length?: number | undefined
  /** Only units that lie completely in this set. */
  readonly within?: RangeSet | undefined
  /**
   * Any free unit instead, each with the same probability. `from` and `order` have no effect then.
   */
  readonly random?: Random | undefined
  /**
   * The key of the requesting holder. It is offered a unit that is kept for it, then its last one,
   * then any other unit.
   */
  readonly for?: string | undefined
}

/**
 * A source of numbers from 0 up to, and without, 1, uniformly distributed: `Math.random`, or a
 * generator with a seed.
 */
export type Random = () => number

/** How much of a ledger is in use, of one family. */
export interface LedgerUsage {
  readonly family: Family
  /** Units of the space, in use or not. `undefined`: the space has none of this family. */
  readonly total: bigint | undefined
  /**
   * Units that overlap no extent that is held, kept, in cooldown or foreign. `undefined`: the space
   * has none of this family.
   */
  readonly free: bigint | undefined
  /** Distinct extents that are held, in the space or not. */
  readonly used: bigint
}

/** The numbers of units, and of entries for each reason. */
export interface LedgerCounts extends Readonly<Record<HoldReason, number>> {
  /** Units of the space, in use or not. */
  readonly total: bigint
  /** Units that overlap no extent that is held, kept, in cooldown or foreign. */
  readonly free: bigint
  /** Distinct extents that are held and not completely in the space. */
  readonly outOfRange: number
}
