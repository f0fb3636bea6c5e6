import * as Address from '../../../cidr/nouns/address.js'
import { formatRef, type ObjectRef } from '../../../crd/meta/object.js'
import { deleteObject, type Effect } from '../../../plan/index.js'
import type { RowOwner } from '../choose/owner.js'
import type { Assignment } from './assign.js'
import type { TaskObjects } from './objects.js'
import { poolEffect } from './row-effects.js'

interface AddedRow {
  readonly pool: ObjectRef
  readonly key: string
  readonly address: Address.Address
}

/** The rows that one ADD has written, or may have written: a roll-back removes them. */
export class AddedRows {
  readonly #rows = new Map<string, AddedRow>()

  has(pool: ObjectRef, key: string): boolean {
    return this.#rows.has(`${formatRef(pool)} ${key}`)
  }

  /** Called before the row is written. */
  note(pool: ObjectRef, key: string, address: Address.Address): void {
    this.#rows.set(`${formatRef(pool)} ${key}`, { pool, key, address })
  }

  /** The removal of rows, one write for each pool. */
  removals(rows: readonly Pick<Assignment, 'pool' | 'key'>[], objects: TaskObjects, why: string): readonly Effect[] {
    const byPool = new Map<string, Pick<Assignment, 'pool' | 'key'>[]>()
    for (const row of rows) {
      const key = formatRef(row.pool)
      byPool.set(key, [...(byPool.get(key) ?? []), row])
    }
    return [...byPool.values()].map((ofPool) => {
      const changes = Object.fromEntries(ofPool.map(({ key }) => [key, null]))
      return poolEffect(ofPool[0]!.pool, changes, objects, { range: '', why })
    })
  }

  /** The removal of all rows of this ADD that are there, and of their reservations. */
  rollBack(
    owner: RowOwner,
    objects: TaskObjects,
    refOf: (address: Address.Address) => ObjectRef | undefined,
  ): readonly Effect[] {
    const present = [...this.#rows.values()].filter(({ pool, key }) => {
      const reading = objects.pool(pool)
      const row = reading.kind === 'pool' ? reading.rows.find((one) => one.key === key) : undefined
      return row?.id === owner.id && row.podref === owner.podref && row.ifname === owner.ifname
    })
    const reservations = [...this.#rows.values()].flatMap(({ address }) => {
      const ref = refOf(address)
      const reservation = ref === undefined ? undefined : objects.reservation(ref)
      if (reservation?.kind !== 'present') return []
      const { podref, containerid, ifname } = reservation.spec
      // one without the id of the container was there before
      if (podref !== owner.podref || containerid !== owner.id || ifname !== owner.ifname) return []
      return [deleteObject(reservation.object, `reservation of ${Address.format(address)}`)]
    })
    // a DEL finds a reservation by its row
    return [...reservations, ...this.removals(present, objects, 'roll-back')]
  }
}
