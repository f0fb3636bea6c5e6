import { hasPausedAnnotation } from '../../crd/cluster-api/cluster.js'
import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import type { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import { isDeleting } from '../../crd/meta/object.js'
import type { PlanTime } from '../../plan/index.js'
import { fulfils, isControlledBy } from './address-object.js'
import { type ClaimObjects, nameIn } from './objects.js'
import type { PoolKinds } from './rules.js'
import { isBound, saysItIsShared } from './status.js'

/** The other IPAddress objects of a pool that have the address of one. */
export interface Rivals {
  /**
   * `namespace/name` of each, in no order. For a claim that is Bound; one that is not goes by the
   * ledger.
   */
  readonly names: readonly string[]
  /**
   * Whether all that share the address give way: their claims get another one. For a claim that is
   * not Bound.
   */
  readonly giveWay: boolean
  /**
   * Whether the claim waits because one of theirs is Bound to the address and does not say yet that
   * it shares it: it does before anything of that is over.
   */
  readonly isUntold: boolean
}

/** An IPAddress and the claim that it was made for, as far as they are known. */
interface Contender {
  readonly address: IPAddress | undefined
  readonly claim: IPAddressClaim | undefined
}

/**
 * Whether the claim of an IPAddress gets another address where several claims have the same one: it
 * lives, nothing pauses it, it is not Bound, so that no consumer has read the address, and the
 * object was made for it and for no earlier claim of its name.
 */
function mayGiveWay({ address, claim }: Contender, pools: PoolKinds): boolean {
  if (address === undefined || claim === undefined || isDeleting(claim) || hasPausedAnnotation(claim)) return false
  return !isBound(claim) && isControlledBy(address, claim) && fulfils(address, claim, pools)
}

/**
 * Whether the claim of an IPAddress is Bound to it, and is about to say that it shares the address.
 */
function isUntold({ address, claim }: Contender, pools: PoolKinds): boolean {
  if (address === undefined || claim === undefined || isDeleting(claim) || hasPausedAnnotation(claim)) return false
  // a claim of the name that is Bound to something else never says anything of this address
  if (!isBound(claim) || !fulfils(address, claim, pools)) return false
  return !saysItIsShared(claim)
}

/**
 * Whether the first of two claims that are not Bound keeps an address that both have: the one whose
 * IPAddress is older, then the older claim, then by name.
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
 * After this long a claim gives way also where the other one has not said that it shares the
 * address: the store may refuse its status, or its plan may end before.
 */
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
  /**
   * One of them with its IPAddress; `undefined`: it is of another pool, a Cluster pauses it, or it
   * is only about to be written.
   */
  contenderOf(key: string): Contender | undefined
}

/**
 * A claim, its IPAddress, and those of the claims that have the same address; of a claim without an
 * IPAddress or without others: its key.
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
  const isOfPool = (other: string) => objects.poolKeyOf(objects.addresses.get(nameIn(other))?.held) === pool
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
 * The claims that share their addresses: which of them gives way, and which are to be planned again
 * after a change of one. A change in a group of n claims has a few of them planned again and not n,
 * so that the repair of the group takes O(n) plans.
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

  /**
   * What the plan for a claim is made from. O(others), of which those after the first that does not
   * give way are only asked whether they are Bound.
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

  /**
   * The first of the others that does not give way, and the first that is still to say that it
   * shares the address.
   */
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
