import type { IPPool, IPPoolFamilyStatus } from '../../crd/ipam-kit/ip-pool.js'
import type { SeenBlock } from './block-rules.js'
import { type Span, spanOf, spansGivenBy } from './naive-space.js'

/** What is stored when everything is quiet. */
export interface BlockRest {
  readonly blocks: readonly SeenBlock[]
  readonly pools: readonly IPPool[]
  readonly nowMs: number
}

/** A pool, and the blocks of its domain. */
interface PoolRest {
  readonly pool: IPPool
  readonly spans: readonly Span[]
  readonly blocks: readonly SeenBlock[]
  readonly nowMs: number
}

/**
 * What always has to hold of pools and blocks when everything is quiet: the status of each pool is
 * what can be counted row by row, and no empty block is left, except the one that is kept for the
 * next owner. Found by ways that share no code with the operator.
 */
export function restProblems({ blocks, pools, nowMs }: BlockRest): readonly string[] {
  return pools.flatMap((pool) => {
    const inDomain = blocks.filter(({ block }) => block.spec.domain === pool.spec.domain)
    const rest = { pool, spans: spansGivenBy(pool.spec), blocks: inDomain, nowMs }
    const { ipv4, ipv6, conditions = [] } = pool.status ?? {}
    const counted = [...familyProblems(4, ipv4, rest), ...familyProblems(6, ipv6, rest)]
    const overlapping = pools.some((other) => {
      if (other === pool || other.spec.domain !== pool.spec.domain) return false
      return spansGivenBy(other.spec).some((span) => unitsIn(rest.spans, span) > 0n)
    })
    const isExhausted = ipv4?.free === '0' || ipv6?.free === '0'
    const wanted = { Ready: !isExhausted, Exhausted: isExhausted, Overlaps: overlapping }
    const said = Object.entries(wanted).flatMap(([type, is]) => {
      const found = conditions.find((condition) => condition.type === type)
      return found?.status === (is ? 'True' : 'False') ? [] : [`${type} is ${found?.status}`]
    })
    return [...counted, ...said, ...leftProblems(rest)].map(
      (problem) => `at rest: pool ${pool.metadata.name}: ${problem}`,
    )
  })
}

function familyProblems(family: 4 | 6, status: IPPoolFamilyStatus | undefined, rest: PoolRest): readonly string[] {
  const { pool, nowMs } = rest
  const spans = rest.spans.filter((span) => span.family === family)
  const blocks = rest.blocks.filter((block) => block.family === family)
  const [counts, hints] = [{ total: 0n, allocated: 0n, outOfRange: 0n, cooldown: 0n, busy: 0n }, emptyHints()]
  for (const { first, last } of spans) counts.total += last - first + 1n
  for (const seen of blocks) {
    for (const { row, first, last } of seen.rows.filter((each) => isLive(each, nowMs))) {
      const [units, given] = [last - first + 1n, unitsIn(spans, { family, first, last })]
      if ((row.pool ?? seen.block.spec.pool) !== pool.metadata.name) continue
      if (row.state === undefined) counts.allocated += units
      else counts.cooldown += units
      if (row.state === undefined) counts.outOfRange += units - given
    }
    const [all, busy] = [unitsIn(spans, wholeOf(seen)), busyIn(seen, spans, nowMs)]
    counts.busy += busy
    if (all === 0n) continue
    if (busy === all) hints.full.push(wholeOf(seen))
    else if (seen.block.spec.node !== undefined) hints.bound.push(wholeOf(seen))
  }
  const { busy, ...told } = counts
  const wanted = { ...told, free: counts.total - busy, reserved: 0n }
  const wrong = Object.entries(wanted).flatMap(([field, count]) => {
    const said = status?.[field as keyof typeof wanted]
    return said === `${count}` ? [] : [`${field} of IPv${family} is ${said}, and not ${count}`]
  })
  const off = (['full', 'bound'] as const).flatMap((field) => {
    const said = (status?.[field] ?? []).map(spanOf)
    const isSame =
      sizeOf(said) === sizeOf(hints[field]) && hints[field].every((span) => unitsIn(said, span) === sizeOf([span]))
    return isSame ? [] : [`${field} of IPv${family} is ${status?.[field]}`]
  })
  return [...wrong, ...off]
}

function emptyHints(): { readonly full: Span[]; readonly bound: Span[] } {
  return { full: [], bound: [] }
}

/**
 * The empty blocks that were made for a pool, and that are kept without need: of several the first
 * by name stays, and none while another one has room.
 */
function leftProblems({ pool, spans, blocks, nowMs }: PoolRest): readonly string[] {
  const own = blocks.filter(({ block }) => block.spec.pool === pool.metadata.name)
  const hasRoom = (seen: SeenBlock, atMs: number) =>
    seen.block.spec.node === undefined && busyIn(seen, spans, atMs) < unitsIn(spans, wholeOf(seen))
  const isEmpty = ({ rows }: SeenBlock) => !rows.some((row) => isLive(row, nowMs))
  return own.filter(isEmpty).flatMap((seen) => {
    const { name } = seen.block.metadata
    if (!hasRoom(seen, nowMs)) return [`${name} is empty, and has no free unit`]
    const other = own.find((each) => {
      if (each === seen || each.family !== seen.family || (isEmpty(each) && each.block.metadata.name > name))
        return false
      // room that appears with time alone wakes no owner
      return hasRoom(each, Number.NEGATIVE_INFINITY)
    })
    return other === undefined ? [] : [`${name} is empty, and ${other.block.metadata.name} has room`]
  })
}

/** The number of units of a block that no owner can get. */
function busyIn(seen: SeenBlock, spans: readonly Span[], nowMs: number): bigint {
  if (seen.block.metadata.deletionTimestamp !== undefined) return unitsIn(spans, wholeOf(seen))
  const live = seen.rows.filter((row) => isLive(row, nowMs))
  return live.reduce((sum, { first, last }) => sum + unitsIn(spans, { family: seen.family, first, last }), 0n)
}

/** Whether an owner has it or waits for it. */
function isLive({ row }: SeenBlock['rows'][number], nowMs: number): boolean {
  return row.state === undefined || Date.parse(row.until as string) > nowMs
}

function wholeOf({ family, from, to }: SeenBlock): Span {
  return { family, first: from, last: to }
}

function sizeOf(spans: readonly Span[]): bigint {
  return spans.reduce((sum, { first, last }) => sum + last - first + 1n, 0n)
}

/** How much of a span lies in some that do not overlap. */
function unitsIn(spans: readonly Span[], { family, first, last }: Span): bigint {
  let units = 0n
  for (const span of spans) {
    const [from, to] = [span.first > first ? span.first : first, span.last < last ? span.last : last]
    if (span.family === family && from <= to) units += to - from + 1n
  }
  return units
}
