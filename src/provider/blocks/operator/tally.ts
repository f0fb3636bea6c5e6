import * as Address from '../../../cidr/nouns/address.js'
import type * as Prefix from '../../../cidr/nouns/prefix.js'
import * as RangeSet from '../../../cidr/nouns/range-set.js'
import type { IPPoolFamilyStatus } from '../../../crd/ipam-kit/ip-pool.js'
import { type BlockBook, isBound } from '../book.js'
import { DueTimes } from '../due-times.js'
import { type Grid, type UnitRange, unitsWithin } from '../grid.js'
import type { PoolHints, PoolView } from '../pool-view.js'

type Family = 4 | 6

/** What of a pool is where, in units. */
export interface PoolCounts {
  /** What the pool gives, and what it keeps for who asks. */
  readonly total: bigint
  readonly reserved: bigint
  readonly allocated: bigint
  readonly outOfRange: bigint
  readonly cooling: bigint
  readonly free: bigint
}

/** What was counted of a family, and what its status is then. */
interface Counted {
  readonly grid: Grid
  /** How many units the pool has of its own, whoever has something in them. */
  readonly units: bigint
  readonly reserved: bigint
  /** Until something changes. */
  counts: PoolCounts | undefined
  status: { readonly counts: PoolCounts; readonly hints: PoolHints; readonly fields: IPPoolFamilyStatus } | undefined
}

/** What one block has of one pool. */
interface Share {
  readonly family: Family
  /** Of this pool's rows. */
  readonly allocated: number
  readonly outOfRange: number
  readonly cooling: number
  /** Of what the pool gives, and somebody has or waits for, whichever pool that is of; all of it where nothing is given. */
  readonly busy: number
  /** When the first of those that wait is free. */
  readonly dueMs: number
}

/** Counts of a pool that are kept up to date block by block: a plan for the pool does not go through its rows. */
export class PoolTally {
  readonly #pool: PoolView
  readonly #shares = new Map<string, Share>()
  readonly #timed = new DueTimes<BlockBook>()
  readonly #sums = new Map<string, number>()
  readonly #counted = new Map<Family, Counted>()
  /** What the counts were made for: if it is another one, all blocks are to be noted again. */
  readonly space: PoolView['space']

  constructor(pool: PoolView) {
    this.#pool = pool
    this.space = pool.space
  }

