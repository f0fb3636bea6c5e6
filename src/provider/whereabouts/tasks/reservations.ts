import type { Address } from '../../../cidr/nouns/address.js'
import type { ObjectRef } from '../../../crd/meta/object.js'
import { OverlappingRangeIPReservation } from '../../../crd/whereabouts/index.js'
import { type Effect, patchObject, type Step } from '../../../plan/index.js'
import type { RowOwner, Stickiness } from '../choose/owner.js'
import type { Assignment } from './assignment.js'
import { CLAIM_UID_ANNOTATION, type ClaimReading } from './holder.js'
import { type ReservationReading, reservationRef, type TaskObjects } from './objects.js'

type Present = Extract<ReservationReading, { kind: 'present' }>

/** The reservations of one interface, as an ADD sees them. */
export class Reservations {
  readonly #objects: TaskObjects
  readonly #owner: RowOwner
  readonly #sticky: Stickiness
  readonly #network: { readonly isUsed: boolean; readonly namespace: string; readonly networkName: string | undefined }
  #hasMetForeign = false
  /** The names of the reservations that were there before the row of this container. */
  readonly #earlier = new Set<string>()

  constructor(
    objects: TaskObjects,
    owner: RowOwner,
    sticky: Stickiness,
    network: { readonly isUsed: boolean; readonly namespace: string; readonly networkName: string | undefined },
  ) {
    this.#objects = objects
    this.#owner = owner
    this.#sticky = sticky
    this.#network = network
  }

  /** `undefined`: the configuration wants no reservations, or no object can have the name. */
  ref(address: Address): ObjectRef | undefined {
    return this.#network.isUsed ? reservationRef(address, this.#network) : undefined
  }

