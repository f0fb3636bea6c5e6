import * as Address from '../../../cidr/nouns/address.js'
import type { KubeObject } from '../../../crd/meta/object.js'
import {
  IPPool,
  OverlappingRangeIPReservation,
  poolNamePrefix,
  readReservationName,
  readRows,
} from '../../../crd/whereabouts/index.js'
import { deleteObject, type Effect, type Step, type Task, type TaskTime } from '../../../plan/index.js'
import { writeStep } from '../../blocks/tasks/steps.js'
import { upgradePhase } from '../../whereabouts/tasks/objects.js'
import type { PhaseOutcome } from './outcome.js'
import { wrongPhase } from './phase.js'
import { checkRequest, type UpgradeRequest } from './request.js'
import { SidesTask } from './sides-task.js'

/** As many reservations are deleted by one plan. */
const MOST_DELETIONS = 100
const WHY = 'the blocks have the rows of the pool'

/**
 * The task that ends the upgrade of one pool of whereabouts in the phase `blocks`: it deletes the
 * pool and the reservations of its rows. It cannot be undone. Run it by `runTask`, as often as you
 * like: it ends with `phase`, without a phase, also for a pool that does not exist.
 *
 * - Before that, give all definitions of the range the type `ipam-kit`, and wait until each Pod that
 *   got its address by the type `whereabouts` has ended: an `add` creates a pool that does not exist.
 * - It deletes the pool at the version whose reservations it has deleted.
 * - If no pool of the namespace has a phase then, the Lease of upstream is given up.
 *
 * It reads no networks: an empty list is enough.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function finishUpgrade(request: UpgradeRequest): Task<PhaseOutcome> {
  checkRequest('finishUpgrade', request)
  return new FinishTask(request)
}

class FinishTask extends SidesTask<PhaseOutcome> {
  /** The version of the pool when the reservations were listed. */
  #listedFor: string | undefined

  next(time: TaskTime): Step<PhaseOutcome> {
    if (this.stored === null) return this.endLease(time) ?? this.#done()
    const pool = this.pool()
    if ('step' in pool) return pool.step
    if (upgradePhase(pool) !== 'blocks') return wrongPhase(pool, 'finishUpgrade')
    const lost = this.lostLease(time)
    if (lost !== undefined) return lost
    const { resourceVersion } = pool.metadata
    if (this.#listedFor !== resourceVersion && this.#listedFor !== undefined) this.again()
    this.#listedFor = resourceVersion
    const list = this.list(OverlappingRangeIPReservation.info, 'the reservations of the rows')
    if (list !== undefined) return list
    const effects = this.#reservations(pool).slice(0, MOST_DELETIONS)
    if (effects.length === 0) return writeStep(deleteObject(pool, WHY))
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

  #done(): Step<PhaseOutcome> {
    const message = `IPPool ${this.request.pool} of whereabouts does not exist`
    return { kind: 'done', outcome: { kind: 'phase', message, phase: undefined, rows: 0, version: '' } }
  }
}
