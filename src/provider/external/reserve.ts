import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import { isDeleting, type KubeObject } from '../../crd/meta/object.js'
import type { AbsentEffect } from '../../plan/effect.js'
import { proofOfAbsence } from '../../plan/index.js'
import type { WaitingClaim } from '../claims/definition.js'
import { readCreated } from './answer.js'
import { type CloudAddress, type CloudCalls, markerText } from './cloud.js'
import { type ExternalRules, LIST_PAUSE_MS } from './definition.js'
import { claimOfMarker } from './inventory.js'
import { canonical, type ExternalLedger } from './ledger.js'
import type { Shortage } from './pool-kind.js'
import {
  freeAnnotationBytes,
  MAX_RESERVATIONS,
  RESERVATIONS_ANNOTATION,
  type Reservation,
  type Reservations,
  sizeOfEntry,
} from './reservations.js'
import { about, type Input, type PoolCall, type Situation } from './situation.js'
import { isSettled, unknownSince } from './unknown.js'

/** The new reservations of a pool. */
export interface Made {
  /** The same object if nothing changes. */
  readonly reservations: Reservations
  /** Proofs that the claims of removed entries do not exist. */
  readonly proofs: readonly AbsentEffect[]
  readonly shortage: Shortage | undefined
  /** Names of the waiting claims without an entry. */
  readonly unserved: readonly string[]
  readonly call: PoolCall | undefined
  /** A list is needed that is requested at this time or later. */
  readonly wantsListMs: number | undefined
  readonly againMs: number | undefined
}

/**
 * How many addresses are created at a time. A call is sent soon after its entry is written, so an
 * old entry without an address has no call in flight.
 */
const MAX_OPEN = 100
/** How long to wait while the watch of IPAddress objects is behind. */
const BEHIND_MS = 1000
/** Claims report a watch that has been behind for this time. */
const MAX_BEHIND_MS = 60_000
/** The maximum difference between the clocks of processes. */
const MAX_CLOCK_SKEW_MS = 3_600_000

/**
 * Reviews the entries, and makes one for each waiting claim, in order, while addresses are free.
 */
export function reserve<P extends KubeObject>(rules: ExternalRules<P>, input: Input<P>, situation: Situation): Made {
  return new Reserving(rules, input, situation).run()
}

class Reserving<P extends KubeObject> {
  readonly #rules: ExternalRules<P>
  readonly #input: Input<P>
  readonly #situation: Situation
  readonly #ledger: ExternalLedger<P>
  readonly #nowMs: number
  readonly #waiting: ReadonlyMap<string, WaitingClaim<CloudCalls>>
  #entries: Reservation[] = []
  readonly #reserved = new Set<string>()
  readonly #proofs: AbsentEffect[] = []
  /** Addresses whose entries were removed, for a cloud without markers. */
  readonly #created: string[] = []
  /** Entries whose calls have ended, and for which no address with their marker is found. */
  readonly #open: Reservation[] = []
  #version: string | undefined
  #shortage: Shortage | undefined
  #call: PoolCall | undefined
  #wantsListMs: number | undefined
  #againMs: number | undefined
  /** The bytes that the annotation has left. */
  #freeBytes: number

  constructor(rules: ExternalRules<P>, input: Input<P>, situation: Situation) {
    this.#rules = rules
    this.#input = input
    this.#situation = situation
    this.#ledger = input.ledger
    this.#nowMs = input.nowMs
    this.#waiting = new Map([...input.waiting()].map((each) => [each.claim.metadata.uid ?? '', each]))
    this.#version = situation.reservations.addressesVersion
    this.#freeBytes = freeAnnotationBytes(input.pool)
  }

  run(): Made {
    const before = this.#situation.reservations
    const review = before.entries.map((entry) => this.#dated(entry))
    for (const { address, uid } of review) {
      // the address of an entry is no other claim's, also before the entry names it
      const known = address ?? this.#ledger.inventory?.markedFor(uid)
      if (known !== undefined) this.#reserved.add(known)
    }
    const gone = new Set<string>()
    for (const entry of review) {
      const reviewed = entry.claim === '' ? this.#spare(entry) : this.#review(entry, gone)
      if (reviewed !== undefined) this.#entries.push(reviewed)
      else if (entry.address !== undefined) this.#free(entry.address)
    }
    this.#removeGone(gone)
    this.#explain()
    const unserved = this.#serve()
    this.#makeSpare()
    return {
      reservations: this.#result(before),
      proofs: this.#proofs,
      shortage: this.#shortage,
      unserved,
      call: this.#call,
      wantsListMs: this.#wantsListMs,
      againMs: this.#againMs,
    }
  }

  /** An entry with a time in the future was edited, and gets the present time. */
  #dated(entry: Reservation): Reservation {
    return entry.atMs > this.#nowMs + MAX_CLOCK_SKEW_MS ? { ...entry, atMs: this.#nowMs } : entry
  }

