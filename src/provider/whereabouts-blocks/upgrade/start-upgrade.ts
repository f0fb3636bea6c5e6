import type { Step, Task, TaskTime } from '../../../plan/index.js'
import type { KnownBlocks } from '../../blocks/tasks/known-blocks.js'
import { writeStep } from '../../blocks/tasks/steps.js'
import { upgradePhase } from '../../whereabouts/tasks/objects.js'
import { rangePoolsOf } from '../config/range-pool.js'
import { placeProblem } from '../tasks/places.js'
import { writableRows } from './compare.js'
import { leaseState, markOf, renewLease, takeLease } from './lease.js'
import type { PhaseOutcome } from './outcome.js'
import { inPhase, leaseMarkOf, notReady, phasePatch, statement, wrongPhase } from './phase.js'
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
 *   accepted into their domains. They give no address that one of their networks does not give.
 * - From then on writers of the type `whereabouts` need the commands for pools in an upgrade: `add`
 *   gives no address.
 * - The pool remembers which taking of the Lease it was. Run again in a later phase, the task takes
 *   a lost Lease again, and the pool remembers the new one. In the phase `blocks` it does so if the
 *   blocks have each of its rows (else `different`): another writer may have added one.
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
  /** The version of the Lease as it was found. Empty: there was none. */
  #foundLease: string | undefined

  next(time: TaskTime): Step<PhaseOutcome> {
    const pool = this.pool()
    if ('step' in pool) return pool.step
    const phase = upgradePhase(pool)
    if (phase === 'unknown' || phase === 'finished') return wrongPhase(pool, 'startUpgrade')
    const unready = phase === undefined ? this.#unready(time) : undefined
    if (unready !== undefined) return unready
    const lease = this.lease()
    if ('step' in lease) return lease.step
    const { object } = lease
    const state = leaseState(object, this.holder, time.nowMs)
    if (state.kind === 'held') {
      const { holder } = state
      const message = `${holder} holds the Lease of whereabouts`
      return { kind: 'done', outcome: { kind: 'leaseHeld', message, holder } }
    }
    const version = object?.metadata.resourceVersion ?? ''
    this.#foundLease ??= version
    if (state.kind === 'free') return writeStep(takeLease(object, this.namespace, this.holder, time.nowMs))
    // a late patch that gives the Lease up is for this version
    const renewal = version === this.#foundLease ? renewLease(object, time.nowMs) : undefined
    if (renewal !== undefined) return writeStep(renewal)
    const mark = markOf(object)
    // the Lease is read once more after the write: a roll-back of another pool may give it up
    if (phase !== undefined && leaseMarkOf(pool) === mark) return inPhase(pool)
    const different = phase === 'blocks' ? this.#different(time) : undefined
    return different ?? writeStep(phasePatch(pool, phase ?? 'dual-write', mark))
  }

  /** What comes before the first phase. `undefined`: the pool is ready for it. */
  #unready(time: TaskTime): Step<PhaseOutcome> | undefined {
    const read = this.planned(time)
    if ('step' in read) return read.step
    const { plan, known } = read
    if (!plan.isReady) return notReady(`IPPool ${plan.name} has obstacles`, plan.oddities)
    const rows = writableRows(plan, known)
    const problem = typeof rows === 'string' ? rows : this.#targetProblem(plan.targets, known)
    return problem === undefined ? undefined : notReady(problem, plan.oddities)
  }

  /** Why the ADDs of a network would be refused when its type is `ipam-kit`. */
  #targetProblem(targets: readonly string[], known: KnownBlocks): string | undefined {
    const ranges = this.request.networks.flatMap(rangePoolsOf).filter(({ name }) => targets.includes(name))
    return ranges.map((range) => placeProblem({ pool: range.name, range }, known)).find((one) => one !== undefined)
  }

  /** What comes before the pool remembers another taking. `undefined`: the blocks have its rows. */
  #different(time: TaskTime): Step<PhaseOutcome> | undefined {
    const sides = this.sides(time)
    if ('step' in sides) return sides.step
    const { object, rows, differences } = sides
    const lacking = differences.filter(({ kind }) => kind !== 'surplus')
    const outcome = statement(object, rows, lacking)
    if (outcome.kind === 'same') return undefined
    return this.again() ? this.next(time) : { kind: 'done', outcome }
  }
}
