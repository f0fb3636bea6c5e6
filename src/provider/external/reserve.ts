import type { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import { isDeleting, type KubeObject } from '../../crd/meta/object.js'
import { type ExternalRules, LIST_PAUSE_MS } from './definition.js'
import { EntryReview, isOwnedBy } from './entry-review.js'
import type { ExternalLedger } from './ledger.js'
import { PlanDraft } from './plan-draft.js'
import type { Shortage } from './pool-kind.js'
import {
  freeAnnotationBytes,
  MAX_RESERVATIONS,
  RESERVATIONS_ANNOTATION,
  type Reservation,
  type Reservations,
  sizeOfEntry,
  withAddress,
} from './reservations.js'
import { exhausted, type Input, invalid, type Situation } from './situation.js'

/**
 * How many addresses are created at a time. A call is sent soon after its entry is written, so an
 * old entry without an address has no call in flight.
 */
const MAX_OPEN = 100
/** How long to wait while the watch of IPAddress objects is behind. */
const BEHIND_MS = 1000
/** Claims report a watch that has been behind for this time. */
const MAX_BEHIND_MS = 60_000

/**
 * Reviews the entries, and makes one for each waiting claim, in order, while addresses are free.
 *
 * @returns the new reservations, the same object if nothing changes; what the plan requests; and in
 * `unserved` the names of the waiting claims without an entry
 */
export function reserve<P extends KubeObject>(rules: ExternalRules<P>, input: Input<P>, situation: Situation) {
  const draft = new PlanDraft(rules, input, situation)
  const waiting = new Map([...input.waiting()].map((each) => [each.claim.metadata.uid ?? '', each]))
  const review = new EntryReview(draft, waiting)
  review.run()
  const made = new NewEntries(draft, review)
  const unserved = made.serve([...waiting.values()].map(({ claim }) => claim))
  made.addSpare()
  const { proofs, addressesVersion, createdMs, created } = review
  const { entries, shortage } = made
  const { reservations: before, network } = situation
  const reservations = changed(before, { ...before, network, entries, addressesVersion, createdMs, created })
  if (reservations !== before) input.ledger.wrote(reservations)
  return { reservations, proofs, shortage, unserved, draft }
}

function changed(before: Reservations, after: Reservations): Reservations {
  const { entries, created } = before
  const isSame = entries.length === after.entries.length && entries.every((each, nth) => each === after.entries[nth])
  return isSame && created === after.created ? before : after
}

/** Makes entries beside the reviewed ones: for waiting claims, and for spare addresses. */
class NewEntries<P extends KubeObject> {
  readonly #draft: PlanDraft<P>
  readonly #input: PlanDraft<P>['input']
  readonly #situation: PlanDraft<P>['situation']
  readonly #ledger: ExternalLedger<P>
  readonly #reserved: Set<string>
  /** The reviewed entries, and the new ones. */
  readonly entries: Reservation[]
  shortage: Shortage | undefined
  /** The bytes that the annotation has left. */
  #freeBytes: number

  constructor(draft: PlanDraft<P>, { entries, reserved }: Pick<EntryReview<P>, 'entries' | 'reserved'>) {
    this.#draft = draft
    this.#input = draft.input
    this.#situation = draft.situation
    this.#ledger = draft.input.ledger
    this.#reserved = reserved
    this.entries = [...entries]
    this.#freeBytes = freeAnnotationBytes(draft.input.pool)
  }

  /** @returns the names of the claims that get no entry */
  serve(waiting: readonly IPAddressClaim[]): readonly string[] {
    const { pool } = this.#input
    const { wanted, network } = this.#situation
    const known = new Set(this.entries.map(({ uid }) => uid))
    const wants = waiting.filter((claim) => {
      const { uid = '', name, namespace } = claim.metadata
      const object = this.#ledger.addressOf(pool.metadata.namespace, name)
      const isOther = namespace !== pool.metadata.namespace || isDeleting(claim)
      return !known.has(uid) && !isOther && !(object !== undefined && isOwnedBy(object, uid))
    })
    if (wanted !== undefined) {
      const message = `the pool has addresses in the network ${network}: it can be changed to ${wanted} when all of them are released`
      this.shortage = invalid(message)
    }
    const isBehind = this.#isBehind()
    // a full pool keeps its shortage until the watch is up to date
    const { shortage } = this.#ledger
    if (isBehind && wants.length > 0 && shortage?.kind === 'max') this.shortage ??= shortage
    if (isBehind || wanted !== undefined) return wants.map(({ metadata }) => metadata.name)
    let served = 0
    for (const claim of wants) {
      const entry = this.#entryFor(claim)
      if (entry === undefined) break
      this.entries.push(entry)
      served++
    }
    return wants.slice(served).map(({ metadata }) => metadata.name)
  }

  /** Whether the IPAddress objects of removed entries may be unknown yet. */
  #isBehind(): boolean {
    const { addressesVersion } = this.#situation.reservations
    const ledger = this.#ledger
    if (this.#draft.isInformed) {
      ledger.behindSinceMs = undefined
      return false
    }
    ledger.behindSinceMs ??= this.#input.nowMs
    const isLong = this.#input.nowMs >= ledger.behindSinceMs + MAX_BEHIND_MS
    this.#draft.planAgain(this.#input.nowMs + (isLong ? LIST_PAUSE_MS : BEHIND_MS))
    if (!isLong) return true
    const message = `the watch of IPAddress objects has not reached version ${addressesVersion}, which the annotation ${RESERVATIONS_ANNOTATION} names`
    this.shortage ??= invalid(message)
    return true
  }

  #entryFor({ metadata: { name, uid = '' } }: IPAddressClaim): Reservation | undefined {
    if (this.entries.length >= MAX_RESERVATIONS) return undefined
    const { identity: by } = this.#ledger
    const entry: Reservation = { claim: name, uid, by, atMs: this.#input.nowMs }
    this.#freeBytes -= sizeOfEntry(entry)
    if (this.#freeBytes < 0) {
      const message = `the annotations of the pool are as long as they may be: ${RESERVATIONS_ANNOTATION} has no room for a claim`
      if (this.entries.length === 0) this.shortage = invalid(message)
      return undefined
    }
    const listedMs = this.#ledger.inventory?.askedAtMs ?? 0
    const address = this.#ledger.take(this.#reserved)
    if (address !== undefined) {
      if (listedMs + LIST_PAUSE_MS >= this.#input.nowMs) return withAddress(this.#reserved, entry, address)
      // the address may have been deleted by hand
      this.#draft.wantList(listedMs + LIST_PAUSE_MS)
      return undefined
    }
    const unverifiedMs = this.#ledger.unverifiedUntilMs(this.#reserved)
    if (unverifiedMs !== undefined) {
      this.#draft.wantList(unverifiedMs)
      return undefined
    }
    return this.#newEntry(entry)
  }

  /** Whether the last list may lack an address that counts towards the limit. */
  #isListOlder(): boolean {
    const { unlistedUntilMs } = this.#ledger
    if (unlistedUntilMs !== undefined) this.#draft.wantList(unlistedUntilMs)
    return unlistedUntilMs !== undefined
  }

  /** An entry for an address to create, if the pool may have one more. */
  #newEntry(entry: Reservation): Reservation | undefined {
    const { max } = this.#situation.policy
    if (this.entries.filter(({ address }) => address === undefined).length >= MAX_OPEN) {
      this.#draft.planAgain(this.#input.nowMs + BEHIND_MS)
      return undefined
    }
    if (max !== undefined && this.#ledger.count(this.entries) >= max) {
      const message = `no free address: the pool has ${max} addresses, which is its limit`
      this.shortage = exhausted(message)
      return undefined
    }
    if (max !== undefined && this.#isListOlder()) return undefined
    const { ranges } = this.#situation.policy
    if (!this.#draft.rules.facts.choosesAddress || ranges === undefined) return entry
    const address = this.#ledger.choose(ranges, this.#reserved)
    if (address !== undefined) return withAddress(this.#reserved, entry, address, true)
    this.shortage = exhausted('the ranges of the pool have no address left')
    return undefined
  }

  /** Makes an entry for a spare address, if the pool wants one more. */
  addSpare(): void {
    const { facts } = this.#draft.rules
    const { identity } = this.#ledger
    const isBusy = this.entries.some(({ claim }) => claim === '') || this.entries.length >= MAX_RESERVATIONS
    if (
      this.#isBehind() ||
      isBusy ||
      facts.choosesAddress ||
      this.shortage !== undefined ||
      this.#draft.call !== undefined
    )
      return
    if (!this.#ledger.wantsSpare(this.#situation.policy, this.entries, this.#reserved)) return
    if (this.#situation.policy.max !== undefined && this.#isListOlder()) return
    const entry = {
      claim: '',
      // the entry is written once for a version of the pool
      uid: `spare-${identity}-${this.#input.pool.metadata.resourceVersion}`,
      by: identity,
      atMs: this.#input.nowMs,
    }
    if (this.#freeBytes < sizeOfEntry(entry)) return
    this.entries.push(entry)
    this.#draft.askSpare(entry.uid)
  }
}
