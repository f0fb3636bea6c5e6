import * as Address from '../../../cidr/nouns/address.js'
import { formatRef, type ObjectRef } from '../../../crd/meta/object.js'
import type { PoolRow } from '../../../crd/whereabouts/index.js'
import { deleteObject, type Effect, patchObject } from '../../../plan/index.js'
import type { RowOwner } from '../choose/owner.js'
import type { Assignment } from './assignment.js'
import type { ClaimReading } from './holder.js'
import type { TaskObjects } from './objects.js'
import { isCompleted, podRefOf } from './pods.js'
import { idleRow, poolEffect, type RowChange, returnedRow } from './row-effects.js'

interface AddedRow {
  readonly pool: ObjectRef
  readonly key: string
  readonly address: Address.Address
  /** The row of another container, which the ADD took over, and its claim. Left out: none. */
  readonly before?: { readonly row: PoolRow; readonly claim: ClaimReading } | undefined
}

/**
 * The rows that one ADD has written, or may have written. A roll-back removes them, and gives back
 * those that it took over.
 */
export class AddedRows {
  readonly #rows = new Map<string, AddedRow>()

  /** Whether the ADD has written a row where there was none. */
  has(pool: ObjectRef, key: string): boolean {
    const row = this.#rows.get(`${formatRef(pool)} ${key}`)
    return row !== undefined && row.before === undefined
  }

  /**
   * Called before the row is written. Without a claim the row of an earlier container of the Pod is
   * left for the DEL: that of the earlier container may have ended. A row of another Pod has no
   * meaning then, and is not given back.
   */
  note(
    { pool, key, address, row }: Pick<Assignment, 'pool' | 'key' | 'address' | 'row'>,
    owner: RowOwner,
    claim: ClaimReading | undefined,
  ): void {
    if (row?.podref === owner.podref && (claim === undefined || row.id === owner.id)) return
    const before = row && claim && { row, claim }
    this.#rows.set(`${formatRef(pool)} ${key}`, { pool, key, address, before })
  }

  /** The removal of rows, one write for each pool. */
  removals(rows: readonly Pick<Assignment, 'pool' | 'key'>[], objects: TaskObjects, why: string): readonly Effect[] {
    return poolEffects(
      rows.map(({ pool, key }) => ({ pool, key, change: null })),
      objects,
      why,
    )
  }

  /**
   * The removal of all rows of this ADD that are there, and of their reservations. A row that it
   * took over from the source of a migration is again what it was, and so is its reservation. Every
   * other row that it took over has no Pod then: the DEL of the container before may have ended.
   * The reservation of a row without a Pod stays.
   */
  rollBack(
    owner: RowOwner,
    objects: TaskObjects,
    refOf: (address: Address.Address) => ObjectRef | undefined,
  ): readonly Effect[] {
    const isSource = ({ podref }: PoolRow) => {
      const ref = podref === owner.podref ? undefined : podRefOf(podref)
      const pod = ref && objects.get(ref)
      return !!pod && !isCompleted(pod)
    }
    const present = [...this.#rows.values()].filter(({ pool, key }) => {
      const reading = objects.pool(pool)
      const row = reading.kind === 'pool' ? reading.rows.find((one) => one.key === key) : undefined
      return row?.id === owner.id && row.podref === owner.podref && row.ifname === owner.ifname
    })
    const reservations = [...this.#rows.values()].flatMap(({ address, before }): readonly Effect[] => {
      const ref = refOf(address)
      const reservation = ref === undefined ? undefined : objects.reservation(ref)
      if (reservation?.kind !== 'present') return []
      const { podref, containerid, ifname } = reservation.spec
      // one without the id of the container was there before
      if (podref !== owner.podref || containerid !== owner.id || ifname !== owner.ifname) return []
      if (before !== undefined) {
        const { row } = before
        if (!isSource(row)) return []
        const spec = { podref: row.podref, containerid: row.id, ifname: row.ifname ?? null }
        return [patchObject(reservation.object, { spec }, 'roll-back')]
      }
      return [deleteObject(reservation.object, `reservation of ${Address.format(address)}`)]
    })
    // a DEL finds a reservation by its row
    const rows = present.map(({ pool, key, before }) => {
      if (before === undefined) return { pool, key, change: null }
      return { pool, key, change: isSource(before.row) ? returnedRow(before.row) : idleRow(before.claim) }
    })
    return [...reservations, ...poolEffects(rows, objects, 'roll-back')]
  }
}

/** The changes of rows, one write for each pool. */
function poolEffects(
  rows: readonly { readonly pool: ObjectRef; readonly key: string; readonly change: RowChange }[],
  objects: TaskObjects,
  why: string,
): readonly Effect[] {
  const byPool = new Map<string, { pool: ObjectRef; changes: Record<string, RowChange> }>()
  for (const { pool, key, change } of rows) {
    const ofPool = byPool.get(formatRef(pool)) ?? { pool, changes: {} }
    ofPool.changes[key] = change
    byPool.set(formatRef(pool), ofPool)
  }
  return [...byPool.values()].map(({ pool, changes }) => poolEffect(pool, changes, objects, { range: '', why }))
}
