import * as Address from '../../../cidr/nouns/address.js'
import { asObject } from '../../../crd/meta/json.js'
import type { KubeObject } from '../../../crd/meta/object.js'
import {
  IPPool,
  OverlappingRangeIPReservation,
  poolNamePrefix,
  readReservationName,
  readRows,
} from '../../../crd/whereabouts/index.js'
import { deleteObject, type Effect, patchObject, type Step, type Task, type TaskTime } from '../../../plan/index.js'
import { writeStep } from '../../blocks/tasks/steps.js'
import { UPGRADE_ANNOTATION, upgradePhase } from '../../whereabouts/tasks/objects.js'
import type { PhaseOutcome } from './outcome.js'
import { inPhase, wrongPhase } from './phase.js'
import { PoolTask } from './pool-task.js'
import { checkRequest, type UpgradeRequest } from './request.js'

/** As many reservations are deleted by one plan. */
const MOST_DELETIONS = 100
const WHY = 'the blocks have the rows of the pool'

/**
 * The task that ends the upgrade of one pool of whereabouts in the phase `blocks`: it removes the
 * rows of the pool and their reservations, and gives the empty pool the phase `finished`. It cannot
 * be undone. Run it by `runTask`, as often as you like.
 *
 * - Before that, give all definitions of the range the type `ipam-kit`. A definition that is left
 *   over gets no address: `add` and `dualAdd` end with `poolNotReady`. `dualDel`, `dualCheck` and
 *   `dualGc` work on the blocks.
 * - It removes the rows at the version of the pool whose reservations it has deleted.
 * - Delete the empty pool when no configuration of the type `whereabouts` names its range, and each
 *   Pod that got its address by that type has ended. An `add` creates a pool that does not exist,
 *   and would give addresses that the blocks have given.
 * - The Lease of upstream stays held: its plugin does not read the phase. Delete the Lease when the
 *   plugin of upstream may write again.
 * - A pool that does not exist is the outcome `noPool`.
 *
 * It reads no networks: an empty list is enough.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function finishUpgrade(request: UpgradeRequest): Task<PhaseOutcome> {
  checkRequest('finishUpgrade', request)
  return new FinishTask(request)
}

class FinishTask extends PoolTask<PhaseOutcome> {
  /** The version of the pool when the reservations were listed. */
  #listedFor: string | undefined

  next(time: TaskTime): Step<PhaseOutcome> {
    if (this.stored === null) return this.#noPool()
    const pool = this.pool()
    if ('step' in pool) return pool.step
    const phase = upgradePhase(pool)
    if (phase === 'finished') return inPhase(pool)
    if (phase !== 'blocks') return wrongPhase(pool, 'finishUpgrade')
    const lost = this.lostLease(pool, time)
    if (lost !== undefined) return lost
    const { resourceVersion } = pool.metadata
    if (this.#listedFor !== resourceVersion && this.#listedFor !== undefined) this.restart()
    this.#listedFor = resourceVersion
    const list = this.list(OverlappingRangeIPReservation.info, 'the reservations of the rows')
    if (list !== undefined) return list
    const effects = this.#reservations(pool).slice(0, MOST_DELETIONS)
    if (effects.length === 0) return writeStep(emptied(pool))
    return { kind: 'write', plan: { outcome: { kind: 'writes', message: 'delete reservations' }, effects } }
  }

  /** The deletions of the reservations that name an address and the Pod of a row. */
  #reservations(pool: KubeObject): readonly Effect[] {
    const read = IPPool.safeParse(pool)
    if (!read.ok) return []
    const { rows } = readRows(read.value)
    const network = poolNamePrefix(pool.metadata.name, read.value.spec.range) ?? ''
    const holders = new Set(rows.map(({ address, podref }) => `${Address.key(Address.unmap(address))} ${podref}`))
    return [...this.objects.ofKind(OverlappingRangeIPReservation.info)].flatMap((object) => {
      const name = readReservationName(object.metadata.name, network)
      const reservation = OverlappingRangeIPReservation.safeParse(object)
      if (name === undefined || !reservation.ok) return []
      const isOfRow = holders.has(`${Address.key(name.address)} ${reservation.value.spec.podref}`)
      return isOfRow ? [deleteObject(object, WHY)] : []
    })
  }

  #noPool(): Step<PhaseOutcome> {
    const message = `there is no IPPool ${this.request.pool} of whereabouts in ${this.namespace}`
    return { kind: 'done', outcome: { kind: 'noPool', message } }
  }
}

/** Removes all rows, also those that cannot be read. */
function emptied(pool: KubeObject): ReturnType<typeof patchObject> {
  const keys = Object.keys(asObject(asObject(pool.spec)?.allocations) ?? {})
  const allocations = Object.fromEntries(keys.map((key) => [key, null]))
  const annotations = { [UPGRADE_ANNOTATION]: 'finished' }
  return patchObject(pool, { metadata: { annotations }, spec: { allocations } }, WHY)
}
