import type * as Prefix from '../../../cidr/nouns/prefix.js'
import * as RangeSet from '../../../cidr/nouns/range-set.js'
import { parseBlockName } from '../../../crd/ipam-kit/block-name.js'
import type { PoolSpace } from '../../../crd/ipam-kit/space.js'
import { isDeleting } from '../../../crd/meta/object.js'
import { refuse } from '../../../errors/refuse.js'
import {
  type Delta,
  definePlanner,
  type Parsed,
  type Plan,
  type Planner,
  type PlannerContext,
  type PlanTime,
} from '../../../plan/index.js'
import { KnownBlocks } from '../known-blocks.js'
import { ParsedBlock } from '../parsed-block.js'
import type { PoolReading } from '../pool-reading.js'
import { PoolView } from '../pool-view.js'
import { blockWatch, domainWatch, poolWatch } from '../watches.js'
import { isEmpty, planBlock } from './block.js'
import { planDomain } from './domain.js'
import { DomainBlocks } from './domain-blocks.js'
import type { OperatorOutcome } from './outcome.js'
import { planPool } from './pool.js'
import { PoolUsages } from './usage.js'

export interface BlocksOperatorOptions {
  /**
   * How long a block may be empty before it is removed, in seconds, from 0 to 86,400. Default 60. The operator remembers since when a block is empty, also over a
   * `reset`. An operator that is made for one `runUntilQuiet` remembers nothing: with 0 it removes empty blocks in that run, else none.
   */
  readonly emptySeconds?: number | undefined
  /**
   * How long a pool that is being deleted stays at least, in seconds, from 0 to 86,400: whoever is not shown changes of pools looks at one again after 30 s, and
   * may give something of it until then. Default 60.
   */
  readonly terminationGraceSeconds?: number | undefined
}

/**
 * What looks after pools and blocks, beside those who give addresses: takes pools into their domains, keeps counts, conditions and hints in their
 * status, removes blocks that are empty, and lets pools, blocks and domains go when nothing needs them.
 *
 * Several of them may run at a time: they write the same. Without any nothing is given from a new pool, and counts are old; what is given stays right.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function blocksOperator(options: BlocksOperatorOptions = {}): Planner<OperatorOutcome> {
  const { emptySeconds = 60, terminationGraceSeconds = 60 } = options
  for (const [name, seconds] of Object.entries({ emptySeconds, terminationGraceSeconds })) {
    if (!(seconds >= 0 && seconds <= 86_400)) refuse(name, 'seconds, 0 to 86400', seconds)
  }
  return definePlanner<OperatorOutcome, OperatorWatches, OperatorState>({
    name: 'blocks',
    watches,
    state: (cache, before) => ({
      known: new KnownBlocks({ isComplete: true }, cache),
      usages: new Map(),
      empty: new Map(before === undefined ? [] : emptyIn(before)),
      kept: new Map(),
      nowMs: before?.nowMs ?? 0,
    }),
    wakes: { domains: wakeForDomain, pools: wakeForPool, blocks: wakeForBlock },
    plan(key, context, { nowMs }) {
      const { state } = context
      state.nowMs = Math.max(state.nowMs, nowMs)
      const [kind, name = ''] = key.split(' ')
      if (kind === 'IPPool') return planPoolOf(name, context, { nowMs }, terminationGraceSeconds)
      return kind === 'IPBlock'
        ? planBlockOf(name, context, { nowMs }, emptySeconds)
        : planDomainOf(name, context, { nowMs })
    },
    isAggregate: (key) => !key.startsWith('IPBlock '),
  })
}

const watches = { domains: domainWatch, pools: poolWatch, blocks: blockWatch }

type OperatorWatches = typeof watches

interface Empty {
  readonly version: string | undefined
  readonly sinceMs: number
}

interface OperatorState {
  /** The pools, each with what is known of where it has room. */
  readonly known: KnownBlocks
  readonly usages: Map<string, PoolUsages>
  /** Since when blocks are seen empty, by name, and in which version: one that was seen empty stays empty. */
  readonly empty: Map<string, Empty>
  /** The empty blocks that stay because their pool has no other room, by {@link groupOf}. */
  readonly kept: Map<string, Set<string>>
  /** The latest time of a plan. */
  nowMs: number
}

/** Since when blocks are empty, of those that are still there. A state that has not been told of any block knows no better than the one before it. */
function emptyIn({ empty, known }: OperatorState): Iterable<[string, Empty]> {
  const knowsNone = known.blocks().next().done === true
  return [...empty].filter(([name]) => knowsNone || known.block(name) instanceof ParsedBlock)
}

type Context = PlannerContext<OperatorWatches, OperatorState>

function wakeForDomain({ ref: { name } }: Delta<unknown>, { cache }: Context): readonly string[] {
  return [`IPDomain ${name}`, ...poolsOf(name, cache).map(poolKey)]
}

