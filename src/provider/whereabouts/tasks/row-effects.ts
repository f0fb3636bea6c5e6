import { formatRef, type ObjectRef } from '../../../crd/meta/object.js'
import { IPPool, type PoolRow } from '../../../crd/whereabouts/index.js'
import { type Effect, patchObject } from '../../../plan/index.js'
import type { RowOwner } from '../choose/owner.js'
import type { Assignment } from './assignment.js'
import { type ClaimReading, idleId, MARKS, marksOf, readRowClaim } from './holder.js'
import type { TaskObjects } from './objects.js'

/** Members of a row; `null` removes it. */
export type RowChange = { readonly [member: string]: string | null } | null

type RowChanges = { readonly [key: string]: RowChange }

/**
 * The writes of the rows that are not there or name another container, one for each pool. Each
 * names its own rows, so that all others stay as they are.
 */
export function rowEffects(
  assignments: readonly Assignment[],
  owner: RowOwner,
  objects: TaskObjects,
  claim: ClaimReading | undefined,
): readonly Effect[] {
  const byPool = new Map<string, Assignment[]>()
  for (const one of assignments) {
    if (one.row !== undefined && isOf(one.row, owner, claim)) continue
    const key = formatRef(one.pool)
    byPool.set(key, [...(byPool.get(key) ?? []), one])
  }
  return [...byPool.values()].map((ofPool) => {
    const rows = Object.fromEntries(ofPool.map(({ key }) => [key, rowOf(owner, claim)]))
    const { pool, place } = ofPool[0] as Assignment
    return poolEffect(pool, rows, objects, { range: place.poolRange, why: `row of ${owner.podref}` })
  })
}

/** The write of some rows of a pool. A pool that does not exist is created with them. */
export function poolEffect(
  ref: ObjectRef,
  rows: RowChanges,
  objects: TaskObjects,
  { range, why }: { readonly range: string; readonly why: string },
): Effect {
  const object = objects.get(ref)
  if (object) return patchObject(object, { spec: { allocations: rows } }, why)
  const { apiVersion, kind } = IPPool.info
  const metadata = { name: ref.name, namespace: ref.namespace }
  return { kind: 'create', object: { apiVersion, kind, metadata, spec: { range, allocations: rows } }, why }
}

function rowOf(
  { id, podref, ifname }: RowOwner,
  claim: ClaimReading | undefined,
): { readonly [member: string]: string } {
  return { id, podref, ...(ifname && { ifname }), ...(claim && marksOf(claim)) }
}

/**
 * The row of a claim that no Pod uses. Upstream never frees a row without a Pod, and an API server
 * that drops the marks keeps `id`.
 */
export function idleRow(claim: ClaimReading): { readonly [member: string]: string | null } {
  return { id: idleId(claim), podref: '', ifname: null, ...marksOf(claim) }
}

/** What makes the row of another container again what it was before an ADD took it over. */
export function returnedRow({ id, podref, ifname, stored }: PoolRow): { readonly [member: string]: string | null } {
  const marks = MARKS.map((member) => {
    const value = stored[member]
    return [member, typeof value === 'string' ? value : null] as const
  })
  return { id, podref, ifname: ifname ?? null, ...Object.fromEntries(marks) }
}

/** Whether a row says what the owner would write. An API server may have dropped the marks. */
function isOf(row: PoolRow, { id, podref, ifname }: RowOwner, claim: ClaimReading | undefined): boolean {
  if (row.id !== id || row.podref !== podref || (row.ifname || undefined) !== (ifname || undefined)) return false
  const mark = readRowClaim(row)
  return claim === undefined || mark === undefined || mark.uid === claim.uid
}
