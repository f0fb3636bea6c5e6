import { Ledger, type LedgerEntry, type Random } from '../../allocator/index.js'
import type { LedgerSpec } from '../../allocator/internal.js'
import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import { checkPool } from '../../crd/in-cluster/check-pool.js'
import { DEFAULT_ALLOCATION_PREFIX_LENGTH } from '../../crd/in-cluster/names.js'
import { type InClusterPool, type InClusterPoolCounts, isPrefixPoolKind } from '../../crd/in-cluster/pools.js'
import { clampCount, inBothForms, prefixOf } from '../../crd/in-cluster/space.js'
import { formatRef, refOf } from '../../crd/meta/object.js'
import { check } from '../../errors/check.js'
import { refuse } from '../../errors/refuse.js'
import type { Holder } from '../../plan/holdings.js'
import type { AddressAndPrefix, Offer, PoolHoldings } from '../claims/definition.js'
import { AddressLedger, assertHolding, holdingOf, keyOf } from '../claims/ledger.js'
import { claimKey, nameIn } from '../claims/objects.js'
import type { KeptAddresses } from './preallocations.js'
import { extentOfText, heldPrefix, ledgerSpecOf } from './space.js'

/** Several IPAddress objects that hold one address, or parts of one prefix. */
export interface Duplicate {
  /** The address that they have in common, or the first one of a prefix. */
  readonly address: string
  /** `namespace/name` of the objects, in order. */
  readonly holders: readonly string[]
}

/** The state of a requested address or prefix. */
export type LedgerAnswer =
  | { readonly kind: 'free'; readonly offer: Offer }
  /** The text is not an address, or not a prefix of the length of the pool. */
  | { readonly kind: 'malformed' }
  /** The pool does not have it, whether in use or not. */
  | { readonly kind: 'notOfPool' }
  /** The holder, as a text. */
  | { readonly kind: 'taken'; readonly by: string }

const NOTHING: LedgerSpec = { space: RangeSet.empty }

const ADDRESSES = [
  'list',
  ['open', { metadata: ['open', { ownerReferences: ['list?', 'object'] }], spec: ['open', { claimRef: 'object' }] }],
] as const

/**
 * The ledger of a pool: its addresses in use, by the IPAddress objects that refer to it.
 *
 * A planner keeps it up to date, so that the next free address costs the same at any fill. All
 * objects are recorded: several with one address, some outside the pool, some with an invalid text.
 * The first kind never leads to a second grant, the last never blocks the pool.
 *
 * One writer: two processes with a ledger each can give the same address twice, because the API
 * allows two objects with one address.
 *
 * @example
 * const spec = { addresses: ['10.0.0.5-10.0.0.9'], prefix: 24 }
 * const pool = { apiVersion: 'ipam.cluster.x-k8s.io/v1alpha2', kind: 'InClusterIPPool', metadata: { name: 'lab' }, spec }
 * PoolLedger.build(pool, []).next() // { address: { family: 4, value: 0x0a000005 }, prefix: 24 }
 */
export class PoolLedger extends AddressLedger<InClusterPool> {
  /** The space of the pool; `undefined` while its spec cannot be used. */
  #spec: LedgerSpec | undefined
  #unusable: readonly string[] = []
  /** Kept addresses by claim, as texts. */
  #kept: ReadonlyMap<string, string> = new Map()
  readonly #keptIds = new Set<string>()
  /**
   * Former addresses of claims that may return, the oldest first: they may arrive before the pool.
   */
  readonly #former = new Map<string, AddressAndPrefix>()
  readonly #keptBy: ((pool: InClusterPool) => KeptAddresses) | undefined

  /**
   * @param holdings the holders of addresses of the pool. Left out: nothing is in use
   * @param keptBy the addresses that a pool keeps for claims
   */
  constructor(holdings?: PoolHoldings, keptBy?: (pool: InClusterPool) => KeptAddresses) {
    super(holdings)
    if (keptBy !== undefined) check('PoolLedger', 'keptBy', keptBy, 'function')

    this.#keptBy = keptBy
  }

