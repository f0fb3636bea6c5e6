import { eachRange } from '../../../cidr/internal.js'
import * as Address from '../../../cidr/nouns/address.js'
import * as Prefix from '../../../cidr/nouns/prefix.js'
import * as RangeSet from '../../../cidr/nouns/range-set.js'
import { blockName } from '../../../crd/ipam-kit/block-name.js'
import type { IPPool, IPPoolFamilyStatus } from '../../../crd/ipam-kit/ip-pool.js'
import type { PoolSpace } from '../../../crd/ipam-kit/space.js'
import { isDeleting } from '../../../crd/meta/object.js'
import { list } from '../../../errors/quote.js'
import { chooseUnit } from '../block/choose.js'
import { DueTimes } from '../block/due-times.js'
import { blockAround, type Grid, type UnitRange, unitsWithin } from '../block/grid.js'
import { firstTexts, MarkedBlocks } from '../block/marked-blocks.js'
import type { ParsedBlock } from '../block/parsed-block.js'
import type { ParsedPool } from './parsed-pool.js'

type Address = Address.Address
type Prefix = Prefix.Prefix
type RangeSet = RangeSet.RangeSet
type Family = 4 | 6

/** How many prefixes a status names at most, so that it stays small. */
const MOST_HINTS = 256
const NO_HINTS: PoolHints = { full: [], bound: [], last: undefined }

/**
 * The hints in the status about the blocks of a family, for callers that do not know the blocks.
 */
export interface PoolHints {
  /** The first blocks that have nothing to give, as ranges. */
  readonly full: readonly string[]
  /** The first blocks bound to nodes that have something to give. */
  readonly bound: readonly string[]
  /** Where the last row was added. */
  readonly last: Address | undefined
}

/** The blocks to look for. */
interface CandidateQuery {
  readonly nowMs: number
  /** Blocks to leave out. */
  readonly beside?: RangeSet | undefined
  /** Whether to include blocks that are bound to a node. */
  readonly withBound: boolean
}

/** The state of one family of a pool: which of its blocks have nothing to give. */
interface FamilyView {
  readonly grid: Grid
  /** The blocks that have nothing to give. */
  readonly full: MarkedBlocks
  /** The blocks that are bound to nodes. */
  readonly bound: MarkedBlocks
  /** The blocks of `full` in which something becomes free at a known time, by name. */
  readonly due: DueTimes<Prefix>
  /** The blocks that do not lie on the grid, by name: the pool gives nothing there. */
  readonly offGrid: Map<string, Prefix>
  /** The number of the last row of each known block, if the order of the pool needs it. */
  readonly sequences: Map<string, { readonly prefix: Prefix; readonly sequence: number }>
  /** The block of the last row by the status: for callers that know no blocks. */
  hinted: Prefix | undefined
  /**
   * The addresses of the pool without `full`, with and without `bound`: a cache of those two sets.
   */
  rest: { readonly of: readonly [RangeSet, RangeSet]; readonly free: RangeSet; readonly unbound: RangeSet } | undefined
  /** The hints for the status: a cache of those two sets and the last block. */
  hints: { readonly of: readonly [RangeSet, RangeSet, Prefix | undefined]; readonly hints: PoolHints } | undefined
}

/**
 * A pool to be searched: its space, its grid, and which of its blocks have something to give, as
 * far as known. It decides nothing: only the block says what is free.
 */
export class PoolView {
  #reading: ParsedPool
  #space: PoolSpace | undefined
  #problem: string | undefined
  #specProblem: string | undefined
  readonly #families = new Map<Family, FamilyView>()
  /**
   * The units that the pool gives in each known block, by name. Blocks without any are left out.
   */
  readonly #units = new Map<string, readonly UnitRange[]>()

  constructor(reading: ParsedPool) {
    this.#reading = reading
    this.#read()
  }

  get object(): IPPool {
    return this.#reading.object
  }

  get name(): string {
    return this.object.metadata.name
  }

  /** Why the pool cannot give anything, apart from its capacity. */
  get problem(): string | undefined {
    if (isDeleting(this.object)) return 'the pool is being deleted'
    if (this.object.spec.disabled) return 'the pool is disabled'
    return this.#problem
  }