function wakeForPool(delta: Delta<PoolReading>, { cache, state }: Context): readonly string[] {
  const { name } = delta.ref
  const [before, now] = [readable(delta.before), readable(delta.now)]
  state.known.followPool(delta, state.nowMs)
  const domains = new Set([before?.object.spec.domain, now?.object.spec.domain].filter((each) => each !== undefined))
  const keys = [`IPPool ${name}`, ...[...domains].map((each) => `IPDomain ${each}`)]
  const [had, has] = [before && spaceOf(before), now && spaceOf(now)]
  if (now === undefined) state.usages.delete(name)
  const isSameDomain = before?.object.spec.domain === now?.object.spec.domain
  for (const domain of had === has && isSameDomain ? [] : domains) {
    for (const other of poolsOf(domain, cache)) {
      const wasNext = before?.object.spec.domain === domain && isNextTo(other, had)
      const isNext = now?.object.spec.domain === domain && isNextTo(other, has)
      if (other.object.metadata.name !== name && wasNext !== isNext) keys.push(poolKey(other))
    }
  }
  // an empty block that was kept may be of no use to it
  const isSame = had === has && isGiving(before) === isGiving(now)
  if (!isSame) for (const family of [4, 6] as const) keys.push(...takeKept(`${family} ${name}`, state))
  return keys
}

function wakeForBlock(delta: Delta<ParsedBlock>, context: Context): readonly string[] {
  if (delta.now !== undefined && delta.now === delta.before) return []
  const { state } = context
  const { name } = delta.ref
  state.known.followBlock(delta, state.nowMs)
  if (delta.now?.ok !== true) state.empty.delete(name)
  const places = [placeOf(name, delta.before), placeOf(name, delta.now)].filter((place) => place !== undefined)
  const domains = new Set(places.map(({ domain }) => domain))
  const books = [readable(delta.before), readable(delta.now)].filter((parsed) => parsed !== undefined)
  const isForAll = delta.before?.ok === false || delta.now?.ok === false
  const pools = concerned(name, { places, books, isForAll }, context)
  for (const pool of pools) state.usages.get(pool.slice(pool.indexOf(' ') + 1))?.touch(name)
  return [
    `IPBlock ${name}`,
    ...[...domains].map((domain) => `IPDomain ${domain}`),
    ...pools,
    ...books.flatMap((parsed) => takeKept(groupOf(parsed), state)).filter((key) => key !== `IPBlock ${name}`),
  ]
}

/** The keys of the pools for which a change of a block means something. */
function concerned(
  name: string,
  change: { readonly places: readonly Place[]; readonly books: readonly ParsedBlock[]; readonly isForAll: boolean },
  { cache, state }: Context,
): ReadonlySet<string> {
  const { places, books, isForAll } = change
  const keys = new Set(books.flatMap(poolsIn).map((pool) => `IPPool ${pool}`))
  for (const { domain, prefix } of places) {
    for (const pool of poolsOf(domain, cache)) {
      // a pool that is kept for an unreadable block stays until the block is readable, or is deleted
      const view = state.known.pool(pool.object.metadata.name)
      const hasUnits = view instanceof PoolView && view.unitsOf(prefix, name).length > 0
      if (isForAll || hasUnits) keys.add(poolKey(pool))
    }
  }
  return keys
}

function planDomainOf(name: string, { cache }: Context, time: PlanTime): Plan<OperatorOutcome> | undefined {
  const entry = cache.domains.entry(name)
  if (entry === undefined) return undefined
  if (!entry.ok) return { outcome: { kind: 'broken', message: entry.problem }, effects: [] }
  const blocks = new DomainBlocks(cache.blocks, name)
  return planDomain({ domain: entry.value, blocks, pools: cache.pools.countBy('domain', name) }, time)
}

function planPoolOf(
  name: string,
  { cache, state }: Context,
  time: PlanTime,
  terminationGraceSeconds: number,
): Plan<OperatorOutcome> | undefined {
  const view = state.known.pool(name)
  if (view === undefined || view === 'absent') return undefined
  if (!(view instanceof PoolView)) return { outcome: { kind: 'broken', message: view.unreadable }, effects: [] }
  const { domain } = view.object.spec
  const found = cache.domains.entry(domain)
  const blocks = new DomainBlocks(cache.blocks, domain)
  const memo = state.usages.get(name) ?? new PoolUsages()
  state.usages.set(name, memo)
  return planPool(
    {
      view,
      domain: found?.ok === true ? found.value : undefined,
      unreadable: found?.ok === false ? found.problem : undefined,
      usage: memo.at(view, cache.blocks, time.nowMs),
      blocks,
      overlapping: overlapping(view, cache),
      terminationGraceSeconds,
    },
    time,
  )
}

