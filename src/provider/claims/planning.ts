import type { Cluster } from '../../crd/cluster-api/cluster.js'
import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import type { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import { hasFinalizer, isDeleting, type KubeObject, refOf } from '../../crd/meta/object.js'
import { list } from '../../errors/quote.js'
import { refuse } from '../../errors/refuse.js'
import { type Effect, guard, type Plan, type PlanTime, removeFinalizer } from '../../plan/index.js'
import { deletionOf, newIPAddress } from './address-object.js'
import type { UnknownCalls } from './call-schemas.js'
import type {
  AddressAndPrefix,
  CallRequest,
  CallValues,
  ClaimLedger,
  LastCall,
  PoolInput,
  ResolveInput,
} from './definition.js'
import { type Asked, type ResultOf, resolveCalls, type VerbResult } from './external.js'
import type { ClaimOutcome } from './outcome.js'
import type { ClaimReads } from './references.js'
import type { ProviderRules } from './rules.js'
import type { Rivals } from './shared-addresses.js'

/** The input of a plan for a claim: `claimReads` names the objects to look up. */
export interface ClaimInput<P extends KubeObject = KubeObject, L extends ClaimLedger<P> = ClaimLedger<P>> {
  readonly claim: IPAddressClaim
  /** The IPAddress with the namespace and name of the claim, if it exists. */
  readonly address?: IPAddress | undefined
  /** Why the object under that name cannot be read as an IPAddress, if it exists and cannot. */
  readonly addressProblem?: string | undefined
  /**
   * Why the pool cannot be read, if it exists and cannot. Then nothing is released, because the
   * pool may be paused.
   */
  readonly poolProblem?: string | undefined
  /**
   * Why the Cluster cannot be read, if it exists and cannot. Then nothing is done, because the
   * Cluster may be paused.
   */
  readonly clusterProblem?: string | undefined
  /** The pool of the claim, if it exists. */
  readonly pool?: P | undefined
  /**
   * Whether the pool may exist although it is not known, as its kind is not listed yet: the claim
   * waits, and nothing is written. Left out: a pool that is not given does not exist.
   */
  readonly isPoolUnknown?: boolean | undefined
  /**
   * Why the store has refused a write of the pool, if it has. A claim that waits for its pool
   * reports it. Left out: no write was refused.
   */
  readonly poolRefused?: string | undefined
  /** The Cluster that the claim names, if it exists. */
  readonly cluster?: Cluster | undefined
  /** The ledger of the pool. */
  readonly ledger: L
  /** What verbs are given of the pool, beside itself and its ledger. Left out: nothing is known. */
  readonly scope?: Pick<ResolveInput<P, L, UnknownCalls>, 'calls' | 'isWaiting' | 'otherPoolAt'> | undefined
  /** The pool of the IPAddress, if it is not the one of the claim. */
  readonly addressPool?: P | undefined
  /**
   * The other IPAddress objects with the address of the claim, if a planner knows more of them than
   * the ledger. Left out: as the ledger has them, and none gives way.
   */
  readonly rivals?: Rivals | undefined
  /** The last calls for the claim, by operation and marker. Left out: none is known. */
  readonly callOf?: ((operation: string, key: string) => LastCall<unknown> | undefined) | undefined
  /** The last results of the calls for the claim. */
  readonly resultOf?: ResultOf | undefined
  /** The address that this claim had from the pool before its IPAddress was deleted, if known. */
  readonly former?: AddressAndPrefix | undefined
}

/** A plan in the making: its input and its rules. */
export interface Planning {
  readonly rules: ProviderRules
  readonly input: ClaimInput
  readonly reads: ClaimReads
  readonly time: PlanTime
}

const NO_SCOPE: NonNullable<ClaimInput['scope']> = {
  calls: { of: () => undefined, all: () => [] },
  isWaiting: () => false,
  otherPoolAt: () => undefined,
}

/** What each verb is given of the pool. */
export function poolInputOf(
  { input: { ledger, scope = NO_SCOPE }, time: { nowMs } }: Planning,
  pool: KubeObject,
): PoolInput<KubeObject, ClaimLedger<KubeObject>, UnknownCalls> {
  return { pool, ledger, ...scope, nowMs }
}

/** Calls a verb for the claim. @param key the marker of its calls */
export function askVerb<T extends { readonly kind: string }>(
  { input, time }: Planning,
  key: string | undefined,
  verb: (results: CallValues<UnknownCalls>) => T,
): VerbResult<Exclude<T, CallRequest<UnknownCalls>>> {
  return resolveCalls(key ?? '', verb, input.resultOf, time.nowMs)
}

/**
 * The plan that makes the call of a verb. @param effects writes that have to be durable before the
 * call
 */
export function callPlan(
  { rules, input: { claim, pool } }: Planning,
  effects: readonly Effect[],
  { request, key }: Asked,
): Plan<ClaimOutcome> {
  const { operation, input, why, pending, effectSeconds } = request
  if (rules.external === undefined)
    refuse('defineProvider', 'external', 'external in a definition whose verbs make calls', 'undefined')
  const message = `waiting for the external system to ${operation}`
  const leak = rules.external.marker === 'none' ? { leakPossible: true as const } : {}
  const call = { operation, key, about: refOf(claim), input }
  const address = pending && pool && newIPAddress(claim, pool, pending, rules.finalizers.address)
  return {
    outcome: { kind: 'waiting', reason: 'ExternalCall', message, ...leak },
    effects: [
      ...effects,
      {
        ...{ kind: 'external', call, why },
        ...(effectSeconds !== undefined && { effectSeconds }),
        ...(address && { pending: address }),
      },
    ],
  }
}

/** Why the pool cannot allocate, or `undefined`. */
export function whyUnavailable({ pool, ledger }: ClaimInput): string | undefined {
  if (ledger.problems.length > 0) return `is invalid: ${list(ledger.problems)}`
  if (pool === undefined) return 'not found'
  return isDeleting(pool) ? 'is being deleted' : undefined
}

/**
 * Removes the finalizer from an IPAddress and deletes it, if the claim is still the one that was
 * read: a newer claim of the name may use this address. Nothing, if the address is being deleted
 * and only finalizers of others hold it.
 */
export function giveBack({ rules, input }: Planning, address: IPAddress, why: string): Effect[] {
  const finalizer = rules.finalizers.address
  const isHeld = hasFinalizer(address, finalizer)
  if (isDeleting(address) && !isHeld) return []
  return [
    guard(input.claim, 'the address of a newer claim of this name must stay'),
    ...(isHeld ? [removeFinalizer(address, finalizer, why)] : []),
    ...(isDeleting(address) ? [] : [deletionOf(address)]),
  ]
}