  /** Why the spec cannot be used; `undefined` if it can. */
  get specProblem(): string | undefined {
    return this.#specProblem
  }

  /** What is wrong with the spec, as sentences: all of it, or the part that gives nothing. */
  get problems(): readonly string[] {
    return this.#reading.problems
  }

  get space(): PoolSpace | undefined {
    return this.#space
  }

  /**
   * @returns the grid of a family; `undefined` if the pool has none of it, or was not accepted into
   * its domain
   */
  grid(family: Family): Grid | undefined {
    return this.#families.get(family)?.grid
  }

  get families(): Iterable<Family> {
    return this.#families.keys()
  }

  /**
   * Reads a newer version. @returns whether the addresses that it gives have changed, so that all
   * of its blocks have to be noted again
   */
  update(reading: ParsedPool): boolean {
    const before = this.#reading
    this.#reading = reading
    if (reading.gives === before.gives) return false
    this.#read()
    return true
  }

  /**
   * Reads the hints in the status of the pool: for callers that do not know the blocks themselves.
   */
  believeStatus(): void {
    for (const [family, view] of this.#families) {
      const status = statusOf(this.object, family)
      const [full, bound] = [hint(status?.full), hint(status?.bound)]
      const last = status?.last === undefined ? undefined : Address.safeParse(status.last)
      view.full.add(full)
      view.bound.add(bound)
      if (last?.ok && last.value.family === family) {
        view.hinted = Prefix.masked(Prefix.of(last.value, view.grid.blockPrefixLength))
      }
    }
  }

  /** Forgets the blocks, and keeps the hints of the status. */
  forget(): void {
    this.#read()
    this.believeStatus()
  }

