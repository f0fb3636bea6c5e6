import { Ledger, type LedgerEntry, type LedgerHolder } from '../../allocator/index.js'
import type { Prefix } from '../../cidr/index.js'
import * as Address from '../../cidr/nouns/address.js'
import { of as prefixOf } from '../../cidr/nouns/prefix.js'
import { empty } from '../../cidr/nouns/range-set.js'
import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import { formatRef, HAS_META, type KubeObject, refOf } from '../../crd/meta/object.js'
import { check } from '../../errors/check.js'
import type { ClaimLedger } from './definition.js'

/** A holder of an address or a prefix of a pool. */
export interface AddressHolder extends LedgerHolder {
  /** `namespace/name` of the IPAddress, or of the claim that an address is kept for. */
  readonly key: string
  /** The uid of the IPAddress. */
  readonly uid?: string | undefined
  /** `namespace/name` of the claim of the IPAddress. */
  readonly claim?: string | undefined
}

/** The fields of an IPAddress that say what it holds. */
export interface HeldFields {
  readonly metadata: Pick<IPAddress['metadata'], 'namespace' | 'name'>
  readonly spec: Pick<IPAddress['spec'], 'address'> & Partial<Pick<IPAddress['spec'], 'prefix' | 'poolRef'>>
}

/**
 * The ledger of a pool whose addresses are chosen elsewhere: the existing IPAddress objects, and
 * what each of them holds. It compares addresses by value. A provider that chooses addresses or
 * prefixes itself derives its own ledger from it.
 */
export class AddressLedger<P extends KubeObject> implements ClaimLedger<P> {
  /**
   * An entry of an IPAddress has its `namespace/name` as its id. All other ids contain a blank,
   * which no name of an object does.
   */
  protected readonly ledger = new Ledger<AddressHolder>({ space: empty })
  protected readonly objects = new Map<string, IPAddress>()
  #pool: P | undefined
  #problems: readonly string[] = []
  #reservations = 0
  #reserved = 0

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
    return this.objects.size + this.#reserved
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
   * Records an IPAddress that refers to the pool. An object that is already recorded may be shown
   * again.
   */
  observe(address: IPAddress): void {
    assertHeld('AddressLedger.observe', address)
    const key = keyOf(address.metadata)
    const before = this.objects.get(key)
    this.objects.set(key, address)
    if (before === undefined || !holdsSame(before, address)) this.hold(key, address)
  }

  /** Removes an object that does not exist any more. */
  forget(ref: HeldFields['metadata']): void {
    check('AddressLedger.forget', 'ref', ref, 'object')
    this.objects.delete(keyOf(ref))
    this.ledger.delete(keyOf(ref))
  }

  /**
   * Records an IPAddress that is about to be written: no other claim gets what it holds. Counts
   * leave it out.
   *
   * @param extent what it holds, if it is of another pool
   * @returns ends that, and returns whether its addresses became free. A second call has no effect
   */
  reserve(address: IPAddress, extent?: Prefix): () => boolean {
    assertHeld('AddressLedger.reserve', address)
    const key = keyOf(address.metadata)
    const id = `${key} ${++this.#reservations}`
    const prefix = extent ?? this.extentOf(address)
    // an object of another pool does not count as one of this pool
    const count = extent === undefined ? 1 : 0
    this.#reserved += count
    if (prefix !== undefined) this.ledger.set(id, { prefix, reason: 'pending', holder: holderOf(key, address) })
    let isOver = false
    return () => {
      if (isOver) return false
      isOver = true
      this.#reserved -= count
      this.ledger.delete(id)
      return prefix === undefined || this.ledger.blockers(prefix).length === 0
    }
  }

  /**
   * Other IPAddress objects with addresses in common with this one, as `namespace/name`, with those
   * that are about to be written.
   */
  othersHolding(address: HeldFields): readonly string[] {
    const extent = this.extentOf(address)
    const own = keyOf(address.metadata)
    const others = extent === undefined ? [] : this.ledger.holders(extent).filter(isOfObject)
    return [...new Set(others.map(({ holder }) => holder.key))].filter((key) => key !== own)
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

  /**
   * All holders with their addresses and reasons, in the order of addresses. Includes kept
   * addresses, addresses about to be written, and holders of other pools. O(n log n).
   */
  entries(): LedgerEntry<AddressHolder>[] {
    return this.ledger.entries()
  }

  protected hold(key: string, address: IPAddress): void {
    assertHeld('AddressLedger.hold', address)
    const prefix = this.extentOf(address)
    if (prefix === undefined) this.ledger.delete(key)
    else this.ledger.set(key, { prefix, reason: 'held', sinceMs: createdMs(address), holder: holderOf(key, address) })
  }
}

/** @throws IpamError `INVALID_ARGUMENT` */
export function assertHolding(of: string, address: HeldFields): void {
  check(of, 'address', address, HOLDING)
}

/** @throws IpamError `INVALID_ARGUMENT` */
function assertHeld(of: string, address: IPAddress): void {
  check(of, 'address', address, HELD)
}

// planners check each IPAddress: a kind is not made anew for each of them
const HOLDING = ['open', { metadata: 'object', spec: 'object' }] as const
const HELD = ['open', { metadata: 'object', spec: ['open', { claimRef: 'object' }] }] as const

function isOfObject({ reason }: LedgerEntry): boolean {
  return reason === 'held' || reason === 'pending' || reason === 'foreign'
}

function holderOf(key: string, { metadata, spec }: IPAddress): AddressHolder {
  return { key, uid: metadata.uid, claim: `${metadata.namespace}/${spec.claimRef.name}` }
}

function holdsSame(left: IPAddress, right: IPAddress): boolean {
  const { address, prefix } = left.spec
  return address === right.spec.address && prefix === right.spec.prefix && left.metadata.uid === right.metadata.uid
}

function createdMs({ metadata }: IPAddress): number | undefined {
  const ms = Date.parse(metadata.creationTimestamp ?? '')
  return Number.isNaN(ms) ? undefined : ms
}

/** `namespace/name`, also without a namespace. */
export function keyOf(ref: HeldFields['metadata']): string {
  return `${ref.namespace ?? ''}/${ref.name}`
}
