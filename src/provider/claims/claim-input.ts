import type { Cluster } from '../../crd/cluster-api/cluster.js'
import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import type { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import type { KubeObject } from '../../crd/meta/object.js'
import type { PlanTime } from '../../plan/planner.js'
import type { CallResults, Ensured, Ledger, Place } from './definition.js'
import type { Asked, HeardOf } from './outside.js'
import type { ClaimReads } from './references.js'
import type { Rivals } from './rivals.js'
import type { ClaimRules } from './rules.js'

/** What a plan for a claim is made from: {@link claimReads} says which objects to look up. */
export interface ClaimInput<P extends KubeObject, L extends Ledger<P>> {
  readonly claim: IPAddressClaim
  /** The IPAddress of the namespace and name of the claim, if there is one. */
  readonly address?: IPAddress | undefined
  /** Why the object under that name can not be read as an IPAddress, if there is such a one. */
  readonly addressProblem?: string | undefined
  /** Why the pool can not be read, if there is one that can not: nothing is released then, because it may be paused. */
  readonly poolProblem?: string | undefined
  /** Why the Cluster can not be read, if there is one that can not: nothing is done then, because it may be paused. */
  readonly clusterProblem?: string | undefined
  /** The pool of the claim, if it exists. */
  readonly pool?: P | undefined
  /** The Cluster that the claim names, if it names one and it exists. */
  readonly cluster?: Cluster | undefined
  /** The ledger of the pool. */
  readonly ledger: L
  /** What external systems have said to the calls for the pool. Left out: nothing. */
  readonly poolCalls?: CallResults | undefined
  /** The pool that the IPAddress is from, if that is another one than that of the claim. */
  readonly addressPool?: P | undefined
  /**
   * The other IPAddress objects that have the address of the one of the claim, where a planner knows more of them than the ledger. Left out: as the ledger has
   * them, and none gives way.
   */
  readonly rivals?: Rivals | undefined
  /** What was heard from outside systems. */
  readonly heard?: HeardOf | undefined
  /** What this very claim had of the pool before somebody removed its IPAddress, if that is known. */
  readonly former?: Place | undefined
}

/** A plan in the making: what is decided from, by which rules. */
export interface Planning<P extends KubeObject, L extends Ledger<P>, O> {
  readonly rules: ClaimRules<P, L, O>
  readonly input: ClaimInput<P, L>
  readonly reads: ClaimReads
  readonly time: PlanTime
}

export type Found =
  | { readonly kind: 'found'; readonly address: IPAddress; readonly why: string }
  | (Extract<Ensured, { readonly kind: 'wait' }> & { readonly kind: 'wait' })
  | Asked
