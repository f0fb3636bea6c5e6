import { Ledger } from '../../allocator/index.js'
import { empty, equals, prefixes } from '../../cidr/nouns/range-set.js'
import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import { formatRef, isDeleting, type KubeObject, nameKey, type ObjectRef, refOf } from '../../crd/meta/object.js'
import { check } from '../../errors/check.js'
import { refuse } from '../../errors/refuse.js'
import type { Holding, Holdings, Moved, PoolUsage } from '../../plan/holdings.js'
import { byAge, type Parsed } from '../../plan/index.js'
import { ClaimsByAge } from './claims-by-age.js'
import type { ClaimLedger, HeldFields, PoolHoldings } from './definition.js'
import { holdingOf } from './ledger.js'
import { type ClaimObjects, claimKey, readable } from './objects.js'
import { foreignOf, heldByPool, holdersIn, isIndex, type PlacedPool, poolsAt, poolsOver } from './overlaps.js'
import type { ProviderRules } from './rules.js'
import type { SeenAddress } from './watches.js'

/** The state of a pool, also of one that claims or addresses name before it exists. */
export interface PoolRecord {
  readonly ledger: ClaimLedger<KubeObject>
  /** The uid of the pool when it was planned last. */
  planned?: string | undefined
  /** Keys of the claims that wait for a free address. */
  readonly exhausted: ClaimsByAge
  /** Why the store has refused a write of the pool, until the pool changes. */
  refused?: string | undefined
}

/** The pools of a provider by key, with their ledgers: what is held of them, and what they hold. */
export class PoolRecords {
  readonly #rules: ProviderRules
  readonly #objects: ClaimObjects
  readonly #holdings: Holdings
  readonly #records = new Map<string, PoolRecord>()

  constructor(rules: ProviderRules, objects: ClaimObjects, holdings: Holdings) {
    this.#rules = rules
    this.#objects = objects
    this.#holdings = holdings
  }

  known(key: string): PoolRecord | undefined {
    return this.#records.get(key)
  }

  of(pool: ObjectRef | string): PoolRecord {
    const key = typeof pool === 'string' ? pool : formatRef(pool)
    const known = this.#records.get(key)
    if (known !== undefined) return known
    const objects = this.#objects.addressesOf(key, () => this.#holdings.pending(key))
    const ledger = this.#ledgerFrom({ ledger: this.#holdings.ledger(key), objects })
    const record = { ledger, exhausted: new ClaimsByAge() }
    this.#records.set(key, record)
    return record
  }

  /** The ledger for claims of pools that the provider does not serve. */
  unserved(): ClaimLedger<KubeObject> {
    return this.#ledgerFrom({ ledger: new Ledger({ space: empty }), objects: new Map() })
  }

