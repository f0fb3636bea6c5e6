import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import type { KubeObject } from '../../crd/meta/object.js'
import type { AbsentEffect } from '../../plan/effect.js'
import { proofOfAbsence } from '../../plan/index.js'
import type { WaitingClaim } from '../claims/definition.js'
import { readCreated } from './answer.js'
import type { CloudAddress, CloudCalls } from './cloud.js'
import { claimOfMarker } from './inventory.js'
import { canonical, type ExternalLedger } from './ledger.js'
import type { PlanDraft } from './plan-draft.js'
import { isEdited, type Reservation, withAddress } from './reservations.js'
import { isSettled, unknownSince } from './unknown.js'

/**
 * Decides about each entry of a pool: whether it stays, which address it has, and whether its call
 * is made again.
 *
 * @param waiting the waiting claims by uid
 */
export class EntryReview<P extends KubeObject> {
  readonly #draft: PlanDraft<P>
  readonly #rules: PlanDraft<P>['rules']
  readonly #input: PlanDraft<P>['input']
  readonly #situation: PlanDraft<P>['situation']
  readonly #waiting: ReadonlyMap<string, WaitingClaim<CloudCalls>>
  readonly #ledger: ExternalLedger<P>
  /** The entries that stay. */
  entries: Reservation[] = []
  /** The addresses of the entries. */
  readonly reserved = new Set<string>()
  /** Proofs that the claims of removed entries do not exist. */
  readonly proofs: AbsentEffect[] = []
  /** Addresses whose entries were removed, for a cloud without markers. */
  readonly #created: string[] = []
  /** Entries whose calls have ended, and for which no address with their marker is found. */
  readonly #open: Reservation[] = []
  addressesVersion: string | undefined

  constructor(draft: PlanDraft<P>, waiting: ReadonlyMap<string, WaitingClaim<CloudCalls>>) {
    this.#draft = draft
    this.#rules = draft.rules
    this.#input = draft.input
    this.#situation = draft.situation
    this.#waiting = waiting
    this.#ledger = draft.input.ledger
    this.addressesVersion = draft.situation.reservations.addressesVersion
  }

