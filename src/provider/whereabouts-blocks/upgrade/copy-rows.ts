import type { Step, Task, TaskTime } from '../../../plan/index.js'
import { upgradePhase } from '../../whereabouts/tasks/objects.js'
import { writableRows } from './compare.js'
import { copyEffects } from './copy-effects.js'
import { releaseFormerRows } from './former-rows.js'
import type { UpgradeOutcome } from './outcome.js'
import { notReady, statement, wrongPhase } from './phase.js'
import { PoolTask } from './pool-task.js'
import { checkRequest, type UpgradeRequest } from './request.js'
import { blocksOf } from './sides.js'

/**
 * The task that writes the rows of one pool of whereabouts to blocks, in the phase `dual-write`.
 * Run it by `runTask`, as often as you like: it writes what is missing, and ends with the statement
 * of {@link verifyUpgrade}.
 *
 * - It changes no object of whereabouts, and never gives a row to another holder. A row of the same
 *   interface gets the id of its present container. A row that an earlier container has left is
 *   released if the pool has a row of its interface at another address.
 * - It needs the IPPools of ipam-kit.dev that `planUpgrade` names, accepted into their domains.
 *   They may be disabled.
 * - It writes nothing while an oddity of the pool as a whole is an obstacle. A row with an obstacle
 *   is not written, nor that of a Pod that does not exist or report the address: both sides differ
 *   then.
 * - It lists the blocks of the domain, the pools and reservations of the namespace, and all Pods.
 *   It writes each block for its version, so that other writers lose nothing.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function copyRows(request: UpgradeRequest): Task<UpgradeOutcome> {
  checkRequest('copyRows', request)
  return new CopyTask(request)
}

/**
 * The task that states whether one pool of whereabouts and the blocks name the same holder of each
 * address, and lists every address for which they do not. It writes nothing.
 *
 * A holder is the Pod by namespace and name, its container and its interface. The statement is
 * about one version of the pool, which was the present one before and after the blocks were read.
 * ADDs and DELs after that are not in it.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function verifyUpgrade(request: UpgradeRequest): Task<UpgradeOutcome> {
  checkRequest('verifyUpgrade', request)
  return new VerifyTask(request)
}

class VerifyTask extends PoolTask<UpgradeOutcome> {
  next(time: TaskTime): Step<UpgradeOutcome> {
    const { stored } = this
    if (stored && upgradePhase(stored) === 'finished') return wrongPhase(stored, 'verifyUpgrade')
    const sides = this.sides(time)
    if ('step' in sides) return sides.step
    return { kind: 'done', outcome: statement(sides.object, sides.rows, sides.differences) }
  }
}

class CopyTask extends VerifyTask {
  #stage: 'release' | 'copy' | 'verify' = 'release'
  /** Whether rows were to be released: the pool may have changed since it was read. */
  #hasWritten = false

  override next(time: TaskTime): Step<UpgradeOutcome> {
    const pool = this.pool()
    if ('step' in pool) return pool.step
    if (this.#stage === 'verify') return super.next(time)
    if (upgradePhase(pool) !== 'dual-write') return wrongPhase(pool, 'copyRows')
    const step = this.#stage === 'release' ? this.#release(time) : this.#copy(time)
    if (step !== undefined) return step
    if (this.#stage === 'copy') this.restart()
    this.#stage = this.#stage === 'release' ? 'copy' : 'verify'
    return this.next(time)
  }

  /** Releases rows of earlier containers: their addresses may be those of rows to copy. */
  #release(time: TaskTime): Step<UpgradeOutcome> | undefined {
    if (this.#hasWritten && !this.again()) return undefined
    this.#hasWritten = false
    const sides = this.sides(time)
    // the statement at the end says what is not ready
    if ('step' in sides) return sides.step.kind === 'done' ? undefined : sides.step
    const { object, rows, old, known } = sides
    const effects = releaseFormerRows(rows, blocksOf(old), known, time.nowMs)
    if (effects.length === 0) return undefined
    this.#hasWritten = true
    const message = `release former rows of IPPool ${object.metadata.name}`
    return { kind: 'write', plan: { outcome: { kind: 'writes', message }, effects } }
  }

  #copy(time: TaskTime): Step<UpgradeOutcome> | undefined {
    const read = this.planned(time)
    if ('step' in read) return read.step
    const { plan, known } = read
    const obstacles = plan.oddities.filter(({ isObstacle }) => isObstacle)
    if (obstacles.some(({ key, address }) => key === undefined && address === undefined)) {
      return notReady(`IPPool ${plan.name} has obstacles`, plan.oddities)
    }
    const ofRows = new Set(obstacles.map(({ key }) => key))
    const writable = writableRows({ ...plan, rows: plan.rows.filter(({ key }) => !ofRows.has(key)) }, known)
    if (typeof writable === 'string') return notReady(writable, plan.oddities)
    if (writable.length === 0) return undefined
    const outcome = { kind: 'writes', message: `copy ${writable.length} rows of ${plan.name}` }
    return { kind: 'write', plan: { outcome, effects: copyEffects(writable, time.nowMs) } }
  }
}
