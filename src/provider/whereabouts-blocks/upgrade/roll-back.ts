import { IPPool, OverlappingRangeIPReservation } from '../../../crd/whereabouts/index.js'
import type { Step, Task, TaskTime } from '../../../plan/index.js'
import { writeStep } from '../../blocks/tasks/steps.js'
import { upgradePhase } from '../../whereabouts/tasks/objects.js'
import { giveLeaseUp, isForever, leaseState } from './lease.js'
import type { PhaseOutcome } from './outcome.js'
import { inPhase, phasePatch, statement, wrongPhase } from './phase.js'
import { PoolTask } from './pool-task.js'
import { checkRollBack, type RollBackRequest } from './request.js'
import { returnReservations, returnRows } from './return-rows.js'

/**
 * The task that takes one pool of whereabouts one phase back. Run it by `runTask`, as often as you
 * like: a pool that is in the phase `to` ends with `phase`, and one that is two phases away with
 * `wrongPhase`.
 *
 * From `blocks` to `dual-write`:
 *
 * - Before that, give all definitions the type `whereabouts` again, and wait until ADDs of the type
 *   `ipam-kit` have ended.
 * - The pool gets the rows of the blocks, with their reservations, and loses all others. The phase
 *   changes at a version of the pool at which both sides are the same.
 * - `otherWriter`: a plugin of upstream may have written rows. Compare both sides, and run
 *   `startUpgrade`.
 *
 * From `dual-write` to `none`:
 *
 * - The phase is removed at a version of the pool that has every row of the blocks (else
 *   `different`). The blocks stay as they are.
 * - If no pool of the namespace has a phase then, the Lease of upstream is given up. A run for a
 *   pool without a phase does only that.
 * - `otherWriter`: an upgrade with another `leaseHolder` holds the Lease, and only a run with that
 *   name gives it up. Nothing is written.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function rollBack(request: RollBackRequest): Task<PhaseOutcome> {
  checkRollBack(request)
  return new RollBackTask(request)
}

class RollBackTask extends PoolTask<PhaseOutcome, RollBackRequest> {
  next(time: TaskTime): Step<PhaseOutcome> {
    const pool = this.pool()
    if ('step' in pool) return pool.step
    const phase = upgradePhase(pool)
    if (this.request.to === 'none') {
      if (phase !== undefined && phase !== 'dual-write') return wrongPhase(pool, 'rollBack to no phase')
      const other = this.#otherUpgrade(time)
      if (other !== undefined) return other
      return phase === undefined ? (this.#endLease(time) ?? inPhase(pool)) : this.#toNone(time)
    }
    if (phase === 'blocks') return this.#toDualWrite(time)
    return phase === 'dual-write' ? inPhase(pool) : wrongPhase(pool, 'rollBack to dual-write')
  }

  #toDualWrite(time: TaskTime): Step<PhaseOutcome> {
    const list = this.list(OverlappingRangeIPReservation.info, 'the reservations of the rows')
    if (list !== undefined) return list
    const sides = this.sides(time)
    if ('step' in sides) return sides.step
    const { object, rows, differences } = sides
    const lost = this.lostLease(object, time)
    if (lost !== undefined) return lost
    const reservation = this.objects.get.bind(this.objects)
    const effects = differences.length > 0 ? returnRows(sides, reservation) : returnReservations(sides, reservation)
    if (effects.length > 0) {
      const message = `make IPPool ${object.metadata.name} the same as the blocks`
      return { kind: 'write', plan: { outcome: { kind: 'writes', message }, effects } }
    }
    const compared = statement(object, rows, differences)
    if (compared.kind === 'same') return writeStep(phasePatch(object, 'dual-write'))
    return this.again() ? this.next(time) : { kind: 'done', outcome: compared }
  }

  #toNone(time: TaskTime): Step<PhaseOutcome> {
    const sides = this.sides(time)
    if ('step' in sides) return sides.step
    const { object, rows, differences } = sides
    const lacking = differences.filter(({ kind }) => kind === 'surplus' || kind === 'other')
    const compared = statement(object, rows, lacking)
    if (compared.kind === 'same') return writeStep(phasePatch(object, undefined))
    return this.again() ? this.next(time) : { kind: 'done', outcome: compared }
  }

  /** How the task ends if another upgrade holds the Lease: no step would give it up. */
  #otherUpgrade({ nowMs }: TaskTime): Step<PhaseOutcome> | undefined {
    const lease = this.lease()
    if ('step' in lease) return lease.step
    const state = leaseState(lease.object, this.holder, nowMs)
    if (state.kind !== 'held' || !isForever(lease.object)) return undefined
    const { holder } = state
    const message = `the upgrade ${holder} holds the Lease of whereabouts: pass this name as leaseHolder, or delete the Lease`
    return { kind: 'done', outcome: { kind: 'otherWriter', message, holder } }
  }

  /** Gives the Lease up after the last pool. `undefined`: nothing is left to do. */
  #endLease({ nowMs }: TaskTime): Step<PhaseOutcome> | undefined {
    const lease = this.lease()
    if ('step' in lease) return lease.step
    const { object } = lease
    if (object === null || leaseState(object, this.holder, nowMs).kind !== 'ours') return undefined
    const list = this.list(IPPool.info, 'whether another pool is upgraded')
    if (list !== undefined) return list
    const isUsed = [...this.objects.ofKind(IPPool.info)].some((pool) => upgradePhase(pool) !== undefined)
    return isUsed ? undefined : writeStep(giveLeaseUp(object))
  }
}
