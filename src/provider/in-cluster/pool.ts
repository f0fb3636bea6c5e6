import type { Condition, ConditionUpdate } from '../../claim/conditions.js'
import { poolReady } from '../../claim/index.js'
import { PROTECT_POOL_FINALIZER } from '../../crd/cluster-api/names.js'
import type { InClusterPool, InClusterPoolCounts } from '../../crd/in-cluster/pools.js'
import { hasFinalizer, isDeleting, META } from '../../crd/meta/object.js'
import { check, type KindOf } from '../../errors/check.js'
import { listed } from '../../errors/listed.js'
import { list } from '../../errors/quote.js'
import { addFinalizer, type Effect, type Plan, type PlanTime, patchStatus, removeFinalizer } from '../../plan/index.js'
import type { EventCause } from '../../plan/sent-events.js'
import { withConditions } from '../claims/status.js'
import type { Duplicate, PoolLedger } from './ledger.js'
import type { PoolOutcome } from './outcome.js'

/** The input of a plan for a pool. */
export interface PoolInput {
  readonly pool: InClusterPool
  readonly ledger: PoolLedger
  /** Pools that overlap this one (`Kind namespace/name`), if they are to be reported. */
  readonly overlapping?: readonly string[] | undefined
  /**
   * How many addresses of the pool are in use, with those that have no IPAddress yet, if another
   * source than the ledger knows them. Default 0.
   */
  readonly rows?: number | undefined
  /** The time of the conditions. Left out: none are written. */
  readonly conditionsAt?: PlanTime | undefined
}

const POOL_INPUT: KindOf<PoolInput> = [
  'open',
  {
    pool: ['open', { metadata: META }],
    ledger: ['open', { counts: 'function', duplicates: 'function', problems: 'list', unusable: 'list' }],
    overlapping: ['list?', 'text'],
    conditionsAt: ['open?', { nowMs: 'number' }],
  },
]

/**
 * Plans a pool itself: a finalizer that keeps it while addresses refer to it, the counts of its
 * status, and optionally the conditions `Ready` and `AddressesUnique`. The latter is false while
 * several objects have one address, or another pool has addresses of this one.
 *
 * `free` is the number of addresses that can still be given, and never negative. Upstream subtracts
 * every object in use from the total, also those that are out of range or hold an address twice.
 */
export function planPool(input: PoolInput): Plan<PoolOutcome> & {
  readonly problems?: readonly (string | EventCause)[]
} {
  check('planPool', 'input', input, POOL_INPUT)

  const { pool, ledger } = input
  const effects: Effect[] = []
  if (!isDeleting(pool) && !hasFinalizer(pool, PROTECT_POOL_FINALIZER)) {
    effects.push(addFinalizer(pool, PROTECT_POOL_FINALIZER, 'keeps the pool until its addresses are released'))
  }
  const counts = ledger.counts()
  pushStatus(input, counts, effects)
  if (isDeleting(pool)) return planEnd(input, effects)
  const problems = [...ledger.problems, ...ledger.unusable]
  const told = [...problems, ...sharedCauses(input)]
  if (counts === undefined || ledger.problems.length > 0) {
    return { outcome: { kind: 'invalid', problems, message: list(problems) }, effects, problems: told }
  }
  const { total, free, used, outOfRange } = counts
  const left = outOfRange === 0 ? '' : `, ${outOfRange} in use are out of range`
  return {
    outcome: { kind: 'ready', total, free, used, message: `${free} of ${total} free${left}` },
    effects,
    problems: told,
  }
}

/** One write of the whole status. */
function pushStatus(input: PoolInput, counts: InClusterPoolCounts | undefined, effects: Effect[]): void {
  const { pool, ledger, conditionsAt } = input
  const status: { ipAddresses?: InClusterPoolCounts; conditions?: readonly Condition[] } = {}
  if (counts !== undefined && !sameCounts(pool.status?.ipAddresses, counts)) status.ipAddresses = counts
  const unique = uniqueness(input)
  if (conditionsAt !== undefined) {
    const [problem] = ledger.problems.length === 0 ? [] : [list(ledger.problems)]
    const ready = poolReady({ problem, isDeleting: isDeleting(pool), hasRoom: ledger.next() !== undefined })
    const told = isDeleting(pool) || problem !== undefined ? [] : ledger.unusable
    const message = [ready.message, list(told)].filter((text) => text !== '').join('; ')
    const conditions = withConditions(pool, [{ ...ready, message }, unique], conditionsAt)
    if (conditions !== undefined && conditions !== pool.status?.conditions) status.conditions = conditions
  }
  if (Object.keys(status).length === 0) return
  const what = Object.keys(status).map((field) => (field === 'conditions' ? 'conditions' : 'counts'))
  effects.push(patchStatus(pool, { status }, `the ${what.join(' and ')} have changed`))
}

/** An Event for each address with several holders, else one for the pools that overlap this one. */
function sharedCauses({ ledger, overlapping = [] }: PoolInput): readonly EventCause[] {
  const duplicates = ledger.duplicates()
  if (duplicates.length > 0) {
    return duplicates.map((duplicate) => {
      return { reason: 'DuplicateAddress', message: holdersText(duplicate), cause: duplicate.address }
    })
  }
  if (overlapping.length === 0) return []
  return [{ reason: 'OverlappingPools', message: overlapText(overlapping), cause: '' }]
}

function holdersText({ address, holders }: Duplicate): string {
  return `${address} is that of ${listed(holders, ', ')}`
}

function overlapText(overlapping: readonly string[]): string {
  return `has addresses in common with ${listed(overlapping, ', ')}`
}

/** Whether each address of the pool has one claim at most, as far as known. */
function uniqueness({ ledger, overlapping = [] }: PoolInput): ConditionUpdate {
  const not = (reason: string, message: string) =>
    ({ type: 'AddressesUnique', status: 'False', reason, message }) as const
  const duplicates = ledger.duplicates()
  if (duplicates.length > 0) return not('DuplicateAddress', listed(duplicates, '; ', holdersText))
  if (overlapping.length > 0) return not('OverlappingPools', overlapText(overlapping))
  return { type: 'AddressesUnique', status: 'True', reason: 'Unique', message: '' }
}

/** How often the rows of a pool that is being deleted are counted. */
const ROWS_SECONDS = 5

/**
 * Plans a pool that is being deleted: its finalizer is removed when nothing refers to it any more.
 */
function planEnd({ pool, ledger, rows = 0 }: PoolInput, effects: Effect[]): Plan<PoolOutcome> {
  const objects = ledger.size
  const addresses = Math.max(objects, rows)
  if (addresses > 0) {
    const outcome = { kind: 'protected', addresses, message: `kept while ${addresses} addresses refer to it` } as const
    // the deletion of the last row causes no event of the pool
    return objects > 0 ? { outcome, effects } : { outcome, effects, requeueAfterSeconds: ROWS_SECONDS }
  }
  if (hasFinalizer(pool, PROTECT_POOL_FINALIZER)) {
    effects.push(removeFinalizer(pool, PROTECT_POOL_FINALIZER, 'no address refers to the pool any more'))
  }
  return { outcome: { kind: 'unprotected', message: 'no address refers to it' }, effects }
}

function sameCounts(left: InClusterPoolCounts | undefined, right: InClusterPoolCounts): boolean {
  return (
    left?.total === right.total &&
    left.free === right.free &&
    left.used === right.used &&
    left.outOfRange === right.outOfRange
  )
}
