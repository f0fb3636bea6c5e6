import * as Address from '../../../cidr/nouns/address.js'
import type * as Prefix from '../../../cidr/nouns/prefix.js'
import * as RangeSet from '../../../cidr/nouns/range-set.js'
import type { IPPoolFamilyStatus } from '../../../crd/ipam-kit/ip-pool.js'
import { type BlockBook, isBound } from '../book.js'
import { type Grid, type UnitRange, unitsWithin } from '../grid.js'
import type { PoolHints, PoolView } from '../pool-view.js'
import type { DomainBlocks } from './domain-blocks.js'

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

/** What one block has of one pool. */
interface Usage {
  readonly family: Family
  /** Of this pool's rows. */
  readonly allocated: number
  readonly outOfRange: number
  readonly cooling: number
  /** Of what the pool gives: the units that are in use or wait, by whichever pool; all units of a block that is closed. */
  readonly busy: number
  /** When the first of those that wait is free, in milliseconds since 1970. */
  readonly dueMs: number
}

/** Which blocks have what of one pool: computed once for each version of a block, for as long as the space of the pool is the same. */
export class UsageMemo {
  #space: PoolView['space']
  #usages = new WeakMap<BlockBook, Usage>()

  /** @returns what a block has of the pool at a time */
  of(book: BlockBook, pool: PoolView, nowMs: number): Usage {
    if (pool.space !== this.#space) {
      this.#space = pool.space
      this.#usages = new WeakMap()
    }
    const known = this.#usages.get(book)
    if (known !== undefined && nowMs < known.dueMs) return known
    const usage = usageOf(book, pool, nowMs)
    this.#usages.set(book, usage)
    return usage
  }
}

/** What a pool has in its blocks at one moment: the sum over the blocks of its domain. */
export class PoolUsage {
  readonly #pool: PoolView
  readonly #usages: readonly Usage[]

  constructor(pool: PoolView, blocks: DomainBlocks, memo: UsageMemo, nowMs: number) {
    this.#pool = pool
    const unreadable = blocks.unreadable.flatMap(({ name, prefix }) => closedUsage(pool, name, prefix))
    this.#usages = [...blocks.books.map((book) => memo.of(book, pool, nowMs)), ...unreadable]
  }

  /** When the next address that waits is free, in milliseconds since 1970; `undefined`: none waits. */
  get dueMs(): number | undefined {
    const dueMs = this.#usages.reduce((first, usage) => Math.min(first, usage.dueMs), Number.POSITIVE_INFINITY)
    return dueMs === Number.POSITIVE_INFINITY ? undefined : dueMs
  }

  /** How many units the pool has given, of both families. */
  get allocated(): number {
    return this.#usages.reduce((sum, usage) => sum + usage.allocated, 0)
  }

  counts(grid: Grid): PoolCounts {
    const { given = RangeSet.empty, reserved = RangeSet.empty } = this.#pool.space ?? {}
    const [units, kept] = [unitsIn(given, grid), unitsIn(reserved, grid)]
    const sums = { allocated: 0, outOfRange: 0, cooling: 0, busy: 0 }
    for (const usage of this.#usages) {
      if (usage.family !== grid.family) continue
      for (const field of FIELDS) sums[field] += usage[field]
    }
    const free = units - BigInt(sums.busy)
    return {
      total: units + kept,
      reserved: kept,
      allocated: BigInt(sums.allocated),
      outOfRange: BigInt(sums.outOfRange),
      cooling: BigInt(sums.cooling),
      // blocks that overlap count what they have in common twice
      free: free > 0n ? free : 0n,
    }
  }

  /** What the status of the pool says of a family. */
  status(grid: Grid): IPPoolFamilyStatus {
    return statusOf(grid, this.counts(grid), this.#pool.hints(grid.family))
  }
}

const FIELDS = ['allocated', 'outOfRange', 'cooling', 'busy'] as const

/** A block that cannot be read: nothing is given in it, whoever has what. */
function closedUsage(pool: PoolView, name: string, prefix: Prefix.Prefix): readonly Usage[] {
  const { family } = prefix.address
  if (pool.grid(family)?.blockPrefixLength !== prefix.length) return []
  const busy = countOf(pool.unitsOf(prefix, name))
  return [{ family, allocated: 0, outOfRange: 0, cooling: 0, busy, dueMs: Number.POSITIVE_INFINITY }]
}

function usageOf(book: BlockBook, pool: PoolView, nowMs: number): Usage {
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
