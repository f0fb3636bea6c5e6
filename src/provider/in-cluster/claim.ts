import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import type { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import type { IPPoolReference } from '../../crd/cluster-api/references.js'
import type { InClusterPool } from '../../crd/in-cluster/pools.js'
import type { ObjectRef } from '../../crd/meta/object.js'
import type { Plan, PlanTime } from '../../plan/index.js'
import * as addressObject from '../claims/address-object.js'
import { planClaim as planAnyClaim } from '../claims/claim.js'
import type { Offer } from '../claims/definition.js'
import type { ClaimOutcome } from '../claims/outcome.js'
import type { ClaimInput as AnyClaimInput } from '../claims/planning.js'
import * as references from '../claims/references.js'
import { rules } from './definition.js'
import type { PoolLedger } from './ledger.js'

/** What a plan for a claim is made from: {@link claimReads} says which objects to look up. */
export type ClaimInput = AnyClaimInput<InClusterPool, PoolLedger>

/**
 * The whole life of a claim, from what is observed to what is to be written: the contract of
 * Cluster API for IPAM providers (docs/book/src/developer/providers/contracts/ipam.md) as the
 * in-cluster provider carries it out.
 *
 * What is the same for every provider is in `ipam-kit/provider/claims`; what is in-cluster's own:
 * an address is the lowest that is free according to the ledger, and one that is given back stays
 * in use for the grace period of its pool.
 *
 * Unlike upstream a plan never touches an IPAddress of that name that is for another claim or from
 * another pool (one that an earlier claim of the name has left behind is removed), never adopts one
 * whose address another IPAddress of the pool has as well, never allocates from a pool that is
 * being deleted, and says in the condition Ready why a claim has no address. O(log n) in addresses
 * in use.
 *
 * @throws IpamError `INVALID_ARGUMENT` if an object is not the one that {@link claimReads} names,
 * has no uid, or the ledger is of another pool
 */
export function planClaim(input: ClaimInput, time: PlanTime): Plan<ClaimOutcome> {
  return planAnyClaim(rules, input, time)
}

/** Which objects {@link planClaim} needs to see. */
export function claimReads(claim: IPAddressClaim): references.ClaimReads {
  return references.claimReads(claim, rules)
}

/**
 * The pool that a reference in an object of some namespace means: cluster-scoped for the Global
 * kinds, else of that namespace. `undefined` if this provider does not serve that group and kind; a
 * claim with an empty group is not served either, as upstream.
 */
export function poolRefOf(reference: IPPoolReference, namespace: string | undefined): ObjectRef | undefined {
  return references.poolRefOf(reference, namespace, rules)
}

/**
 * The IPAddress that fulfils a claim: named like it, owned by claim (as controller) and pool, both
 * blocking owner deletion, and protected by a finalizer, as the Cluster API contract for IPAM
 * providers wants it.
 */
export function newIPAddress(claim: IPAddressClaim, pool: InClusterPool, offer: Offer): IPAddress {
  return addressObject.newIPAddress(claim, pool, offer, rules.finalizers.address)
}