  /** @throws IpamError `INVALID_ARGUMENT` for a ledger that does not read what it is given */
  #ledgerFrom(holdings: PoolHoldings): ClaimLedger<KubeObject> {
    const ledger = this.#rules.ledger(holdings)
    check('defineProvider', 'ledger', ledger, ['open', { setPool: 'function', extentOf: 'function' }])
    if (this.#rules.overlaps !== undefined && ledger.available === undefined) {
      refuse('defineProvider', 'ledger', 'a ledger with `available`, for `overlaps`', 'one without')
    }
    if (ledger.holdings === holdings) return ledger
    const expected = 'a function that makes a ledger of the holdings that it is given'
    return refuse('defineProvider', 'ledger', expected, 'another')
  }

  /** Sets a pool, and reads again what IPAddress objects hold of it, or keep from it. */
  setPool(ref: ObjectRef, pool: KubeObject | undefined, problems: readonly string[]): void {
    const { ledger } = this.of(ref)
    const [before, domain] = [ledger.available ?? empty, ledger.domain]
    ledger.setPool(pool, problems)
    const now = ledger.available ?? empty
    const isMoved = this.#rules.overlaps !== undefined && (!equals(before, now) || ledger.domain !== domain)
    const extents = isMoved ? [...prefixes(before), ...prefixes(now)] : []
    if (isMoved) this.#holdings.refresh(ref.kind, [nameKey(ref)])
    // what an object holds may depend on its pool, and on those that overlap it
    const own = Array.from(this.#objects.addressesOf(formatRef(ref)).values(), ({ metadata }) => nameKey(metadata))
    const others =
      this.#rules.overlaps === 'avoid'
        ? holdersIn(this.#placed(ref), extents, this.#holdings).flatMap(({ object }) => (object ? nameKey(object) : []))
        : []
    this.#holdings.refresh('addresses', new Set([...own, ...others]))
  }

  /** Forgets pools that do not exist, and that no claim and no IPAddress names any more. */
  forgetUnnamed(pools: Iterable<string>): void {
    const { claims, addresses } = this.#objects
    for (const key of pools) {
      if (this.#objects.poolEntry(key) !== undefined || claims.countBy('pool', key) > 0) continue
      if (addresses.countBy('pool', key) > 0 || this.#holdings.pending(key) > 0) continue
      this.#records.delete(key)
      this.#holdings.forget(key)
    }
  }

  /**
   * How much of each pool is in use. A pool that does not exist, or is being deleted, gives
   * nothing: it has no total. O(pools).
   */
  usage(): readonly PoolUsage[] {
    return [...this.#records].flatMap(([pool, { ledger }]) => {
      const object = this.#objects.poolEntry(pool)?.object
      const isGiving = object !== undefined && !isDeleting(object)
      const usages = ledger.usage?.() ?? ledger.holdings.ledger.usage()
      return usages.map((usage) => ({ ...usage, ...(isGiving ? {} : { total: undefined, free: undefined }), pool }))
    })
  }

  /** What an IPAddress holds of its pool, and for other pools that avoid it. */
  heldByAddress(entry: Parsed<SeenAddress>): readonly Holding[] {
    return (readable(entry)?.held ?? []).flatMap((held) => {
      const pool = this.#objects.poolOf(held)
      const extent = pool && this.of(pool).ledger.extentOf(held)
      if (extent === undefined || pool === undefined) return []
      const own = holdingOf(held, extent, pool)
      return this.#rules.overlaps === 'avoid' ? [own, ...foreignOf(own, this.#placed(pool), this.#holdings)] : [own]
    })
  }

  /** With `overlaps`: what a pool holds, its space. */
  heldByPool({ object }: Parsed<KubeObject>): readonly Holding[] {
    const ref = refOf(object)
    return heldByPool(this.#placed(ref), this.of(ref).ledger.available ?? empty)
  }

  /** The keys of the claims whose IPAddress has addresses in common with this one. */
  othersWith(address: IPAddress | undefined): readonly string[] {
    const pool = this.#objects.poolOf(address)
    if (address === undefined || pool === undefined) return []
    return this.of(pool).ledger.othersHolding(address).map(claimKey)
  }

  /** The keys of the pools that overlap one, in order. */
  overlapping(ref: ObjectRef): readonly string[] {
    const space = this.of(ref).ledger.available ?? empty
    return [...poolsOver(this.#placed(ref), prefixes(space), this.#holdings)].sort()
  }

  /** How another pool has an address: `otherPoolAt` of the input of a verb. */
  otherPoolAt(pool: KubeObject, address: HeldFields['spec']['address']): 'holds' | 'names' | undefined {
    const ref = refOf(pool)
    const placed = this.#placed(ref)
    const extent = this.of(ref).ledger.extentOf({ metadata: { name: '' }, spec: { address } })
    if (extent === undefined) return undefined
    const own = new Set(
      this.#holdings
        .ledger(formatRef(ref))
        .holders(extent)
        .map(({ holder }) => holder.key),
    )
    if (holdersIn(placed, [extent], this.#holdings).some(({ key }) => !own.has(key))) return 'holds'
    const isNamed = [...poolsOver(placed, [extent], this.#holdings)].some((key) => {
      const other = this.#objects.pool(key)
      return other !== undefined && !isDeleting(other) && byAge(other, pool) < 0
    })
    return isNamed ? 'names' : undefined
  }

  #placed(ref: ObjectRef): PlacedPool {
    const { domain } = this.of(ref).ledger
    // no namespace has such a name
    if (domain === null) return { ref, domain: undefined }
    return { ref, domain: domain === undefined ? ref.namespace : `/${domain}` }
  }

  /** The pools whose addresses have other holders, and after a release the claims that wait. */
  afterMove({ touched, freed }: Moved): readonly string[] {
    const pools = touched.map(({ pool }) => pool).filter((pool) => !isIndex(pool))
    const released = new Set(freed.map(({ pool }) => pool))
    const overlapping = touched.flatMap((extent) => [...poolsAt(extent, this.#holdings)])
    for (const key of overlapping) released.add(key)
    return [...new Set([...pools, ...overlapping])].flatMap((key) =>
      released.has(key) ? this.withWaiting([key]) : [key],
    )
  }

  /** The keys of pools, each with the claims that wait for its addresses. */
  withWaiting(pools: readonly string[]): string[] {
    return pools.flatMap((key) => [key, ...(this.#records.get(key)?.exhausted ?? [])])
  }
}
