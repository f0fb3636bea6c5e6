import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import { blockName } from '../../crd/ipam-kit/block-name.js'
import type { IPBlockRow } from '../../crd/ipam-kit/ip-block.js'
import type { Effect } from '../../plan/index.js'
import { listed } from '../claims/status.js'
import { BlockBook, type BlockEntry, isBound } from './book.js'
import { type Busy, busyOf, NOBODY } from './busy-blocks.js'
import { chooseUnit } from './choose.js'
import { refusalOf } from './eligible.js'
import { addressOfUnit, blockAround, blockSize, type Grid, unitOf, unitsWithin } from './grid.js'
import { type KnownBlocks, type Place, stickyKeys } from './known-blocks.js'
import type { AllocationOutcome } from './outcome.js'
import type { PoolView } from './pool-view.js'
import type { AllocationRequest } from './request.js'
import { entriesAt, giveUnits, makeBlock, type NewRow } from './rows.js'

type Family = 4 | 6

export interface ChoiceInput {
  readonly request: AllocationRequest
  readonly family: Family
  /** Those of the request that are known, in its order. */
  readonly pools: readonly PoolView[]
  /** Why there are no others. */
  readonly problems: readonly string[]
  readonly known: KnownBlocks
  /** A block for whose version something was sent that may still be done: it is taken first. */
  readonly doubtful: BlockBook | undefined
  /** Where something that was sent may still make a block: taken before others. */
  readonly left: (domain: string) => readonly Prefix.Prefix[]
  /** Blocks in which others were faster: they are taken last. */
  readonly contended: RangeSet.RangeSet
  /** Blocks in which the store takes no row. */
  readonly refused: RangeSet.RangeSet
  readonly nowMs: number
  /** Whether it is waited for a block that another task of this process writes. */
  readonly takesTurns: boolean
}

/** Where a row of one family is to be written, or what has to be read to know that, or why there is nowhere. */
export type Choice =
  | { readonly kind: 'read'; readonly block: string }
  | {
      readonly kind: 'write'
      readonly effect: Effect & { readonly why: string }
      readonly block: string
      readonly prefix: Prefix.Prefix
      /** The version of the block that it is for; `undefined`: there is no such block. */
      readonly version: string | undefined
      /** The number of the row. */
      readonly sequence: number
      /** What was remembered of who had the units before, and is not any more. */
      readonly replaced: readonly BlockEntry[]
    }
  | { readonly kind: 'fails'; readonly outcome: AllocationOutcome }

/** What a pool is asked for. */
interface Wanted {
  readonly pool: PoolView
  readonly grid: Grid
  readonly size: Size
}

/** How many units a request wants, and how they have to lie. */
interface Size {
  readonly count: number
  readonly isAligned: boolean
}

/** Chooses for one family: the address that is asked for, or what is kept for this owner, or the next one of the first pool with room. */
export function chooseBlock(input: ChoiceInput): Choice {
  const { request, family, problems, nowMs } = input
  const refusals = problems.map((message) => ({ kind: 'notReady', message }) as const)
  const pools: Wanted[] = []
  const unfit: string[] = []
  for (const pool of input.pools) {
    const refusal = refusalOf(pool, request)
    if (refusal !== undefined) {
      if (refusal.kind === 'notReady') refusals.push({ kind: 'notReady', message: refusal.message })
      else unfit.push(refusal.message)
      continue
    }
    const grid = pool.grid(family)
    const size = grid && sizeOf(request, grid)
    if (grid === undefined) unfit.push(`pool ${pool.name} has no IPv${family}`)
    else if (typeof size === 'string') unfit.push(`pool ${pool.name}: ${size}`)
    else pools.push({ pool, grid, size: size as Size })
  }
  const asked = request.addresses?.find((address) => address.family === family)
  if (pools.length > 0 && asked !== undefined) return chooseAsked(asked, pools, input)
  for (const { pool, grid, size } of pools) {
    const choice = chooseKept({ pool, grid, size }, input) ?? chooseFree({ pool, grid, size }, input)
    if (choice !== undefined) return choice
  }
  if (pools.length > 0) {
    const times = pools.flatMap(({ pool }) => pool.dueMs(family) ?? [])
    const freeAtMs = times.length === 0 ? undefined : Math.max(nowMs, Math.min(...times))
    const names = namesOf(pools)
    return fails({ kind: 'exhausted', message: `no IPv${family} available in ${names}`, family, freeAtMs })
  }
  const message = listed([...refusals.map((refusal) => refusal.message), ...unfit], '; ')
  return fails({ kind: refusals.length > 0 ? 'notReady' : 'refused', message })
}

