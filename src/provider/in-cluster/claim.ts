import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import type { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import { CLAIM, POOL_REF } from '../../crd/cluster-api/kinds.js'
import type { IPPoolReference } from '../../crd/cluster-api/references.js'
import type { InClusterPool } from '../../crd/in-cluster/pools.js'
import type { ObjectRef } from '../../crd/meta/object.js'
import { check } from '../../errors/check.js'
import type { Plan, PlanTime } from '../../plan/index.js'
import * as addressObject from '../claims/address-object.js'
import { planClaim as planAnyClaim } from '../claims/claim.js'
import type { Offer } from '../claims/definition.js'
import type { ClaimOutcome } from '../claims/outcome.js'
import type { ClaimInput as AnyClaimInput } from '../claims/planning.js'
import * as references from '../claims/references.js'
import { rules } from './definition.js'
import type { PoolLedger } from './ledger.js'

/** The input of a plan for a claim: {@link claimReads} names the objects to look up. */
export type ClaimInput = AnyClaimInput<InClusterPool, PoolLedger>

/**
 * Plans the whole life of a claim: the contract of Cluster API for IPAM providers
 * (docs/book/src/developer/providers/contracts/ipam.md) as the in-cluster provider implements it.
 *
 * The rules for all providers are in `ipam-kit/provider/claims`. The in-cluster provider adds two:
 * an address is the lowest free one of the ledger, and a released address stays in use for the
 * grace period of its pool.
 *
 * Differences from upstream:
 *
 * - An IPAddress of that name for another claim or from another pool is not changed. One that an
 *   earlier claim of the name has left is deleted.
 * - An IPAddress is not adopted if another IPAddress of the pool has the same address.
 * - A pool that is being deleted gives no address.
 * - The condition Ready says why a claim has no address.
 *
 * O(log n) in addresses in use.
 *
 * @throws IpamError `INVALID_ARGUMENT` if an object is not the one that {@link claimReads} names,
 * has no uid, or the ledger is of another pool
 */
export function planClaim(input: ClaimInput, time: PlanTime): Plan<ClaimOutcome> {
  check('planClaim', 'input', input, ['open', { claim: CLAIM, ledger: 'object' }])
  check('planClaim', 'time', time, ['open', { nowMs: 'number' }])

  return planAnyClaim(rules, input, time)
}

/** The objects that {@link planClaim} needs. */
export function claimReads(claim: IPAddressClaim): references.ClaimReads {
  check('claimReads', 'claim', claim, CLAIM)

  return references.claimReads(claim, rules)
}

/**
 * The pool that a reference in an object of some namespace means: cluster-scoped for the Global
 * kinds, else of that namespace. `undefined` if this provider does not serve that group and kind; a
 * claim with an empty group is not served either, as upstream.
 */
export function poolRefOf(reference: IPPoolReference, namespace: string | undefined): ObjectRef | undefined {
  check('poolRefOf', 'reference', reference, POOL_REF)
  if (namespace !== undefined) check('poolRefOf', 'namespace', namespace, 'text')

  return references.poolRefOf(reference, namespace, rules)
}

/**
 * The IPAddress of a claim: it has the same name and the claim (as controller) and the pool as
 * owners. Both block owner deletion, and a finalizer protects it, as the Cluster API contract for
 * IPAM providers requires.
 */
export function newIPAddress(claim: IPAddressClaim, pool: InClusterPool, offer: Offer): IPAddress {
  return addressObject.newIPAddress(claim, pool, offer, rules.finalizers.address)
}
