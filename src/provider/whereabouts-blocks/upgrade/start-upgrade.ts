import type { KubeObject } from '../../../crd/meta/object.js'
import { IPPool, type PoolRow, readRows } from '../../../crd/whereabouts/index.js'
import { describe } from '../../../errors/index.js'
import type { Step, Task, TaskTime } from '../../../plan/index.js'
import { writeStep } from '../../blocks/tasks/steps.js'
import { upgradePhase } from '../../whereabouts/tasks/objects.js'
import { compareRows, writableRows } from './compare.js'
import { leaseState, renewLease, takeLease } from './lease.js'
import type { PhaseOutcome } from './outcome.js'
import { inPhase, notReady, phasePatch, statement, wrongPhase } from './phase.js'
import { PoolTask } from './pool-task.js'
import { checkRequest, type UpgradeRequest } from './request.js'

/**
 * The task that begins the upgrade of one pool of whereabouts: the pool gets the phase
 * `dual-write`. Run it by `runTask`, as often as you like.
 *
 * - Before that, it takes the Lease of upstream (`whereabouts` in the namespace of the objects),
 *   and keeps it. An ADD or DEL of a plugin of upstream then fails. While such a writer holds the
 *   Lease, the task ends with `leaseHeld`: repeat it.
 * - It needs a pool without obstacles, and the IPPools of ipam-kit.dev that `planUpgrade` names,
 *   accepted into their domains.
 * - From then on writers of the type `whereabouts` need the commands for pools in an upgrade: `add`
 *   gives no address.
 * - Run again in a later phase, it takes a lost Lease again. In the phase `blocks` it does so only
 *   if the blocks have each row of the pool (else `different`): another writer may have added one.
 *
 * The time of the task decides whether the Lease of another holder has expired.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function startUpgrade(request: UpgradeRequest): Task<PhaseOutcome> {
  checkRequest('startUpgrade', request)
  return new StartTask(request)
}

class StartTask extends PoolTask<PhaseOutcome> {
  /** The version of the Lease as it was found. */
  #foundLease: string | undefined
  #hasPhase = false

  next(time: TaskTime): Step<PhaseOutcome> {
    const read = this.read(time)
    if ('step' in read) return read.step
    const { plan, object, known } = read
    const phase = upgradePhase(object)
    if (phase === 'unknown' || phase === 'finished') return wrongPhase(object, 'startUpgrade')
    if (phase === undefined && !plan.isReady) return notReady(`IPPool ${plan.name} has obstacles`, plan.oddities)
    const rows = writableRows(plan, known)
    if (phase === undefined && typeof rows === 'string') return notReady(rows, plan.oddities)
    // a roll-back of another pool may have given the Lease up meanwhile
    if (phase !== undefined && !this.#hasPhase) this.forgetLease()
    this.#hasPhase = phase !== undefined
    const lease = this.lease()
    if ('kind' in lease) return lease
    const state = leaseState(lease.object, this.holder, time.nowMs)
    if (state.kind === 'held') {
      const { holder } = state
      return {
        kind: 'done',
        outcome: { kind: 'leaseHeld', message: `${holder} holds the Lease of whereabouts`, holder },
      }
    }
    if (state.kind === 'free' && phase === 'blocks') {
      const stored = storedRows(object)
      if (typeof stored === 'string') return notReady(stored, plan.oddities)
      const compared = compareRows(stored, plan, known)
      if (typeof compared === 'string') return notReady(compared, plan.oddities)
      const foreign = compared.filter(({ kind }) => kind !== 'surplus')
      const outcome = statement(object, stored, foreign)
      if (outcome.kind === 'different') return { kind: 'done', outcome }
    }
    if (state.kind === 'free') return writeStep(takeLease(lease.object, this.namespace, this.holder, time.nowMs))
    const { resourceVersion } = lease.object?.metadata ?? {}
    this.#foundLease ??= resourceVersion
    // a late patch that gives the Lease up is for this version
    const renewal = resourceVersion === this.#foundLease ? renewLease(lease.object, time.nowMs) : undefined
    if (renewal !== undefined) return writeStep(renewal)
    if (phase !== undefined) return inPhase(object)
    return writeStep(phasePatch(object, 'dual-write'))
  }
}

function storedRows(object: KubeObject): readonly PoolRow[] | string {
  const read = IPPool.safeParse(object)
  return read.ok ? readRows(read.value).rows : describe(read.failure)
}
