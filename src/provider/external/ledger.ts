import type { LedgerUsage } from '../../allocator/index.js'
import * as Address from '../../cidr/nouns/address.js'
import * as Prefix from '../../cidr/nouns/prefix.js'
import { empty, fromPrefixes, type RangeSet } from '../../cidr/nouns/range-set.js'
import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import type { KubeObject } from '../../crd/meta/object.js'
import type { PoolHoldings } from '../claims/definition.js'
import { AddressLedger } from '../claims/ledger.js'
import type { ExternalRules } from './definition.js'
import { identityOf, type ReadIdentity } from './identity.js'
import type { ExternalPoolKind, PoolReport } from './pool-kind.js'
import { ADOPTED, CloudView, type ItemOptions, type ListedAddresses } from './view.js'

/**
 * What a pool of external addresses remembers between its plans: the last list in order, when it
 * was first planned, and which addresses were released since the list. The holder of an address is
 * in the holdings, and what was called is in the table of calls.
 */
export class ExternalLedger<P extends KubeObject> extends AddressLedger<P> {
  readonly #kind: ExternalPoolKind<P>
  #named: ReadonlyMap<string, number> = new Map()
  #available: RangeSet = empty
  #identity: { readonly pool: P; readonly read: ReadIdentity } | undefined
  /** The list and the pool that the view was made from. */
  #view: { readonly key: readonly unknown[]; readonly view: CloudView } | undefined
  /** The uid of the pool, and the time after which a list shows all that was called before. */
  #fence: { readonly uid: string | undefined; readonly atMs: number } | undefined
  #report: { readonly of: PoolReport; readonly atMs: number } | undefined
  /** Addresses whose IPAddress has appeared, or is gone: the list says nothing of them. */
  readonly #taken = new Moves()
  readonly #released = new Moves()

  constructor(holdings: PoolHoldings, kind: ExternalPoolKind<P>) {
    super(holdings)
    this.#kind = kind
  }

  /** The named addresses: other pools may name them as well. */
  get available(): RangeSet {
    return this.#available
  }

