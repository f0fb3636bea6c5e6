import * as Address from '../../../cidr/nouns/address.js'
import type * as Prefix from '../../../cidr/nouns/prefix.js'
import * as RangeSet from '../../../cidr/nouns/range-set.js'
import { parseBlockName } from '../../../crd/ipam-kit/block-name.js'
import type { IPPoolFamilyStatus } from '../../../crd/ipam-kit/ip-pool.js'
import type { CachedObjects } from '../../../plan/index.js'
import { DueTimes } from '../block/due-times.js'
import { type Grid, type UnitRange, unitsWithin } from '../block/grid.js'
import { isBound, type ParsedBlock } from '../block/parsed-block.js'
import type { PoolHints, PoolView } from '../pool/pool-view.js'

type Family = 4 | 6

/** The number of units of a pool, by state. */
export interface PoolCounts {
  /** Units that the pool gives, with those that it gives only on request. */
  readonly total: bigint
  readonly reserved: bigint
  readonly allocated: bigint
  readonly outOfRange: bigint
  readonly cooldown: bigint
  readonly free: bigint
}

/** What one block has of one pool. */
interface Usage {
  readonly family: Family
  /** Units in rows of this pool. */
  readonly allocated: number
  readonly outOfRange: number
  readonly cooldown: number
  /**
   * Units of the pool that are in use or wait, whichever pool gave them; all units of a closed
   * block.
   */
  readonly busy: number
  /** When the first of the waiting units is free, in milliseconds since 1970. */
  readonly dueMs: number
}

/** The sums of all blocks of a pool, of one family. */
type Sums = { -readonly [field in (typeof FIELDS)[number]]: number }

const FIELDS = ['allocated', 'outOfRange', 'cooldown', 'busy'] as const

/**
 * The usage of one pool in each block. Computed again for blocks that have changed, and for all
 * blocks when the space of the pool has changed.
 */
export class PoolUsages {
  #space: PoolView['space']
  /** By the name of the block, without blocks that have nothing of the pool. */
  readonly #usages = new Map<string, Usage>()
  /** When a waiting unit of a block is free, by the name of the block. */
  #due = new DueTimes<string>()
  #sums: { readonly 4: Sums; readonly 6: Sums } = noSums()
  /** The blocks that have changed. `undefined`: all of the domain. */
  #changed: Set<string> | undefined

  /** Called when a block has changed. */
  touch(name: string): void {
    this.#changed?.add(name)
  }

  /** The usage at a time. O(blocks that have changed, and blocks in which units wait). */
  at(pool: PoolView, blocks: CachedObjects<ParsedBlock>, nowMs: number): UnitUsage {
    let names: Iterable<string>
    if (pool.space !== this.#space || this.#changed === undefined) {
      this.#space = pool.space
      this.#usages.clear()
      this.#due = new DueTimes()
      this.#sums = noSums()
      const parsedBlocks = [...blocks.each('domain', pool.object.spec.domain)].map(({ name }) => name)
      names = [...parsedBlocks, ...blocks.unreadable().map(({ object }) => object.metadata.name)]
    } else {
      names = this.#changed
      for (const name of this.#due.takeDue(nowMs)) this.#changed.add(name)
    }
    for (const name of names) this.#set(name, this.#usageOf(name, pool, blocks, nowMs))
    this.#changed = new Set()
    return new UnitUsage(pool, this.#sums, this.#due.firstMs)
  }

  #usageOf(name: string, pool: PoolView, blocks: CachedObjects<ParsedBlock>, nowMs: number): Usage | undefined {
    const entry = blocks.entry(name)
    const { domain } = pool.object.spec
    if (entry?.ok === true)
      return entry.value.object.spec.domain === domain ? usageOf(entry.value, pool, nowMs) : undefined
    const place = entry === undefined ? undefined : parseBlockName(name)
    return place?.domain === domain ? closedUsage(pool, name, place.prefix) : undefined
  }

  #set(name: string, usage: Usage | undefined): void {
    const before = this.#usages.get(name)
    for (const field of FIELDS) {
      if (before !== undefined) this.#sums[before.family][field] -= before[field]
      if (usage !== undefined) this.#sums[usage.family][field] += usage[field]
    }
    const isNone = usage === undefined || usage.allocated + usage.cooldown + usage.busy === 0
    if (isNone) this.#usages.delete(name)
    else this.#usages.set(name, usage)
    if (isNone || usage.dueMs === Number.POSITIVE_INFINITY) this.#due.delete(name)
    else this.#due.set(name, usage.dueMs, name)
  }
}

