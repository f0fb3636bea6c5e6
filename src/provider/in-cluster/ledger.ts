import type { LedgerEntry, Random } from '../../allocator/index.js'
import type { LedgerSpec } from '../../allocator/internal.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import { DEFAULT_ALLOCATION_PREFIX_LENGTH } from '../../crd/in-cluster/names.js'
import { type InClusterPool, type InClusterPoolCounts, isPrefixPoolKind } from '../../crd/in-cluster/pools.js'
import { clampCount, prefixOf } from '../../crd/in-cluster/space.js'
import type { AddressAndPrefix, Offer } from '../claims/definition.js'
import { type AddressHolder, AddressLedger } from '../claims/ledger.js'
import type { KeptAddresses } from './preallocations.js'
import { extentOfText, heldPrefix, ledgerSpecOf } from './space.js'

/** Several IPAddress objects that hold one address, or parts of one prefix. */
export interface Duplicate {
  /** As the first of the objects says it. */
  readonly address: string
  /** `namespace/name` of the objects, in order. */
  readonly holders: readonly string[]
}

/** What a ledger says of one address, or prefix, that a claim asks for. */
export type LedgerAnswer =
  | { readonly kind: 'free'; readonly offer: Offer }
  /** The text is no address, or no prefix of the length that the pool gives. */
  | { readonly kind: 'malformed' }
  /** The pool does not give it, whether it is in use or not. */
  | { readonly kind: 'notOfPool' }
  /** By whom, in words. */
  | { readonly kind: 'taken'; readonly by: string }

const NOTHING: LedgerSpec = { space: RangeSet.empty }

/**
 * The ledger of a pool: which of its addresses are in use, according to the IPAddress objects that
 * refer to it.
 *
 * Kept up to date by {@link observe} and {@link forget}, so that the next free address costs the
 * same at any fill. Several objects with one address, with an address outside the pool or with a
 * text that is none are all recorded: the first never leads to a second hand-out, the last never
 * stops the pool.
 *
 * One writer: two processes with a ledger each can give the same address away, because nothing in
 * the API keeps two objects from having it. Show the ledger every object that was just created
 * before the next plan is made.
 *
 * @example
 * const spec = { addresses: ['10.0.0.5-10.0.0.9'], prefix: 24 }
 * const pool = { apiVersion: 'ipam.cluster.x-k8s.io/v1alpha2', kind: 'InClusterIPPool', metadata: { name: 'lab' }, spec }
 * PoolLedger.build(pool, []).next() // { address: { family: 4, value: 0x0a000005 }, prefix: 24 }
 */
export class PoolLedger extends AddressLedger<InClusterPool> {
  /** What the pool offers; `undefined` while its spec cannot be used. */
  #spec: LedgerSpec | undefined
  /** What is kept, by claim, as a text. */
  #kept: ReadonlyMap<string, string> = new Map()
  /** What claims had that may come again, the oldest first: they may be told before the pool is. */
  readonly #former = new Map<string, AddressAndPrefix>()
  readonly #keptBy: ((pool: InClusterPool) => KeptAddresses) | undefined

  /** @param keptBy what a pool keeps for claims */
  constructor(keptBy?: (pool: InClusterPool) => KeptAddresses) {
    super()
    this.#keptBy = keptBy
  }

  /**
   * A ledger of a pool (or of one that is missing yet) from the IPAddress objects that refer to it,
   * in any order.
   */
  static build(pool: InClusterPool | undefined, addresses: Iterable<IPAddress>): PoolLedger {
    const ledger = new PoolLedger()
    ledger.setPool(pool)
    for (const address of addresses) ledger.observe(address)
    return ledger
  }

