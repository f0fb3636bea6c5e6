import { check, type KindOf } from '../../../errors/check.js'
import { refuse } from '../../../errors/refuse.js'
import type { PoolUsage } from '../../../plan/holdings.js'
import { definePlanner, type Plan, type Planner, type PlanTime } from '../../../plan/index.js'
import { ParsedBlock } from '../block/parsed-block.js'
import { PoolView } from '../pool/pool-view.js'
import { KnownBlocks } from '../tasks/known-blocks.js'
import { isEmpty, planBlock } from './block.js'
import { planDomain } from './domain.js'
import { DomainBlocks } from './domain-blocks.js'
import { EmptyBlocks } from './empty-blocks.js'
import { heldByBlock } from './held.js'
import type { OperatorOutcome } from './outcome.js'
import { planPool, poolUsage } from './pool.js'
import { PoolUsages, type UnitUsage } from './usage.js'
import {
  type Context,
  KEYS,
  type OperatorState,
  overlapping,
  wakeForBlock,
  wakeForDomain,
  wakeForPool,
  watches,
} from './wakes.js'

export interface BlocksOperatorOptions {
  /**
   * How long a block may be empty before it is deleted, in seconds, from 0 to 86,400. Default 60.
   * The operator remembers since when a block is empty, also over a `reset`. An operator that is
   * made for each `runUntilQuiet` has no such memory: with 0 it deletes empty blocks in that run,
   * else none.
   */
  readonly emptySeconds?: number | undefined
  /**
   * How long a pool that is being deleted stays at least, in seconds, from 0 to 86,400. Tasks
   * without a watch read a pool again after 30 s, and may give its addresses until then. Default
   * 60.
   */
  readonly terminationGraceSeconds?: number | undefined
}

/**
 * The operator as a planner. `entries` are the rows of all blocks. `usage` counts the units of each
 * pool. O(pools + blocks that have changed since the last plan of their pools).
 */
export type BlocksOperator = Planner<OperatorOutcome> & Required<Pick<Planner<OperatorOutcome>, 'entries' | 'usage'>>

const BLOCKS_OPERATOR_OPTIONS: KindOf<BlocksOperatorOptions> = {
  emptySeconds: 'number?',
  terminationGraceSeconds: 'number?',
}

/**
 * Maintains pools, blocks and domains; it gives no addresses. It accepts pools into their domains,
 * and keeps counts, conditions and hints in their status. It deletes empty blocks, and removes the
 * finalizers of pools, blocks and domains that are not used any more.
 *
 * Several processes may run it at once: they write the same. Without an operator a new pool gives
 * nothing and counts are old; addresses that were given stay valid.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function blocksOperator(options: BlocksOperatorOptions = {}): BlocksOperator {
  check('blocksOperator', 'options', options, BLOCKS_OPERATOR_OPTIONS)

  const { emptySeconds = 60, terminationGraceSeconds = 60 } = options
  for (const [name, seconds] of Object.entries({ emptySeconds, terminationGraceSeconds })) {
    if (!(seconds >= 0 && seconds <= 86_400)) refuse('blocksOperator', name, 'seconds, 0 to 86400', seconds)
  }
  return definePlanner<OperatorOutcome, typeof watches, OperatorState>({
    name: 'blocks',
    watches,
    holds: { blocks: heldByBlock },
    usage: usageOf,
    state: (cache, before) => ({
      known: new KnownBlocks({ isComplete: true }, cache),
      usages: new Map(),
      empty: new EmptyBlocks(before?.empty, before && stillExists(before)),
      nowMs: before?.nowMs ?? 0,
    }),
    wakes: { domains: wakeForDomain, pools: wakeForPool, blocks: wakeForBlock },
    plan(key, context, { nowMs }) {
      const { state } = context
      state.nowMs = Math.max(state.nowMs, nowMs)
      const read = KEYS.read(key)
      switch (read?.kind) {
        case 'IPDomain':
          return planDomainOf(read.name, context, { nowMs })
        case 'IPPool':
          return planPoolOf(read.name, context, { nowMs }, terminationGraceSeconds)
        case 'IPBlock':
          return planBlockOf(read.name, context, { nowMs }, emptySeconds)
        case undefined:
          return undefined
      }
    },
    isAggregate: (key) => KEYS.read(key)?.kind !== 'IPBlock',
  })
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
  return planPool(
    {
      view,
      domain: found?.ok === true ? found.value : undefined,
      unreadable: found?.ok === false ? found.problem : undefined,
      usage: unitUsage(view, { cache, state }, time.nowMs),
      blocks,
      overlapping: overlapping(view, cache),
      terminationGraceSeconds,
    },
    time,
  )
}

/** The usage at a time, of which the counts of the last plan are kept. */
function unitUsage(view: PoolView, { cache, state }: Pick<Context, 'cache' | 'state'>, nowMs: number): UnitUsage {
  const { name } = view.object.metadata
  const memo = state.usages.get(name) ?? new PoolUsages()
  state.usages.set(name, memo)
  return memo.at(view, cache.blocks, nowMs)
}

function usageOf({ cache, state }: Context): readonly PoolUsage[] {
  return [...state.known.pools()].flatMap((view) => {
    const domain = cache.domains.get(view.object.spec.domain)
    return poolUsage({ view, domain, usage: unitUsage(view, { cache, state }, state.nowMs) })
  })
}

function planBlockOf(
  name: string,
  { cache, state }: Context,
  { nowMs }: PlanTime,
  emptySeconds: number,
): Plan<OperatorOutcome> | undefined {
  const entry = cache.blocks.entry(name)
  if (entry === undefined) return undefined
  if (!entry.ok) return { outcome: { kind: 'broken', message: entry.problem }, effects: [] }
  const parsed = entry.value
  const emptySinceMs = isEmpty(parsed, nowMs) ? state.empty.sinceMs(parsed, nowMs) : undefined
  if (emptySinceMs === undefined) state.empty.forget(name)
  const pool = state.known.pool(parsed.object.spec.pool)
  const isNeeded = emptySinceMs !== undefined && state.empty.keepIfNeeded(parsed, pool, cache.blocks, state.nowMs)
  return planBlock({ parsed, emptySinceMs, emptySeconds, isNeeded, nowMs })
}

/**
 * Whether a block exists. A state without any block says that all of them do, as before its first
 * list.
 */
function stillExists({ known }: OperatorState): (name: string) => boolean {
  const knowsNone = known.blocks().next().done === true
  return (name) => knowsNone || known.block(name) instanceof ParsedBlock
}
