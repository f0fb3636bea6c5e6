import type { LedgerCounts, LedgerEntry, LedgerHolder, LedgerQuery, LedgerSpec } from 'ipam-kit/allocator'
import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'

/**
 * A simple model of a ledger: a `Map` of entries, a list of units and a `for` loop. Only for small
 * spaces, because it lists each unit.
 */
export class ModelLedger<H extends LedgerHolder = LedgerHolder> {
  readonly entries = new Map<string, LedgerEntry<H>>()
  #space: RangeSet
  #units: readonly Prefix[] = []

  constructor(spec: LedgerSpec) {
    this.#space = spec.space
    this.setSpace(spec)
  }

  setSpace({ space, length }: LedgerSpec): void {
    this.#space = space
    this.#units = this.#unitsOf(length)
  }

  #unitsOf(length: number | undefined): readonly Prefix[] {
    const space = this.#space
    const units: Prefix[] = []
    for (const { first, last } of RangeSet.ranges(space)) {
      for (
        let at: Address | undefined = first;
        at !== undefined && Address.compare(at, last) <= 0;
        at = Address.next(at)
      ) {
        const unit = Prefix.of(at, length ?? Address.bitsOf(at.family))
        if (Prefix.masked(unit) === unit && RangeSet.contains(space, unit)) units.push(unit)
        if (units.length > 100_000) throw new RangeError('a model ledger has at most 100,000 units')
      }
    }
    return units
  }

  set(id: string, entry: LedgerEntry<H>): void {
    // a former extent that is set again is the youngest
    this.entries.delete(id)
    this.entries.set(id, { ...entry, prefix: Prefix.masked(entry.prefix) })
  }

  holders(extent: Prefix): LedgerEntry<H>[] {
    return [...this.entries.values()].filter(({ prefix }) => overlap(prefix, extent))
  }

  blockers(extent: Prefix, key?: string): LedgerEntry<H>[] {
    return this.holders(extent).filter(({ prefix, reason, holder }) => {
      if (reason === 'former' || (reason === 'kept' && holder.key === key)) return false
      return (reason !== 'kept' && reason !== 'foreign') || RangeSet.overlaps(this.#space, prefix)
    })
  }

  /** The units that `next` may draw, without those that are offered last. */
  open(query: LedgerQuery = {}): Prefix[] {
    const isOpen = (unit: Prefix) => this.holders(unit).length === 0
    return this.#candidates(query).filter(isOpen)
  }

  /** What is offered by `next` without `random`. */
  next(query: LedgerQuery = {}): Prefix | undefined {
    const candidates = this.#candidates(query)
    const isFree = (unit: Prefix) => this.blockers(unit, query.for).length === 0
    const firstIn = ({ prefix }: LedgerEntry<H>) => candidates.find((unit) => overlap(unit, prefix) && isFree(unit))
    const entries = [...this.entries.values()]
    const own = entries.filter(({ holder }) => holder.key === query.for)
    const kept = own.filter(({ reason }) => reason === 'kept')
    const former = own.filter(({ reason }) => reason === 'former').reverse()
    for (const entry of [...kept, ...former]) {
      const unit = firstIn(entry)
      if (unit !== undefined) return unit
    }
    const open = this.open(query)
    const { from, order } = query
    const behind = open.find((unit) => from === undefined || Address.compare(unit.address, from) >= 0)
    if (behind !== undefined) return behind
    if (order === 'around' && open[0] !== undefined) return open[0]
    for (const entry of entries) {
      const unit = entry.reason === 'former' ? firstIn(entry) : undefined
      if (unit !== undefined) return unit
    }
    return undefined
  }

  counts(): LedgerCounts {
    const entries = [...this.entries.values()]
    const count = (reason: LedgerEntry['reason']) => entries.filter((entry) => entry.reason === reason).length
    const isTaken = (unit: Prefix) =>
      this.holders(unit).some(({ reason }) => reason !== 'pending' && reason !== 'former')
    const outside = entries.filter(({ reason, prefix }) => reason === 'held' && !RangeSet.contains(this.#space, prefix))
    return {
      total: BigInt(this.#units.length),
      free: BigInt(this.#units.filter((unit) => !isTaken(unit)).length),
      held: count('held'),
      pending: count('pending'),
      kept: count('kept'),
      cooldown: count('cooldown'),
      former: count('former'),
      foreign: count('foreign'),
      outOfRange: new Set(outside.map(({ prefix }) => Prefix.format(prefix))).size,
    }
  }

  /** The held extents that overlap a held extent of another holder. */
  conflicts(): LedgerEntry<H>[] {
    const held = [...this.entries.values()].filter(({ reason }) => reason === 'held')
    return held.filter((one) =>
      held.some((other) => other.holder.key !== one.holder.key && overlap(one.prefix, other.prefix)),
    )
  }

  #candidates({ family, from, within, length }: LedgerQuery): Prefix[] {
    const wanted = from?.family ?? family
    return (length === undefined ? this.#units : this.#unitsOf(length)).filter((unit) => {
      if (wanted !== undefined && unit.address.family !== wanted) return false
      return within === undefined || RangeSet.contains(within, unit)
    })
  }
}

function overlap(left: Prefix, right: Prefix): boolean {
  return Prefix.contains(left, right) || Prefix.contains(right, left)
}