  #result(before: Reservations): Reservations {
    const entries = this.#entries
    const isSame =
      entries.length === before.entries.length && entries.every((entry, nth) => entry === before.entries[nth])
    const created = this.#newCreated(before.created)
    if (isSame && created === before.created) return before
    const { network } = this.#situation
    return { ...before, network, entries, addressesVersion: this.#version, ...(created && { created }) }
  }

  /**
   * The addresses that the pool has created in a cloud without markers, without those that the
   * cloud no longer has.
   */
  #newCreated(before: readonly string[] | undefined): readonly string[] | undefined {
    if (this.#created.length === 0) return before
    const kept = (before ?? []).filter((each) => this.#ledger.isCreated(each) || this.#ledger.isLive(each))
    return [...new Set([...kept, ...this.#created])]
  }

  /**
   * The new state of an entry; `undefined`: it is not needed any more. @param gone collects the
   * uids of claims that do not exist
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
    if (/^\d+$/.test(version) && BigInt(version) > BigInt(this.#version ?? 0)) this.#version = version
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
      if (facts.marker === 'atomic' || !created.ok || this.#reserved.has(created.address)) return entry
      // without a marker only this entry knows the claim of the address
      return this.#withAddress(entry, created.address, true)
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
      const address = call?.answer === undefined ? undefined : this.#ledger.take(this.#reserved)
      if (address !== undefined) return this.#withAddress(entry, address)
      // each call is sent within this time after its entry is written
      return this.#nowMs > entry.atMs + callMs / 2 ? { ...entry, atMs: this.#nowMs } : entry
    }
    if (!isSettled(sinceMs, inventory, this.#rules)) {
      this.#wantsList(sinceMs + settleMs)
      return entry
    }
    this.#open.push(entry)
    return entry
  }

  #callOf({ uid }: Reservation) {
    return this.#waiting.get(uid)?.callOf('createAddress')
  }

  #withAddress(entry: Reservation, address: string, isNew?: true): Reservation {
    this.#reserved.add(address)
    const { isNew: _, ...rest } = entry
    return { ...rest, address, ...(isNew && { isNew }) }
  }

  /**
   * An entry with an address that may not exist any more. Then the claim gets another one, once no
   * IPAddress for it can be in flight.
   */
  #addressed(entry: Reservation): Reservation | undefined {
    const { address = '', isNew, atMs } = entry
    const object = this.#ledger.inventory?.get(address)
    if (isNew === true) {
      if (object !== undefined || !this.#rules.facts.choosesAddress) return entry
      return this.#callOf(entry)?.answer?.ok === true ? entry : this.#begun(entry)
    }
    if (this.#ledger.isUsable(address)) return entry
    const listedMs = this.#ledger.inventory?.askedAtMs ?? 0
    const overMs = atMs + this.#rules.settleMs
    if (listedMs > overMs) return undefined
    this.#wantsList(overMs)
    return entry
  }

  /** Removes the entries of claims that do not exist, once no call for them can have an effect. */
  #removeGone(gone: ReadonlySet<string>): void {
    if (gone.size === 0) return
    this.#entries = this.#entries.filter((entry) => {
      if (!gone.has(entry.uid) || !this.#isLeft(entry)) return true
      const { namespace } = this.#input.pool.metadata
      const ref = { ...IPAddressClaim.info, namespace, name: entry.claim }
      const { apiVersion, kind, name } = ref
      const why = 'its claim must not exist any more'
      this.#proofs.push(...proofOfAbsence({ ref: { apiVersion, kind, namespace, name }, uid: entry.uid }, why))
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
      this.#wantsList(overMs)
      return false
    }
    const { isNew, uid } = entry
    // an address without a marker may belong to the entry, also beside one that the claim had
    // before
    const mayBeUnmarked = this.#rules.facts.marker === 'after' && entry.address === undefined
    if (mayBeUnmarked && this.#ledger.unexplained(entry.atMs, this.#reserved).length > 0) {
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
      this.#ledger.answered(address, undefined, this.#nowMs)
      return true
    }
    const { id } = object
    const input = { ...this.#about, id, address }
    this.#ask({ operation: 'deleteAddress', id, input, why: 'its claim does not exist' })
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
    const text = this.#markerOf(uid)
    if (this.#input.calls.of('markAddress', object.id)?.value !== undefined) {
      this.#ledger.answered(address, { ...object, marker: text }, this.#nowMs)
      return true
    }
    const { id } = object
    const input = { ...this.#about, id, marker: text }
    this.#ask({ operation: 'markAddress', id, input, why: 'sets the marker of the pool' })
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
    const sinceMs = Math.min(...open.map(({ atMs }) => atMs))
    const found = this.#rules.facts.marker === 'after' ? this.#ledger.unexplained(sinceMs, this.#reserved) : []
    const isAmbiguous = found.length > open.length
    this.#ledger.quarantined = isAmbiguous ? found : []
    if (isAmbiguous) return
    this.#entries = this.#entries.map((entry) => {
      const nth = open.indexOf(entry)
      if (nth === -1) return entry
      const address = found[nth]
      if (address !== undefined) return this.#withAddress(entry, address, true)
      const isThere = this.#ledger.inventory?.markedFor(entry.uid) !== undefined
      const isGone = entry.claim === '' || this.#input.claimOf(entry.claim)?.metadata.uid !== entry.uid
      // nothing is done for a paused claim
      const stays = isThere || isGone || !this.#waiting.has(entry.uid)
      return stays ? entry : { ...entry, by: this.#ledger.identity, atMs: this.#nowMs }
    })
  }

  /** @returns the names of the claims that get no entry */
  #serve(): readonly string[] {
    const { pool } = this.#input
    const { wanted, network } = this.#situation
    const known = new Set(this.#entries.map(({ uid }) => uid))
    const wants = [...this.#waiting.values()].filter(({ claim }) => {
      const { uid = '', name, namespace } = claim.metadata
      const object = this.#ledger.addressOf(pool.metadata.namespace, name)
      const isOther = namespace !== pool.metadata.namespace || isDeleting(claim)
      return !known.has(uid) && !isOther && !(object !== undefined && isOwnedBy(object, uid))
    })
    if (wanted !== undefined) {
      const message = `the pool has addresses in the network ${network}: it can be changed to ${wanted} when all of them are released`
      this.#shortage = { kind: 'invalid', reason: 'PoolNotReady', message }
    }
    const isBehind = this.#isBehind()
    // a full pool keeps its shortage until the watch is up to date
    const { shortage } = this.#ledger
    if (isBehind && wants.length > 0 && shortage?.kind === 'max') this.#shortage ??= shortage
    if (isBehind || wanted !== undefined) return wants.map(({ claim }) => claim.metadata.name)
    let served = 0
    for (const { claim } of wants) {
      const entry = this.#entryFor(claim)
      if (entry === undefined) break
      this.#entries.push(entry)
      served++
    }
    return wants.slice(served).map(({ claim }) => claim.metadata.name)
  }

  /** Whether the IPAddress objects of removed entries may be unknown yet. */
  #isBehind(): boolean {
    const { addressesVersion } = this.#situation.reservations
    const ledger = this.#ledger
    if (addressesVersion === undefined || this.#input.hasReached(addressesVersion)) {
      ledger.behindSinceMs = undefined
      return false
    }
    ledger.behindSinceMs ??= this.#nowMs
    const isLong = this.#nowMs >= ledger.behindSinceMs + MAX_BEHIND_MS
    this.#again(this.#nowMs + (isLong ? LIST_PAUSE_MS : BEHIND_MS))
    if (!isLong) return true
    const message = `the watch of IPAddress objects has not reached version ${addressesVersion}, which the annotation ${RESERVATIONS_ANNOTATION} names`
    this.#shortage ??= { kind: 'invalid', reason: 'PoolNotReady', message }
    return true
  }

  #entryFor({ metadata: { name, uid = '' } }: IPAddressClaim): Reservation | undefined {
    if (this.#entries.length >= MAX_RESERVATIONS) return undefined
    const { identity: by } = this.#ledger
    const entry: Reservation = { claim: name, uid, by, atMs: this.#nowMs }
    this.#freeBytes -= sizeOfEntry(entry)
    if (this.#freeBytes < 0) {
      const message = `the annotations of the pool are as long as they may be: ${RESERVATIONS_ANNOTATION} has no room for a claim`
      if (this.#entries.length === 0) this.#shortage = { kind: 'invalid', reason: 'PoolNotReady', message }
      return undefined
    }
    const listedMs = this.#ledger.inventory?.askedAtMs ?? 0
    const address = this.#ledger.take(this.#reserved)
    if (address !== undefined) {
      if (listedMs + LIST_PAUSE_MS >= this.#nowMs) return this.#withAddress(entry, address)
      // the address may have been deleted by hand
      this.#wantsList(this.#nowMs)
      return undefined
    }
    const unverifiedMs = this.#ledger.unverifiedUntilMs(this.#reserved)
    if (unverifiedMs !== undefined) {
      this.#wantsList(unverifiedMs)
      return undefined
    }
    return this.#newEntry(entry)
  }

  /** An entry for an address to create, if the pool may have one more. */
  #newEntry(entry: Reservation): Reservation | undefined {
    const { max } = this.#situation.policy
    if (this.#entries.filter(({ address }) => address === undefined).length >= MAX_OPEN) {
      this.#again(this.#nowMs + BEHIND_MS)
      return undefined
    }
    if (max !== undefined && this.#ledger.count(this.#entries) >= max) {
      const message = `no free address: the pool has ${max} addresses, which is its limit`
      this.#shortage = { kind: 'max', reason: 'PoolExhausted', message }
      return undefined
    }
    const { ranges } = this.#situation.policy
    if (!this.#rules.facts.choosesAddress || ranges === undefined) return entry
    const address = this.#ledger.choose(ranges, this.#reserved)
    if (address !== undefined) return this.#withAddress(entry, address, true)
    this.#shortage = { kind: 'max', reason: 'PoolExhausted', message: 'the ranges of the pool have no address left' }
    return undefined
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
        ledger.answered(address, object, this.#nowMs)
      }
      this.#free(address)
      return undefined
    }
    const isRefused = by === ledger.identity && result?.failure?.nothingDone === true
    if (isRefused && !this.#wantsSpare(this.#entries)) return undefined
    const wasAsked = (ledger.asked.get(uid) ?? Number.NEGATIVE_INFINITY) >= atMs
    if (isRefused || (by === ledger.identity && !wasAsked)) {
      this.#createSpare(entry)
      return isRefused && this.#nowMs > atMs + this.#rules.callMs / 2 ? { ...entry, atMs: this.#nowMs } : entry
    }
    if (!isSettled(atMs, ledger.inventory, this.#rules)) {
      this.#wantsList(atMs + this.#rules.settleMs)
      return entry
    }
    // the call had no effect, or created an address without a marker
    if (this.#rules.facts.marker !== 'after' || ledger.unexplained(atMs, this.#reserved).length === 0) return undefined
    this.#open.push(entry)
    return entry
  }

  #createSpare({ uid }: Reservation): void {
    const { network } = this.#situation
    const input = { ...this.#about, network, marker: this.#markerOf(uid), address: null }
    const why = 'the pool keeps addresses in advance'
    const isAsked = this.#ask({ operation: 'createAddress', id: uid, input, why })
    if (isAsked) this.#ledger.asked.set(uid, this.#nowMs)
  }

  #makeSpare(): void {
    const { facts } = this.#rules
    const { identity } = this.#ledger
    const isBusy = this.#entries.some(({ claim }) => claim === '') || this.#entries.length >= MAX_RESERVATIONS
    if (this.#isBehind() || isBusy || facts.choosesAddress || this.#shortage !== undefined || this.#call !== undefined)
      return
    if (!this.#wantsSpare(this.#entries)) return
    const entry = { claim: '', uid: `spare-${identity}-${++this.#ledger.spares}`, by: identity, atMs: this.#nowMs }
    if (this.#freeBytes < sizeOfEntry(entry)) return
    this.#entries.push(entry)
    this.#createSpare(entry)
  }

  #wantsSpare(entries: readonly Reservation[]): boolean {
    const { minFree, max = Number.POSITIVE_INFINITY } = this.#situation.policy
    return this.#ledger.free(minFree, this.#reserved).length < minFree && this.#ledger.count(entries) < max
  }

  get #about() {
    return about(this.#input.pool, this.#situation.policy)
  }

  #markerOf(uid: string): string {
    return markerText(this.#input.pool.metadata.uid ?? '', uid)
  }

  /**
   * @returns whether it is the call of this plan: there is one at a time, and one that waits after
   * a failure lets others go first
   */
  #ask(call: PoolCall): boolean {
    const known = this.#input.calls.of(call.operation, call.id)
    const waits = known?.failure !== undefined && known.retryAfterSeconds !== 0
    if (this.#call !== undefined || waits) {
      this.#again(this.#nowMs + BEHIND_MS * 5)
      return false
    }
    this.#call = call
    return true
  }

  #free(address: string): void {
    this.#reserved.delete(address)
    this.#ledger.returned(address)
  }

  #wantsList(atMs: number): void {
    if (atMs <= (this.#ledger.inventory?.askedAtMs ?? 0)) return
    this.#wantsListMs = Math.min(this.#wantsListMs ?? Number.POSITIVE_INFINITY, atMs + 1)
  }

  #again(atMs: number): void {
    this.#againMs = Math.min(this.#againMs ?? Number.POSITIVE_INFINITY, atMs)
  }
}

function isOwnedBy({ metadata }: IPAddress, uid: string): boolean {
  return metadata.ownerReferences?.some((owner) => owner.uid === uid) === true
}
