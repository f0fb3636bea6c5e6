import * as Address from '../../../cidr/nouns/address.js'
import * as Prefix from '../../../cidr/nouns/prefix.js'
import { formatRef, type KindInfo, refOf } from '../../../crd/meta/object.js'
import { OverlappingRangeIPReservation } from '../../../crd/whereabouts/index.js'
import { check, type KindOf } from '../../../errors/check.js'
import { type Change, type Effect, guard, type Step, type Task, type TaskTime } from '../../../plan/index.js'
import type { TaskQuery, TaskRefusal } from '../../../plan/task.js'
import type { RowOwner, Stickiness } from '../choose/owner.js'
import { AddClaim } from './add-claim.js'
import { AddedRows } from './added-rows.js'
import { assign } from './assign.js'
import type { Assignment } from './assignment.js'
import { TaskObjects } from './objects.js'
import type { OtherSide } from './other-side.js'
import type { AddedAddress, AddOutcome } from './outcome.js'
import { OwnPod } from './own-pod.js'
import { placesOf } from './places.js'
import { DEFAULT_NAMESPACE, INTERFACE_REQUEST, type InterfaceRequest, ownerOf } from './request.js'
import { Reservations } from './reservations.js'
import { rowEffects } from './row-effects.js'

export interface AddOptions {
  /**
   * Which rows the interface gets again. Default `container`. `pod`: as upstream does. A Pod of an
   * old name, whose container may still run, would give its address to the new Pod.
   */
  readonly sticky?: Stickiness | undefined
  /**
   * The kinds that can own a claim which the ADD makes. It makes the claim of the interface if that
   * does not exist, with the owners of the annotation `ipam-kit.dev/claim-owner` of its Pod.
   * Default none: an ADD makes no claim.
   */
  readonly claimOwners?: readonly KindInfo[] | undefined
}

const ADD_OPTIONS: KindOf<AddOptions> = {
  sticky: ['one?', { container: 1, pod: 1 }],
  claimOwners: ['list?', ['open', { apiVersion: 'text', kind: 'text' }]],
}

/** With more conflicts than this, the task rolls back and ends. */
const MOST_CONFLICTS = 60

/**
 * The task of a CNI ADD: gives an interface one address of each range. Run it by `runTask`.
 *
 * - Three requests for one range: it reads the pool, writes the row, and creates the reservation.
 *   It takes no Lease: the version of the pool and the name of the reservation decide.
 * - It succeeds only if each address has its row, and its reservation if
 *   `enable_overlapping_ranges` is set. Otherwise it removes what it has written.
 * - The same container and interface get the same addresses again. A missing reservation is created
 *   again.
 * - An address that another Pod has reserved is never taken, and its reservation stays. Each one
 *   that the task meets makes it list all of them.
 * - The gateway and the static addresses are not given.
 * - Rows that cannot be read stay as they are: each write names its own rows.
 * - A pool that is being deleted gets no new rows. A pool that is upgraded to blocks
 *   (annotation `ipam-kit.dev/upgrade`) gives no address at all.
 * - With `podUid`, an ADD of a Pod that is gone takes no row over from a later Pod of the name.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function add(request: InterfaceRequest, options: AddOptions = {}): Task<AddOutcome> {
  assertAdd('add', request, options)
  return new AddTask(request, options)
}

/** @throws IpamError `INVALID_ARGUMENT` */
export function assertAdd(of: string, request: InterfaceRequest, options: AddOptions): void {
  check<unknown>(of, 'request', request, INTERFACE_REQUEST)
  check(of, 'options', options, ADD_OPTIONS)
}

/** The task of an ADD, which can have another side that gets the rows too. */
export class AddTask implements Task<AddOutcome> {
  readonly #request: InterfaceRequest
  readonly #owner: RowOwner
  readonly #sticky: Stickiness
  readonly #objects = new TaskObjects()
  readonly #reservations: Reservations
  readonly #claim: AddClaim
  readonly #pod: OwnPod
  readonly #added = new AddedRows()
  /** The rows of this ADD that were there, and of those the ones that are not any more. */
  readonly #seen = new Set<string>()
  readonly #removed = new Set<string>()
  readonly #other: OtherSide | undefined
  /** Why the task ends without addresses, once what it has written is removed. */
  #failed: AddOutcome | undefined
  #isListed = false

