import type { Prefix } from '../../cidr/index.js'
import * as Address from '../../cidr/nouns/address.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import type { InClusterPool, InClusterPoolCounts } from '../../crd/in-cluster/pools.js'
import { clampCount } from '../../crd/in-cluster/space.js'
import { formatRef, refOf } from '../../crd/meta/object.js'
import type { Ledger, Offer, Place } from '../claims/definition.js'
import type { Random } from './draw.js'
import type { KeptAddresses } from './preallocations.js'
import { emptySpace, type LedgerEntry, type Space, spaceOf } from './space.js'

export type { LedgerEntry } from './space.js'

/** Several IPAddress objects that hold one address, or parts of one prefix. */
export interface Duplicate {
  /** As the first of the objects says it. */
  readonly address: string
  /** `namespace/name` of the objects, in order. */
  readonly holders: readonly string[]
}

/** What a ledger says of one address, or prefix, that somebody asks for. */
export type LedgerAnswer =
  | { readonly kind: 'free'; readonly offer: Offer }
  /** The text is no address, or no prefix of the length that the pool gives. */
  | { readonly kind: 'malformed' }
  /** The pool does not give it, whoever has it. */
  | { readonly kind: 'notOfPool' }
  /** By whom, in words. */
  | { readonly kind: 'taken'; readonly by: string }

/**
 * Holds a place in a ledger beside the objects of the pool.
 *
 * - `reserved`: an object that is about to be written. Counts leave it out, as nobody can see it yet
 * - `kept`: for one claim, whether it is there or not. Not free for others
 * - `former`: what a claim had that may come again. Free, but given last
 * - `foreign`: in use from another pool. Not free
 */
interface Beside {
  readonly kind: 'reserved' | 'kept' | 'former' | 'foreign'
  /** Who that is, in words. */
  readonly name: string
  readonly extentIn: (space: Space) => Prefix | undefined
}

/**
 * The ledger of a pool: which of its addresses are in use, according to the IPAddress objects that refer to it.
 *
 * Kept up to date by {@link observe} and {@link forget}, so that the next free address costs the same at any fill. Several objects
 * with one address, with an address outside the pool or with a text that is none are all recorded: the first never leads to a
 * second hand-out, the last never stops the pool.
 *
 * One writer: two processes with a ledger each can give the same address away, because nothing in the API keeps two objects from
 * having it. Show the ledger every object that was just created before the next plan is made.
 *
 * @example
 * const spec = { addresses: ['10.0.0.5-10.0.0.9'], prefix: 24 }
 * const pool = { apiVersion: 'ipam.cluster.x-k8s.io/v1alpha2', kind: 'InClusterIPPool', metadata: { name: 'lab' }, spec }
 * PoolLedger.build(pool, []).next() // { address: { family: 4, value: 0x0a000005 }, prefix: 24 }
 */
export class PoolLedger implements Ledger<InClusterPool> {
  #pool: InClusterPool | undefined
  /** What is in use; `undefined` as long as nothing is, and there is no pool that can be used. */
  #space: Space | undefined
  /** Whether the space is that of the pool. If not, it is empty, and what is in use is out of its range. */
  #isUsable = false
  #problems: readonly string[] = []
  readonly #objects = new Map<string, IPAddress>()
  /** Who else holds something, by the owner that it has in the space: no name of an object, as there is a blank in it. */
  readonly #beside = new Map<string, Beside>()
  #reservations = 0
  #reserved = 0
  /** What is kept, by claim, as a text. */
  #kept: ReadonlyMap<string, string> = new Map()
  /** Objects that hold what another one of the pool holds as well. */
  readonly #sharing = new Set<string>()

  readonly #keptBy: ((pool: InClusterPool) => KeptAddresses) | undefined

  /** @param keptBy what a pool keeps for claims */
  constructor(keptBy?: (pool: InClusterPool) => KeptAddresses) {
    this.#keptBy = keptBy
  }

  /** A ledger of a pool (or of one that is missing yet) from the IPAddress objects that refer to it, in any order. */
  static build(pool: InClusterPool | undefined, addresses: Iterable<IPAddress>): PoolLedger {
    const ledger = new PoolLedger()
    ledger.setPool(pool)
    for (const address of addresses) ledger.observe(address)
    return ledger
  }

  /** Why the spec of the pool can not be used; empty if it can. */
  get problems(): readonly string[] {
    return this.#problems
  }

  /** How many IPAddress objects refer to the pool. */
  get size(): number {
    return this.#objects.size
  }

