import type * as Prefix from '../../../cidr/nouns/prefix.js'
import * as RangeSet from '../../../cidr/nouns/range-set.js'
import { parseBlockName } from '../../../crd/ipam-kit/block-name.js'
import type { PoolSpace } from '../../../crd/ipam-kit/space.js'
import { isDeleting } from '../../../crd/meta/object.js'
import type { Parsed } from '../../../plan/cached-objects.js'
import type { Delta, PlannerContext } from '../../../plan/index.js'
import { plannerKeys } from '../../../plan/planner-keys.js'
import { readable } from '../../claims/objects.js'
import type { ParsedBlock } from '../block/parsed-block.js'
import type { ParsedPool } from '../pool/parsed-pool.js'
import { PoolView } from '../pool/pool-view.js'
import type { KnownBlocks } from '../tasks/known-blocks.js'
import { blockWatch, domainWatch, poolWatch } from '../tasks/watches.js'
import { type EmptyBlocks, groupOf } from './empty-blocks.js'
import type { PoolUsages } from './usage.js'

/** The keys of the operator. */
export const KEYS = plannerKeys('IPDomain', 'IPPool', 'IPBlock')

export const watches = { domains: domainWatch, pools: poolWatch, blocks: blockWatch }

export interface OperatorState {
  /** The pools, each with the blocks in which it has free units. */
  readonly known: KnownBlocks
  readonly usages: Map<string, PoolUsages>
  readonly empty: EmptyBlocks
  /** The latest time of a plan, in milliseconds since 1970. */
  nowMs: number
}

export type Context = PlannerContext<typeof watches, OperatorState>

export function wakeForDomain({ ref: { name } }: Delta<unknown>, { cache }: Context): readonly string[] {
  return [KEYS.format('IPDomain', name), ...poolsOf(name, cache).map(poolKey)]
}

export function wakeForPool(delta: Delta<ParsedPool>, { cache, state }: Context): readonly string[] {
  const { name } = delta.ref
  const [before, now] = [readable(delta.before), readable(delta.now)]
  state.known.followPool(delta, state.nowMs)
  const domains = new Set([before?.object.spec.domain, now?.object.spec.domain].filter((each) => each !== undefined))
  const keys = [KEYS.format('IPPool', name), ...[...domains].map((each) => KEYS.format('IPDomain', each))]
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
  // an empty block that is kept for the pool may be unnecessary now
  const isSame = had === has && isGiving(before) === isGiving(now)
  if (!isSame)
    for (const family of [4, 6] as const) keys.push(...state.empty.takeKept(`${family} ${name}`).map(blockKey))
  return keys
}

export function wakeForBlock(delta: Delta<ParsedBlock>, context: Context): readonly string[] {
  if (delta.now !== undefined && delta.now === delta.before) return []
  const { state } = context
  const { name } = delta.ref
  state.known.followBlock(delta, state.nowMs)
  if (delta.now?.ok !== true) state.empty.forget(name)
  const places = [locationOf(name, delta.before), locationOf(name, delta.now)].filter((place) => place !== undefined)
  const domains = new Set(places.map(({ domain }) => domain))
  const parsedBlocks = [readable(delta.before), readable(delta.now)].filter((parsed) => parsed !== undefined)
  const isForAll = delta.before?.ok === false || delta.now?.ok === false
  const pools = concerned(name, { places, parsedBlocks, isForAll }, context)
  for (const pool of pools) state.usages.get(pool)?.touch(name)
  return [
    blockKey(name),
    ...[...domains].map((domain) => KEYS.format('IPDomain', domain)),
    ...[...pools].map((pool) => KEYS.format('IPPool', pool)),
    ...parsedBlocks
      .flatMap((parsed) => state.empty.takeKept(groupOf(parsed)))
      .filter((other) => other !== name)
      .map(blockKey),
  ]
}

/** The names of the pools that a change of a block concerns. */
function concerned(
  name: string,
  change: {
    readonly places: readonly BlockLocation[]
    readonly parsedBlocks: readonly ParsedBlock[]
    readonly isForAll: boolean
  },
  { cache, state }: Context,
): ReadonlySet<string> {
  const { places, parsedBlocks, isForAll } = change
  const names = new Set(parsedBlocks.flatMap(poolsIn))
  for (const { domain, prefix } of places) {
    for (const pool of poolsOf(domain, cache)) {
      // a pool that is kept for an unreadable block stays until the block is readable, or is
      // deleted
      const view = state.known.pool(pool.object.metadata.name)
      const hasUnits = view instanceof PoolView && view.unitsOf(prefix, name).length > 0
      if (isForAll || hasUnits) names.add(pool.object.metadata.name)
    }
  }
  return names
}

/** The pools that have addresses in common with a pool, by name. O(pools of the domain). */
export function overlapping({ name, space, object }: PoolView, cache: Context['cache']): readonly string[] {
  const names = poolsOf(object.spec.domain, cache).map((pool) => [pool.object.metadata.name, pool] as const)
  return names.flatMap(([other, pool]) => (other !== name && isNextTo(pool, space) ? [other] : [])).sort()
}

/**
 * Whether a pool has addresses in common with some space, with those that it gives only on request.
 */
function isNextTo(pool: ParsedPool, space: PoolSpace | undefined): boolean {
  const own = spaceOf(pool)
  if (own === undefined || space === undefined) return false
  return [space.given, space.reserved].some(
    (part) => RangeSet.overlaps(part, own.given) || RangeSet.overlaps(part, own.reserved),
  )
}

function poolsOf(domain: string, cache: Context['cache']): readonly ParsedPool[] {
  return cache.pools.by('domain', domain)
}

function poolKey({ object }: ParsedPool): string {
  return KEYS.format('IPPool', object.metadata)
}

function blockKey(name: string): string {
  return KEYS.format('IPBlock', name)
}

function spaceOf({ space }: ParsedPool): PoolSpace | undefined {
  return space.ok ? space.value : undefined
}

/** Whether a pool gives addresses, apart from its space. */
function isGiving(pool: ParsedPool | undefined): boolean {
  return pool !== undefined && !isDeleting(pool.object) && !pool.object.spec.disabled
}

/** The domain, range and name of a block. */
interface BlockLocation {
  readonly domain: string
  readonly prefix: Prefix.Prefix
}

/**
 * Where a block lies. For a block that cannot be read, its name says so. `undefined`: it does not
 * exist, or does not have the name of a block.
 */
function locationOf(name: string, entry: Parsed<ParsedBlock> | undefined): BlockLocation | undefined {
  if (entry === undefined) return undefined
  return entry.ok ? { domain: entry.value.object.spec.domain, prefix: entry.value.prefix } : parseBlockName(name)
}

/** The pools that have rows in a block. */
function poolsIn({ entries, object }: ParsedBlock): readonly string[] {
  return entries.map(({ row }) => row.pool ?? object.spec.pool)
}
