import type { Prefix } from '../../cidr/index.js'
import * as RangeSet from '../../cidr/nouns/range-set.js'
import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import { formatRef, type ObjectRef } from '../../crd/meta/object.js'
import type { PoolLedger } from './ledger.js'

interface Member {
  readonly ref: ObjectRef
  readonly ledger: PoolLedger
  /** Keys of the pools that have addresses in common with this one. */
  readonly overlapping: Set<string>
}

interface Held {
  readonly pool: ObjectRef
  readonly extent: Prefix | undefined
}

/**
 * An IPAddress that is about to be written, with functions that end that in the ledgers of other
 * pools, by pool.
 */
interface Reservation {
  readonly address: IPAddress
  readonly pool: ObjectRef
  readonly extent: Prefix
  readonly ends: Map<string, () => boolean>
}

/**
 * Finds pools that overlap: those of one namespace, and all cluster-scoped ones. With `avoids`, the
 * ledger of each also contains the addresses that the others have in use. O(pools) for a change of
 * an address, O(pools + addresses) for one of a pool.
 */
export class OverlapIndex {
  readonly #avoids: boolean
  readonly #members = new Map<string, Member>()
  /** The addresses of IPAddress objects, by `namespace/name`. */
  readonly #held = new Map<string, Held>()
  readonly #reservations = new Set<Reservation>()

  constructor({ avoids }: { readonly avoids: boolean }) {
    this.#avoids = avoids
  }

  /** The keys of the pools that overlap a pool. */
  of(pool: string): readonly string[] {
    return [...(this.#members.get(pool)?.overlapping ?? [])].sort()
  }

  /**
   * Called after the ledger of a pool has observed it. @returns the keys of the other pools that
   * are affected
   */
  observePool(ref: ObjectRef, ledger: PoolLedger, isThere: boolean): readonly string[] {
    const key = formatRef(ref)
    const before = this.#members.get(key)?.overlapping ?? new Set()
    const member: Member = { ref, ledger, overlapping: new Set() }
    if (isThere) this.#members.set(key, member)
    else this.#members.delete(key)
    const changed: string[] = []
    for (const [otherKey, other] of this.#members) {
      if (otherKey === key) continue
      const isOverlapping = isThere && shareDomain(ref, other.ref) && haveCommon(ledger, other.ledger)
      if (isOverlapping) {
        member.overlapping.add(otherKey)
        other.overlapping.add(key)
      } else other.overlapping.delete(key)
      if (isOverlapping !== before.has(otherKey)) changed.push(otherKey)
    }
    if (this.#avoids && isThere) {
      for (const [name, held] of this.#held) this.#update(member, name, held)
      for (const reservation of this.#reservations) holdIn(key, member, reservation)
    }
    return changed
  }

  /**
   * Called when an IPAddress has changed its address or pool. @returns the keys of the other pools
   * that are affected
   */
  observeAddress(name: string, pool: ObjectRef | undefined, extent: Prefix | undefined): readonly string[] {
    if (!this.#avoids) return []
    const held = pool === undefined ? undefined : { pool, extent }
    if (held === undefined) this.#held.delete(name)
    else this.#held.set(name, held)
    return [...this.#members].flatMap(([key, member]) => (this.#update(member, name, held) ? [key] : []))
  }

  /**
   * Counts an address that is about to be written as in use for the other pools. @returns ends
   * that, and returns the pools that gained free addresses
   */
  reserve(address: IPAddress, pool: ObjectRef, extent: Prefix | undefined): () => readonly string[] {
    if (!this.#avoids || extent === undefined) return () => []
    const reservation: Reservation = { address, pool, extent, ends: new Map() }
    this.#reservations.add(reservation)
    for (const [key, member] of this.#members) holdIn(key, member, reservation)
    return () => {
      this.#reservations.delete(reservation)
      return [...reservation.ends].flatMap(([key, end]) => (end() ? [key] : []))
    }
  }

  clear(): void {
    this.#members.clear()
    this.#held.clear()
    this.#reservations.clear()
  }

  #update({ ref, ledger }: Member, name: string, held: Held | undefined): boolean {
    const isForeign = held !== undefined && isOther(ref, held.pool)
    return ledger.observeForeign(name, isForeign ? held.extent : undefined)
  }
}

/** Counts an address that is about to be written as in use for another pool that may give it. */
function holdIn(key: string, { ref, ledger }: Member, { address, pool, extent, ends }: Reservation): void {
  if (ends.has(key) || !isOther(ref, pool) || !RangeSet.overlaps(ledger.available, extent)) return
  ends.set(key, ledger.reserve(address, extent))
}

function isOther(pool: ObjectRef, of: ObjectRef): boolean {
  return shareDomain(pool, of) && formatRef(pool) !== formatRef(of)
}

function shareDomain(left: ObjectRef, right: ObjectRef): boolean {
  return left.namespace === undefined || right.namespace === undefined || left.namespace === right.namespace
}

function haveCommon(left: PoolLedger, right: PoolLedger): boolean {
  return RangeSet.overlaps(left.available, right.available)
}