/** How many units of a block a request wants. */
export function unitsWanted(
  { count = 1, prefixLengths }: AllocationRequest,
  family: Family,
  allocationPrefixLength: number,
): number {
  const length = family === 4 ? prefixLengths?.ipv4 : prefixLengths?.ipv6
  return length === undefined ? count : 2 ** (allocationPrefixLength - length)
}

/** @returns why a pool with this grid can not give what is asked for */
function sizeOf(request: AllocationRequest, grid: Grid): Size | string {
  const { count = 1, prefixLengths } = request
  const length = grid.family === 4 ? prefixLengths?.ipv4 : prefixLengths?.ipv6
  if (length === undefined) {
    return count > blockSize(grid)
      ? `${count} in a row, and a block has ${blockSize(grid)}`
      : { count, isAligned: false }
  }
  const { blockPrefixLength, allocationPrefixLength } = grid
  if (!(length >= blockPrefixLength && length <= allocationPrefixLength)) {
    return `it gives prefixes from /${blockPrefixLength} to /${allocationPrefixLength}, and not /${length}`
  }
  return { count: unitsWanted(request, grid.family, allocationPrefixLength), isAligned: true }
}

/** The address that is asked for, also one that is kept back for that. */
function chooseAsked(asked: Address.Address, pools: readonly Wanted[], input: ChoiceInput): Choice {
  const text = Address.format(asked)
  for (const { pool, grid, size } of pools) {
    const prefix = blockAround(grid, asked)
    const unit = unitOf(prefix, grid.allocationPrefixLength, asked)
    const space = RangeSet.union(pool.space?.given ?? RangeSet.empty, pool.space?.reserved ?? RangeSet.empty)
    const last = unit + size.count - 1
    const isGiven = unitsWithin(space, prefix, grid.allocationPrefixLength).some(
      (units) => units.first <= unit && units.last >= last,
    )
    const isUnit = Address.equals(addressOfUnit(prefix, grid.allocationPrefixLength, unit), asked)
    const name = blockName(pool.object.spec.domain, prefix)
    const book = input.known.book(name)
    const isLeft = input.request.inherits === true && book instanceof BlockBook && isLeftTo(input.request, book, unit)
    // what somebody has stays what it is when the pool gives it no more
    if (!isLeft && (!isGiven || !isUnit || (size.isAligned && unit % size.count !== 0))) continue
    const stranger = pool.strangerOver(prefix)
    if (stranger !== undefined) {
      const message = `block ${stranger} lies over ${Prefix.format(prefix)}, and not on the grid of the domain`
      return fails({ kind: 'notReady', message })
    }
    if (book === undefined) return { kind: 'read', block: name }
    const by = holderBeside({ prefix, grid, unit, size }, input.request)
    if (by !== undefined) return fails({ kind: 'taken', message: `${text} is in use by ${by}`, by })
    if (book === 'absent') return make({ pool, grid, prefix, name, unit, size }, input, 'the address that is asked for')
    if (!(book instanceof BlockBook)) return fails({ kind: 'notReady', message: book.unreadable })
    if (!book.isOpen || !isOfGrid(book, grid)) {
      const off = isOfGrid(book, grid) ? 'it is being deleted' : 'its units are not those of the domain'
      const why = book.problems[0] ?? off
      return fails({ kind: 'notReady', message: `block ${name} can not be used: ${why}` })
    }
    const holder = holderOf(book, { first: unit, last }, pool, input)
    if (holder !== undefined) {
      const by = holder.row.owner
      const freeAtMs = holder.untilMs === Number.POSITIVE_INFINITY ? undefined : holder.untilMs
      return fails({ kind: 'taken', message: `${text} is in use by ${by}`, by, freeAtMs })
    }
    return give({ pool, book, unit, size }, input, 'the address that is asked for')
  }
  return fails({
    kind: 'outOfPool',
    message: `${text} is not given by ${namesOf(pools)}`,
  })
}

