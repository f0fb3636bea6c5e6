import * as Address from '../../cidr/nouns/address.js'
import { addresses as addressesOf, type RangeSet } from '../../cidr/nouns/range-set.js'
import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import { formatRef, type KubeObject, refOf } from '../../crd/meta/object.js'
import { byAge } from '../../plan/index.js'
import type { PoolHoldings } from '../claims/definition.js'
import { AddressLedger, keyOf } from '../claims/ledger.js'
import type { CloudAddress, CloudFacts } from './cloud.js'
import { type Candidate, FreeAddresses } from './free-addresses.js'
import { claimOfMarker, Inventory } from './inventory.js'
import type { ExternalPolicy, FailedAddress, Shortage } from './pool-kind.js'
import { isEdited, type Reservation, type Reservations } from './reservations.js'

/** A pool at the moment: its policy, and its reservations. */
export interface PoolNow {
  readonly policy: ExternalPolicy
  readonly reservations: Reservations
  /** The id of the network of the pool. */
  readonly network: string
  /**
   * Everything in the policy and the reservations that decides which addresses the pool may use, as
   * a text.
   */
  readonly key: string
}

/** The process of a ledger, and the maximum ages, in milliseconds. */
export interface LedgerOptions {
  /** Of this ledger alone: {@link Reservation.by}. */
  readonly identity: string
  /** How long a call may take. */
  readonly callMs: number
  /** How old the content of a list may be. */
  readonly lagMs: number
}

/** The ledgers of all pools of a provider, by address. */
export interface Neighbours<P extends KubeObject> {
  of(address: string): Iterable<ExternalLedger<P>>
  add(address: string, ledger: ExternalLedger<P>): void
  delete(address: string, ledger: ExternalLedger<P>): void
}

/**
 * The used addresses of a pool, its addresses in the cloud, and the free ones. Call {@link sync}
 * once in each plan; everything else is O(1) or as documented.
 */
export class ExternalLedger<P extends KubeObject> extends AddressLedger<P> {
  readonly #facts: CloudFacts
  readonly #options: LedgerOptions
  readonly #neighbours: Neighbours<P>
  #inventory: Inventory | undefined
  /** The answer from which the inventory was made. */
  #listed: unknown
  #now: PoolNow | undefined
  #free = new FreeAddresses()
  /** The place of each preallocated address, and of each adopted one. */
  #preallocated = new Map<string, Candidate>()
  #adopted = new Set<string>()
  #created = new Set<string>()
  /** The addresses of IPAddress objects: by object, and their number by address. */
  readonly #texts = new Map<string, string>()
  readonly #live = new Map<string, number>()
  /** How many claims have an address that the pool has created. */
  #both = 0
  /**
   * Addresses whose IPAddress was deleted, and when that was observed: the cloud may have deleted
   * them since the last list.
   */
  readonly #gone = new Map<string, number>()
  readonly #justGone = new Set<string>()
  #startMs: number | undefined
  /** `createdMs` as it was last read, and as this process has last written it. */
  #createdMs: number | undefined
  #ownCreatedMs: number | undefined
  /** Another process had created an address by this time: a list from before may not show it. */
  #unlistedMs = 0
  /** The addresses that the last plan has reserved, as far as they were written. */
  #taken: readonly string[] = []
  /** When the pool was first seen being deleted. */
  endsSinceMs: number | undefined
  /** A list has to be requested after this time, for an address that is to be released. */
  wantsListMs = 0
  /** Addresses that this pool or another owner may have created: `quarantined` of its report. */
  quarantined: readonly string[] = []
  /** Since when the watch of IPAddress objects has been behind. */
  behindSinceMs: number | undefined
  /** When the lists in the status were last compared. */
  statusMs = 0
  /** Why claims without a reservation wait. */
  shortage: Shortage | undefined
  /** What they waited for before, and since when they do not. */
  #before: { readonly shortage: Shortage | undefined; readonly untilMs: number } | undefined

