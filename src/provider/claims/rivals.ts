import { hasPausedAnnotation } from '../../crd/cluster-api/cluster.js'
import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import type { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import { isDeleting } from '../../crd/meta/object.js'
import { fulfils, isControlledBy } from './address-object.js'
import type { PoolKinds } from './rules.js'
import { isBound, saysItIsShared } from './status.js'

/** The other IPAddress objects of a pool that have the address of one. */
export interface Rivals {
  /** `namespace/name` of each, in no order. For a claim that is Bound; one that is not goes by the ledger. */
  readonly names: readonly string[]
  /** Whether all that share the address give way: their claims get another one. For a claim that is not Bound. */
  readonly giveWay: boolean
  /** Whether the claim waits because one of theirs is Bound to the address and does not say yet that it shares it: it does before anything of that is over. */
  readonly isUntold: boolean
}

/** An IPAddress and the claim that it was made for, as far as they are known. */
export interface Contender {
  readonly address: IPAddress | undefined
  readonly claim: IPAddressClaim | undefined
}

/**
 * Whether the claim of an IPAddress gets another address where several claims have the same one: it lives, nothing pauses it, it is not Bound, so that no consumer
 * has read the address, and the object was made for it and for no earlier claim of its name.
 */
export function mayGiveWay({ address, claim }: Contender, pools: PoolKinds): boolean {
  if (address === undefined || claim === undefined || isDeleting(claim) || hasPausedAnnotation(claim)) return false
  return !isBound(claim) && isControlledBy(address, claim) && fulfils(address, claim, pools)
}

/** Whether the claim of an IPAddress is Bound to it, and is about to say that it shares the address. */
export function isUntold({ address, claim }: Contender, pools: PoolKinds): boolean {
  if (address === undefined || claim === undefined || isDeleting(claim) || hasPausedAnnotation(claim)) return false
  // a claim of the name that is Bound to something else never says anything of this address
  if (!isBound(claim) || !fulfils(address, claim, pools)) return false
  return !saysItIsShared(claim)
}

/** Whether the first of two claims that are not Bound keeps an address that both have: the one whose IPAddress is older, then the older claim, then by name. */
export function goesFirst(one: Contender, other: Contender): boolean {
  for (const age of [ageOfAddress, ageOfClaim, nameOf]) {
    const [left, right] = [age(one), age(other)]
    if (left !== right) return left < right
  }
  return false
}

const ageOfAddress = ({ address }: Contender) => address?.metadata.creationTimestamp ?? ''
const ageOfClaim = ({ claim }: Contender) => claim?.metadata.creationTimestamp ?? ''
const nameOf = ({ address }: Contender) => `${address?.metadata.namespace}/${address?.metadata.name}`