function planBlockOf(
  name: string,
  context: Context,
  { nowMs }: PlanTime,
  emptySeconds: number,
): Plan<OperatorOutcome> | undefined {
  const entry = context.cache.blocks.entry(name)
  if (entry === undefined) return undefined
  if (!entry.ok) return { outcome: { kind: 'broken', message: entry.problem }, effects: [] }
  const parsed = entry.value
  const emptySinceMs = isEmpty(parsed, nowMs) ? sinceWhenEmpty(parsed, context, nowMs) : undefined
  if (emptySinceMs === undefined) context.state.empty.delete(name)
  const isNeeded = emptySinceMs !== undefined && keepIfNeeded(parsed, context)
  return planBlock({ parsed, emptySinceMs, emptySeconds, isNeeded, nowMs })
}

function sinceWhenEmpty({ name, version }: ParsedBlock, { state: { empty } }: Context, nowMs: number): number {
  const known = empty.get(name)
  if (known !== undefined && known.version === version) return known.sinceMs
  empty.set(name, { version, sinceMs: nowMs })
  return nowMs
}

/**
 * Whether an empty block stays: its pool gives addresses, no block of the pool and family that is in use has room, and it is the first by name of those that are
 * empty. One that stays is looked at again when another block of the pool changes. O(blocks of the pool).
 */
function keepIfNeeded(parsed: ParsedBlock, { cache, state }: Context): boolean {
  const pool = state.known.pool(parsed.object.spec.pool)
  if (!(pool instanceof PoolView) || pool.problem !== undefined || !hasRoom(parsed, pool, state.nowMs)) return false
  for (const other of cache.blocks.each('pool', groupOf(parsed))) {
    const comesFirst = other !== parsed && (!isEmpty(other, state.nowMs) || other.name < parsed.name)
    if (comesFirst && hasRoom(other, pool, state.nowMs)) return false
  }
  const kept = state.kept.get(groupOf(parsed)) ?? new Set()
  state.kept.set(groupOf(parsed), kept.add(parsed.name))
  return true
}

/** Whether a pool can give something in a block to any owner. A block of a node is for that node alone, and the node may never come back. */
function hasRoom(parsed: ParsedBlock, pool: PoolView, nowMs: number): boolean {
  const { domain, node } = parsed.object.spec
  return node === undefined && pool.object.spec.domain === domain && pool.knowsRoomIn(parsed, nowMs)
}

/** Takes out the empty blocks that are kept for a pool and family: they may not be needed any more. @returns their keys */
function takeKept(group: string, { kept }: OperatorState): readonly string[] {
  const names = kept.get(group) ?? []
  kept.delete(group)
  return [...names].map((name) => `IPBlock ${name}`)
}

/** The blocks of one pool and family. */
function groupOf({ prefix, object }: ParsedBlock): string {
  return `${prefix.address.family} ${object.spec.pool}`
}

/** The pools that have addresses in common with a pool, by name. O(pools of the domain). */
function overlapping({ name, space, object }: PoolView, cache: Context['cache']): readonly string[] {
  const names = poolsOf(object.spec.domain, cache).map((pool) => [pool.object.metadata.name, pool] as const)
  return names.flatMap(([other, pool]) => (other !== name && isNextTo(pool, space) ? [other] : [])).sort()
}

/** Whether a pool has addresses in common with some space, also addresses that it gives only on request. */
function isNextTo(pool: PoolReading, space: PoolSpace | undefined): boolean {
  const own = spaceOf(pool)
  if (own === undefined || space === undefined) return false
  return [space.given, space.reserved].some(
    (part) => RangeSet.overlaps(part, own.given) || RangeSet.overlaps(part, own.reserved),
  )
}

function poolsOf(domain: string, cache: Context['cache']): readonly PoolReading[] {
  return cache.pools.by('domain', domain)
}

function poolKey({ object }: PoolReading): string {
  return `IPPool ${object.metadata.name}`
}

function spaceOf({ space }: PoolReading): PoolSpace | undefined {
  return space.ok ? space.value : undefined
}

function readable<T>(entry: Parsed<T> | undefined): T | undefined {
  return entry?.ok === true ? entry.value : undefined
}

/** Whether a pool gives anything, apart from its space. */
function isGiving(pool: PoolReading | undefined): boolean {
  return pool !== undefined && !isDeleting(pool.object) && !pool.object.spec.disabled
}

/** Where a block lies. */
interface Place {
  readonly domain: string
  readonly prefix: Prefix.Prefix
}

/** Where a block lies: of one that cannot be read its name says so. `undefined`: it does not exist, or does not have the name of a block. */
function placeOf(name: string, entry: Parsed<ParsedBlock> | undefined): Place | undefined {
  if (entry === undefined) return undefined
  return entry.ok ? { domain: entry.value.object.spec.domain, prefix: entry.value.prefix } : parseBlockName(name)
}

/** The pools that have rows in a block. */
function poolsIn({ entries, object }: ParsedBlock): readonly string[] {
  return entries.map(({ row }) => row.pool ?? object.spec.pool)
}
