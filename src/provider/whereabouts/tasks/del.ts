import * as Address from '../../../cidr/nouns/address.js'
import { formatRef, type ObjectRef, refOf } from '../../../crd/meta/object.js'
import { IPPool, type PoolRow } from '../../../crd/whereabouts/index.js'
import { check } from '../../../errors/check.js'
import {
  type Change,
  deleteObject,
  type Effect,
  guard,
  patchObject,
  type Step,
  type Task,
} from '../../../plan/index.js'
import { rowsToRelease } from '../choose/owner.js'
import { writes } from './add.js'
import { type ClaimReading, claimRef, ownerOfRow, ownerReading, readClaimObject, readRowClaim } from './holder.js'
import { refTo, reservationRef, TaskObjects } from './objects.js'
import type { DelOutcome } from './outcome.js'
import { placesOf } from './places.js'
import { DEFAULT_NAMESPACE, DEL_REQUEST, type InterfaceRequest } from './request.js'
import { newReservation } from './reservations.js'
import { idleRow, poolEffect } from './row-effects.js'

/**
 * The task of a CNI DEL: releases all rows of a container and its interface, in the pools of all
 * ranges. Run it by `runTask`.
 *
 * - It succeeds if there is nothing to release, and creates no pool. A store that cannot be reached
 *   is a failure of `runTask`: the runtime has to call DEL again, or the address would be lost.
 * - It goes by container and interface, and never by the name of the Pod: the next Pod of that name
 *   may run already.
 * - A reservation is deleted only if it names the Pod of the row, and no other interface or
 *   container. If another row of the Pod has the same address, the reservation becomes its own. If
 *   a later container of the Pod takes the row over meanwhile, the reservation is created again.
 * - The row of a claim that exists is kept, without its Pod. If an ADD ended before it had created
 *   the reservation, it is created then: no other range gives the address.
 * - Reservations are deleted before the rows: a DEL that is called again finds them by their rows.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function del(request: InterfaceRequest): Task<DelOutcome> {
  check<unknown>('del', 'request', request, DEL_REQUEST)
  return new DelTask(request)
}

/** A row to release, and its pool. */
interface Held {
  readonly pool: ObjectRef
  readonly row: PoolRow
}

function rowId(pool: ObjectRef, { key }: PoolRow): string {
  return `${formatRef(pool)} ${key}`
}

/** Whether the claim has another address of the family: two ADDs at a time have left two rows. */
function isSurplus({ address }: PoolRow, { addresses }: ClaimReading): boolean {
  const others = addresses.filter(({ family }) => family === address.family)
  return others.length > 0 && !others.some((other) => Address.equals(other, address))
}

class DelTask implements Task<DelOutcome> {
  readonly #request: InterfaceRequest
  readonly #namespace: string
  readonly #objects = new TaskObjects()
  /** The rows that were released or kept, by pool and key. */
  readonly #done = new Map<string, { readonly address: Address.Address; readonly isKept: boolean }>()
  /** The reservations of rows that were released, which may still be there. */
  readonly #left = new Map<string, Held>()
  /**
   * The uids of the reservations of the interface, by name. A later one is of a later interface.
   */
  readonly #reserved = new Map<string, string | undefined>()
  #isListed = false

  constructor(request: InterfaceRequest) {
    this.#request = request
    this.#namespace = request.namespace || DEFAULT_NAMESPACE
  }

  observe(change: Change): void {
    this.#objects.observe(change)
  }

  listed(): void {
    this.#isListed = true
  }

