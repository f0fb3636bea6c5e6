import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import type { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import type { InClusterPool } from '../../crd/in-cluster/pools.js'
import { formatRef, type ObjectRef } from '../../crd/meta/object.js'
import type { AddressAndPrefix, AddressChange, ProviderMemory } from '../claims/definition.js'
import type { PoolLedger } from './ledger.js'
import type { FormerAddress, InClusterOptions, Sticky } from './options.js'

const MOST_REMEMBERED = 10_000

/** The state of the provider beyond one claim and one pool: former addresses of claims. */
export class InClusterMemory implements ProviderMemory<InClusterPool, PoolLedger> {
  readonly #sticky: Sticky | undefined
  /**
   * Former addresses of claims that may return: the last of each pool and key, the oldest first.
   */
  readonly #former = new Map<string, FormerAddress>()
  readonly #ledgers = new Map<string, PoolLedger>()

  constructor({ sticky }: InClusterOptions) {
    this.#sticky = sticky
    this.#seed()
  }

  observePool(ref: ObjectRef, _: InClusterPool | undefined, ledger: PoolLedger): readonly string[] {
    this.#meet(ref, ledger)
    return []
  }

  observeAddress({ before, now, claim }: AddressChange<PoolLedger>): readonly string[] {
    for (const held of [before, now]) if (held !== undefined) this.#meet(held.pool, held.ledger)
    if (
      this.#sticky !== undefined &&
      before !== undefined &&
      before.address.metadata.uid !== now?.address.metadata.uid
    ) {
      const { address, prefix } = before.address.spec
      const pool = formatRef(before.pool)
      const key = this.#keyOf(before.address, claim)
      this.#remember({ pool, key, address, prefix })
      before.ledger.avoid(key, { address, prefix })
    }
    return []
  }

  reset(): void {
    this.#ledgers.clear()
    this.#former.clear()
    this.#seed()
  }

  /** The address of the earlier claim in a pool, if it is remembered. */
  formerOf(claim: IPAddressClaim, pool: ObjectRef): AddressAndPrefix | undefined {
    if (this.#sticky === undefined) return undefined
    return this.#former.get(`${formatRef(pool)}\n${keyOfClaim(claim, this.#sticky)}`)
  }

  /** All former addresses, the oldest first. */
  formerAddresses(): readonly FormerAddress[] {
    return [...this.#former.values()]
  }

  #seed(): void {
    for (const former of this.#sticky?.formerAddresses ?? []) this.#remember(former)
  }

  /** Remembers up to the limit: the oldest is forgotten first. */
  #remember({ pool, key, address, prefix }: FormerAddress): void {
    const id = `${pool}\n${key}`
    this.#former.delete(id)
    this.#former.set(id, { pool, key, address, prefix })
    if (this.#former.size <= (this.#sticky?.limit ?? MOST_REMEMBERED)) return
    for (const [oldest, former] of this.#former) {
      this.#former.delete(oldest)
      this.#ledgers.get(former.pool)?.avoid(former.key, undefined)
      return
    }
  }

  /** Passes the former addresses of a pool to a ledger that was not seen before. */
  #meet(pool: ObjectRef, ledger: PoolLedger): void {
    const key = formatRef(pool)
    if (this.#sticky === undefined || this.#ledgers.get(key) === ledger) return
    this.#ledgers.set(key, ledger)
    for (const former of this.#former.values()) if (former.pool === key) ledger.avoid(former.key, former)
  }

  /**
   * The key of the claim of an address: its sticky key, or if the claim does not exist any more,
   * its name.
   */
  #keyOf(address: IPAddress, claim: IPAddressClaim | undefined): string {
    const isItsClaim = claim?.metadata.name === address.spec.claimRef.name
    return isItsClaim && this.#sticky !== undefined
      ? keyOfClaim(claim, this.#sticky)
      : `${address.metadata.namespace}/${address.spec.claimRef.name}`
  }
}

function keyOfClaim({ metadata }: IPAddressClaim, { annotation }: Sticky): string {
  const key = annotation === undefined ? undefined : metadata.annotations?.[annotation]
  return key === undefined ? `${metadata.namespace}/${metadata.name}` : `${metadata.namespace}#${key}`
}
