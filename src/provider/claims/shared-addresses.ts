import { hasPausedAnnotation } from '../../crd/cluster-api/cluster.js'
import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import type { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import { isDeleting } from '../../crd/meta/object.js'
import type { PlanTime } from '../../plan/index.js'
import { fulfils, isControlledBy } from './address-object.js'
import { type ClaimObjects, nameIn } from './objects.js'
import type { PoolKinds } from './rules.js'
import { isBound, namedOther, saysItIsShared } from './status.js'

/** The other IPAddress objects of a pool that have the address of a given one. */
export interface Rivals {
  /**
   * `namespace/name` of the one that the condition of a Bound claim names. Other claims use the
   * ledger.
   */
  readonly names: readonly string[]
  /**
   * Whether all others with the address give way and get another one. For a claim that is not
   * Bound.
   */
  readonly giveWay: boolean
  /**
   * Whether the claim waits for another one that is Bound to the address and has no condition about
   * it yet. The condition has to be written before the conflict ends.
   */
  readonly isUnreported: boolean
}

/** An IPAddress and its claim, as far as known. */
interface Contender {
  readonly address: IPAddress | undefined
  readonly claim: IPAddressClaim | undefined
}

/**
 * Whether a claim gets another address if several claims have the same one. It exists, is not
 * paused and is not Bound, so that no consumer has read the address. The IPAddress was made for it,
 * not for an earlier claim of its name.
 */
function mayGiveWay({ address, claim }: Contender, pools: PoolKinds): boolean {
  if (address === undefined || claim === undefined || isDeleting(claim) || hasPausedAnnotation(claim)) return false
  return !isBound(claim) && isControlledBy(address, claim) && fulfils(address, claim, pools)
}

/**
 * Whether a claim is Bound to its IPAddress, and has still to write the condition that it shares
 * the address.
 */
function isUnreported({ address, claim }: Contender, pools: PoolKinds): boolean {
  if (address === undefined || claim === undefined || isDeleting(claim) || hasPausedAnnotation(claim)) return false
  // a claim of the name that is Bound to another address never writes that condition
  if (!isBound(claim) || !fulfils(address, claim, pools)) return false
  return !saysItIsShared(claim)
}

/**
 * Whether the first of two claims that are not Bound keeps the common address: the one with the
 * older IPAddress, then the older claim, then by name.
 */
function goesFirst(one: Contender, other: Contender): boolean {
  for (const age of [ageOfAddress, ageOfClaim, nameOf]) {
    const [left, right] = [age(one), age(other)]
    if (left !== right) return left < right
  }
  return false
}

const ageOfAddress = ({ address }: Contender) => address?.metadata.creationTimestamp ?? ''
const ageOfClaim = ({ claim }: Contender) => claim?.metadata.creationTimestamp ?? ''
const nameOf = ({ address }: Contender) => `${address?.metadata.namespace}/${address?.metadata.name}`

/**
 * After this time a claim gives way even if the other one has not written its condition: the store
 * may refuse the status, or the process may end before.
 */
const MOST_WAIT_SECONDS = 60

/** A claim whose IPAddress has the address of others. */
export interface Sharing {
  /** The key of the claim. */
  readonly key: string
  readonly own: Contender & { readonly claim: IPAddressClaim; readonly address: NonNullable<Contender['address']> }
  /** The keys of the other claims. */
  readonly others: readonly string[]
  /** The other IPAddress objects known to be of the same pool, as `namespace/name`. */
  names(): readonly string[]
  /** The claim of one of the others, if known. */
  claimOf(key: string): IPAddressClaim | undefined
  /**
   * One of the others with its IPAddress; `undefined`: it is of another pool, a Cluster pauses it,
   * or it is only about to be written.
   */
  contenderOf(key: string): Contender | undefined
}

/**
 * A claim, its IPAddress, and the claims with the same address; for a claim without an IPAddress or
 * without others: its key.
 */
export function sharingOf(
  objects: ClaimObjects,
  key: string,
  address: IPAddress | undefined,
  claim: IPAddressClaim,
  others: readonly string[],
): Sharing | string {
  if (address === undefined || others.length === 0) return key
  const pool = objects.poolKeyOf(address)
  const isOfPool = (other: string) => objects.isOfPool(other, pool)
  return {
    key,
    own: { address, claim },
    others,
    names: () => others.filter(isOfPool).map(nameIn),
    claimOf: (other) => objects.claim(other),
    contenderOf: (other) => {
      const rival = { address: objects.address(other), claim: objects.claim(other) }
      return isOfPool(other) && !objects.isPaused(rival.claim) ? rival : undefined
    },
  }
}

/**
 * What the plan of a claim with a shared address depends on:
 *
 * - `addresses`: the IPAddress objects with the address
 * - `all`: these, and their claims
 * - `one`: one other claim and its IPAddress, whatever happens with the rest
 * - `nothing`: it is about to be planned again
 */
interface DependsOn {
  readonly on: 'addresses' | 'all' | 'one' | 'nothing'
  /** The key of the one claim. */
  readonly key?: string | undefined
  /** Since when it waits for the condition of another claim. */
  readonly sinceMs?: number | undefined
}

/**
 * The claims with shared addresses: which of them gives way, and which to plan again after a change
 * of one. A change in a group of n claims has a few of them planned again and not n, so that the
 * repair of the group takes O(n) plans.
 */
export class SharedAddresses {
  readonly #pools: PoolKinds
  /** By the key of each planned claim with a shared address. */
  readonly #dependsOn = new Map<string, DependsOn>()

  constructor(pools: PoolKinds) {
    this.#pools = pools
  }

  has(key: string): boolean {
    return this.#dependsOn.has(key)
  }

  /** Called when the claim does not exist any more, or no longer shares its address. */
  forget(key: string): void {
    this.#dependsOn.delete(key)
  }

  /**
   * The rivals for the plan of a claim. O(others); after the first one that does not give way, only
   * Bound claims are looked for.
   *
   * @param mayGiveWay whether claims of this provider give way at all
   */
  rivalsOf(
    sharing: Sharing | string,
    { nowMs, mayGiveWay: can }: PlanTime & { readonly mayGiveWay: boolean },
  ): Rivals | undefined {
    if (typeof sharing === 'string') {
      this.forget(sharing)
      return undefined
    }
    const { key, own } = sharing
    if (isBound(own.claim)) {
      const named = namedOther(own.claim, own.address.spec.address, sharing.names())
      // the others of its pool may come and go while this one has the address
      const one = sharing.others.find((other) => nameIn(other) === named)
      this.#dependsOn.set(key, one === undefined ? { on: 'addresses' } : { on: 'one', key: one })
      return { names: named === undefined ? [] : [named], giveWay: false, isUnreported: false }
    }
    if (!can || !isControlledBy(own.address, own.claim)) {
      this.#dependsOn.set(key, { on: 'addresses' })
      return { names: [], giveWay: false, isUnreported: false }
    }
    const { first, unreported } = this.#blockers(sharing)
    if (first === undefined) {
      this.#dependsOn.set(key, { on: 'all' })
      return { names: [], giveWay: true, isUnreported: false }
    }
    const before = this.#dependsOn.get(key)
    const sinceMs = unreported === undefined ? undefined : (before?.sinceMs ?? nowMs)
    this.#dependsOn.set(key, { on: 'one', key: unreported ?? first, sinceMs })
    const isOver = sinceMs !== undefined && nowMs - sinceMs >= MOST_WAIT_SECONDS * 1000
    return { names: [], giveWay: false, isUnreported: unreported !== undefined && !isOver }
  }

  /**
   * Called when the IPAddress of a claim was created, changed or deleted.
   *
   * @param sharing the claims that had its address, or have it now
   * @returns the claims of these to plan again
   */
  afterAddress(changed: string, sharing: readonly string[]): readonly string[] {
    return this.#wake(sharing, (depends) => {
      // a claim without an entry was planned while it had the address alone
      return depends === undefined || depends.on === 'addresses' || depends.on === 'all' || depends.key === changed
    })
  }

  /** As {@link afterAddress}, after the claim itself has changed. */
  afterClaim(changed: string, sharing: readonly string[]): readonly string[] {
    return this.#wake(sharing, (depends) => depends?.on === 'all' || depends?.key === changed)
  }

  /** Wakes each claim once until it is planned. */
  #wake(sharing: readonly string[], isMeant: (depends: DependsOn | undefined) => boolean): readonly string[] {
    return sharing.filter((key) => {
      const depends = this.#dependsOn.get(key)
      if (!isMeant(depends)) return false
      this.#dependsOn.set(key, { on: 'nothing', sinceMs: depends?.sinceMs })
      return true
    })
  }

  /**
   * The first of the others that does not give way, and the first that has still to write its
   * condition.
   */
  #blockers({ own, others, claimOf, contenderOf }: Sharing): {
    readonly first: string | undefined
    readonly unreported: string | undefined
  } {
    let first: string | undefined
    for (const key of others) {
      const claim = claimOf(key)
      const isBoundToIt = claim !== undefined && isBound(claim)
      if (first !== undefined && !isBoundToIt) continue
      const rival = contenderOf(key)
      if (isBoundToIt && rival !== undefined && isUnreported(rival, this.#pools)) return { first: key, unreported: key }
      const givesWay = rival !== undefined && mayGiveWay(rival, this.#pools) && goesFirst(own, rival)
      if (!givesWay) first ??= key
    }
    return { first, unreported: undefined }
  }
}

/** Whether a change of a claim is irrelevant to the claims that share its address. */
export function isSameRival(before: IPAddressClaim | undefined, now: IPAddressClaim | undefined): boolean {
  if (before === undefined || now === undefined) return before === now
  return (
    before.metadata.uid === now.metadata.uid &&
    [isBound, isDeleting, hasPausedAnnotation, saysItIsShared].every((of) => of(before) === of(now))
  )
}