/** Who has one of some units, or keeps it from others. */
function holderOf(
  book: BlockBook,
  { first, last }: { readonly first: number; readonly last: number },
  pool: PoolView,
  { request, nowMs }: ChoiceInput,
) {
  const keys = keysOf(pool, request)
  for (let unit = first; unit <= last; unit++) {
    const entry = book.at(unit)
    if (entry === undefined || entry.untilMs <= nowMs) continue
    if (request.inherits === true && isNamesake(entry.row, request)) continue
    if (entry.row.state === 'held' && stickyKeys(entry.row).some((key) => keys.includes(key))) continue
    return entry
  }
  return undefined
}

/** Whether a row is that of an owner of the same kind and name. */
function isNamesake(row: IPBlockRow, { owner, interface: name }: AllocationRequest): boolean {
  return row.owner === owner.name && (row.kind ?? 'Pod') === (owner.kind ?? 'Pod') && row.interface === name
}

/** Whether an owner of the same kind and name has a unit. */
function isLeftTo(request: AllocationRequest, book: BlockBook, unit: number): boolean {
  const entry = book.at(unit)
  return entry !== undefined && entry.unit === unit && isBound(entry) && isNamesake(entry.row, request)
}

/** What the pool keeps for an owner that comes again. */
function chooseKept({ pool, grid, size }: Wanted, input: ChoiceInput): Choice | undefined {
  const { known, request, family, doubtful } = input
  for (const key of keysOf(pool, request)) {
    for (const place of known.keptFor(key)) {
      const { book, entry } = place
      if (book.prefix.address.family !== family || !book.isOpen || entry.count !== size.count) continue
      if (RangeSet.contains(input.refused, book.prefix)) continue
      if (!isOfGrid(book, grid)) continue
      if (book.object.spec.domain !== pool.object.spec.domain || poolOf(place) !== pool.name) continue
      const units = pool.unitsOf(book.prefix, book.name)
      const isGiven = units.some(({ first, last }) => first <= entry.unit && last >= entry.unit + entry.count - 1)
      if (
        !isGiven ||
        (size.isAligned && entry.unit % size.count !== 0) ||
        (doubtful !== undefined && doubtful !== book)
      )
        continue
      if (holderBeside({ prefix: book.prefix, grid, unit: entry.unit, size }, request) !== undefined) continue
      return give({ pool, book, unit: entry.unit, size }, input, 'it was kept for who comes again')
    }
  }
  return undefined
}

/** The keys under which a pool keeps what a request may have had. */
function keysOf(pool: PoolView, { owner, mac, interface: name }: AllocationRequest): readonly string[] {
  const { sticky } = pool.object.spec
  if (sticky === undefined) return []
  const [byOwner] = stickyKeys({ owner: owner.name, kind: owner.kind, interface: name })
  if (sticky.by === 'owner') return [byOwner as string]
  return mac === undefined ? [] : [`mac ${mac.toLowerCase()}`]
}

function poolOf({ book, entry }: Place): string {
  return entry.row.pool ?? book.object.spec.pool
}

