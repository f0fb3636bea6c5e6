import { PROTECT_POOL_FINALIZER } from '../../crd/in-cluster/names.js'
import type { InClusterPool, InClusterPoolCounts } from '../../crd/in-cluster/pools.js'
import { hasFinalizer, isDeleting, refOf } from '../../crd/meta/object.js'
import type { Effect, Plan } from '../../plan/index.js'
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
  const { uid, resourceVersion } = pool.metadata
  const precondition = { uid, resourceVersion }
  const counts = ledger.counts()
  if (counts !== undefined && !sameCounts(pool.status?.ipAddresses, counts)) {
    effects.push({
      kind: 'patch',
      ref: refOf(pool),
      patch: { status: { ipAddresses: counts } },
      if: precondition,
      subresource: 'status',
      why: 'the counts have changed',
    })
  }
  if (isDeleting(pool)) return { outcome: protection(ledger, effects, input), effects }

  if (!hasFinalizer(pool, PROTECT_POOL_FINALIZER)) {
    const finalizers = [...(pool.metadata.finalizers ?? []), PROTECT_POOL_FINALIZER]
    effects.unshift({
      kind: 'patch',
      ref: refOf(pool),
      patch: { metadata: { finalizers } },
      if: precondition,
      why: 'the pool must not go before its addresses',
    })
  }
  if (counts === undefined) {
    const { problems } = ledger
    return { outcome: { kind: 'invalid', problems, message: problems.join('; ') }, effects }
  }
  const { total, free, used } = counts
  return { outcome: { kind: 'ready', total, free, used, message: `${free} of ${total} free` }, effects }
}

function protection(ledger: PoolLedger, effects: Effect[], { pool }: PoolInput): PoolOutcome {
  const addresses = ledger.size
  if (addresses > 0) {
    return { kind: 'protected', addresses, message: `kept while ${addresses} addresses refer to it` }
  }
  if (hasFinalizer(pool, PROTECT_POOL_FINALIZER)) {
    const { uid, resourceVersion } = pool.metadata
    effects.push({
      kind: 'patch',
      ref: refOf(pool),
      patch: {
        metadata: { finalizers: (pool.metadata.finalizers ?? []).filter((it) => it !== PROTECT_POOL_FINALIZER) },
      },
      if: { uid, resourceVersion },
      why: 'no address refers to the pool any more',
    })
  }
  return { kind: 'unprotected', message: 'no address refers to it' }
}

function sameCounts(left: InClusterPoolCounts | undefined, right: InClusterPoolCounts): boolean {
  return (
    left?.total === right.total &&
    left.free === right.free &&
    left.used === right.used &&
    left.outOfRange === right.outOfRange
  )
}