  constructor(holdings: PoolHoldings, facts: CloudFacts, options: LedgerOptions, neighbours: Neighbours<P>) {
    super(holdings)
    this.#facts = facts
    this.#neighbours = neighbours
    this.#options = options
  }

  /** The identity in the options of the ledger. */
  get identity(): string {
    return this.#options.identity
  }

  /** The key of the pool, if it exists. */
  get poolKey(): string | undefined {
    return this.pool && formatRef(refOf(this.pool))
  }

  /** The id of the network, once it is known. */
  get network(): string | undefined {
    return this.#now?.network
  }

  get inventory(): Inventory | undefined {
    return this.#inventory
  }

  /** The addresses of IPAddress objects, each once. */
  get live(): Iterable<string> {
    return this.#live.keys()
  }

  /**
   * Reads the pool and the last list of the cloud. O(n log n) when one of them has changed, else
   * O(reservations).
   */
  sync(
    now: PoolNow,
    listed: { readonly value: readonly CloudAddress[]; readonly askedAtMs: number } | undefined,
    nowMs: number,
  ): void {
    this.#startMs ??= nowMs
    this.#noteCreated(now.reservations, nowMs)
    for (const address of this.#justGone) this.#gone.set(address, nowMs)
    this.#justGone.clear()
    const keyBefore = this.#now?.key
    this.#now = now
    const { uids } = now.reservations
    const isNew = listed?.value !== this.#listed
    if (isNew) {
      this.#listed = listed?.value
      const { lagMs } = this.#options
      const before = this.#inventory
      this.#inventory = listed && new Inventory(listed.value, { askedAtMs: listed.askedAtMs, lagMs, uids, before })
      for (const [address, atMs] of this.#gone) {
        if (listed !== undefined && atMs + lagMs < listed.askedAtMs) this.#gone.delete(address)
      }
    }
    if (isNew || now.key !== keyBefore) this.#rebuild(now)
    else for (const address of this.#taken) this.returned(address)
    this.#taken = []
  }

  #noteCreated(reservations: Reservations, nowMs: number): void {
    const { createdMs = 0 } = reservations
    if (this.#createdMs === undefined) this.#unlistedMs = createdBefore(reservations, nowMs)
    else if (createdMs !== this.#createdMs && createdMs !== this.#ownCreatedMs) this.#unlistedMs = nowMs
    this.#createdMs = createdMs
  }

  /**
   * Notes why claims without a reservation wait.
   *
   * @returns whether they waited for another reason before now, or for none
   */
  noteShortage(shortage: Shortage | undefined, nowMs: number): boolean {
    if (this.#before?.untilMs !== nowMs) this.#before = { shortage: this.shortage, untilMs: nowMs }
    this.shortage = shortage
    const { shortage: before } = this.#before
    return before?.reason !== shortage?.reason || before?.message !== shortage?.message
  }

  /** Stores the answer to a call. */
  answered(address: string, object: CloudAddress | undefined, atMs: number): void {
    const { uids } = this.#pool.reservations
    if (this.#inventory?.get(address) === object) return
    this.#inventory?.answered(address, object, { atMs, uids })
    this.#note(address)
  }

  /** Notes what an IPAddress of the pool has. */
  observe(address: IPAddress): void {
    const key = keyOf(address.metadata)
    const text = canonical(address.spec.address)
    const before = this.#texts.get(key)
    if (before === text) return
    if (before !== undefined) this.#leave(key, before)
    if (text === undefined) return
    this.#texts.set(key, text)
    this.#neighbours.add(text, this)
    const count = (this.#live.get(text) ?? 0) + 1
    this.#live.set(text, count)
    if (count === 1 && this.#created.has(text)) this.#both++
  }

  /** Notes that an IPAddress is of this pool no more. */
  forget(ref: { readonly namespace?: string | undefined; readonly name: string }): void {
    const text = this.#texts.get(keyOf(ref))
    if (text !== undefined) this.#leave(keyOf(ref), text)
  }

  /** The IPAddress of a name in the namespace of the pool, if it is of this pool. */
  addressOf(namespace: string | undefined, name: string): IPAddress | undefined {
    return this.objects.get(keyOf({ namespace, name }))
  }

  /** Whether the pool is known to have created an address: no other address is deleted. */
  isCreated(address: string): boolean {
    return this.#created.has(address)
  }

  /** The canonical address of an IPAddress. */
  textOf({ spec }: IPAddress): string | undefined {
    return canonical(spec.address)
  }

  /** Whether another IPAddress has an address as well. */
  isOfOthers(
    address: string,
    { namespace, name }: { readonly namespace?: string | undefined; readonly name: string },
  ): boolean {
    return this.othersHolding({ metadata: { namespace, name }, spec: { address } }).length > 0
  }

  /** Whether an IPAddress has the address. */
  isLive(address: string): boolean {
    return this.#live.has(address)
  }

  /** The first address of some ranges that the cloud does not have and that is not in use. O(n) */
  choose(ranges: RangeSet, reserved: ReadonlySet<string>): string | undefined {
    for (const address of addressesOf(ranges)) {
      const text = Address.format(address)
      if (!reserved.has(text) && !this.#live.has(text) && this.#inventory?.get(text) === undefined) return text
    }
    return undefined
  }

  /** Whether the pool may give an address, if it is free. */
  isOfPool(address: string): boolean {
    return this.#preallocated.has(address) || this.#created.has(address) || this.#adopted.has(address)
  }

  /** Puts a reserved address back. */
  returned(address: string): void {
    const candidate = this.#candidate(address)
    if (candidate !== undefined) this.#free.add(candidate)
  }

  /** The first free addresses. @param reserved the addresses with an entry */
  free(count: number, reserved: ReadonlySet<string>): readonly string[] {
    return this.#free.first(count, ({ text }) => !reserved.has(text) && this.#isFree(text)).map(({ text }) => text)
  }

  /**
   * The first free address. It is left out until the next plan, because the result of its
   * reservation is not known yet.
   */
  take(reserved: ReadonlySet<string>): string | undefined {
    const [address] = this.free(1, reserved)
    if (address !== undefined) this.#taken = [...this.#taken, address]
    return address
  }

  /** Whether the pool has anything in its network that has to be found again. */
  hasAny({ entries }: Reservations): boolean {
    return this.#live.size + this.#created.size + entries.length > 0
  }

  /** The addresses that the pool has created. */
  get created(): Iterable<string> {
    return this.#created.values()
  }

  /** All free addresses. O(n) */
  allFree(reserved: ReadonlySet<string>): readonly string[] {
    return this.free(Number.POSITIVE_INFINITY, reserved)
  }

  /**
   * When to request a list that shows whether an address that may be free is; `undefined`: there is
   * no such address. After a start only.
   */
  unverifiedUntilMs(reserved: ReadonlySet<string>): number | undefined {
    const inventory = this.#inventory
    if (inventory === undefined || this.#pool.policy.reclaim !== 'Delete') return undefined
    const untilMs = (this.#startMs ?? 0) + this.#options.lagMs
    if (inventory.askedAtMs >= untilMs) return undefined
    return [...this.#created].some((address) => !reserved.has(address) && this.#isFree(address)) ? untilMs : undefined
  }

  /**
   * When to request a list that shows every address that other processes have created; `undefined`:
   * the last list does.
   */
  get unlistedUntilMs(): number | undefined {
    const untilMs = this.#unlistedMs + this.#options.lagMs
    return (this.#inventory?.askedAtMs ?? 0) > untilMs ? undefined : untilMs
  }

  /** Notes the value of `createdMs` that this process writes. */
  wrote({ createdMs }: Reservations): void {
    this.#ownCreatedMs = createdMs
  }

  /**
   * How many addresses count towards the limit: those of claims, those that the pool has created,
   * and those that are reserved or being created. O(entries)
   */
  count(entries: readonly Reservation[]): number {
    let count = this.#live.size + this.#created.size - this.#both
    for (const { uid, address } of entries) {
      const known = address ?? this.#inventory?.markedFor(uid)
      if (known === undefined || !(this.#live.has(known) || this.#created.has(known))) count++
    }
    return count
  }

  /**
   * Whether an address that the pool has created is in the cloud no more: a list does not show it
   * that was requested after it was created.
   */
  hasLost(address: string): boolean {
    return this.unlistedUntilMs === undefined && !this.#created.has(address) && !this.#live.has(address)
  }

  /** Whether the pool creates one more address in advance. O(entries) */
  wantsSpare(
    { minFree, max = Number.POSITIVE_INFINITY }: ExternalPolicy,
    entries: readonly Reservation[],
    reserved: ReadonlySet<string>,
  ): boolean {
    return this.free(minFree, reserved).length < minFree && this.count(entries) < max
  }

  /** The addresses that the pool may use and cannot, and why. O(n) */
  failed(): readonly FailedAddress[] {
    const failed: FailedAddress[] = []
    for (const address of [...this.#preallocated.keys(), ...this.#adopted]) {
      if (this.#live.has(address)) continue
      const reason = this.#unusable(address) ?? (this.#isOfNeighbour(address) ? 'OtherPool' : undefined)
      if (reason !== undefined) failed.push({ address, reason })
    }
    return failed
  }

  /**
   * Addresses in the cloud without a marker that were created after a time, and that no entry
   * explains. For clouds that set markers afterwards. O(n)
   */
  unexplained(sinceMs: number, reserved: ReadonlySet<string>): readonly string[] {
    const found: string[] = []
    for (const [address, { marker, network, isAttached, createdAtMs }] of this.#inventory ?? []) {
      const isOurs = this.isOfPool(address) || this.#live.has(address) || reserved.has(address)
      if (isOurs || marker !== '' || isAttached || network !== this.#pool.network) continue
      if (createdAtMs !== undefined && createdAtMs >= sinceMs) found.push(address)
    }
    return found.sort(inOrder)
  }

  get #pool(): PoolNow {
    return this.#now as PoolNow
  }

  #isFree(address: string): boolean {
    if (this.#live.has(address) || this.#unusable(address) !== undefined || this.#isOfNeighbour(address)) return false
    return this.othersHolding({ metadata: { name: '' }, spec: { address } }).length === 0
  }

  /**
   * Whether another pool gives an address that this one may use. That pool has given, reserved or
   * created it, or is the older one of those that may use it. All processes see the same, except
   * for changes that they have not observed yet.
   */
  #isOfNeighbour(address: string): boolean {
    for (const other of this.#neighbours.of(address)) {
      const isElsewhere = other.network !== undefined && other.network !== this.#pool.network
      if (other === this || isElsewhere) continue
      if (other.#has(address) || (other.isOfPool(address) && other.#isOlderThan(this))) return true
    }
    return false
  }

  /** Whether an address has the entry of another claim. O(entries) */
  isReserved(address: string, uid: string): boolean {
    return this.#now?.reservations.entries.some((entry) => entry.address === address && entry.uid !== uid) === true
  }

  #has(address: string): boolean {
    // of a pool that was deleted only IPAddress objects are left
    if (this.pool === undefined) return this.#live.has(address)
    const isReserved = this.#now?.reservations.entries.some((entry) => entry.address === address) === true
    return isReserved || this.#live.has(address) || this.#created.has(address) || this.#taken.includes(address)
  }

  #isOlderThan(other: ExternalLedger<P>): boolean {
    return this.pool !== undefined && other.pool !== undefined && byAge(this.pool, other.pool) < 0
  }

  /**
   * Whether an address is in the cloud as the pool needs it, and was not released since the list
   * was requested.
   */
  isUsable(address: string): boolean {
    return this.#unusable(address) === undefined
  }

  #unusable(address: string): FailedAddress['reason'] | undefined {
    const inventory = this.#inventory
    const object = inventory?.get(address)
    if (inventory === undefined || object === undefined) return 'NotFound'
    if (object.network !== this.#pool.network) return 'OtherNetwork'
    if (object.isAttached) return 'Attached'
    const isDeleted = this.#pool.policy.reclaim === 'Delete' && this.#created.has(address)
    return isDeleted && this.#gone.has(address) ? 'NotFound' : undefined
  }

  #rebuild({ policy, reservations }: PoolNow): void {
    const { uids, created = [], adopted = [] } = reservations
    const candidates = new Map<string, Candidate>()
    const before = [...this.#preallocated.keys(), ...this.#adopted, ...this.#created]
    this.#preallocated = new Map()
    policy.preallocated.forEach((address, nth) => {
      const text = Address.format(address)
      if (!this.#preallocated.has(text)) this.#preallocated.set(text, { text, address, nth })
    })
    this.#adopted = new Set(adopted)
    this.#created = new Set()
    for (const [text, { marker, tags }] of this.#inventory ?? []) {
      const isCreated = claimOfMarker(marker, uids) !== undefined
      if (isCreated && !this.#preallocated.has(text)) this.#created.add(text)
      if (!isCreated && tags?.some((tag) => policy.adopt?.tags.includes(tag)) === true) this.#adopted.add(text)
    }
    if (this.#facts.marker === 'none') {
      for (const text of created) if (this.#inventory?.get(text) !== undefined) this.#created.add(text)
    }
    for (const text of before) if (!this.isOfPool(text) && !this.#live.has(text)) this.#neighbours.delete(text, this)
    for (const text of [...this.#preallocated.keys(), ...this.#created, ...this.#adopted]) {
      this.#neighbours.add(text, this)
      const candidate = this.#candidate(text)
      if (candidate !== undefined && !this.#live.has(text)) candidates.set(text, candidate)
    }
    this.#free = new FreeAddresses(candidates.values())
    this.#both = 0
    for (const text of this.#created) if (this.#live.has(text)) this.#both++
  }

  #note(address: string): void {
    const object = this.#inventory?.get(address)
    const isCreated = object !== undefined && claimOfMarker(object.marker, this.#pool.reservations.uids) !== undefined
    if (isCreated && !this.#preallocated.has(address)) {
      if (!this.#created.has(address) && this.#live.has(address)) this.#both++
      this.#created.add(address)
      this.#neighbours.add(address, this)
    }
    if (object === undefined && this.#created.delete(address) && this.#live.has(address)) this.#both--
    if (object !== undefined) this.#gone.delete(address)
    this.returned(address)
  }

  #candidate(text: string): Candidate | undefined {
    const known = this.#preallocated.get(text)
    if (known !== undefined || !this.isOfPool(text)) return known
    return { text, address: Address.parse(text), nth: Number.MAX_SAFE_INTEGER }
  }

  #leave(key: string, text: string): void {
    this.#texts.delete(key)
    const count = (this.#live.get(text) ?? 0) - 1
    if (count > 0) {
      this.#live.set(text, count)
      return
    }
    this.#live.delete(text)
    if (this.#created.has(text)) this.#both--
    if (!this.isOfPool(text)) this.#neighbours.delete(text, this)
    this.#justGone.add(text)
    if (this.#now !== undefined) this.returned(text)
  }
}

/** When the last address was created before a start. A time that was edited says nothing. */
function createdBefore({ createdMs = 0 }: Reservations, startMs: number): number {
  return isEdited(createdMs, startMs) ? 0 : Math.min(createdMs, startMs)
}

/** The canonical form of an address; `undefined` for a text that is not an address. */
export function canonical(text: string): string | undefined {
  const address = Address.safeParse(text, { zone: 'drop' })
  return address.ok ? Address.format(address.value) : undefined
}

/** Sorts canonical addresses by value. */
export function inOrder(left: string, right: string): number {
  return Address.compare(Address.parse(left), Address.parse(right))
}