/** The next one that is free. */
function chooseFree({ pool, grid, size }: Wanted, input: ChoiceInput): Choice | undefined {
  const { known, nowMs } = input
  const { order, domain } = pool.object.spec
  let beside = input.refused
  for (;;) {
    const prefix = nextBlock(pool, grid.family, beside, input)
    if (prefix === undefined) return undefined
    const name = blockName(domain, prefix)
    const book = known.book(name)
    if (book === undefined) return { kind: 'read', block: name }
    if (book === 'absent' || (book instanceof BlockBook && isOfGrid(book, grid))) {
      const isHeld = heldIn(prefix, grid, input.request)
      const wish = { units: pool.unitsOf(prefix, name), ...size, order, nowMs, isHeld }
      const unit = chooseUnit(book === 'absent' ? undefined : book, wish)
      if (unit !== undefined) {
        const why = `the next one of pool ${pool.name} that is free`
        return book === 'absent'
          ? make({ pool, grid, prefix, name, unit, size }, input, why)
          : give({ pool, book, unit, size }, input, why)
      }
    }
    // not for what is asked for here, whatever it has for others
    beside = RangeSet.union(beside, RangeSet.fromPrefixes([prefix]))
  }
}

/** Whether somebody has a unit of a block in another way than by a row. */
function heldIn(
  prefix: Prefix.Prefix,
  { allocationPrefixLength }: Grid,
  { heldBy }: AllocationRequest,
): ((unit: number) => boolean) | undefined {
  if (heldBy === undefined) return undefined
  const prefixOf = (unit: number) =>
    Prefix.of(addressOfUnit(prefix, allocationPrefixLength, unit), allocationPrefixLength)
  return (unit) => heldBy(prefixOf(unit)) !== undefined
}

/** Who has one of some units in another way than by a row. */
function holderBeside(
  {
    prefix,
    grid,
    unit,
    size,
  }: { readonly prefix: Prefix.Prefix; readonly grid: Grid; readonly unit: number; readonly size: Size },
  { heldBy }: AllocationRequest,
): string | undefined {
  const { allocationPrefixLength: length } = grid
  for (let at = unit; heldBy !== undefined && at < unit + size.count; at++) {
    const by = heldBy(Prefix.of(addressOfUnit(prefix, length, at), length))
    if (by !== undefined) return by
  }
  return undefined
}

/** The block to try next. */
function nextBlock(
  pool: PoolView,
  family: Family,
  beside: RangeSet.RangeSet,
  input: ChoiceInput,
): Prefix.Prefix | undefined {
  const { known, request, doubtful, left, nowMs } = input
  const busy = request.isContested === true ? NOBODY : busyOf(input)
  const isFit = (book: BlockBook | undefined) =>
    book !== undefined &&
    book.prefix.address.family === family &&
    book.object.spec.domain === pool.object.spec.domain &&
    pool.unitsOf(book.prefix, book.name).length > 0 &&
    !RangeSet.contains(beside, book.prefix)
  if (isFit(doubtful)) return doubtful?.prefix
  const { domain } = pool.object.spec
  const place = left(domain).find(
    (prefix) => prefix.address.family === family && isBlockOf(pool, prefix) && !RangeSet.contains(beside, prefix),
  )
  if (place !== undefined) return place
  const { affinity } = pool.object.spec
  const { node } = request
  if (affinity !== undefined && node !== undefined) {
    const own = known.booksOfNode(node.name).filter((book) => book.object.spec.pool === pool.name && isFit(book))
    const ordered = own.toSorted((left, right) => Prefix.compare(left.prefix, right.prefix))
    const first = ordered.find(({ prefix }) => !RangeSet.contains(busy.met, prefix)) ?? ordered[0]
    if (first !== undefined) return first.prefix
    const ofFamily = known
      .booksOfNode(node.name)
      .filter((book) => book.object.spec.pool === pool.name && book.prefix.address.family === family)
    const mayHaveMore = ofFamily.length < (affinity.maxBlocksPerNode ?? Number.POSITIVE_INFINITY)
    const fresh = mayHaveMore ? firstOf(pool, family, { nowMs, beside, withBound: false }, busy) : undefined
    if (fresh !== undefined || !affinity.borrow) return fresh
    return firstOf(pool, family, { nowMs, beside, withBound: true }, busy)
  }
  const query = { nowMs, beside, withBound: false }
  return firstOf(pool, family, query, busy) ?? firstOf(pool, family, { ...query, withBound: true }, busy)
}

