import * as Address from '../../../cidr/nouns/address.js'
import * as Prefix from '../../../cidr/nouns/prefix.js'
import * as RangeSet from '../../../cidr/nouns/range-set.js'
import { blockName } from '../../../crd/ipam-kit/block-name.js'
import type { IPBlockRow } from '../../../crd/ipam-kit/ip-block.js'
import { addressOfUnit, blockAround, blockSize, type Grid, type UnitRange, unitOf, unitsWithin } from '../block/grid.js'
import { isBound, ParsedBlock } from '../block/parsed-block.js'
import { stickyKeys } from '../block/sticky-keys.js'
import type { PoolView } from '../pool/pool-view.js'
import {
  type BlockChoice,
  type ChoiceInput,
  fails,
  give,
  holderBeside,
  isOfGrid,
  keysOf,
  make,
  namesOf,
  type Wanted,
} from './choice.js'
import { isAdoption, outOfRangeOf, type TaskRequest } from './request.js'

const WHY = 'the address that is asked for'

/** Chooses the requested address, also one that the pool gives only on request. */
export function chooseAsked(asked: Address.Address, pools: readonly Wanted[], input: ChoiceInput): BlockChoice {
  for (const isAnywhere of outOfRangeOf(input.request) === 'record' ? [false, true] : [false]) {
    for (const wanted of pools) {
      const choice = chooseAskedIn(wanted, { asked, isAnywhere }, input)
      if (choice !== undefined) return choice
    }
  }
  return fails({
    kind: 'outOfPool',
    message: `${Address.format(asked)} is not given by ${namesOf(pools)}`,
  })
}

/** @returns the choice for the address in one pool; `undefined`: it is not in the pool */
function chooseAskedIn(
  { pool, grid, size }: Wanted,
  { asked, isAnywhere }: { readonly asked: Address.Address; readonly isAnywhere: boolean },
  input: ChoiceInput,
): BlockChoice | undefined {
  const text = Address.format(asked)
  const prefix = blockAround(grid, asked)
  const unit = unitOf(prefix, grid.allocationPrefixLength, asked)
  const last = unit + size.count - 1
  const isUnit = Address.equals(addressOfUnit(prefix, grid.allocationPrefixLength, unit), asked)
  const fits = isUnit && last < blockSize(grid) && (!size.isAligned || unit % size.count === 0)
  const name = blockName(pool.object.spec.domain, prefix)
  const parsed = input.known.block(name)
  const isLeft = parsed instanceof ParsedBlock && isLeftTo(input.request, parsed, unit)
  // an address stays with its owner when the pool no longer gives it
  if (!isLeft && !(fits && (isAnywhere || isGivenTo(pool, prefix, grid, { first: unit, last })))) return undefined
  // an owner that keeps an address outside the pool gets no row where a row is impossible
  const notReady = (message: string, mayPass = false) =>
    isAnywhere && !mayPass ? undefined : fails({ kind: 'notReady', message })
  const offGrid = pool.offGridOver(prefix)
  if (offGrid !== undefined) {
    return notReady(`block ${offGrid} overlaps ${Prefix.format(prefix)}, but is not on the grid of the domain`)
  }
  if (parsed === undefined) return { kind: 'read', block: name }
  if (RangeSet.contains(input.refused, prefix)) {
    return fails({ kind: 'denied', message: `the store takes no row in block ${name}` })
  }
  const by = holderBeside({ prefix, grid, unit, size }, input.request)
  if (by !== undefined) return fails({ kind: 'taken', message: `${text} is in use by ${by}`, by })
  if (parsed === 'absent') return make({ pool, grid, prefix, name, unit, size, isAnywhere }, input, WHY)
  if (!(parsed instanceof ParsedBlock)) return notReady(parsed.unreadable)
  if (!parsed.isOpen || !isOfGrid(parsed, grid)) {
    const isOn = isOfGrid(parsed, grid)
    const why = parsed.problems[0] ?? (isOn ? 'it is being deleted' : 'its units are not those of the domain')
    return notReady(`block ${name} cannot be used: ${why}`, isOn && parsed.problems.length === 0)
  }
  const holder = holderOf(parsed, { first: unit, last }, pool, input)
  if (holder !== undefined) {
    const by = holder.row.owner
    const freeAtMs = holder.untilMs === Number.POSITIVE_INFINITY ? undefined : holder.untilMs
    return fails({ kind: 'taken', message: `${text} is in use by ${by}`, by, freeAtMs })
  }
  return give({ pool, parsed, unit, size }, input, WHY)
}

/** Whether a pool gives all of some units of a block on request. */
function isGivenTo(pool: PoolView, prefix: Prefix.Prefix, grid: Grid, { first, last }: UnitRange): boolean {
  const space = RangeSet.union(pool.space?.given ?? RangeSet.empty, pool.space?.reserved ?? RangeSet.empty)
  const units = unitsWithin(space, prefix, grid.allocationPrefixLength)
  return units.some((range) => range.first <= first && range.last >= last)
}

/** The owner of one of some units, or the one that it is kept for. */
function holderOf(
  parsed: ParsedBlock,
  { first, last }: { readonly first: number; readonly last: number },
  pool: PoolView,
  { request, nowMs }: ChoiceInput,
) {
  const keys = keysOf(pool, request)
  for (let unit = first; unit <= last; unit++) {
    const entry = parsed.at(unit)
    if (entry === undefined || entry.untilMs <= nowMs) continue
    if (isInherited(entry.row, request)) continue
    if (entry.row.state === 'held' && stickyKeys(entry.row).some((key) => keys.includes(key))) continue
    return entry
  }
  return undefined
}

/** Whether a request takes over a row of an earlier owner of the same kind and name. */
function isInherited(row: IPBlockRow, request: TaskRequest): boolean {
  const { owner, interface: name } = request
  const isNamesake = row.owner === owner.name && (row.kind ?? 'Pod') === (owner.kind ?? 'Pod')
  return isAdoption(request) && isNamesake && row.interface === name
}

/** Whether a request takes over the row that has a unit. */
function isLeftTo(request: TaskRequest, parsed: ParsedBlock, unit: number): boolean {
  const entry = parsed.at(unit)
  return entry !== undefined && entry.unit === unit && isBound(entry) && isInherited(entry.row, request)
}