  /** The units of a block that the pool gives without a request for them. */
  unitsOf(prefix: Prefix, name: string): readonly UnitRange[] {
    const known = this.#units.get(name)
    if (known !== undefined) return known
    const grid = this.grid(prefix.address.family)
    // most pools of a domain have nothing in most of its blocks
    if (grid === undefined || this.#space === undefined || !RangeSet.overlaps(this.#space.given, prefix)) return []
    return unitsWithin(this.#space.given, prefix, grid.allocationPrefixLength)
  }

  /** Reads the present state of a block. */
  note(parsed: ParsedBlock, nowMs: number): void {
    const { prefix, name, object } = parsed
    const view = this.#families.get(prefix.address.family)
    if (view === undefined) return
    if (view.grid.blockPrefixLength !== prefix.length) {
      view.offGrid.set(name, prefix)
      return
    }
    const units = this.unitsOf(prefix, name)
    if (units.length === 0) return
    this.#units.set(name, units)
    view.bound.mark(prefix, object.spec.node !== undefined)
    const hasCapacity = this.hasCapacityIn(parsed, nowMs)
    view.full.mark(prefix, !hasCapacity)
    view.due.delete(name)
    const atMs = hasCapacity || !parsed.isOpen ? Number.POSITIVE_INFINITY : firstEnd(parsed, units)
    if (atMs !== Number.POSITIVE_INFINITY) view.due.set(name, atMs, prefix)
    if (this.object.spec.order !== 'lowest') view.sequences.set(name, { prefix, sequence: object.spec.sequence })
  }

  /** Whether the pool has something to give in a block. */
  hasCapacityIn(parsed: ParsedBlock, nowMs: number): boolean {
    const units = this.unitsOf(parsed.prefix, parsed.name)
    return chooseUnit(parsed, { units, count: 1, isAligned: false, order: 'lowest', nowMs }) !== undefined
  }

  /** Whether the pool has something to give in a block that was noted. O(log n), amortised. */
  knowsCapacityIn({ prefix, name }: ParsedBlock, nowMs: number): boolean {
    const view = this.#families.get(prefix.address.family)
    if (view === undefined || !this.#units.has(name)) return false
    this.#expire(view, nowMs)
    return !RangeSet.contains(view.full.set, prefix)
  }

  /** Called when a block does not exist. */
  noteAbsent(prefix: Prefix, name: string): void {
    this.#units.delete(name)
    const view = this.#families.get(prefix.address.family)
    view?.offGrid.delete(name)
    if (view === undefined || view.grid.blockPrefixLength !== prefix.length) return
    view.due.delete(name)
    view.sequences.delete(name)
    view.bound.mark(prefix, false)
    view.full.mark(prefix, false)
  }

  /** Marks a block as one without free units, whatever its rows say. */
  markEmpty(prefix: Prefix, name: string): void {
    const view = this.#families.get(prefix.address.family)
    if (view === undefined) return
    if (view.grid.blockPrefixLength === prefix.length) view.full.mark(prefix, true)
    else view.offGrid.set(name, prefix)
  }

  /**
   * The name of the block of its domain in which an address lies; `undefined`: the pool has no such
   * family.
   */
  blockAt(address: Address): string | undefined {
    const grid = this.grid(address.family)
    return grid && blockName(this.object.spec.domain, blockAround(grid, address))
  }

  /** The first blocks that have nothing to give as far as known, by name. O(`most` + log n). */
  fullBlocks(family: Family, most: number): readonly string[] {
    const view = this.#families.get(family)
    const names: string[] = []
    if (view === undefined || this.#space === undefined) return names
    const { domain } = this.object.spec
    for (const prefix of blocksIn(RangeSet.intersect(this.#space.given, view.full.set), view.grid)) {
      if (names.push(blockName(domain, prefix)) >= most) return names
    }
    return names
  }

  /**
   * A block off the grid that overlaps a block on it: nothing may be given in the block on the
   * grid.
   */
  offGridOver(prefix: Prefix): string | undefined {
    const offGrid = this.#families.get(prefix.address.family)?.offGrid ?? []
    for (const [name, other] of offGrid) if (Prefix.overlaps(other, prefix)) return name
    return undefined
  }

  /** When a block that has nothing to give has something again, if known. */
  dueMs(family: Family): number | undefined {
    return this.#families.get(family)?.due.firstMs
  }

  /** The first of {@link candidates}. */
  candidate(family: Family, query: CandidateQuery): Prefix | undefined {
    for (const prefix of this.candidates(family, query)) return prefix
    return undefined
  }

  /**
   * The blocks in which units may be free, in the order of the pool; some come twice. O(blocks) for
   * all of them.
   */
  *candidates(family: Family, query: CandidateQuery): IterableIterator<Prefix> {
    const { nowMs, beside = RangeSet.empty, withBound } = query
    const view = this.#families.get(family)
    if (view === undefined || this.#space === undefined) return
    this.#expire(view, nowMs)
    const { free, unbound } = this.#restOf(view)
    const rest = withBound ? free : unbound
    const strange = RangeSet.fromPrefixes([...view.offGrid.values()].map((prefix) => onGrid(prefix, view.grid)))
    const unwanted = RangeSet.union(beside, strange)
    const wanted = RangeSet.isEmpty(unwanted) ? rest : RangeSet.subtract(rest, unwanted)
    const last = this.object.spec.order === 'lowest' ? undefined : (lastOf(view) ?? view.hinted)
    if (last !== undefined) {
      const behind = {
        first: Prefix.first(last),
        last: Address.fromBigInt(family, (1n << BigInt(Address.bitsOf(family))) - 1n),
      }
      yield* blocksIn(RangeSet.intersect(wanted, RangeSet.fromRanges([behind])), view.grid)
    }
    yield* blocksIn(wanted, view.grid)
  }

  /** Marks blocks whose time has come as no longer full. */
  refresh(nowMs: number): void {
    for (const view of this.#families.values()) this.#expire(view, nowMs)
  }

  /**
   * The hints about the blocks of a family, for callers that do not know them: the first of each
   * kind. The same object until they change.
   */
  hints(family: Family): PoolHints {
    const view = this.#families.get(family)
    if (view === undefined) return NO_HINTS
    const of = [view.full.set, view.bound.set, lastOf(view)] as const
    const [full, bound, last] = of
    if (view.hints === undefined || view.hints.of.some((each, index) => each !== of[index])) {
      const hints = {
        full: firstTexts(full, MOST_HINTS),
        bound: firstTexts(RangeSet.subtract(bound, full), MOST_HINTS),
        last: last && Prefix.first(last),
      }
      view.hints = { of, hints }
    }
    return view.hints.hints
  }

  #expire(view: FamilyView, nowMs: number): void {
    for (const prefix of view.due.takeDue(nowMs)) view.full.mark(prefix, false)
  }

  #restOf(view: FamilyView): { readonly free: RangeSet; readonly unbound: RangeSet } {
    const of = [view.full.set, view.bound.set] as const
    if (view.rest?.of[0] !== of[0] || view.rest.of[1] !== of[1]) {
      const free = RangeSet.subtract((this.#space as PoolSpace).given, of[0])
      view.rest = { of, free, unbound: RangeSet.subtract(free, of[1]) }
    }
    return view.rest
  }

  #read(): void {
    const { space, object } = this.#reading
    const { status } = object
    this.#families.clear()
    this.#units.clear()
    this.#space = space.ok ? space.value : undefined
    this.#specProblem = space.ok ? undefined : list(space.failure.context.problems)
    const isTaken = status?.domainUID !== undefined
    this.#problem = this.#specProblem ?? (isTaken ? undefined : 'the pool is not accepted into its domain yet')
    if (!space.ok || status?.domainUID === undefined) return
    for (const family of [4, 6] as const) {
      const known = statusOf(this.object, family)
      if (known === undefined || !hasFamily(object, family)) continue
      const { blockPrefixLength, allocationPrefixLength } = known
      const grid = { family, blockPrefixLength, allocationPrefixLength }
      this.#families.set(family, {
        grid,
        full: new MarkedBlocks(),
        bound: new MarkedBlocks(),
        due: new DueTimes(),
        sequences: new Map(),
        offGrid: new Map(),
        hinted: undefined,
        rest: undefined,
        hints: undefined,
      })
    }
  }
}

/** Whether a pool has subnets of a family, whatever units it gives of them. */
export function hasFamily({ spec }: IPPool, family: Family): boolean {
  return spec.subnets.some(({ cidr }) => cidr.includes(':') === (family === 6))
}

/** When the first of some used or waiting units is free. */
function firstEnd({ entries }: ParsedBlock, units: readonly UnitRange[]): number {
  let firstMs = Number.POSITIVE_INFINITY
  for (const { unit, count, untilMs } of entries) {
    if (untilMs < firstMs && units.some(({ first, last }) => first < unit + count && last >= unit)) firstMs = untilMs
  }
  return firstMs
}

function statusOf({ status }: IPPool, family: Family): IPPoolFamilyStatus | undefined {
  return family === 4 ? status?.ipv4 : status?.ipv6
}

/** The block with the latest row. O(blocks). */
function lastOf({ sequences }: FamilyView): Prefix | undefined {
  let last: { readonly prefix: Prefix; readonly sequence: number } | undefined
  for (const each of sequences.values()) if (last === undefined || each.sequence > last.sequence) last = each
  return last?.prefix
}

/** The blocks of a grid that contain some of a set, in order. */
function* blocksIn(set: RangeSet, { family, blockPrefixLength }: Grid): IterableIterator<Prefix> {
  const { v4, v6 } = RangeSet.empty
  /** The first address behind the last block. */
  let behind: Address | undefined
  for (const { first, last } of eachRange(family === 4 ? { ...set, v6 } : { ...set, v4 })) {
    let next = behind === undefined || Address.compare(first, behind) > 0 ? first : behind
    while (Address.compare(next, last) <= 0) {
      const prefix: Prefix = Prefix.masked(Prefix.of(next, blockPrefixLength))
      yield prefix
      behind = Address.next(Prefix.last(prefix))
      if (behind === undefined) return
      next = behind
    }
  }
}

/** The blocks that a status names. A text that does not parse is ignored: it is a hint. */
function hint(texts: readonly string[] | undefined): RangeSet {
  const set = RangeSet.safeParse(texts ?? [])
  return set.ok ? set.value : RangeSet.empty
}

/** The blocks of a grid that overlap a prefix. */
function onGrid(prefix: Prefix, { blockPrefixLength }: Grid): Prefix {
  return prefix.length < blockPrefixLength ? prefix : Prefix.masked(Prefix.of(prefix.address, blockPrefixLength))
}