  constructor(request: InterfaceRequest, { sticky = 'container', claimOwners = [] }: AddOptions, other?: OtherSide) {
    this.#request = request
    this.#owner = ownerOf(request)
    this.#sticky = sticky
    this.#other = other
    const { config } = request
    const namespace = request.namespace || DEFAULT_NAMESPACE
    this.#reservations = new Reservations(this.#objects, this.#owner, sticky, {
      isUsed: config.overlappingRanges,
      namespace,
      networkName: config.networkName,
    })
    this.#claim = new AddClaim(request, this.#objects, claimOwners)
    this.#pod = new OwnPod(request, this.#objects)
  }

  observe(change: Change): void {
    this.#objects.observe(change)
    this.#other?.observe(change)
  }

  listed(query: TaskQuery): void {
    if (query.kind === OverlappingRangeIPReservation.info.kind) this.#isListed = true
    else this.#other?.listed(query)
  }

  refused(refusal: TaskRefusal): boolean {
    if (this.#other?.refused(refusal) === true) return true
    // a roll-back that is refused has no other way
    if (this.#failed !== undefined) return false
    const { code, message } = refusal
    this.#failed = { kind: 'denied', message, code }
    return true
  }

  next(time: TaskTime): Step<AddOutcome> {
    const { conflicts } = time
    if (this.#failed === undefined && conflicts > MOST_CONFLICTS) {
      this.#failed = { kind: 'contended', message: `other writers were faster ${conflicts} times` }
    }
    if (this.#failed === undefined) {
      const step = this.#step(time)
      if (step !== undefined) return step
    }
    return this.#end(this.#failed as AddOutcome, time)
  }

  /** The next step; `undefined`: the task has failed. */
  #step(time: TaskTime): Step<AddOutcome> | undefined {
    const places = placesOf(this.#request, this.#objects)
    if (places.kind === 'step') return places.step
    if (places.kind !== 'places') return this.#fail({ kind: places.kind, message: places.message })
    const claim = this.#claim.read()
    if (claim !== undefined) return 'outcome' in claim ? this.#fail(claim.outcome) : claim.step
    const pools = places.places.map(({ pool }) => pool)
    const read = this.#objects.read(pools, 'the rows of the pool')
    if (read !== undefined) return read
    const assigned = assign(places.places, {
      request: this.#request,
      owner: this.#owner,
      sticky: this.#sticky,
      objects: this.#objects,
      foreign: this.#reservations.foreignAddresses(this.#claim.reading),
      other: this.#other,
      claim: this.#claim.reading,
    })
    if (assigned.kind !== 'assigned') return this.#fail(assigned)
    const { assignments } = assigned
    if (this.#other === undefined) return this.#write(assignments, time)
    const review = this.#other.review(assignments, this.#objects, time)
    if (review === 'again') return this.#step(time)
    if (review !== undefined) return 'outcome' in review ? this.#fail(review.outcome) : review.step
    const { taken } = this.#other
    const lost = assignments.filter(({ address }) => taken.some((other) => Address.equals(other, address)))
    return lost.length === 0 ? this.#write(assignments, time) : this.#avoid(lost, time)
  }

  /** Another holder has addresses on the other side: others are chosen. */
  #avoid(lost: readonly Assignment[], time: TaskTime): Step<AddOutcome> | undefined {
    const left = lost.filter(({ pool, key }) => !this.#added.has(pool, key))
    const kept = left.find(({ row }) => row?.id === this.#owner.id)
    if (kept !== undefined) {
      return this.#fail({ kind: 'taken', message: `another interface has ${texts([kept])} in the blocks` })
    }
    if (left.length === lost.length) return this.#step(time)
    return writes(this.#rollBack(), `give ${texts(lost)} up: another interface has it in the blocks`)
  }

  #write(assignments: readonly Assignment[], time: TaskTime): Step<AddOutcome> | undefined {
    const isOwn = (assignment: Assignment) => this.#added.has(assignment.pool, assignment.key)
    // a reservation that was there before the row was written has to be known
    const unread = assignments.filter((one) => (one.row !== undefined && !isOwn(one)) || this.#isRemoved(one))
    const read = this.#objects.read(
      unread.flatMap(({ address }) => this.#reservations.ref(address) ?? []),
      'the reservation of an address that the interface has',
    )
    if (read !== undefined) return read
    const gone = this.#pod.goneStep(assignments)
    if (gone !== undefined) return 'outcome' in gone ? this.#fail(gone.outcome) : gone.step
    const claim = this.#claim.reading
    // the reservation of a row without a Pod names the Pod before
    const reservedBy = assignments
      .filter(({ row }) => row?.podref !== '')
      .flatMap(({ address }) => this.#reservations.claimedFor(address, claim) ?? [])
    const inUse = this.#claim.useStep(assignments, reservedBy)
    if (inUse !== undefined) return 'outcome' in inUse ? this.#fail(inUse.outcome) : inUse.step
    const lost = assignments.filter((one) => one.row !== undefined && this.#reservations.isForeign(one, claim))
    if (lost.length > 0) return this.#giveUp(lost)
    const list = this.#reservations.mustList(this.#isListed)
    if (list !== undefined) return list
    const marks = assignments.flatMap((one) => this.#reservations.marks(one, claim))
    if (marks.length > 0) return writes(marks, 'mark the reservations of the claim')
    const effects = this.#effects(assignments)
    if (effects.length > 0) {
      for (const one of assignments) this.#added.note(one, this.#owner, claim)
      return writes(effects, `give ${texts(assignments)} to ${this.#owner.podref} ${this.#request.ifname}`)
    }
    const status = this.#claim.statusEffects(assignments)
    if (status.length > 0) return writes(status, 'write the addresses to the claim')
    const other = this.#other?.write(assignments, this.#objects, time)
    if (other !== undefined) return 'outcome' in other ? this.#fail(other.outcome) : other.step
    return { kind: 'done', outcome: this.#allocated(assignments) }
  }

  /**
   * Whether a row of this ADD was removed again, by a roll-back of an upgrade or a sweep. Its
   * reservation has to be read again.
   */
  #isRemoved({ pool, key, row, address }: Assignment): boolean {
    const name = `${formatRef(pool)} ${key}`
    if (row !== undefined) {
      this.#seen.add(name)
      this.#removed.delete(name)
      return false
    }
    if (this.#seen.delete(name)) {
      this.#removed.add(name)
      const ref = this.#reservations.ref(address)
      if (ref !== undefined) this.#objects.forget(ref)
    }
    return this.#removed.has(name)
  }

  /**
   * The rows, then their reservations. The version of the pool decides which container gets a row,
   * and only that one takes the reservation over.
   */
  #effects(assignments: readonly Assignment[]): readonly Effect[] {
    const claim = this.#claim.reading
    const rows = rowEffects(assignments, this.#owner, this.#objects, claim)
    const written = new Set(
      rows.flatMap((effect) =>
        'ref' in effect ? formatRef(effect.ref) : effect.kind === 'create' ? formatRef(refOf(effect.object)) : [],
      ),
    )
    const reservations = assignments.flatMap((one) => {
      const effects = this.#reservations.effects(one, claim)
      const pool = this.#objects.get(one.pool)
      const isTaken = effects.some(({ kind }) => kind === 'patch') || claim !== undefined
      if (effects.length === 0 || !pool || !isTaken || written.has(formatRef(one.pool))) return effects
      return [guard(pool, `the row is still that of ${this.#owner.podref}`), ...effects]
    })
    return [...rows, ...reservations]
  }

  /**
   * Another Pod has reserved the address of a row: the row is removed, and the reservation stays.
   */
  #giveUp(lost: readonly Assignment[]): Step<AddOutcome> {
    this.#reservations.noteForeign()
    // the other network has more ADDs: with the list before alone, this one would lose again
    this.#isListed = false
    const effects = this.#added.removals(lost, this.#objects, 'another Pod has reserved the address')
    return writes(effects, `give ${texts(lost)} up: another Pod has reserved it`)
  }

  #fail(outcome: AddOutcome): undefined {
    this.#failed = outcome
  }

  /** Removes what the task has written, then ends. */
  #end(outcome: AddOutcome, time: TaskTime): Step<AddOutcome> {
    const effects = this.#rollBack()
    if (effects.length > 0) return writes(effects, `roll back: ${outcome.message}`)
    return this.#other?.undo(time) ?? { kind: 'done', outcome }
  }

  #rollBack(): readonly Effect[] {
    return this.#added.rollBack(this.#owner, this.#objects, (address) => this.#reservations.ref(address))
  }

  #allocated(assignments: readonly Assignment[]): AddOutcome {
    const { config } = this.#request
    const addresses: AddedAddress[] = assignments.map(({ address, place, gateway }) => ({
      prefix: Prefix.of(address, place.length),
      // upstream passes the gateway on with each address of its family
      gateway: gateway ?? (config.gateway?.family === address.family ? config.gateway : undefined),
    }))
    const what = assignments.length === 0 ? 'no range' : texts(assignments)
    return {
      kind: 'allocated',
      message: `${this.#owner.podref} has ${what}`,
      addresses: [...addresses, ...config.addresses],
    }
  }
}

function texts(assignments: readonly Pick<Assignment, 'address'>[]): string {
  return assignments.map(({ address }) => Address.format(address)).join(', ')
}

export function writes(effects: readonly Effect[], message: string): Extract<Step, { kind: 'write' }> {
  return { kind: 'write', plan: { outcome: { kind: 'writes', message }, effects } }
}