function noSums(): { readonly 4: Sums; readonly 6: Sums } {
  const none = { allocated: 0, outOfRange: 0, cooldown: 0, busy: 0 }
  return { 4: { ...none }, 6: { ...none } }
}

/** The usage of a pool in its blocks, at the moment of a plan. */
export class UnitUsage {
  readonly #pool: PoolView
  readonly #sums: { readonly 4: Sums; readonly 6: Sums }
  /** When the next waiting address is free, in milliseconds since 1970; `undefined`: none waits. */
  readonly dueMs: number | undefined

  constructor(pool: PoolView, sums: { readonly 4: Sums; readonly 6: Sums }, dueMs: number | undefined) {
    this.#pool = pool
    this.#sums = sums
    this.dueMs = dueMs
  }

  /** How many units the pool has given, of both families. */
  get allocated(): number {
    return this.#sums[4].allocated + this.#sums[6].allocated
  }

  counts(grid: Grid): PoolCounts {
    const { given = RangeSet.empty, reserved = RangeSet.empty } = this.#pool.space ?? {}
    const [units, kept] = [unitsIn(given, grid), unitsIn(reserved, grid)]
    const sums = this.#sums[grid.family]
    const free = units - BigInt(sums.busy)
    return {
      total: units + kept,
      reserved: kept,
      allocated: BigInt(sums.allocated),
      outOfRange: BigInt(sums.outOfRange),
      cooldown: BigInt(sums.cooldown),
      // overlapping blocks count their common units twice
      free: free > 0n ? free : 0n,
    }
  }

  /** The status of the pool for a family. */
  status(grid: Grid): IPPoolFamilyStatus {
    return statusOf(grid, this.counts(grid), this.#pool.hints(grid.family))
  }
}

/** The usage of a block that cannot be read: it gives nothing, whatever rows it has. */
function closedUsage(pool: PoolView, name: string, prefix: Prefix.Prefix): Usage | undefined {
  const { family } = prefix.address
  if (pool.grid(family)?.blockPrefixLength !== prefix.length) return undefined
  const busy = countOf(pool.unitsOf(prefix, name))
  return { family, allocated: 0, outOfRange: 0, cooldown: 0, busy, dueMs: Number.POSITIVE_INFINITY }
}

function usageOf(parsed: ParsedBlock, pool: PoolView, nowMs: number): Usage {
  const { family } = parsed.prefix.address
  const { spec } = parsed.object
  const given = pool.unitsOf(parsed.prefix, parsed.name)
  let [allocated, outOfRange, cooldown, busy] = [0, 0, 0, 0]
  let dueMs = Number.POSITIVE_INFINITY
  let reserved: readonly UnitRange[] | undefined
  for (const entry of parsed.entries) {
    const { unit, count, row, untilMs } = entry
    if (untilMs <= nowMs) continue
    const inGiven = overlap(given, unit, count)
    busy += inGiven
    const isOwn = (row.pool ?? spec.pool) === pool.name
    if (!isBound(entry)) {
      dueMs = Math.min(dueMs, untilMs)
      if (isOwn) cooldown += count
    } else if (isOwn) {
      allocated += count
      // reserved units are not looked for while every row lies in units that the pool gives without
      // a request
      if (inGiven === count) continue
      reserved ??= reservedIn(parsed, pool)
      outOfRange += count - inGiven - overlap(reserved, unit, count)
    }
  }
  // a block gives nothing while it is being deleted, or while rows of it contradict each other
  if (!parsed.isOpen) busy = countOf(given)
  return { family, allocated, outOfRange, cooldown, busy, dueMs }
}

function reservedIn({ prefix, object }: ParsedBlock, { space }: PoolView): readonly UnitRange[] {
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
  const { total, allocated, free, reserved, cooldown, outOfRange } = counts
  return {
    blockPrefixLength: grid.blockPrefixLength,
    allocationPrefixLength: grid.allocationPrefixLength,
    total: `${total}`,
    allocated: `${allocated}`,
    free: `${free}`,
    reserved: `${reserved}`,
    cooldown: `${cooldown}`,
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
