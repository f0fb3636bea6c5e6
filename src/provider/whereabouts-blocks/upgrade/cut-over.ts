import type { Step, Task, TaskTime } from '../../../plan/index.js'
import { writeStep } from '../../blocks/tasks/steps.js'
import { upgradePhase } from '../../whereabouts/tasks/objects.js'
import type { PhaseOutcome } from './outcome.js'
import { fencePatch, inPhase, phasePatch, statement, wrongPhase } from './phase.js'
import { PoolTask } from './pool-task.js'
import { checkRequest, type UpgradeRequest } from './request.js'

/**
 * The task that makes the blocks the truth for one pool of whereabouts: from the phase `dual-write`
 * to `blocks`. From then on definitions may have the type `ipam-kit`. Run it by `runTask`, as often
 * as you like.
 *
 * - It changes the phase at a version of the pool at which the blocks name the same Pod, container
 *   and interface for each row of the pool, and the upgrade has held the Lease since the
 *   start of the pool. A writer of rows writes the pool first, so none of them is between the two
 *   sides then.
 * - Rows of blocks that the pool does not have (`surplus`) do not stop it. Their holders keep them.
 * - A pool that is in the phase `blocks` is written all the same: a request of a roll-back that was
 *   given up, and arrives later, is refused then.
 * - It reads both sides up to 20 times. Then it ends with `different`: run `copyRows`, or wait for
 *   the sweeps.
 * - `otherWriter`: run `startUpgrade` again, and then `copyRows`.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function cutOver(request: UpgradeRequest): Task<PhaseOutcome> {
  checkRequest('cutOver', request)
  return new CutOverTask(request)
}

class CutOverTask extends PoolTask<PhaseOutcome> {
  /** The version of the pool as it was found. */
  #found: string | undefined

  next(time: TaskTime): Step<PhaseOutcome> {
    const pool = this.pool()
    if ('step' in pool) return pool.step
    const { resourceVersion } = pool.metadata
    this.#found ??= resourceVersion
    const phase = upgradePhase(pool)
    // a late patch of a roll-back that was given up is for a version up to this one
    if (phase === 'blocks') return resourceVersion === this.#found ? writeStep(fencePatch(pool)) : inPhase(pool)
    if (phase !== 'dual-write') return wrongPhase(pool, 'cutOver')
    const sides = this.sides(time)
    if ('step' in sides) return sides.step
    const { object, rows, differences } = sides
    const lost = this.lostLease(object, time)
    if (lost !== undefined) return lost
    const isComplete = differences.every(({ kind }) => kind === 'surplus')
    const compared = statement(object, rows, differences)
    if (isComplete || compared.kind === 'same') return writeStep(phasePatch(object, 'blocks'))
    return this.again() ? this.next(time) : { kind: 'done', outcome: compared }
  }
}