  next(): Step<DelOutcome> {
    const found = placesOf(this.#request, this.#objects)
    if (found.kind === 'step') return found.step
    const pools = [...new Map(found.places.map(({ pool }) => [formatRef(pool), pool])).values()]
    const read = this.#objects.read(pools, 'the rows of the container')
    if (read !== undefined) return read
    const held = pools.flatMap((pool) => this.#heldIn(pool))
    if (held.length > 0 || this.#left.size > 0) return this.#release(held)
    return { kind: 'done', outcome: this.#outcome(pools) }
  }

  #heldIn(pool: ObjectRef): readonly Held[] {
    const reading = this.#objects.pool(pool)
    if (reading.kind !== 'pool') return []
    const { containerId: id, ifname } = this.#request
    return rowsToRelease(reading.rows, { id, ifname }).map((row) => ({ pool, row }))
  }

  #release(held: readonly Held[]): Step<DelOutcome> {
    for (const { pool, row } of held) this.#left.delete(rowId(pool, row))
    const all = [...held, ...this.#left.values()]
    const claims = this.#readClaims(held)
    if (claims !== undefined) return claims
    const released = all.filter(({ row }) => this.#claimOf(row) === undefined)
    const read = this.#objects.read(
      all.flatMap(({ row }) => this.#reservationRef(row) ?? []),
      'the reservations of the addresses',
    )
    if (read !== undefined) return read
    if (!this.#isListed && released.some(({ row }) => this.#isOfAnyContainer(row))) {
      const { apiVersion, kind } = IPPool.info
      const query = { apiVersion, kind, namespace: this.#namespace, fields: {} }
      return { kind: 'list', query, why: 'whether another interface of the Pod has the address' }
    }
    const effects = [
      ...released.flatMap(({ row }) => this.#reservationEffects(row)),
      ...held.flatMap(({ row }) => this.#keptReservation(row)),
      ...[...this.#left.values()].flatMap((one) => this.#passedReservation(one)),
      ...this.#rowEffects(held),
    ]
    this.#note(held)
    if (effects.length === 0) {
      this.#left.clear()
      return this.next()
    }
    return writes(effects, `release ${all.map(({ row }) => Address.format(row.address)).join(', ')}`)
  }

  #note(held: readonly Held[]): void {
    for (const one of held) {
      const { pool, row } = one
      const id = rowId(pool, row)
      const isKept = this.#claimOf(row) !== undefined
      this.#done.set(id, { address: row.address, isKept })
      if (!isKept) this.#left.set(id, one)
    }
  }

  /** Reads the claims that the rows or the configuration name. */
  #readClaims(held: readonly Held[]): Extract<Step, { kind: 'get' }> | undefined {
    const { claim } = this.#request.config
    if (claim?.owner !== undefined) return undefined
    const refs = held.flatMap(({ row }) => this.#claimRef(row) ?? [])
    return this.#objects.read(refs, 'whether the claim of the row exists')
  }

  /** The claim that a row names; else that of the configuration, whose mark may be dropped. */
  #claimRef(row: PoolRow): ObjectRef | undefined {
    const mark = readRowClaim(row)
    const { config, podNamespace } = this.#request
    if (mark?.kind !== undefined) return undefined
    if (mark !== undefined && mark.name !== '') return claimRef({ name: mark.name }, mark.namespace)
    return config.claim && claimRef(config.claim, podNamespace)
  }

  /** The claim that keeps a row; `undefined`: none, or it does not exist any more. */
  #claimOf(row: PoolRow): ClaimReading | undefined {
    const { config, podNamespace } = this.#request
    const owner = config.claim && ownerReading(config.claim, podNamespace)
    if (owner !== undefined) return owner
    const mark = readRowClaim(row)
    if (mark?.kind !== undefined) return ownerOfRow(mark)
    const ref = this.#claimRef(row)
    const object = ref && this.#objects.get(ref)
    if (!object || ref === undefined) return undefined
    const claim = readClaimObject(ref, object)
    // one that cannot be read keeps its rows
    const reading =
      typeof claim === 'string'
        ? { ref, uid: object.metadata.uid ?? '', isDeleting: false, addresses: [], ownerPod: undefined }
        : claim
    const uid = mark?.uid
    return (uid && uid !== reading.uid) || isSurplus(row, reading) ? undefined : reading
  }

  #rowEffects(held: readonly Held[]): readonly Effect[] {
    const byPool = new Map<string, Held[]>()
    for (const one of held) byPool.set(formatRef(one.pool), [...(byPool.get(formatRef(one.pool)) ?? []), one])
    return [...byPool.values()].map((rows) => {
      const changes = Object.fromEntries(
        rows.map(({ row }) => {
          const claim = this.#claimOf(row)
          return [row.key, claim === undefined ? null : idleRow(claim)]
        }),
      )
      const why = `rows of container ${this.#request.containerId}`
      return poolEffect(rows[0]!.pool, changes, this.#objects, { range: '', why })
    })
  }

  #reservationRef({ address }: PoolRow): ObjectRef | undefined {
    const { overlappingRanges, networkName } = this.#request.config
    return overlappingRanges ? reservationRef(address, { namespace: this.#namespace, networkName }) : undefined
  }

  /** The reservation of a row, if it is that of the interface. */
  #own(row: PoolRow) {
    const ref = this.#reservationRef(row)
    const reservation = ref === undefined ? undefined : this.#objects.reservation(ref)
    if (reservation?.kind !== 'present') return undefined
    const { podref, ifname, containerid } = reservation.spec
    const isOwn =
      podref === row.podref && (!ifname || ifname === row.ifname) && (!containerid || containerid === row.id)
    if (!isOwn) return undefined
    const { name, uid } = reservation.object.metadata
    if (!this.#reserved.has(name)) this.#reserved.set(name, uid)
    return this.#reserved.get(name) === uid ? reservation : undefined
  }

  /** Whether the reservation may protect the same address of another interface of the Pod too. */
  #isOfAnyContainer(row: PoolRow): boolean {
    const reservation = this.#own(row)
    return reservation !== undefined && !reservation.spec.containerid
  }

  #reservationEffects(row: PoolRow): readonly Effect[] {
    const reservation = this.#own(row)
    if (reservation === undefined) return []
    const other = this.#otherRow(row)
    if (other === undefined) return [deleteObject(reservation.object, `reservation of ${Address.format(row.address)}`)]
    const spec = { podref: other.podref, ifname: other.ifname ?? null, containerid: other.id }
    return [patchObject(reservation.object, { spec }, 'another interface of the Pod has the address')]
  }

  /** The row of a claim has a reservation too. */
  #keptReservation(row: PoolRow): readonly Effect[] {
    const claim = this.#claimOf(row)
    const ref = this.#reservationRef(row)
    if (claim === undefined || ref === undefined || this.#objects.reservation(ref).kind !== 'absent') return []
    return [newReservation(ref, row, claim)]
  }

  /**
   * A later container of the Pod has taken the row over meanwhile. Upstream has seen the
   * reservation that this DEL has deleted, and creates none.
   */
  #passedReservation({ pool, row }: Held): readonly Effect[] {
    const ref = this.#reservationRef(row)
    const reading = this.#objects.pool(pool)
    if (ref === undefined || reading.kind !== 'pool' || !this.#reserved.has(ref.name)) return []
    const later = reading.rows.find(({ key, podref }) => key === row.key && podref === row.podref)
    if (later === undefined || this.#objects.reservation(ref).kind !== 'absent') return []
    return [guard(reading.object, `the row is still that of ${later.id}`), newReservation(ref, later, undefined)]
  }

  /** Another row of the Pod with the same address, in any pool that was read. */
  #otherRow({ address, podref, id, ifname }: PoolRow): PoolRow | undefined {
    for (const pool of this.#objects.ofKind(IPPool.info)) {
      const reading = this.#objects.pool(refTo(IPPool.info, this.#namespace, refOf(pool).name))
      if (reading.kind !== 'pool') continue
      const other = reading.rows.find(
        (row) =>
          Address.equals(row.address, address) && row.podref === podref && !(row.id === id && row.ifname === ifname),
      )
      if (other !== undefined) return other
    }
    return undefined
  }

  #outcome(pools: readonly ObjectRef[]): DelOutcome {
    const done = [...this.#done.values()]
    const addresses = (isKept: boolean) => done.filter((one) => one.isKept === isKept).map(({ address }) => address)
    const [released, kept] = [addresses(false), addresses(true)]
    const texts = (list: readonly Address.Address[]) => list.map(Address.format).join(', ')
    if (released.length > 0) return { kind: 'released', message: `released ${texts(released)}`, addresses: released }
    if (kept.length > 0) return { kind: 'kept', message: `the claim keeps ${texts(kept)}`, addresses: kept }
    for (const pool of pools) {
      const reading = this.#objects.pool(pool)
      if (reading.kind === 'unreadable') {
        return { kind: 'poolNotReady', message: `IPPool ${pool.name}: ${reading.problem}` }
      }
    }
    return { kind: 'nothing', message: `container ${this.#request.containerId} has no row` }
  }
}
