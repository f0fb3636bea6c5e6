import { PROTECT_POOL_FINALIZER } from '../../crd/in-cluster/names.js'
import type { InClusterPool, InClusterPoolCounts } from '../../crd/in-cluster/pools.js'
import { hasFinalizer, isDeleting } from '../../crd/meta/object.js'
import { addFinalizer, type Effect, type Plan, patchStatus, removeFinalizer } from '../../plan/index.js'
import type { PoolLedger } from './ledger.js'
import type { PoolOutcome } from './outcome.js'

/** What a plan for a pool is made from. */
export interface PoolInput {
  readonly pool: InClusterPool
  readonly ledger: PoolLedger
}

/**
 * A pool's own affairs: a finalizer that keeps it while addresses refer to it, and the counts of its status.
 *
 * `free` is how many addresses can still be handed out, and so never negative: upstream subtracts every object in use from the
 * total, also those that are out of range or hold an address twice.
 */
export function planPool(input: PoolInput): Plan<PoolOutcome> {
  const { pool, ledger } = input
  const effects: Effect[] = []
  if (!isDeleting(pool) && !hasFinalizer(pool, PROTECT_POOL_FINALIZER)) {
    effects.push(addFinalizer(pool, PROTECT_POOL_FINALIZER, 'the pool must not go before its addresses'))
  }
  const counts = ledger.counts()
  if (counts !== undefined && !sameCounts(pool.status?.ipAddresses, counts)) {
    effects.push(patchStatus(pool, { status: { ipAddresses: counts } }, 'the counts have changed'))
  }
  if (isDeleting(pool)) return planEnd(input, effects)
  if (counts === undefined) {
    const { problems } = ledger
    return { outcome: { kind: 'invalid', problems, message: problems.join('; ') }, effects }
  }
  const { total, free, used } = counts
  return { outcome: { kind: 'ready', total, free, used, message: `${free} of ${total} free` }, effects }
}

/** A pool on its way out goes when nothing refers to it any more. */
function planEnd({ pool, ledger }: PoolInput, effects: Effect[]): Plan<PoolOutcome> {
  const addresses = ledger.size + ledger.reserved
  if (addresses > 0) {
    return {
      outcome: { kind: 'protected', addresses, message: `kept while ${addresses} addresses refer to it` },
      effects,
    }
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