  /** How many of the pool itself are about to be written: {@link reserve}. */
  get reserved(): number {
    return this.#reserved
  }

  /**
   * Takes a new spec in: what is in use stays in use, also where it is out of range now. O(addresses in use).
   *
   * @param pool `undefined` if there is none, or one that can not be read: then `problems` says why
   */
  setPool(pool: InClusterPool | undefined, problems: readonly string[] = []): void {
    this.#pool = pool
    this.#problems = problems
    const space = pool && spaceOf(pool)
    if (space?.ok === false) this.#problems = space.problems
    this.#space = space?.ok === true ? space.value : undefined
    this.#isUsable = this.#space !== undefined
    this.#sharing.clear()
    for (const [key, address] of this.#objects) this.#occupy(address, key)
    for (const [owner, beside] of this.#beside) this.#place(owner, beside)
    const kept = pool && this.#keptBy?.(pool)
    if (kept !== undefined) this.#problems = [...this.#problems, ...kept.problems]
    this.keep(kept?.claims ?? new Map())
  }

  /** Whether this is the ledger of that pool. */
  serves(pool: InClusterPool): boolean {
    const own = this.#pool
    return own?.kind === pool.kind && formatRef(refOf(own)) === formatRef(refOf(pool))
  }

  /** Records an IPAddress object that refers to the pool. Showing it again, or as it is now, is fine. */
  observe(address: IPAddress): void {
    const key = keyOf(address.metadata)
    const before = this.#objects.get(key)
    this.#objects.set(key, address)
    if (before !== undefined && sameText(before, address)) return
    if (before !== undefined) this.#release(key, before)
    this.#occupy(address, key)
  }

  /** Removes an object that is gone. */
  forget(ref: { readonly namespace?: string | undefined; readonly name: string }): void {
    const key = keyOf(ref)
    const before = this.#objects.get(key)
    if (before === undefined) return
    this.#objects.delete(key)
    this.#release(key, before)
  }

  /**
   * Counts an IPAddress that is about to be written as in use: what it holds is offered to nobody. {@link counts} and {@link entries} leave it out.
   *
   * @param extent what it holds, if it is of another pool
   * @returns ends that, and says whether it has made room: nobody holds it. A second call does nothing
   */
  reserve(address: IPAddress, extent?: Prefix): () => boolean {
    const name = keyOf(address.metadata)
    const owner = `${name} ${++this.#reservations}`
    this.#space ??= emptySpace(address.spec.poolRef.kind)
    const extentIn = (space: Space) => extent ?? space.extentOf(address.spec)
    this.#set(owner, { kind: 'reserved', name, extentIn })
    // what is of another pool does not keep this one
    const count = extent === undefined ? 1 : 0
    this.#reserved += count
    return () => {
      if (!this.#beside.has(owner)) return false
      this.#remove(owner)
      this.#reserved -= count
      const now = this.#space && extentIn(this.#space)
      return now !== undefined && this.#holdersOf(now).every(({ beside }) => beside?.kind === 'former')
    }
  }

  /**
   * Keeps addresses, or prefixes, for claims: they are offered to no other one, and do not count as free. Takes the place of what was kept before.
   * What is kept for two claims is a problem of the pool.
   *
   * @param claims texts by `namespace/name` of the claim
   */
  keep(claims: ReadonlyMap<string, string>): void {
    for (const claim of this.#kept.keys()) this.#remove(keptBy(claim))
    this.#kept = claims
    for (const [claim, text] of claims) {
      const offer = this.#space?.offerOf(text)
      const holders = offer === undefined ? [] : this.#holders(placeOf(offer))
      const rival = holders.find(({ beside }) => beside?.kind === 'kept')?.beside
      if (rival !== undefined) {
        this.#problems = [...this.#problems, `${text} is preallocated for ${rival.name} and for ${claim}`]
      }
      this.#set(keptBy(claim), { kind: 'kept', name: claim, extentIn: (space) => extentOfText(text, space) })
    }
  }

  /** What is kept for a claim, by `namespace/name`. */
  keptFor(claim: string): string | undefined {
    return this.#kept.get(claim)
  }

  /** Gives what is at a place only when nothing else is free; of several of those, what was avoided first. `undefined` ends it. */
  avoid(key: string, place: Place | undefined): void {
    const owner = `former ${key}`
    this.#remove(owner)
    if (place !== undefined) {
      this.#set(owner, { kind: 'former', name: key, extentIn: (space) => space.extentOf(place) })
    }
  }

  /** Counts a prefix that is in use from another pool as not free. `undefined` ends it. @returns whether anything has changed */
  observeForeign(name: string, prefix: Prefix | undefined): boolean {
    const owner = `foreign ${name}`
    const had = this.#beside.has(owner)
    this.#remove(owner)
    const isHere = prefix !== undefined && this.#space !== undefined && RangeSet.overlaps(this.#space.available, prefix)
    if (isHere) this.#set(owner, { kind: 'foreign', name, extentIn: () => prefix })
    return had || isHere
  }

  /** All that an IPAddress of the pool holds. */
  extentOf(address: IPAddress): Prefix | undefined {
    return (this.#space ?? emptySpace(address.spec.poolRef.kind)).extentOf(address.spec)
  }

  /** What the pool may give, in use or not. Empty while its spec can not be used. */
  get available(): RangeSet.RangeSet {
    return this.#space?.available ?? RangeSet.empty
  }

  /**
   * What the next claim would get: the lowest free address or prefix, or with `random` one of those that are free, each as likely as any other.
   * `undefined` if there is none. Changes nothing.
   */
  next({ random }: { readonly random?: Random | undefined } = {}): Offer | undefined {
    const space = this.#isUsable ? this.#space : undefined
    const found = random === undefined ? space?.next() : space?.draw(random)
    return this.#offered(found ?? (space && this.#firstAvoided(space)))
  }

  /** What can be said of one address, or prefix, for a claim, by `namespace/name`. O(log n). */
  answerTo(text: string, claim: string): LedgerAnswer {
    const space = this.#isUsable ? this.#space : undefined
    if (space === undefined) return { kind: 'notOfPool' }
    const offer = space.offerOf(text)
    if (offer === undefined) return { kind: 'malformed' }
    if (!space.has(offer)) return { kind: 'notOfPool' }
    const holder = this.#holders(placeOf(offer)).find(
      ({ owner, beside }) => beside?.kind !== 'former' && owner !== keptBy(claim),
    )
    if (holder === undefined) return { kind: 'free', offer: this.#offered(offer) as Offer }
    const { owner, beside } = holder
    return {
      kind: 'taken',
      by: beside?.kind === 'kept' ? `kept for ${beside.name}` : `in use by ${beside?.name ?? owner}`,
    }
  }

  /** What somebody had before, if the pool still gives it and nobody else has it. O(log n). */
  again(place: Place, claim: string): Offer | undefined {
    const answer = this.answerTo(place.address, claim)
    if (answer.kind !== 'free') return undefined
    const lengths = [place, placeOf(answer.offer)].map((one) => this.#space?.extentOf(one)?.length)
    return lengths[0] === lengths[1] ? answer.offer : undefined
  }

  /** The counts for the status of the pool; `undefined` while its spec can not be used. */
  counts(): InClusterPoolCounts | undefined {
    if (!this.#isUsable) return undefined
    return this.#without(['reserved', 'former'], (space) => {
      const { total, free, outOfRange } = space.counts([...this.#objects.values()])
      return { total: clampCount(total), free: clampCount(free), used: this.#objects.size, outOfRange }
    })
  }

  /** Which other IPAddress objects hold what this one holds, or a part of it, as `namespace/name`. O(log n), and the holders. */
  othersHolding(address: IPAddress): readonly string[] {
    const own = keyOf(address.metadata)
    const others = this.#holders(address.spec).flatMap(({ owner, beside }) => {
      if (beside === undefined) return [owner]
      return beside.kind === 'reserved' || beside.kind === 'foreign' ? [beside.name] : []
    })
    return [...new Set(others)].filter((holder) => holder !== own)
  }

  /** What several objects hold. O(n log n) for n such objects. */
  duplicates(): readonly Duplicate[] {
    const found = new Map<string, Duplicate>()
    const places = new Set<string>()
    for (const key of [...this.#sharing].sort()) {
      const object = this.#objects.get(key) as IPAddress
      const { spec } = object
      // at one place there are the same holders, whichever of them is looked at
      const place = placeText(object)
      if (places.has(place)) continue
      places.add(place)
      const holders = this.#objectsAt(spec)
      const id = holders.join()
      if (!found.has(id)) found.set(id, { address: spec.address, holders })
    }
    return [...found.values()]
  }

  /**
   * What is in use, in and out of range, in order; empty while the spec of the pool can not be used. Objects whose text is no address are not among it.
   * O(n log n).
   */
  entries(): LedgerEntry[] {
    if (!this.#isUsable) return []
    return this.#without(['reserved', 'kept', 'former', 'foreign'], (space) => space.entries()) ?? []
  }

  #offered(offer: Offer | undefined): Offer | undefined {
    const gateway = this.#pool?.spec.gateway
    return offer === undefined || gateway === undefined || gateway === '' ? offer : { ...offer, gateway }
  }

  /** Of what is avoided and in use by nobody, what has been so for the longest time. */
  #firstAvoided(space: Space): Offer | undefined {
    for (const beside of this.#beside.values()) {
      const extent = beside.kind === 'former' ? beside.extentIn(space) : undefined
      const offer = extent && space.offerOf(Address.format(extent.address))
      if (offer === undefined || !space.has(offer)) continue
      if (this.#holders(placeOf(offer)).every((holder) => holder.beside?.kind === 'former')) return offer
    }
    return undefined
  }

  #without<T>(kinds: readonly Beside['kind'][], read: (space: Space) => T): T | undefined {
    const space = this.#space
    if (space === undefined) return undefined
    const left = [...this.#beside].filter(([, { kind }]) => kinds.includes(kind))
    for (const [owner] of left) space.release(owner)
    const value = read(space)
    for (const [owner, beside] of left) this.#place(owner, beside)
    return value
  }

  #holders(place: Place): { readonly owner: string; readonly beside: Beside | undefined }[] {
    const extent = this.#space?.extentOf(place)
    return extent === undefined ? [] : this.#holdersOf(extent)
  }

  #holdersOf(extent: Prefix): { readonly owner: string; readonly beside: Beside | undefined }[] {
    const owners = this.#space?.holders(extent) ?? []
    return owners.map((owner) => ({ owner, beside: this.#beside.get(owner) }))
  }

  /** The objects of the pool that hold what is at a place, or a part of it. */
  #objectsAt(place: Place): string[] {
    const objects = this.#holders(place).flatMap(({ owner, beside }) => (beside === undefined ? [owner] : []))
    return [...new Set(objects)].sort()
  }

  #set(owner: string, beside: Beside): void {
    this.#beside.set(owner, beside)
    this.#place(owner, beside)
  }

  #remove(owner: string): void {
    if (this.#beside.delete(owner)) this.#space?.release(owner)
  }

  #place(owner: string, { kind, extentIn }: Beside): void {
    const space = this.#space
    const extent = space && extentIn(space)
    if (space === undefined || extent === undefined) return
    // what a pool does not give any more is kept for nobody, and need not be avoided
    if ((kind === 'kept' || kind === 'former') && !RangeSet.contains(space.available, extent)) return
    if (kind === 'foreign' && !RangeSet.overlaps(space.available, extent)) return
    space.occupyPrefix(extent, owner)
  }

  #occupy(address: IPAddress, key: string): void {
    this.#space ??= emptySpace(address.spec.poolRef.kind)
    const others = this.#space.occupy(address.spec, key).filter((owner) => this.#objects.has(owner))
    if (others.length > 0) for (const holder of [key, ...others]) this.#sharing.add(holder)
  }

  #release(key: string, before: IPAddress): void {
    this.#space?.release(key)
    if (!this.#sharing.delete(key)) return
    const others = this.#objectsAt(before.spec)
    // objects at the very same place have the same holders: these are counted once for all of them
    const counts = new Map([[placeText(before), others.length]])
    for (const other of others) {
      const object = this.#objects.get(other) as IPAddress
      const place = placeText(object)
      const count = counts.get(place) ?? this.#objectsAt(object.spec).length
      counts.set(place, count)
      if (count < 2) this.#sharing.delete(other)
    }
  }
}

function keptBy(claim: string): string {
  return `kept ${claim}`
}

function placeOf({ address, prefix }: Offer): Place {
  return { address: Address.format(address), prefix }
}

function extentOfText(text: string, space: Space): Prefix | undefined {
  const offer = space.offerOf(text)
  return offer && space.extentOf(placeOf(offer))
}

/** The place of an IPAddress as it is written: objects with the same text have the same holders. */
function placeText({ spec }: IPAddress): string {
  return `${spec.address}/${spec.prefix}`
}

function sameText(left: IPAddress, right: IPAddress): boolean {
  return left.spec.address === right.spec.address && left.spec.prefix === right.spec.prefix
}

function keyOf(ref: { readonly namespace?: string | undefined; readonly name: string }): string {
  return `${ref.namespace ?? ''}/${ref.name}`
}