  run(): void {
    const before = this.#situation.reservations
    const review = before.entries.map((entry) => this.#dated(entry))
    for (const { address, uid } of review) {
      // the address of an entry is no other claim's, also before the entry names it
      const known = address ?? this.#ledger.inventory?.markedFor(uid)
      if (known !== undefined) this.reserved.add(known)
    }
    const gone = new Set<string>()
    for (const entry of review) {
      const reviewed = entry.claim === '' ? this.#spare(entry) : this.#review(entry, gone)
      if (reviewed !== undefined) this.entries.push(reviewed)
      else if (entry.address !== undefined) this.#free(entry.address)
    }
    this.#removeGone(gone)
    this.#explain()
  }

  /** `createdMs` of the reservations: another one each time. */
  get createdMs(): number | undefined {
    const { entries, createdMs } = this.#situation.reservations
    const stay = new Set(this.entries.map(({ uid }) => uid))
    const removed = entries.filter(({ uid }) => !stay.has(uid))
    const isCreated = removed.some(({ address, isNew }) => address === undefined || isNew === true)
    if (!isCreated) return createdMs
    const { nowMs } = this.#input
    return createdMs === undefined || isEdited(createdMs, nowMs) ? nowMs : Math.max(nowMs, createdMs + 1)
  }

  #renewed(entry: Reservation): Reservation {
    return { ...entry, atMs: this.#input.nowMs }
  }

  /** An entry with a time in the future was edited, and gets the present time. */
  #dated(entry: Reservation): Reservation {
    return isEdited(entry.atMs, this.#input.nowMs) ? this.#renewed(entry) : entry
  }

  /**
   * The addresses that the pool has created in a cloud without markers, without those that the
   * cloud no longer has.
   */
  get created(): readonly string[] | undefined {
    const before = this.#situation.reservations.created
    if (this.#created.length === 0) return before
    const kept = (before ?? []).filter((each) => !this.#ledger.hasLost(each))
    return [...new Set([...kept, ...this.#created])]
  }

  /**
   * The new state of an entry; `undefined`: it is not needed any more.
   *
   * @param gone collects the uids of claims that do not exist
   */
  #review(entry: Reservation, gone: Set<string>): Reservation | undefined {
    const { pool, claimOf } = this.#input
    const object = this.#ledger.addressOf(pool.metadata.namespace, entry.claim)
    if (object !== undefined && isOwnedBy(object, entry.uid)) return this.#given(entry, object)
    if (claimOf(entry.claim)?.metadata.uid !== entry.uid) {
      gone.add(entry.uid)
      return entry
    }
    return entry.address === undefined ? this.#unaddressed(entry) : this.#addressed(entry)
  }

  /** The claim has its IPAddress, which replaces the entry. */
  #given({ isNew }: Reservation, { metadata, spec }: IPAddress): undefined {
    const version = metadata.resourceVersion ?? ''
    if (/^\d+$/.test(version) && BigInt(version) > BigInt(this.addressesVersion ?? 0)) this.addressesVersion = version
    const text = canonical(spec.address)
    if (isNew === true && text !== undefined && this.#rules.facts.marker === 'none') this.#created.push(text)
    return undefined
  }

  /** An entry whose address is being created. */
  #unaddressed(entry: Reservation): Reservation {
    const { facts } = this.#rules
    const answer = this.#callOf(entry)?.answer
    if (answer?.ok === true) {
      const created = readCreated(answer.value, this.#situation.network)
      if (facts.marker === 'atomic' || !created.ok || this.reserved.has(created.address)) return entry
      // without a marker only this entry knows the claim of the address
      return withAddress(this.reserved, entry, created.address, true)
    }
    return this.#begun(entry)
  }

  /** An entry whose address has to be created, and is not known to exist. */
  #begun(entry: Reservation): Reservation {
    const { callMs, settleMs } = this.#rules
    const { inventory } = this.#ledger
    const call = this.#callOf(entry)
    // of a claim that does not wait now it is not known which calls were sent
    if (entry.by === this.#ledger.identity && entry.claim !== '' && !this.#waiting.has(entry.uid)) return entry
    const sinceMs = unknownSince(entry, call, this.#ledger.identity)
    if (sinceMs === undefined) {
      const mayTake = call?.answer !== undefined && this.#draft.isInformed
      const address = mayTake ? this.#ledger.take(this.reserved) : undefined
      if (address !== undefined) return withAddress(this.reserved, entry, address)
      // each call is sent within this time after its entry is written
      return this.#input.nowMs > entry.atMs + callMs / 2 ? this.#renewed(entry) : entry
    }
    if (!isSettled(sinceMs, inventory, this.#rules)) {
      this.#draft.wantList(sinceMs + settleMs)
      return entry
    }
    this.#open.push(entry)
    return entry
  }

  #callOf({ uid }: Reservation) {
    return this.#waiting.get(uid)?.callOf('createAddress')
  }

  /** A spare address that is being created; `undefined`: it exists, or is not wanted any more. */
  #spare(entry: Reservation): Reservation | undefined {
    const { uid, by, atMs } = entry
    const ledger = this.#ledger
    const result = this.#input.calls.of('createAddress', uid)
    const created = result?.value === undefined ? undefined : readCreated(result.value, this.#situation.network)
    const marked = entry.address ?? ledger.inventory?.markedFor(uid)
    const object = created?.ok === true ? created.object : marked && ledger.inventory?.get(marked)
    const address = created?.ok === true ? created.address : marked
    if (object && address !== undefined) {
      if (!this.#isMarked(entry, address, object)) return entry
      if (created?.ok === true && ledger.inventory?.get(address) === undefined) {
        ledger.answered(address, object, this.#input.nowMs)
      }
      this.#free(address)
      return undefined
    }
    const isRefused = by === ledger.identity && result?.failure?.nothingDone === true
    if (isRefused && !this.#ledger.wantsSpare(this.#situation.policy, this.entries, this.reserved)) return undefined
    const wasSent = (this.#input.calls.sentAtMs('createAddress', uid) ?? Number.NEGATIVE_INFINITY) >= atMs
    if (isRefused || (by === ledger.identity && !wasSent)) {
      this.#draft.askSpare(entry.uid)
      return isRefused && this.#input.nowMs > atMs + this.#rules.callMs / 2 ? this.#renewed(entry) : entry
    }
    if (!isSettled(atMs, ledger.inventory, this.#rules)) {
      this.#draft.wantList(atMs + this.#rules.settleMs)
      return entry
    }
    // the call had no effect, or created an address without a marker
    if (this.#rules.facts.marker !== 'after' || ledger.unexplained(atMs, this.reserved).length === 0) return undefined
    this.#open.push(entry)
    return entry
  }

  /**
   * An entry with an address that may not exist any more, or that another claim has. Then the claim
   * gets another one, once no IPAddress for it can be in flight.
   */
  #addressed(entry: Reservation): Reservation | undefined {
    const { address = '', isNew, atMs } = entry
    const object = this.#ledger.inventory?.get(address)
    if (isNew === true) {
      if (object !== undefined || !this.#rules.facts.choosesAddress) return entry
      return this.#callOf(entry)?.answer?.ok === true ? entry : this.#begun(entry)
    }
    if (this.#ledger.isUsable(address) && !this.#ledger.isLive(address)) return entry
    const listedMs = this.#ledger.inventory?.askedAtMs ?? 0
    const overMs = atMs + this.#rules.settleMs
    if (listedMs > overMs) return undefined
    this.#draft.wantList(overMs)
    return entry
  }

  /** Removes the entries of claims that do not exist, once no call for them can have an effect. */
  #removeGone(gone: ReadonlySet<string>): void {
    if (gone.size === 0) return
    this.entries = this.entries.filter((entry) => {
      if (!gone.has(entry.uid) || !this.#isLeft(entry)) return true
      const { namespace } = this.#input.pool.metadata
      const ref = { ...IPAddressClaim.info, namespace, name: entry.claim }
      const { apiVersion, kind, name } = ref
      const why = 'its claim must not exist any more'
      this.proofs.push(...proofOfAbsence({ ref: { apiVersion, kind, namespace, name }, uid: entry.uid }, why))
      if (entry.address !== undefined) this.#free(entry.address)
      return false
    })
  }

  /**
   * Whether nothing is left to do for an entry without a claim. Its created address is deleted, or
   * stays as a free one.
   */
  #isLeft(entry: Reservation): boolean {
    const { inventory } = this.#ledger
    const overMs = entry.atMs + this.#rules.settleMs
    if (inventory === undefined || inventory.askedAtMs <= overMs) {
      this.#draft.wantList(overMs)
      return false
    }
    const { isNew, uid } = entry
    // an address without a marker may belong to the entry, also beside one that the claim had
    // before
    const mayBeUnmarked = this.#rules.facts.marker === 'after' && entry.address === undefined
    if (mayBeUnmarked && this.#ledger.unexplained(entry.atMs, this.reserved).length > 0) {
      this.#open.push(entry)
      return false
    }
    const address = isNew === true ? entry.address : inventory.markedFor(uid)
    const object = address === undefined ? undefined : inventory.get(address)
    if (address === undefined || object === undefined) return true
    if (!this.#isMarked(entry, address, object)) return false
    const isKept = this.#situation.policy.reclaim === 'Retain' || !this.#ledger.isCreated(address)
    if (isKept || object.isAttached || this.#ledger.isLive(address)) return true
    if (this.#input.calls.of('deleteAddress', object.id)?.value !== undefined) {
      this.#ledger.answered(address, undefined, this.#input.nowMs)
      return true
    }
    const { id } = object
    const input = { ...this.#draft.about, id, address }
    this.#draft.ask({ operation: 'deleteAddress', id, input, why: 'its claim does not exist' })
    return false
  }

  /**
   * Makes sure that an address that was created for an entry is known as one of the pool without
   * the entry.
   */
  #isMarked({ uid }: Reservation, address: string, object: CloudAddress): boolean {
    const { marker } = this.#rules.facts
    if (marker === 'none') this.#created.push(address)
    if (marker !== 'after' || claimOfMarker(object.marker, this.#situation.reservations.uids) !== undefined) return true
    const text = this.#draft.markerOf(uid)
    if (this.#input.calls.of('markAddress', object.id)?.value !== undefined) {
      this.#ledger.answered(address, { ...object, marker: text }, this.#input.nowMs)
      return true
    }
    const { id } = object
    const input = { ...this.#draft.about, id, marker: text }
    this.#draft.ask({ operation: 'markAddress', id, input, why: 'sets the marker of the pool' })
    return false
  }

  /**
   * Decides about entries whose calls have ended without an address that has their marker. If the
   * cloud sets markers afterwards, addresses without one may have been created since. If their
   * number is at most the number of such calls, each entry takes one of them. If there are more,
   * other owners have created some, and none is touched. If there are none, this process makes the
   * call again.
   */
  #explain(): void {
    const open = this.#open
    if (open.length === 0) {
      this.#ledger.quarantined = []
      return
    }
    // an address without a marker may be in use
    if (!this.#draft.isInformed) return
    const sinceMs = Math.min(...open.map(({ atMs }) => atMs))
    const found = this.#rules.facts.marker === 'after' ? this.#ledger.unexplained(sinceMs, this.reserved) : []
    const isAmbiguous = found.length > open.length
    this.#ledger.quarantined = isAmbiguous ? found : []
    if (isAmbiguous) return
    this.entries = this.entries.map((entry) => {
      const nth = open.indexOf(entry)
      if (nth === -1) return entry
      const address = found[nth]
      if (address !== undefined) return withAddress(this.reserved, entry, address, true)
      const isThere = this.#ledger.inventory?.markedFor(entry.uid) !== undefined
      const isGone = entry.claim === '' || this.#input.claimOf(entry.claim)?.metadata.uid !== entry.uid
      // nothing is done for a paused claim
      const stays = isThere || isGone || !this.#waiting.has(entry.uid)
      return stays ? entry : { ...entry, by: this.#ledger.identity, atMs: this.#input.nowMs }
    })
  }

  #free(address: string): void {
    this.reserved.delete(address)
    this.#ledger.returned(address)
  }
}

/** Whether an IPAddress has an owner of this uid. */
export function isOwnedBy({ metadata }: IPAddress, uid: string): boolean {
  return metadata.ownerReferences?.some((owner) => owner.uid === uid) === true
}
