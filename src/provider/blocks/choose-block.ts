import * as Prefix from '../../cidr/nouns/prefix.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import { blockName } from '../../crd/ipam-kit/block-name.js'
import { listed } from '../claims/status.js'
import { BlockBook } from './book.js'
import { type Busy, busyOf } from './busy-blocks.js'
import {
  type Choice,
  type ChoiceInput,
  fails,
  give,
  heldIn,
  holderBeside,
  isOfGrid,
  keysOf,
  make,
  mayBind,
  namesOf,
  type Size,
  type Wanted,
} from './choice.js'
import { chooseUnit } from './choose.js'
import { chooseAsked } from './choose-asked.js'
import { refusalOf } from './eligible.js'
import { blockSize, type Grid } from './grid.js'
import type { Place } from './known-blocks.js'
import type { PoolView } from './pool-view.js'
import type { AllocationRequest } from './request.js'

type Family = 4 | 6

/** Chooses for one family: the address that is asked for, or what is kept for this owner, or the next one of the first pool with room. */
export function chooseBlock(input: ChoiceInput): Choice {
  const { request, family, problems, nowMs } = input
  const notReady = [...problems]
  const unfit: string[] = []
  const withoutFamily: string[] = []
  const pools: Wanted[] = []
  for (const pool of input.pools) {
    const refusal = refusalOf(pool, request)
    if (refusal !== undefined) {
      const refused = refusal.kind === 'notReady' ? notReady : unfit
      refused.push(refusal.message)
      continue
    }
    const grid = pool.grid(family)
    const size = grid && sizeOf(request, grid)
    if (grid === undefined) withoutFamily.push(`pool ${pool.name} has no IPv${family}`)
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
  const message = listed([...notReady, ...unfit, ...withoutFamily], '; ')
  const kind = request.keepsOutOfRange === true && unfit.length === 0 ? 'outOfPool' : 'refused'
  return fails({ kind: notReady.length > 0 ? 'notReady' : kind, message })
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
    if (book === undefined || book === 'absent' || (book instanceof BlockBook && isOfGrid(book, grid))) {
      const isHeld = heldIn(prefix, grid, input.request)
      const wish = { units: pool.unitsOf(prefix, name), ...size, order, nowMs, isHeld }
      const unit = chooseUnit(book instanceof BlockBook ? book : undefined, wish)
      if (unit !== undefined) {
        if (book === undefined) return { kind: 'read', block: name }
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

/** The block to try next. */
function nextBlock(
  pool: PoolView,
  family: Family,
  beside: RangeSet.RangeSet,
  input: ChoiceInput,
): Prefix.Prefix | undefined {
  const { known, request, doubtful, left, nowMs } = input
  const busy = busyOf(input)
  const isFit = (book: BlockBook | undefined) =>
    book !== undefined &&
    book.prefix.address.family === family &&
    book.object.spec.domain === pool.object.spec.domain &&
    pool.unitsOf(book.prefix, book.name).length > 0 &&
    !RangeSet.contains(beside, book.prefix)
  if (isFit(doubtful)) return doubtful?.prefix
  const { beside: shared } = input
  const isShared = shared?.address.family === family && isBlockOf(pool, shared) && !RangeSet.contains(beside, shared)
  if (isShared && request.node === undefined) return shared
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
    const fresh = mayBind(pool, family, input)
      ? firstOf(pool, family, { nowMs, beside, withBound: false }, busy)
      : undefined
    if (fresh !== undefined || !affinity.borrow) return fresh
    return firstOf(pool, family, { nowMs, beside, withBound: true }, busy)
  }
  const query = { nowMs, beside, withBound: false }
  return firstOf(pool, family, query, busy) ?? firstOf(pool, family, { ...query, withBound: true }, busy)
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