function isOfGrid({ object }: BlockBook, grid: Grid): boolean {
  return object.spec.allocationPrefixLength === grid.allocationPrefixLength
}

/** Whether a prefix is a block of which a pool gives something. */
function isBlockOf(pool: PoolView, prefix: Prefix.Prefix): boolean {
  const isOnGrid = pool.grid(prefix.address.family)?.blockPrefixLength === prefix.length
  return isOnGrid && pool.unitsOf(prefix, blockName(pool.object.spec.domain, prefix)).length > 0
}

/** The first block in which there may be room, and rather one that nobody else writes. */
function firstOf(
  pool: PoolView,
  family: Family,
  query: { readonly nowMs: number; readonly beside: RangeSet.RangeSet; readonly withBound: boolean },
  { tries }: Busy,
): Prefix.Prefix | undefined {
  for (const busy of tries()) {
    if (RangeSet.isEmpty(busy)) continue
    const quiet = pool.candidate(family, { ...query, beside: RangeSet.union(query.beside, busy) })
    if (quiet !== undefined) return quiet
  }
  return pool.candidate(family, query)
}

function make(
  {
    pool,
    grid,
    prefix,
    name,
    unit,
    size,
  }: {
    readonly pool: PoolView
    readonly grid: Grid
    readonly prefix: Prefix.Prefix
    readonly name: string
    readonly unit: number
    readonly size: Size
  },
  { request, nowMs }: ChoiceInput,
  why: string,
): Choice {
  const { domain, affinity } = pool.object.spec
  const node = affinity === undefined ? undefined : request.node?.name
  const { allocationPrefixLength } = grid
  const spec = { domain, allocationPrefixLength, pool: pool.name, node }
  const effect = makeBlock({ name, prefix, unit, row: rowOf(request, size) }, spec, { nowMs, why })
  return {
    kind: 'write',
    effect,
    block: name,
    prefix,
    version: undefined,
    sequence: Math.floor(nowMs) * 1000,
    replaced: [],
  }
}

function give(
  {
    pool,
    book,
    unit,
    size,
  }: { readonly pool: PoolView; readonly book: BlockBook; readonly unit: number; readonly size: Size },
  { request }: ChoiceInput,
  why: string,
): Choice {
  const row = rowOf(request, size)
  const ofPool = book.object.spec.pool === pool.name ? row : { ...row, pool: pool.name }
  const effect = giveUnits(book, unit, ofPool, why)
  const { name, prefix, version, object } = book
  const replaced = entriesAt(book, unit, size.count)
  return { kind: 'write', effect, block: name, prefix, version, sequence: object.spec.sequence + 1, replaced }
}

function rowOf({ owner, interface: name, container, mac }: AllocationRequest, { count }: Size): NewRow {
  const { uid, kind } = owner
  const isPod = kind === undefined || kind === 'Pod'
  return {
    owner: owner.name,
    uid,
    kind: isPod ? undefined : kind,
    interface: name,
    container,
    mac: mac?.toLowerCase(),
    count: count === 1 ? undefined : count,
  }
}

function fails(outcome: AllocationOutcome): Choice {
  return { kind: 'fails', outcome }
}

function namesOf(pools: readonly Wanted[]): string {
  return listed(
    pools.map(({ pool }) => pool.name),
    ', ',
  )
}