  /**
   * A ledger of a pool (or of a pool that does not exist yet) from the IPAddress objects that refer
   * to it, in any order.
   */
  static build(pool: InClusterPool | undefined, addresses: Iterable<IPAddress>): PoolLedger {
    if (pool !== undefined) checkPool('PoolLedger.build', 'pool', pool)
    check('PoolLedger.build', 'addresses', addresses, 'iterable')
    const all = [...addresses]
    check<unknown>('PoolLedger.build', 'addresses', all, ADDRESSES)

    const objects = new Map(all.map((address) => [keyOf(address.metadata), address]))
    const held = new Ledger<Holder>({ space: RangeSet.empty })
    const ledger = new PoolLedger({ ledger: held, objects })
    ledger.setPool(pool)
    for (const [name, address] of objects) {
      const extent = ledger.extentOf(address)
      if (extent === undefined) continue
      const { reason = 'held', prefix, sinceMs, ...holder } = holdingOf(address, extent)
      held.set(name, { prefix, reason, sinceMs, holder: { ...holder, uid: address.metadata.uid } })
    }
    return ledger
  }

  /**
   * Sets a new spec. Addresses in use stay in use, also those outside of the new ranges.
   * O(addresses in use).
   *
   * @param pool `undefined` if it does not exist or cannot be read: then `problems` says why
   */
  override setPool(pool: InClusterPool | undefined, problems: readonly string[] = []): void {
    if (pool !== undefined) checkPool('PoolLedger.setPool', 'pool', pool)
    check('PoolLedger.setPool', 'problems', problems, ['list', 'text'])

    const read = pool && ledgerSpecOf(pool)
    super.setPool(pool, read !== undefined && read.spec === undefined ? read.problems : problems)
    this.#unusable = Object.freeze(read?.spec === undefined ? [] : [...read.problems])
    this.#spec = read?.spec
    this.ledger.setSpace(this.#spec ?? NOTHING)
    for (const [key, place] of [...this.#former]) this.avoid(key, place)
    const kept = pool && this.#keptBy?.(pool)
    if (kept !== undefined) {
      this.problems = [...this.problems, ...kept.problems]
      this.#unusable = Object.freeze([...this.#unusable, ...kept.unusable])
    }
    this.keep(kept?.claims ?? new Map())
  }

  /**
   * Keeps addresses or prefixes for claims: no other claim gets them, and they do not count as
   * free. Replaces all kept ones of before. An address that is kept for two claims is given to
   * neither.
   *
   * @param claims texts by `namespace/name` of the claim
   */
  keep(claims: ReadonlyMap<string, string>): void {
    if (!(claims instanceof Map)) refuse('PoolLedger.keep', 'claims', 'a Map of texts by claim', claims)

    for (const id of this.#keptIds) this.ledger.delete(id)
    this.#keptIds.clear()
    this.#kept = claims
    for (const [claim, text] of claims) {
      const prefix = this.#spec && extentOfText(text, this.#spec.length)
      const isGiven = prefix !== undefined && this.#gives(prefix)
      if (!isGiven) this.#keepAround(claim, text)
      if (prefix === undefined) continue
      const rival = this.ledger.holders(prefix).find(({ reason }) => reason === 'kept')
      if (rival !== undefined && isGiven) {
        const shared = `${text} is preallocated for ${nameIn(rival.holder.key)} and for ${claim}`
        this.#unusable = Object.freeze([...this.#unusable, shared])
      }
      this.#keepOne(`kept ${claim}`, prefix, claim)
    }
  }

  /** Keeps the addresses of a text that the pool cannot give. No claim gets them. */
  #keepAround(claim: string, text: string): void {
    const read = RangeSet.safeParseEntry(text, { zone: 'drop' })
    if (this.#spec === undefined || !read.ok) return
    const prefixes = RangeSet.prefixes(RangeSet.fromRanges(inBothForms(read.value)))
    if (!prefixes.some((prefix) => RangeSet.overlaps(this.available, prefix))) return
    this.#unusable = Object.freeze([...this.#unusable, `preallocation for ${claim}: the pool does not give ${text}`])
    for (const prefix of prefixes) this.#keepOne(`kept ${claim} ${Prefix.format(prefix)}`, prefix, claim)
  }

  #keepOne(id: string, prefix: Prefix.Prefix, claim: string): void {
    this.#keptIds.add(id)
    const ref = this.pool && refOf(this.pool)
    // of a claim with several addresses no one is kept for its key
    const [owner] = claim.split(' ')
    const holder = { key: claimKey(claim), owner, pool: ref && formatRef(ref), object: ref, domain: ref?.namespace }
    this.ledger.set(id, { prefix, reason: 'kept', holder })
  }

  /** Entries of the pool that cannot be used, as sentences: it gives what the others say. */
  get unusable(): readonly string[] {
    return [...this.#unusable]
  }

  /** The address that is kept for a claim, by `namespace/name`. */
  keptFor(claim: string): string | undefined {
    return this.#kept.get(claim)
  }

  /**
   * Gives an address only when no other one is free; of several avoided ones, the oldest first.
   * `undefined` ends that.
   */
  avoid(key: string, place: AddressAndPrefix | undefined): void {
    this.#former.delete(key)
    this.ledger.delete(`former ${key}`)
    if (place === undefined) return
    this.#former.set(key, place)
    const prefix = this.#spec && this.extentOf({ metadata: { name: key }, spec: place })
    if (prefix !== undefined) this.ledger.set(`former ${key}`, { prefix, reason: 'former', holder: { key } })
  }

  override extentOf(address: Parameters<AddressLedger<InClusterPool>['extentOf']>[0]): Prefix.Prefix | undefined {
    assertHolding('PoolLedger.extentOf', address)
    const kind = this.pool?.kind ?? address.spec.poolRef?.kind
    if (kind === undefined || !isPrefixPoolKind(kind)) return super.extentOf(address)
    const { address: text, prefix = 0 } = address.spec
    return heldPrefix({ address: text, prefix }, this.#spec?.length ?? DEFAULT_ALLOCATION_PREFIX_LENGTH)
  }

  /** The space of the pool, in use or not. Empty while its spec cannot be used. */
  get available(): RangeSet.RangeSet {
    return this.ledger.space
  }

  /**
   * The address or prefix of the next claim: the lowest free one, or with `random` one of the free
   * ones with equal probability. `undefined` if none is free. Changes nothing.
   */
  next(options: { readonly random?: Random | undefined } = {}): Offer | undefined {
    check('PoolLedger.next', 'options', options, 'object')
    const { random } = options

    const next = this.ledger.next({ random })
    return next && this.#offerOf(next)
  }

  /** The state of one address or prefix for a claim, by `namespace/name`. O(log n). */
  answerTo(text: string, claim: string): LedgerAnswer {
    if (this.#spec === undefined) return { kind: 'notOfPool' }
    const extent = extentOfText(text, this.#spec.length)
    if (extent === undefined) return { kind: 'malformed' }
    if (!this.#gives(extent)) return { kind: 'notOfPool' }
    const [holder] = this.ledger.blockers(extent, { for: claimKey(claim) })
    if (holder === undefined) return { kind: 'free', offer: this.#offerOf(extent) }
    return { kind: 'taken', by: `${holder.reason === 'kept' ? 'kept for' : 'in use by'} ${nameIn(holder.holder.key)}` }
  }

  /** A former address of a claim, if the pool still has it and it has no other holder. O(log n). */
  again(place: AddressAndPrefix, claim: string): Offer | undefined {
    check('PoolLedger.again', 'place', place, ['open', { address: 'text' }])
    check('PoolLedger.again', 'claim', claim, 'text')

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
      // with prefixes, also objects without a valid prefix, and those of another length
      outOfRange: this.#spec.length === undefined ? outOfRange : [...this.objects.values()].filter(this.#isNone).length,
    }
  }

  /** Addresses with several holders. O(n log n) for n such objects. */
  duplicates(): readonly Duplicate[] {
    const found = new Map<string, Duplicate>()
    const places = new Set<string>()
    for (const { prefix } of this.ledger.conflicts().sort(byKey)) {
      // every holder of a prefix finds the same group
      const place = Prefix.format(prefix)
      if (places.has(place)) continue
      places.add(place)
      const held = this.ledger.holders(prefix).filter(({ reason }) => reason === 'held')
      const holders = held.map(({ holder }) => nameIn(holder.key)).sort()
      if (!found.has(holders.join())) found.set(holders.join(), { address: Address.format(prefix.address), holders })
    }
    return [...found.values()]
  }

  /** Whether the space of the pool contains an address or a prefix, in use or not. */
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

function byKey({ holder: left }: LedgerEntry<Holder>, { holder: right }: LedgerEntry<Holder>): number {
  return left.key < right.key ? -1 : left.key > right.key ? 1 : 0
}
