import { Address } from 'ipam-kit/cidr'
import { Pod } from 'ipam-kit/crd/core'
import { type KubeObject, type ObjectRef, refOf } from 'ipam-kit/crd/meta'
import {
  OverlappingRangeIPReservation,
  type PoolRow,
  poolName,
  readPodref,
  readRows,
  reservationReadings,
  IPPool as WhereaboutsPool,
} from 'ipam-kit/crd/whereabouts'
import { type Change, deleteObject, type Effect, type Outcome, patchObject, type Step, type Task } from 'ipam-kit/plan'
import { type RowClaim, readRowClaim } from 'ipam-kit/provider/whereabouts'

/** The row of an address, and what holds it. */
export interface RowRequest {
  readonly pool: ObjectRef
  readonly address: Address
  /** `namespace/name` of its Pod. */
  readonly pod: string
  /** Left out: any. */
  readonly container?: string | undefined
  /** Whether the Pod may exist. */
  readonly isForced: boolean
}

export type RowOutcome = Outcome & {
  /**
   * - `released`: neither the row nor its reservation exists
   * - `held`: its Pod exists, or something else holds it
   * - `other`: another holder has the row
   */
  readonly kind: 'released' | 'held' | 'other'
}

/**
 * Releases a row of a pool of whereabouts, with its reservation. It reads the Pod after the pool,
 * and writes for the version of the pool: a row that a new Pod of the name gets is not released.
 */
export class ReleaseRow implements Task<RowOutcome> {
  readonly #request: RowRequest
  #pool: KubeObject | null | undefined
  #pod: KubeObject | null | undefined
  readonly #reservations = new Map<string, KubeObject>()
  #isListed = false
  #conflicts = 0
  #container: string | undefined
  /** Whether this task has removed the row. */
  #isRemoved = false

  constructor(request: RowRequest) {
    this.#request = request
    this.#container = request.container
  }

  observe(change: Change): void {
    const object = change.kind === 'present' ? change.object : null
    const ref = change.kind === 'present' ? refOf(change.object) : change.ref
    if (ref.kind === Pod.info.kind) this.#pod = object
    else if (ref.kind === WhereaboutsPool.info.kind) {
      this.#pool = object
      // the Pod may have been created since
      this.#pod = undefined
    } else if (object === null) this.#reservations.delete(ref.name)
    else this.#reservations.set(ref.name, object)
  }

  listed(): void {
    this.#isListed = true
  }

  next({ conflicts }: { readonly conflicts: number }): Step<RowOutcome> {
    const { pool, address, pod, isForced } = this.#request
    if (conflicts > this.#conflicts) {
      this.#conflicts = conflicts
      this.#pod = undefined
    }
    if (this.#pool === undefined) return { kind: 'get', refs: [pool], why: 'the row' }
    if (!this.#isListed) return { kind: 'list', query: reservationsIn(pool), why: 'the reservation of the row' }
    const text = Address.format(address)
    const row = this.#row()
    const reservations = this.#ownReservations()
    if (row === undefined && reservations.length === 0) {
      const message = this.#isRemoved
        ? `${pod} does not have ${text} any more`
        : `IPPool ${pool.name} has no row of ${text}`
      return done(this.#isRemoved ? 'released' : 'other', message)
    }
    if (row !== undefined) {
      const problem = this.#problemOf(row)
      if (problem !== undefined) return problem
    }
    const ref = podRef(pod)
    if (!isForced && ref !== undefined) {
      if (this.#pod === undefined) return { kind: 'get', refs: [ref], why: `whether ${pod} exists` }
      if (this.#pod !== null) return done('held', `the Pod ${pod} exists: ${text} is not released`)
    }
    const proof: readonly Effect[] =
      isForced || ref === undefined ? [] : [{ kind: 'absent', ref, why: `${pod} does not exist` }]
    this.#isRemoved = true
    const effects = [...proof, ...this.#rowEffects(row), ...reservations.map((one) => deleteObject(one, `of ${pod}`))]
    return { kind: 'write', plan: { outcome: { kind: 'writes', message: `release ${text} of ${pod}` }, effects } }
  }

  #row(): PoolRow | undefined {
    if (!this.#pool) return undefined
    const { rows } = readRows(WhereaboutsPool.parse(this.#pool))
    const { address, pod } = this.#request
    const ofAddress = rows.filter((row) => Address.equals(row.address, address))
    return ofAddress.find(({ podref }) => podref === pod) ?? ofAddress[0]
  }

  /** Why a row is not released. The container of the first reading is the holder. */
  #problemOf(row: PoolRow): Step<RowOutcome> | undefined {
    const { pod, isForced, address } = this.#request
    const text = Address.format(address)
    this.#container ??= row.id
    if (row.podref !== pod || row.id !== this.#container) {
      return done('other', `${text} is held by ${row.podref}, container ${row.id}`)
    }
    const claim = readRowClaim(row)
    if (claim === undefined || isForced) return undefined
    return done('held', `${claimText(claim)} holds ${text}: it is not released`)
  }

  #rowEffects(row: PoolRow | undefined): readonly Effect[] {
    if (row === undefined || !this.#pool) return []
    return [patchObject(this.#pool, { spec: { allocations: { [row.key]: null } } }, `the row of ${row.podref}`)]
  }

  /** Those of the address and the Pod, in the network of the pool. */
  #ownReservations(): readonly KubeObject[] {
    const { address, pod, pool } = this.#request
    const range = this.#pool ? WhereaboutsPool.parse(this.#pool).spec.range : ''
    return [...this.#reservations.values()].filter((object) => {
      const read = OverlappingRangeIPReservation.safeParse(object)
      if (!read.ok || read.value.spec.podref !== pod) return false
      const { containerid } = read.value.spec
      if (containerid && containerid !== this.#container) return false
      return reservationReadings(object.metadata.name).some((reading) => {
        const named = poolName({ range, networkName: reading.networkName })
        return Address.equals(reading.address, address) && named.ok && named.value === pool.name
      })
    })
  }
}

function reservationsIn({ namespace }: ObjectRef) {
  const { apiVersion, kind } = OverlappingRangeIPReservation.info
  return { apiVersion, kind, namespace, fields: {} }
}

export function podRef(pod: string): ObjectRef | undefined {
  const name = readPodref(pod)
  return name && { apiVersion: Pod.info.apiVersion, kind: Pod.info.kind, ...name }
}

function claimText({ kind = 'IPAMClaim', namespace, name, uid }: RowClaim): string {
  return `${kind || 'an owner'} ${name === '' ? uid : `${namespace}/${name}`}`
}

function done(kind: RowOutcome['kind'], message: string): Step<RowOutcome> {
  return { kind: 'done', outcome: { kind, message } }
}
