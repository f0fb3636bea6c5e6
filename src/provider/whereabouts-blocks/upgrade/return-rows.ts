import * as Address from '../../../cidr/nouns/address.js'
import { asObject } from '../../../crd/meta/json.js'
import type { KubeObject, ObjectRef } from '../../../crd/meta/object.js'
import { type PoolRow, readPodref, rowKey } from '../../../crd/whereabouts/index.js'
import { deleteObject, type Effect, patchObject } from '../../../plan/index.js'
import { reservationRef } from '../../whereabouts/tasks/objects.js'
import { newReservation } from '../../whereabouts/tasks/reservations.js'
import type { RowDifference } from './compare.js'
import type { Sides } from './sides.js'

/** As many reservations are written by one plan. */
const MOST_RESERVATIONS = 100
const WHY = 'the blocks are the truth'

type ReservationOf = (ref: ObjectRef) => KubeObject | null | undefined

/**
 * The writes that make the rows of a pool those of the blocks. The rows are written for the version
 * of the pool. Before that, the reservations of rows that go are deleted, as a DEL does it: a run
 * that is repeated finds them by their rows.
 *
 * @returns nothing: the pool can have none of the rows
 */
export function returnRows({ object, old, differences }: Sides, reservation: ReservationOf): readonly Effect[] {
  const rows: { [key: string]: unknown } = {}
  const deletions: Effect[] = []
  for (const difference of differences) {
    const written = returnedRow(difference, old)
    if (written === undefined) continue
    rows[written.key] = written.row
    const { row, block } = difference
    const reserved = row === undefined || block?.owner === row.podref ? undefined : refOf(row, old, object)
    const stored = reserved && reservation(reserved)
    if (stored && specOf(stored).podref === row?.podref) deletions.push(deleteObject(stored, WHY))
  }
  if (Object.keys(rows).length === 0) return []
  return [...deletions, patchObject(object, { spec: { allocations: rows } } as never, WHY)]
}

/** The row that the pool has to have. `undefined`: it cannot have it. */
function returnedRow(
  { kind, address, row, block }: RowDifference,
  { read }: Sides['old'],
): { readonly key: string; readonly row: object | null } | undefined {
  if (kind === 'missing') return row && { key: row.key, row: null }
  if (block === undefined || (block.kind ?? 'Pod') !== 'Pod' || readPodref(block.owner) === undefined) return undefined
  if (read?.range === undefined || block.container === undefined) return undefined
  const key = row === undefined ? rowKey(read.range, address) : undefined
  if (key !== undefined && !key.ok) return undefined
  const before = Object.keys(row?.stored ?? {}).map((member) => [member, null] as const)
  const { owner: podref, container: id, interface: ifname } = block
  return {
    key: key === undefined ? (row as PoolRow).key : key.value,
    row: { ...Object.fromEntries(before), id, podref, ...(ifname !== undefined && { ifname }) },
  }
}

/** What the reservations of the rows lack, as an ADD writes them. Empty: nothing. */
export function returnReservations({ object, old, rows }: Sides, reservation: ReservationOf): readonly Effect[] {
  if (old.ranges.every(({ isOwn }) => isOwn)) return []
  const effects: Effect[] = []
  for (const row of rows) {
    if (effects.length >= MOST_RESERVATIONS) break
    const ref = refOf(row, old, object)
    if (ref === undefined) continue
    const stored = reservation(ref)
    const { id, podref, ifname } = row
    if (!stored) effects.push(newReservation(ref, { id, podref, ifname: ifname ?? '' }, undefined))
    else if (!isOf(row, stored)) {
      const spec = { podref, containerid: id, ifname: ifname ?? null }
      effects.push(patchObject(stored, { spec }, WHY))
    }
  }
  return effects
}

/** Upstream leaves the container out, and old versions the interface. */
function isOf({ id, podref, ifname }: PoolRow, stored: KubeObject): boolean {
  const spec = specOf(stored)
  if (spec.podref !== podref || (spec.containerid && spec.containerid !== id)) return false
  return !spec.ifname || !ifname || spec.ifname === ifname
}

function specOf(stored: KubeObject): { readonly [member: string]: unknown } {
  return asObject(stored.spec) ?? {}
}

function refOf({ address }: PoolRow, { ranges }: Sides['old'], { metadata }: KubeObject): ObjectRef | undefined {
  const { namespace = '' } = metadata
  return reservationRef(Address.unmap(address), { namespace, networkName: ranges[0]?.network })
}