  /** The network of the pool: pools of other networks have no address in common with it. */
  get domain(): string | null {
    return (this.#identity?.read.ok === true && this.#identity.read.value.network) || null
  }

  /** The identity of the pool. O(1), or O(bytes) for a version that was not read before. */
  identityOf(pool: P): ReadIdentity {
    if (this.#identity?.pool !== pool) this.#identity = { pool, read: identityOf(pool) }
    return this.#identity.read
  }

  /** The named addresses with their place: preallocated ones, then adopted ones. Canonical. */
  get named(): ReadonlyMap<string, number> {
    return this.#named
  }

  override setPool(pool: P | undefined, problems: readonly string[] = []): void {
    const read = pool && this.#kind.policyOf(pool)
    const identity = pool && this.identityOf(pool)
    if (pool === undefined) this.#identity = undefined
    super.setPool(pool, read?.ok === false ? [...problems, ...read.problems] : problems)
    const preallocated = read?.ok === true ? read.policy.preallocated.map((address) => Address.format(address)) : []
    const { adopted = [] } = identity?.ok === true ? identity.value : {}
    const places = adopted.map((text, nth) => [text, ADOPTED + nth] as const)
    // an address that is in both has the place of the spec
    this.#named = new Map([...places, ...[...new Set(preallocated)].map((text, nth) => [text, nth] as const)])
    this.#available = fromPrefixes([...this.#named.keys()].map(prefixOf))
  }

  /** The view of a list. O(1), or O(n log n) for a list or a pool that was not seen before. */
  viewOf(list: ListedAddresses, options: Omit<ItemOptions, 'named'>): CloudView {
    const key = [list.value, list.askedAtMs, options.id, this.#named]
    if (this.#view?.key.every((each, nth) => each === key[nth]) === true) return this.#view.view
    const view = new CloudView(list, { ...options, named: this.#named }, this.used())
    this.#view = { key, view }
    return view
  }

  /**
   * The time from which on a list shows all that earlier processes have called. A pool without an
   * identity has no earlier process: it would have written one.
   */
  fenceMs(pool: P, nowMs: number, { callSeconds, listLagSeconds }: ExternalRules<P>): number {
    const { uid } = pool.metadata
    if (this.#fence !== undefined && this.#fence.uid === uid) return this.#fence.atMs
    const identity = this.identityOf(pool)
    // with a status it was served before, whatever has become of the annotation
    const isNew = identity.ok && identity.is === 'new' && (pool as { readonly status?: unknown }).status === undefined
    this.#fence = { uid, atMs: isNew ? Number.NEGATIVE_INFINITY : nowMs + (callSeconds + listLagSeconds) * 1000 }
    return this.#fence.atMs
  }

  /** Notes that an IPAddress has its address. */
  take({ spec }: Pick<IPAddress, 'spec'>): void {
    const address = canonical(spec.address)
    if (address === undefined) return
    this.#view?.view.take(address)
    this.#taken.note(address)
  }

  /** Notes that an IPAddress no longer has its address. */
  release({ spec }: Pick<IPAddress, 'spec'>): void {
    const address = canonical(spec.address)
    if (address !== undefined) this.#released.note(address)
  }

  /** The addresses taken and released after a time, and when. Forgets the others. */
  movedSince(shownMs: number, nowMs: number) {
    return { taken: this.#taken.since(shownMs, nowMs), released: this.#released.since(shownMs, nowMs) }
  }

  /** The state of the pool as it was last compared with its status. */
  get report(): PoolReport | undefined {
    return this.#report?.of
  }

  /** Makes the report of a plan. @returns `undefined` within a pause after the last one */
  makeReport(nowMs: number, pauseSeconds: number, make: () => PoolReport): PoolReport | undefined {
    const { atMs = Number.NEGATIVE_INFINITY } = this.#report ?? {}
    if (nowMs !== atMs && nowMs < atMs + pauseSeconds * 1000) return undefined
    this.#report = { of: make(), atMs: nowMs }
    return this.#report.of
  }

  /** Whether an IPAddress of the pool has an address. */
  isUsed(text: string): boolean {
    return this.claimsOf(text).length > 0
  }

  /** The keys of the claims whose IPAddress has an address. */
  claimsOf(text: string): readonly string[] {
    return this.ledger.holders(prefixOf(text)).flatMap(({ reason, holder }) => (reason === 'held' ? holder.key : []))
  }

  /** The same, also if the IPAddress is about to be written. */
  isOwn(text: string): boolean {
    return this.ledger.holders(prefixOf(text)).some(({ reason }) => reason === 'held' || reason === 'pending')
  }

  /** The same of an IPAddress of this pool or of another one. */
  isHeld(text: string): boolean {
    return this.ledger.holders(prefixOf(text)).length > 0
  }

  /** How many addresses the IPAddress objects of the pool have, each once. O(shared ones) */
  get distinct(): number {
    const shared = this.ledger.conflicts().filter(({ reason }) => reason === 'held')
    return this.size - shared.length + new Set(shared.map(({ prefix }) => Prefix.format(prefix))).size
  }

  /**
   * The addresses of claims, and the free ones of the last list that was compared with the status.
   * O(free addresses)
   */
  usage(): readonly LedgerUsage[] {
    const { isKnown = false, available = [] } = this.report ?? {}
    const held = this.ledger.usage()
    return ([4, 6] as const).flatMap((family) => {
      const used = held.find((usage) => usage.family === family)?.used ?? 0n
      const free = BigInt(available.filter((text) => text.includes(':') === (family === 6)).length)
      if (used + free === 0n) return []
      return [{ family, used, ...(isKnown ? { total: used + free, free } : { total: undefined, free: undefined }) }]
    })
  }

  /** The addresses of the IPAddress objects of the pool. O(n) */
  used(): ReadonlySet<string> {
    const held = this.ledger.entries().filter(({ reason }) => reason === 'held')
    return new Set(held.map(({ prefix }) => Address.format(Prefix.first(prefix))))
  }
}

/**
 * Addresses that have moved, and when. Each is looked at when it is noted, and when it is dropped.
 */
class Moves {
  /** Those that were noted since the last plan. */
  readonly #noted = new Set<string>()
  /** In the order of their times. */
  readonly #atMs = new Map<string, number>()

  note(text: string): void {
    this.#noted.add(text)
  }

  /** Those after a time. The ones without a time get the present one. */
  since(shownMs: number, nowMs: number): ReadonlyMap<string, number> {
    for (const text of this.#noted) {
      this.#atMs.delete(text)
      this.#atMs.set(text, nowMs)
    }
    this.#noted.clear()
    for (const [text, atMs] of this.#atMs) {
      if (atMs >= shownMs) break
      this.#atMs.delete(text)
    }
    return this.#atMs
  }
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

function prefixOf(text: string): Prefix.Prefix {
  const address = Address.parse(text)
  return Prefix.of(address, Address.bitsOf(address.family))
}