  /**
   * Takes a new spec in: what is in use stays in use, also where it is out of range now.
   * O(addresses in use).
   *
   * @param pool `undefined` if there is none, or one that cannot be read: then `problems` says why
   */
  override setPool(pool: InClusterPool | undefined, problems: readonly string[] = []): void {
    const spec = pool && ledgerSpecOf(pool)
    super.setPool(pool, spec?.ok === false ? spec.problems : problems)
    const before = this.#spec
    this.#spec = spec?.ok === true ? spec.value : undefined
    this.ledger.setSpace(this.#spec ?? NOTHING)
    // what an object without a length of its own holds depends on that of the pool
    if (before?.length !== this.#spec?.length) for (const [key, address] of this.objects) this.hold(key, address)
    for (const [key, place] of [...this.#former]) this.avoid(key, place)
    const kept = pool && this.#keptBy?.(pool)
    if (kept !== undefined) this.problems = [...this.problems, ...kept.problems]
    this.keep(kept?.claims ?? new Map())
  }

  /**
   * Keeps addresses, or prefixes, for claims: they are offered to no other one, and do not count as
   * free. Takes the place of what was kept before. What is kept for two claims is a problem of the
   * pool.
   *
   * @param claims texts by `namespace/name` of the claim
   */
  keep(claims: ReadonlyMap<string, string>): void {
    for (const claim of this.#kept.keys()) this.ledger.delete(`kept ${claim}`)
    this.#kept = claims
    for (const [claim, text] of claims) {
      const prefix = this.#spec && extentOfText(text, this.#spec.length)
      if (prefix === undefined) continue
      const rival = this.ledger.holders(prefix).find(({ reason }) => reason === 'kept')
      if (rival !== undefined && this.#gives(prefix)) {
        this.problems = [...this.problems, `${text} is preallocated for ${rival.holder.key} and for ${claim}`]
      }
      this.ledger.set(`kept ${claim}`, { prefix, reason: 'kept', holder: { key: claim, claim } })
    }
  }

  /** What is kept for a claim, by `namespace/name`. */
  keptFor(claim: string): string | undefined {
    return this.#kept.get(claim)
  }

  /**
   * Gives what is at a place only when nothing else is free; of several of those, what was avoided
   * first. `undefined` ends it.
   */
  avoid(key: string, place: AddressAndPrefix | undefined): void {
    this.#former.delete(key)
    this.ledger.delete(`former ${key}`)
    if (place === undefined) return
    this.#former.set(key, place)
    const prefix = this.#spec && this.extentOf({ metadata: { name: key }, spec: place })
    if (prefix !== undefined) this.ledger.set(`former ${key}`, { prefix, reason: 'former', holder: { key } })
  }

  /**
   * Counts a prefix that is in use from another pool as not free. `undefined` ends it. @returns
   * whether anything has changed
   */
  observeForeign(name: string, prefix: Prefix.Prefix | undefined): boolean {
    const had = this.ledger.delete(`foreign ${name}`)
    if (prefix === undefined || !RangeSet.overlaps(this.available, prefix)) return had
    this.ledger.set(`foreign ${name}`, { prefix, reason: 'foreign', holder: { key: name } })
    return true
  }

  override extentOf(address: Parameters<AddressLedger<InClusterPool>['extentOf']>[0]): Prefix.Prefix | undefined {
    const kind = this.pool?.kind ?? address.spec.poolRef?.kind
    if (kind === undefined || !isPrefixPoolKind(kind)) return super.extentOf(address)
    const { address: text, prefix = 0 } = address.spec
    return heldPrefix({ address: text, prefix }, this.#spec?.length ?? DEFAULT_ALLOCATION_PREFIX_LENGTH)
  }

  /** What the pool may give, in use or not. Empty while its spec cannot be used. */
  get available(): RangeSet.RangeSet {
    return this.ledger.space
  }

  /**
   * What the next claim would get: the lowest free address or prefix, or with `random` one of those
   * that are free, each as likely as any other. `undefined` if there is none. Changes nothing.
   */
  next({ random }: { readonly random?: Random | undefined } = {}): Offer | undefined {
    const next = this.ledger.next({ random })
    return next && this.#offerOf(next)
  }

  /** What can be said of one address, or prefix, for a claim, by `namespace/name`. O(log n). */
  answerTo(text: string, claim: string): LedgerAnswer {
    if (this.#spec === undefined) return { kind: 'notOfPool' }
    const extent = extentOfText(text, this.#spec.length)
    if (extent === undefined) return { kind: 'malformed' }
    if (!this.#gives(extent)) return { kind: 'notOfPool' }
    const [holder] = this.ledger.blockers(extent, { for: claim })
    if (holder === undefined) return { kind: 'free', offer: this.#offerOf(extent) }
    return { kind: 'taken', by: `${holder.reason === 'kept' ? 'kept for' : 'in use by'} ${holder.holder.key}` }
  }

  /** What a claim had before, if the pool still gives it and nothing else holds it. O(log n). */
  again(place: AddressAndPrefix, claim: string): Offer | undefined {
    const answer = this.answerTo(place.address, claim)
    const length = this.extentOf({ metadata: { name: claim }, spec: place })?.length
    return answer.kind === 'free' && (this.#spec?.length ?? length) === length ? answer.offer : undefined
  }

  /** The counts for the status of the pool; `undefined` while its spec cannot be used. */
  counts(): InClusterPoolCounts | undefined {
    if (this.#spec === undefined) return undefined
    const { total, free, outOfRange } = this.ledger.counts()
    return {
      total: clampCount(total),
      free: clampCount(free),
      used: this.objects.size,
      // of prefixes also objects that name none, and those of another length
      outOfRange: this.#spec.length === undefined ? outOfRange : [...this.objects.values()].filter(this.#isNone).length,
    }
  }

  /** What several objects hold. O(n log n) for n such objects. */
  duplicates(): readonly Duplicate[] {
    const found = new Map<string, Duplicate>()
    const places = new Set<string>()
    for (const { prefix, holder } of this.ledger.conflicts().sort(byKey)) {
      // at one place there are the same holders, whichever of them is looked at
      const place = Prefix.format(prefix)
      if (places.has(place)) continue
      places.add(place)
      const { address } = (this.objects.get(holder.key) as IPAddress).spec
      const holders = this.ledger.holders(prefix).flatMap((one) => (one.reason === 'held' ? [one.holder.key] : []))
      const id = holders.sort().join()
      if (!found.has(id)) found.set(id, { address, holders })
    }
    return [...found.values()]
  }

  /** Whether an address, or a prefix, is one that the pool may give, in use or not. */
  #gives(extent: Prefix.Prefix): boolean {
    const length = this.#spec?.length ?? extent.length
    return extent.length === length && RangeSet.contains(this.available, extent)
  }

  readonly #isNone = ({ spec }: IPAddress): boolean => {
    const prefix = prefixOf(spec)
    return prefix === undefined || !this.#gives(prefix)
  }

  #offerOf({ address, length }: Prefix.Prefix): Offer {
    const { kind, spec } = this.pool as InClusterPool
    const prefix = isPrefixPoolKind(kind) ? length : (spec as { readonly prefix: number }).prefix
    const { gateway } = spec
    return { address, prefix, ...(gateway === undefined || gateway === '' ? {} : { gateway }) }
  }
}

function byKey({ holder: left }: LedgerEntry<AddressHolder>, { holder: right }: LedgerEntry<AddressHolder>): number {
  return left.key < right.key ? -1 : left.key > right.key ? 1 : 0
}
