import { Ledger, type LedgerEntry } from '../../allocator/index.js'
import type { Prefix } from '../../cidr/index.js'
import * as Address from '../../cidr/nouns/address.js'
import { of as prefixOf } from '../../cidr/nouns/prefix.js'
import { empty } from '../../cidr/nouns/range-set.js'
import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import { formatRef, HAS_META, type KubeObject, type ObjectRef, refOf } from '../../crd/meta/object.js'
import { check } from '../../errors/check.js'
import type { Holder, Holding } from '../../plan/holdings.js'
import { controllersOf } from './address-object.js'
import type { ClaimLedger, HeldFields, PoolHoldings, PoolObjects } from './definition.js'
import { claimKey, nameIn } from './objects.js'

/**
 * The ledger of a pool whose addresses are chosen elsewhere: what its IPAddress objects hold. It
 * compares addresses by value. A provider that chooses addresses or prefixes itself derives its own
 * ledger from it.
 */
export class AddressLedger<P extends KubeObject> implements ClaimLedger<P> {
  readonly holdings: PoolHoldings
  #pool: P | undefined
  #problems: readonly string[] = []

  /** @param holdings what `ledger` of the definition is given. Left out: nothing is in use */
  constructor(holdings: PoolHoldings = { ledger: new Ledger({ space: empty }), objects: new Map() }) {
    check('AddressLedger', 'holdings', holdings, ['open', { ledger: 'object', objects: 'object' }])

    this.holdings = holdings
  }

  protected get ledger(): Ledger<Holder> {
    return this.holdings.ledger
  }

  protected get objects(): PoolObjects {
    return this.holdings.objects
  }

  /** The pool in the state that was last shown. */
  protected get pool(): P | undefined {
    return this.#pool
  }

  get problems(): readonly string[] {
    return this.#problems
  }

  protected set problems(problems: readonly string[]) {
    this.#problems = Object.freeze([...problems])
  }

  /** How many IPAddress objects refer to the pool, with those that are about to be written. */
  get size(): number {
    return this.objects.size + (this.objects.pending ?? 0)
  }

  setPool(pool: P | undefined, problems: readonly string[] = []): void {
    check('AddressLedger.setPool', 'problems', problems, ['list', 'text'])
    this.#pool = pool
    this.problems = problems
  }

  serves(pool: P): boolean {
    check<KubeObject>('AddressLedger.serves', 'pool', pool, HAS_META)
    const own = this.#pool
    return own?.kind === pool.kind && formatRef(refOf(own)) === formatRef(refOf(pool))
  }

  /**
   * Other IPAddress objects with addresses in common with this one, as `namespace/name`, with those
   * that are about to be written.
   */
  othersHolding(address: HeldFields): readonly string[] {
    const extent = this.extentOf(address)
    const own = claimKey(keyOf(address.metadata))
    const others = extent === undefined ? [] : this.ledger.holders(extent).filter(isOfObject)
    return [...new Set(others.map(({ holder }) => holder.key))].filter((key) => key !== own).map(nameIn)
  }

  /**
   * The addresses that an IPAddress holds; `undefined` for a text that is not an address: it
   * collides with nothing.
   */
  extentOf(holding: HeldFields): Prefix | undefined {
    assertHolding('AddressLedger.extentOf', holding)
    const address = Address.safeParse(holding.spec.address, { zone: 'drop' })
    return address.ok ? prefixOf(address.value, Address.bitsOf(address.value.family)) : undefined
  }
}

/** What an IPAddress holds of its pool. */
export function holdingOf(address: IPAddress, extent: Prefix, pool?: ObjectRef): Holding {
  const { metadata, spec } = address
  return {
    pool: pool && formatRef(pool),
    prefix: extent,
    key: claimKey(keyOf(metadata)),
    owner: `${metadata.namespace}/${spec.claimRef.name}`,
    ownerUid: controllersOf(address).find((owner) => IPAddressClaim.is(owner))?.uid,
    domain: pool?.namespace,
    field: 'spec.address',
    sinceMs: createdMs(address),
  }
}

/** @throws IpamError `INVALID_ARGUMENT` */
export function assertHolding(of: string, address: HeldFields): void {
  check(of, 'address', address, HOLDING)
}

// planners check each IPAddress: a kind is not made anew for each of them
const HOLDING = ['open', { metadata: 'object', spec: 'object' }] as const

function isOfObject({ reason }: LedgerEntry): boolean {
  return reason === 'held' || reason === 'pending' || reason === 'foreign'
}

function createdMs({ metadata }: IPAddress): number | undefined {
  const ms = Date.parse(metadata.creationTimestamp ?? '')
  return Number.isNaN(ms) ? undefined : ms
}

/** `namespace/name`, also without a namespace. */
export function keyOf(ref: HeldFields['metadata']): string {
  return `${ref.namespace ?? ''}/${ref.name}`
}