  /** Takes a block of the pool's domain in. */
  note(book: BlockBook, nowMs: number): void {
    this.forget(book.name)
    const share = shareOf(book, this.#pool, nowMs)
    if (share === undefined) return
    this.#shares.set(book.name, share)
    this.#add(share, 1)
    if (share.dueMs !== Number.POSITIVE_INFINITY) this.#timed.set(book.name, share.dueMs, book)
  }

  /** Takes a block in that can not be read: nothing is given in it, whoever has what. */
  noteUnreadable(name: string, prefix: Prefix.Prefix): void {
    this.forget(name)
    const { family } = prefix.address
    if (this.#pool.grid(family)?.blockPrefixLength !== prefix.length) return
    const busy = countOf(this.#pool.unitsOf(prefix, name))
    const share = { family, allocated: 0, outOfRange: 0, cooling: 0, busy, dueMs: Number.POSITIVE_INFINITY }
    this.#shares.set(name, share)
    this.#add(share, 1)
  }

  forget(name: string): void {
    const share = this.#shares.get(name)
    if (share === undefined) return
    this.#shares.delete(name)
    this.#timed.delete(name)
    this.#add(share, -1)
  }

  /** Takes in that time has gone on. @returns when that means something again, if ever */
  refresh(nowMs: number): number | undefined {
    for (const book of this.#timed.takeDue(nowMs)) this.note(book, nowMs)
    return this.#timed.firstMs
  }

  /** How many rows' units of the pool are bound, of both families. */
  get allocated(): number {
    return this.#sum(4, 'allocated') + this.#sum(6, 'allocated')
  }

  /** The same object until something changes. O(1), but for the first time. */
  counts(grid: Grid): PoolCounts {
    const counted = this.#countedOn(grid)
    counted.counts ??= this.#count(counted)
    return counted.counts
  }

  /** What the status of the pool says of a family: the same object until something changes. */
  status(grid: Grid): IPPoolFamilyStatus {
    const counted = this.#countedOn(grid)
    const [counts, hints] = [this.counts(grid), this.#pool.hints(grid.family)]
    if (counted.status?.counts !== counts || counted.status.hints !== hints) {
      counted.status = { counts, hints, fields: statusOf(grid, counts, hints) }
    }
    return counted.status.fields
  }

  #countedOn(grid: Grid): Counted {
    const known = this.#counted.get(grid.family)
    if (known !== undefined && isSameGrid(known.grid, grid)) return known
    const { given = RangeSet.empty, reserved = RangeSet.empty } = this.space ?? {}
    const units = unitsIn(given, grid)
    const counted = { grid, units, reserved: unitsIn(reserved, grid), counts: undefined, status: undefined }
    this.#counted.set(grid.family, counted)
    return counted
  }

  #count({ grid: { family }, units, reserved }: Counted): PoolCounts {
    const free = units - BigInt(this.#sum(family, 'busy'))
    return {
      total: units + reserved,
      reserved,
      allocated: BigInt(this.#sum(family, 'allocated')),
      outOfRange: BigInt(this.#sum(family, 'outOfRange')),
      cooling: BigInt(this.#sum(family, 'cooling')),
      // blocks that lie over each other count what they have in common twice
      free: free > 0n ? free : 0n,
    }
  }

  #sum(family: Family, field: 'allocated' | 'outOfRange' | 'cooling' | 'busy'): number {
    return this.#sums.get(`${field} ${family}`) ?? 0
  }

  #add(share: Share, sign: 1 | -1): void {
    const counted = this.#counted.get(share.family)
    if (counted !== undefined) counted.counts = undefined
    for (const field of ['allocated', 'outOfRange', 'cooling', 'busy'] as const) {
      const key = `${field} ${share.family}`
      this.#sums.set(key, (this.#sums.get(key) ?? 0) + sign * share[field])
    }
  }
}

function shareOf(book: BlockBook, pool: PoolView, nowMs: number): Share | undefined {
  const { family } = book.prefix.address
  const { spec } = book.object
  const given = pool.unitsOf(book.prefix, book.name)
  let [allocated, outOfRange, cooling, busy] = [0, 0, 0, 0]
  let dueMs = Number.POSITIVE_INFINITY
  let reserved: readonly UnitRange[] | undefined
  for (const entry of book.entries) {
    const { unit, count, row, untilMs } = entry
    if (untilMs <= nowMs) continue
    const inGiven = overlap(given, unit, count)
    busy += inGiven
    const isOwn = (row.pool ?? spec.pool) === pool.name
    if (!isBound(entry)) {
      dueMs = Math.min(dueMs, untilMs)
      if (isOwn) cooling += count
    } else if (isOwn) {
      allocated += count
      // what is reserved in the block is not looked for while every row is of what anybody may get
      if (inGiven === count) continue
      reserved ??= reservedIn(book, pool)
      outOfRange += count - inGiven - overlap(reserved, unit, count)
    }
  }
  // nothing is given in one that goes, or that has rows which can not be
  if (!book.isOpen) busy = countOf(given)
  if (allocated + cooling + busy === 0) return undefined
  return { family, allocated, outOfRange, cooling, busy, dueMs }
}

function reservedIn({ prefix, object }: BlockBook, { space }: PoolView): readonly UnitRange[] {
  return space === undefined ? [] : unitsWithin(space.reserved, prefix, object.spec.allocationPrefixLength)
}

/** How many units there are in ranges of units. */
function countOf(ranges: readonly UnitRange[]): number {
  return ranges.reduce((sum, { first, last }) => sum + last - first + 1, 0)
}

/** How many of `count` units from `unit` lie in ranges of units. */
function overlap(ranges: readonly UnitRange[], unit: number, count: number): number {
  let sum = 0
  for (const { first, last } of ranges) {
    sum += Math.max(0, Math.min(last, unit + count - 1) - Math.max(first, unit) + 1)
  }
  return sum
}

function isSameGrid(left: Grid, right: Grid): boolean {
  return (
    left.blockPrefixLength === right.blockPrefixLength && left.allocationPrefixLength === right.allocationPrefixLength
  )
}

function statusOf(grid: Grid, counts: PoolCounts, { full, bound, last }: PoolHints): IPPoolFamilyStatus {
  const { total, allocated, free, reserved, cooling, outOfRange } = counts
  return {
    blockPrefixLength: grid.blockPrefixLength,
    allocationPrefixLength: grid.allocationPrefixLength,
    total: `${total}`,
    allocated: `${allocated}`,
    free: `${free}`,
    reserved: `${reserved}`,
    cooling: `${cooling}`,
    outOfRange: `${outOfRange}`,
    full,
    bound,
    ...(last === undefined ? {} : { last: Address.format(last) }),
  }
}

/** How many whole units a set has, of one family. O(ranges). */
function unitsIn(set: RangeSet.RangeSet, { family, allocationPrefixLength }: Grid): bigint {
  const size = 1n << BigInt(Address.bitsOf(family) - allocationPrefixLength)
  let units = 0n
  for (const { first, last } of RangeSet.ranges(set)) {
    if (first.family !== family) continue
    const from = (Address.toBigInt(first) + size - 1n) / size
    const behind = (Address.toBigInt(last) + 1n) / size
    if (behind > from) units += behind - from
  }
  return units
}
