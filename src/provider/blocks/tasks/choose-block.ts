import * as Prefix from '../../../cidr/nouns/prefix.js'
import * as RangeSet from '../../../cidr/nouns/range-set.js'
import { blockName } from '../../../crd/ipam-kit/block-name.js'
import type { IPBlockRow, IPBlockSpec } from '../../../crd/ipam-kit/ip-block.js'
import { listed } from '../../../errors/listed.js'
import { type Busy, busyOf } from '../block/busy-blocks.js'
import { chooseUnit } from '../block/choose.js'
import { blockSize, type Grid } from '../block/grid.js'
import { type BlockEntry, ParsedBlock } from '../block/parsed-block.js'
import { refusalOf } from '../pool/eligible.js'
import type { PoolView } from '../pool/pool-view.js'
import {
  type BlockChoice,
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
import { chooseAsked } from './choose-asked.js'
import type { PlacedRow } from './known-blocks.js'
import { type AllocationRequest, outOfRangeOf } from './request.js'

type Family = 4 | 6

/**
 * Chooses for one family: the requested address, a row that is kept for the owner, or the next free
 * units of the first pool with capacity.
 */
export function chooseBlock(input: ChoiceInput): BlockChoice {
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
    const wanted = { pool, grid, size }
    const kept = keptPlaces(wanted, input)
    const choice =
      chooseKept(wanted, input, kept) ??
      chooseAmongKept(wanted, input, kept, { withFree: false }) ??
      chooseFree(wanted, input) ??
      chooseAmongKept(wanted, input, kept, { withFree: true })
    if (choice !== undefined) return choice
  }
  if (pools.length > 0) {
    const times = pools.flatMap(({ pool }) => pool.dueMs(family) ?? [])
    const freeAtMs = times.length === 0 ? undefined : Math.max(nowMs, Math.min(...times))
    const names = namesOf(pools)
    return fails({ kind: 'exhausted', message: `no IPv${family} available in ${names}`, family, freeAtMs })
  }
  const message = listed([...notReady, ...unfit, ...withoutFamily], '; ')
  const kind = outOfRangeOf(request) === 'record' && unfit.length === 0 ? 'outOfPool' : 'refused'
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

/** @returns why a pool with this grid cannot give what the request wants */
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

/**
 * The rows that the pool keeps for a returning owner and may give to it, the latest release first.
 */
function keptPlaces({ pool, grid }: Wanted, input: ChoiceInput): readonly PlacedRow[] {
  const { known, request, family, unconfirmed, refused } = input
  const { affinity, domain } = pool.object.spec
  // a pool that borrows nothing may route each block to its node alone
  const isElsewhere = ({ node }: IPBlockSpec) =>
    affinity?.borrow === false && request.node !== undefined && node !== undefined && node !== request.node.name
  const isUsable = (place: PlacedRow) => {
    const { parsed } = place
    const { spec } = parsed.object
    return (
      parsed.prefix.address.family === family &&
      parsed.isOpen &&
      isOfGrid(parsed, grid) &&
      spec.domain === domain &&
      poolOf(place) === pool.name &&
      !isElsewhere(spec) &&
      (unconfirmed === undefined || unconfirmed === parsed) &&
      !RangeSet.contains(refused, parsed.prefix)
    )
  }
  const places = keysOf(pool, request).flatMap((key) => known.keptFor(key))
  return places.filter(isUsable).sort(byRelease)
}

/** The latest release first; for releases at the same time, the latest grant first. */
function byRelease({ entry: { row: a } }: PlacedRow, { entry: { row: b } }: PlacedRow): number {
  const releasedMs = ({ released }: IPBlockRow) => (released === undefined ? 0 : Date.parse(released))
  return releasedMs(b) - releasedMs(a) || b.sequence - a.sequence
}

/** The row of the latest release that has exactly the requested size. */
function chooseKept(
  { pool, grid, size }: Wanted,
  input: ChoiceInput,
  kept: readonly PlacedRow[],
): BlockChoice | undefined {
  for (const { parsed, entry } of kept) {
    if (entry.count !== size.count || (size.isAligned && entry.unit % size.count !== 0)) continue
    const units = pool.unitsOf(parsed.prefix, parsed.name)
    const isGiven = units.some(({ first, last }) => first <= entry.unit && last >= entry.unit + entry.count - 1)
    if (!isGiven) continue
    if (holderBeside({ prefix: parsed.prefix, grid, unit: entry.unit, size }, input.request) !== undefined) continue
    return give({ pool, parsed, unit: entry.unit, size }, input, WHY_KEPT)
  }
  return undefined
}

/**
 * Kept units whose rows have another size than the request, in the block of the latest release.
 * With `withFree` free units may lie between them.
 */
function chooseAmongKept(
  { pool, grid, size }: Wanted,
  input: ChoiceInput,
  kept: readonly PlacedRow[],
  { withFree }: { readonly withFree: boolean },
): BlockChoice | undefined {
  const entries = new Set(kept.map(({ entry }) => entry))
  for (const parsed of new Set(kept.map((place) => place.parsed))) {
    const isHeldBeside = heldIn(parsed.prefix, grid, input.request)
    const unit = chooseUnit(parsed, {
      units: pool.unitsOf(parsed.prefix, parsed.name),
      ...size,
      order: 'lowest',
      nowMs: input.nowMs,
      isKept: (entry) => entries.has(entry),
      isHeld: (unit) => isHeldBeside?.(unit) === true || !(withFree || entries.has(parsed.at(unit) as BlockEntry)),
    })
    if (unit !== undefined) return give({ pool, parsed, unit, size }, input, WHY_KEPT)
  }
  return undefined
}

const WHY_KEPT = 'it was kept for this owner'

function poolOf({ parsed, entry }: PlacedRow): string {
  return entry.row.pool ?? parsed.object.spec.pool
}

/** The next free units. */
function chooseFree({ pool, grid, size }: Wanted, input: ChoiceInput): BlockChoice | undefined {
  const { known, nowMs } = input
  const { order, domain } = pool.object.spec
  const tried = new Set<string>()
  for (const prefix of blocksToTry(pool, grid.family, input)) {
    const name = blockName(domain, prefix)
    if (tried.has(name)) continue
    tried.add(name)
    const parsed = known.block(name)
    if (parsed === undefined || parsed === 'absent' || (parsed instanceof ParsedBlock && isOfGrid(parsed, grid))) {
      const isHeld = heldIn(prefix, grid, input.request)
      const query = { units: pool.unitsOf(prefix, name), ...size, order, nowMs, isHeld }
      const unit = chooseUnit(parsed instanceof ParsedBlock ? parsed : undefined, query)
      if (unit !== undefined) {
        if (parsed === undefined) return { kind: 'read', block: name }
        const why = `the next one of pool ${pool.name} that is free`
        return parsed === 'absent'
          ? make({ pool, grid, prefix, name, unit, size }, input, why)
          : give({ pool, parsed, unit, size }, input, why)
      }
    }
  }
  return undefined
}

/** The blocks to try, in their order, some of them more than once. O(blocks) for all of them. */
function* blocksToTry(pool: PoolView, family: Family, input: ChoiceInput): IterableIterator<Prefix.Prefix> {
  const { known, request, unconfirmed, left, nowMs, refused: beside } = input
  const busy = busyOf(input)
  const isFit = (parsed: ParsedBlock | undefined) =>
    parsed !== undefined &&
    parsed.prefix.address.family === family &&
    parsed.object.spec.domain === pool.object.spec.domain &&
    pool.unitsOf(parsed.prefix, parsed.name).length > 0 &&
    !RangeSet.contains(beside, parsed.prefix)
  if (unconfirmed !== undefined && isFit(unconfirmed)) yield unconfirmed.prefix
  const { beside: shared } = input
  const isShared = shared?.address.family === family && isBlockOf(pool, shared) && !RangeSet.contains(beside, shared)
  if (isShared && request.node === undefined) yield shared
  const { domain } = pool.object.spec
  for (const prefix of left(domain)) {
    if (prefix.address.family === family && isBlockOf(pool, prefix) && !RangeSet.contains(beside, prefix)) yield prefix
  }
  const { affinity } = pool.object.spec
  const { node } = request
  if (affinity !== undefined && node !== undefined) {
    const own = known.blocksOfNode(node.name).filter((parsed) => parsed.object.spec.pool === pool.name && isFit(parsed))
    const ordered = own.toSorted((left, right) => Prefix.compare(left.prefix, right.prefix))
    for (const { prefix } of ordered) if (!RangeSet.contains(busy.met, prefix)) yield prefix
    for (const { prefix } of ordered) yield prefix
    if (mayBind(pool, family, input)) yield* quietFirst(pool, family, { nowMs, beside, withBound: false }, busy)
    if (!affinity.borrow) return
  } else yield* quietFirst(pool, family, { nowMs, beside, withBound: false }, busy)
  yield* quietFirst(pool, family, { nowMs, beside, withBound: true }, busy)
}

/** Whether a prefix is a block of which the pool gives something. */
function isBlockOf(pool: PoolView, prefix: Prefix.Prefix): boolean {
  const isOnGrid = pool.grid(prefix.address.family)?.blockPrefixLength === prefix.length
  return isOnGrid && pool.unitsOf(prefix, blockName(pool.object.spec.domain, prefix)).length > 0
}

/** The blocks in which units may be free; first those that no other writer writes. */
function* quietFirst(
  pool: PoolView,
  family: Family,
  query: { readonly nowMs: number; readonly beside: RangeSet.RangeSet; readonly withBound: boolean },
  { tries }: Busy,
): IterableIterator<Prefix.Prefix> {
  for (const busy of tries()) {
    if (RangeSet.isEmpty(busy)) continue
    yield* pool.candidates(family, { ...query, beside: RangeSet.union(query.beside, busy) })
  }
  yield* pool.candidates(family, query)
}