  /** The addresses that other Pods have reserved, of those that were read. */
  foreignAddresses(claim: ClaimReading | undefined): readonly Address[] {
    const { isUsed, networkName = '' } = this.#network
    if (!isUsed) return []
    return [...this.#objects.reservedAddresses(networkName)].flatMap(({ address, ref }) => {
      const reservation = this.#objects.reservation(ref)
      return reservation.kind === 'present' && !this.#isOwn(reservation, claim) ? [address] : []
    })
  }

  /**
   * Whether another Pod has reserved the address of a row. A row that is taken over brings the
   * reservation of the container before. In a pool with a phase, blocks know whether an earlier
   * container of the interface is one of the same Pod.
   */
  isForeign({ address, row, pool }: Assignment, claim: ClaimReading | undefined): boolean {
    const ref = this.ref(address)
    const reservation = ref === undefined ? undefined : this.#objects.reservation(ref)
    if (reservation?.kind !== 'present') return false
    if (this.#isBrought(reservation, row)) return false
    const reading = this.#objects.pool(pool)
    const sticky = reading.kind === 'pool' && reading.phase !== undefined ? 'pod' : this.#sticky
    return !this.#isOwn(reservation, claim, sticky)
  }

  /** The Pod for which the claim has reserved an address; `undefined`: the claim has not. */
  claimedFor(address: Address, claim: ClaimReading | undefined): string | undefined {
    const ref = this.ref(address)
    const reservation = ref === undefined ? undefined : this.#objects.reservation(ref)
    if (claim === undefined || reservation?.kind !== 'present') return undefined
    return reservation.annotations[CLAIM_UID_ANNOTATION] === claim.uid ? reservation.spec.podref : undefined
  }

  /**
   * The uid of the claim on the reservation of the Pod before, which may have none. It is written
   * before the row: then the row no longer says that the reservation is of the claim.
   */
  marks({ address, row }: Assignment, claim: ClaimReading | undefined): readonly Effect[] {
    const ref = this.ref(address)
    const reservation = ref === undefined ? undefined : this.#objects.reservation(ref)
    if (claim === undefined || reservation?.kind !== 'present') return []
    const isMarked = reservation.annotations[CLAIM_UID_ANNOTATION] === claim.uid
    if (isMarked || !this.#isBrought(reservation, row) || this.#isOwn(reservation, claim)) return []
    const metadata = { annotations: { [CLAIM_UID_ANNOTATION]: claim.uid } }
    return [patchObject(reservation.object, { metadata }, 'the claim has the reservation')]
  }

  /**
   * Whether the reservation is that of the row of an earlier container. A row without a Pod says
   * nothing on a reservation without one.
   */
  #isBrought({ spec }: Present, row: Assignment['row']): boolean {
    const { podref, id } = this.#owner
    if (!row?.podref || spec.podref !== row.podref || (row.podref === podref && row.id === id)) return false
    return !spec.ifname || !row.ifname || spec.ifname === row.ifname
  }

  /** Another Pod has reserved the address of a row. */
  noteForeign(): void {
    this.#hasMetForeign = true
  }

  /** Lists all reservations once one of another Pod was met: there may be many. */
  mustList(isListed: boolean): Extract<Step, { kind: 'list' }> | undefined {
    if (!this.#hasMetForeign || isListed) return undefined
    const { apiVersion, kind } = OverlappingRangeIPReservation.info
    const { namespace } = this.#network
    return { kind: 'list', query: { apiVersion, kind, namespace, fields: {} }, why: 'which addresses are reserved' }
  }

  /** What the reservation of an address lacks: it is created, or becomes that of this container. */
  effects({ address, row }: Assignment, claim: ClaimReading | undefined): readonly Effect[] {
    const ref = this.ref(address)
    if (ref === undefined) return []
    const why = `reservation of ${this.#owner.podref}`
    const annotations = claim && { [CLAIM_UID_ANNOTATION]: claim.uid }
    const { podref, id: containerid, ifname } = this.#owner
    const spec = { podref, containerid, ...(ifname && { ifname }) }
    const reservation = this.#objects.reservation(ref)
    // one without a container may be about to go with an earlier container or Pod of the name
    if (row?.id !== containerid) this.#earlier.add(ref.name)
    if (reservation.kind === 'present') {
      const hadRow = row?.id === containerid && !this.#earlier.has(ref.name)
      const isOfThis = hadRow || reservation.spec.containerid === containerid
      if (isOfThis && this.#isCurrent(reservation, claim)) return []
      const metadata = annotations && { annotations }
      return [patchObject(reservation.object, { ...(metadata && { metadata }), spec }, why)]
    }
    return [newReservation(ref, this.#owner, claim)]
  }

  /**
   * Upstream leaves the id of the container out, and old versions the interface: such a one is that
   * of the Pod.
   */
  #isOwn({ spec, annotations }: Present, claim: ClaimReading | undefined, sticky = this.#sticky): boolean {
    const { podref, id, ifname } = this.#owner
    if (claim !== undefined && annotations[CLAIM_UID_ANNOTATION] === claim.uid) {
      // not that of another interface of the container
      return spec.podref !== podref || spec.containerid !== id || !spec.ifname || spec.ifname === ifname
    }
    if (spec.podref !== podref || (spec.ifname && spec.ifname !== ifname)) return false
    return sticky === 'pod' || !spec.containerid || spec.containerid === id
  }

  #isCurrent({ spec, annotations }: Present, claim: ClaimReading | undefined): boolean {
    const { podref, id } = this.#owner
    const isOfContainer = !spec.containerid || spec.containerid === id
    return (
      spec.podref === podref &&
      isOfContainer &&
      (claim === undefined || annotations[CLAIM_UID_ANNOTATION] === claim.uid)
    )
  }
}

/** The creation of the reservation of a row, with the uid of the claim that holds the row. */
export function newReservation(
  { name, namespace }: ObjectRef,
  { podref, id: containerid, ifname }: RowOwner,
  claim: ClaimReading | undefined,
): Effect {
  const { apiVersion, kind } = OverlappingRangeIPReservation.info
  const annotations = claim && { [CLAIM_UID_ANNOTATION]: claim.uid }
  const metadata = { name, namespace, ...(annotations && { annotations }) }
  const spec = { podref, containerid, ...(ifname && { ifname }) }
  return { kind: 'create', object: { apiVersion, kind, metadata, spec }, why: `reservation of ${podref}` }
}
