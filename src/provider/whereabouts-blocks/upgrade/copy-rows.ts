import type { KubeObject } from '../../../crd/meta/object.js'
import type { Step, Task, TaskTime } from '../../../plan/index.js'
import { upgradePhase } from '../../whereabouts/tasks/objects.js'
import { type Comparison, comparePool } from './compare.js'
import { copyEffects } from './copy-effects.js'
import type { UpgradeOutcome } from './outcome.js'
import { notReady } from './phase.js'
import { PoolTask } from './pool-task.js'
import type { UpgradePool } from './report.js'
import { checkRequest, type UpgradeRequest } from './request.js'

/**
 * The task that writes the rows of one pool of whereabouts to blocks. Run it by `runTask`, at any
 * time and as often as you like: it writes what is missing, and ends with the statement of
 * {@link verifyUpgrade}.
 *
 * - It changes no object of whereabouts, and never removes a row or gives it to another holder. A
 *   row of the same interface gets the id of its present container.
 * - It needs the IPPools of ipam-kit.dev that `planUpgrade` names, accepted into their domains.
 *   They may be disabled.
 * - It writes nothing while an oddity of the pool is an obstacle.
 * - It lists the pools and reservations of the namespace and all Pods, and then the blocks of the
 *   domain. It writes each block for its version, so that other writers lose nothing.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function copyRows(request: UpgradeRequest): Task<UpgradeOutcome> {
  checkRequest('copyRows', request)
  return new CompareTask(request, true)
}

/**
 * The task that states whether one pool of whereabouts and the blocks name the same holder of each
 * address, and lists every address for which they do not. It writes nothing.
 *
 * The statement is about one version of the pool, which was the present one before and after the
 * blocks were read. ADDs and DELs after that are not in it.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function verifyUpgrade(request: UpgradeRequest): Task<UpgradeOutcome> {
  checkRequest('verifyUpgrade', request)
  return new CompareTask(request, false)
}

class CompareTask extends PoolTask<UpgradeOutcome> {
  readonly #writes: boolean

  constructor(request: UpgradeRequest, writes: boolean) {
    super(request)
    this.#writes = writes
  }

  next(time: TaskTime): Step<UpgradeOutcome> {
    const read = this.read(time)
    if ('step' in read) return read.step
    const { plan, object, known } = read
    if (!plan.isReady) return notReady(`IPPool ${plan.name} has obstacles`, plan.oddities)
    const compared = comparePool(plan, known)
    if (typeof compared === 'string') return notReady(compared, plan.oddities)
    const { writable } = compared
    if (this.#writes && writable.length > 0) {
      const outcome = { kind: 'writes', message: `copy ${writable.length} rows of ${plan.name}` }
      return { kind: 'write', plan: { outcome, effects: copyEffects(writable, time.nowMs) } }
    }
    const changed = this.confirm(time)
    if (changed !== undefined) return changed.step
    return { kind: 'done', outcome: statement(plan, compared, object) }
  }
}

function statement({ name, rows }: UpgradePool, { differences }: Comparison, object: KubeObject): UpgradeOutcome {
  const { resourceVersion: version = '' } = object.metadata
  const phase = upgradePhase(object)
  const of = { rows: rows.length, version, ...(phase !== undefined && { phase }) }
  if (differences.length === 0) {
    return { kind: 'same', message: `IPPool ${name} and the blocks have the same ${rows.length} rows`, ...of }
  }
  const message = `IPPool ${name} and the blocks differ in ${differences.length} addresses`
  return { kind: 'different', message, ...of, differences }
}
