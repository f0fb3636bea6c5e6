import { hasPausedAnnotation } from '../../crd/cluster-api/cluster.js'
import type { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import { isDeleting } from '../../crd/meta/object.js'
import type { PlanTime } from '../../plan/index.js'
import { isControlledBy } from './address-object.js'
import { type Contender, goesFirst, isUntold, mayGiveWay, type Rivals } from './rivals.js'
import type { PoolKinds } from './rules.js'
import { isBound, saysItIsShared } from './status.js'

/** After this long a claim gives way also where the other one has not said that it shares the address: the store may refuse its status, or its plan may end before. */
const MOST_WAIT_SECONDS = 60

/** A claim whose IPAddress has the address of others. */
export interface Sharing {
  /** The key of the claim. */
  readonly key: string
  readonly own: Contender & { readonly claim: IPAddressClaim; readonly address: NonNullable<Contender['address']> }
  /** The keys of the claims of the others. */
  readonly others: readonly string[]
  /** Those of them that are known to be of the same pool, as `namespace/name`. */
  names(): readonly string[]
  /** The claim of one of them, if it is known. */
  claimOf(key: string): IPAddressClaim | undefined
  /** One of them with its IPAddress; `undefined`: it is of another pool, a Cluster pauses it, or it is only about to be written. */
  contenderOf(key: string): Contender | undefined
}

/**
 * What the plan of a claim that shares its address depends on:
 *
 * - `addresses`: on which IPAddress objects have the address
 * - `all`: on these, and on their claims
 * - `one`: on one other claim and its IPAddress, whatever becomes of the rest
 * - `nothing`: it is about to be planned again
 */
interface DependsOn {
  readonly on: 'addresses' | 'all' | 'one' | 'nothing'
  /** The key of the one. */
  readonly key?: string | undefined
  /** Since when it waits for another claim to say that it shares the address. */
  readonly sinceMs?: number | undefined
}

/**
 * The claims that share their addresses: which of them gives way, and which are to be planned again after a change of one. A change in a group of n claims has
 * a few of them planned again and not n, so that the repair of the group takes O(n) plans.
 */
export class SharedAddresses {
  readonly #pools: PoolKinds
  /** By the key of each claim that was planned and shares its address. */
  readonly #dependsOn = new Map<string, DependsOn>()

  constructor(pools: PoolKinds) {
    this.#pools = pools
  }

  has(key: string): boolean {
    return this.#dependsOn.has(key)
  }

  /** The claim is gone, or shares its address with no other any more. */
  forget(key: string): void {
    this.#dependsOn.delete(key)
  }

  clear(): void {
    this.#dependsOn.clear()
  }

  /**
   * What the plan for a claim is made from. O(others), of which those after the first that does not give way are only asked whether they are Bound.
   *
   * @param mayGiveWay whether claims of this provider give way at all
   */
  rivalsOf(sharing: Sharing, { nowMs, mayGiveWay: can }: PlanTime & { readonly mayGiveWay: boolean }): Rivals {
    const { key, own } = sharing
    const isBoundItself = isBound(own.claim)
    if (isBoundItself || !can || !isControlledBy(own.address, own.claim)) {
      this.#dependsOn.set(key, { on: 'addresses' })
      return { names: isBoundItself ? sharing.names() : [], giveWay: false, isUntold: false }
    }
    const { first, untold } = this.#blockers(sharing)
    if (first === undefined) {
      this.#dependsOn.set(key, { on: 'all' })
      return { names: [], giveWay: true, isUntold: false }
    }
    const before = this.#dependsOn.get(key)
    const sinceMs = untold === undefined ? undefined : (before?.sinceMs ?? nowMs)
    this.#dependsOn.set(key, { on: 'one', key: untold ?? first, sinceMs })
    const isOver = sinceMs !== undefined && nowMs - sinceMs >= MOST_WAIT_SECONDS * 1000
    return { names: [], giveWay: false, isUntold: untold !== undefined && !isOver }
  }

  /**
   * The IPAddress of a claim has come, has changed, or has gone.
   *
   * @param sharing the claims that had its address, or have it now
   * @returns those of them to plan again
   */
  afterAddress(changed: string, sharing: readonly string[]): readonly string[] {
    return this.#wake(sharing, (depends) => {
      // one that is not known to share its address was planned when it had it for itself
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

  /** The first of the others that does not give way, and the first that is still to say that it shares the address. */
  #blockers({ own, others, claimOf, contenderOf }: Sharing): {
    readonly first: string | undefined
    readonly untold: string | undefined
  } {
    let first: string | undefined
    for (const key of others) {
      const claim = claimOf(key)
      const isBoundToIt = claim !== undefined && isBound(claim)
      if (first !== undefined && !isBoundToIt) continue
      const rival = contenderOf(key)
      if (isBoundToIt && rival !== undefined && isUntold(rival, this.#pools)) return { first: key, untold: key }
      const givesWay = rival !== undefined && mayGiveWay(rival, this.#pools) && goesFirst(own, rival)
      if (!givesWay) first ??= key
    }
    return { first, untold: undefined }
  }
}

/** Whether a change of a claim may mean something to those that have its address. */
export function isSameRival(before: IPAddressClaim | undefined, now: IPAddressClaim | undefined): boolean {
  if (before === undefined || now === undefined) return before === now
  return (
    before.metadata.uid === now.metadata.uid &&
    [isBound, isDeleting, hasPausedAnnotation, saysItIsShared].every((of) => of(before) === of(now))
  )
}
