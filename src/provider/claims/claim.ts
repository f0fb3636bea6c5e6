import { type Cluster, hasPausedAnnotation, isClusterPaused } from '../../crd/cluster-api/cluster.js'
import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import type { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import { formatRef, hasFinalizer, isDeleting, type KubeObject, type ObjectRef, refOf } from '../../crd/meta/object.js'
import { listedInOrder } from '../../errors/listed.js'
import { list } from '../../errors/quote.js'
import { refuse } from '../../errors/refuse.js'
import {
  addFinalizer,
  type Effect,
  guard,
  type Plan,
  type PlanTime,
  patchObject,
  removeFinalizer,
} from '../../plan/index.js'
import { deletionOf, fulfils, isControlledBy, isStale, newIPAddress, repairOf } from './address-object.js'
import { type Unconfirmed, unconfirmedOf } from './confirm.js'
import type { AddressAndPrefix, CallRequest, ClaimLedger, Ensured, PoolCallResults, Released } from './definition.js'
import { type Asked, markerOf, type ResultOf, resolveCalls, type VerbResult } from './external.js'
import { isOf, planHeld } from './held-claim.js'
import type { ClaimOutcome } from './outcome.js'
import { bound, nothing, paused, RETRY_SECONDS, type SoFar, statusEffects, step, wait } from './outcomes.js'
import { type ClaimReads, claimReads, clusterNameOf } from './references.js'
import type { Rivals } from './rivals.js'
import { type ClaimRules, choosesByLedger } from './rules.js'
import { startOf, stuck, timeText } from './status.js'

/** What a plan for a claim is made from: {@link claimReads} says which objects to look up. */
export interface ClaimInput<P extends KubeObject, L extends ClaimLedger<P>> {
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
  readonly poolCalls?: PoolCallResults<unknown> | undefined
  /** The pool that the IPAddress is from, if that is another one than that of the claim. */
  readonly addressPool?: P | undefined
  /**
   * The other IPAddress objects that have the address of the one of the claim, where a planner knows more of them than the ledger. Left out: as the ledger has
   * them, and none gives way.
   */
  readonly rivals?: Rivals | undefined
  /** What was heard from external systems. */
  readonly resultOf?: ResultOf | undefined
  /** What this very claim had of the pool before somebody removed its IPAddress, if that is known. */
  readonly former?: AddressAndPrefix | undefined
}

/** A plan in the making: what is decided from, by which rules. */
export interface Planning<P extends KubeObject, L extends ClaimLedger<P>, O> {
  readonly rules: ClaimRules<P, L, O>
  readonly input: ClaimInput<P, L>
  readonly reads: ClaimReads
  readonly time: PlanTime
}

/**
 * The whole life of a claim, from what is observed to what is to be written: the contract of Cluster API for IPAM providers
 * (docs/book/src/developer/providers/contracts/ipam.md).
 *
 * Gates first: foreign pool, paused claim, missing or paused Cluster. Then the finalizer of the claim, the IPAddress with its
 * owners, and at last the status. A deleted claim gives its address back first, then its own finalizer. Every write can be the last
 * before a crash: the next plan goes on from there, and finds the address by the name of the claim.
 *
 * While a deleted claim has the finalizer of a consumer, its address stays in use: see {@link ProviderDefinition.holdsAddress}.
 *
 * A plan never touches an IPAddress of that name that is for another claim or from another pool (one that an earlier claim of the name has left
 * behind is removed), never binds a claim to one whose address another IPAddress of the pool has as well, never allocates from a pool that is being deleted,
 * and says in the condition Ready why a claim has no address. As fast as the verbs of the provider.
 *
 * Of several claims that have one address those that are not Bound give way: their IPAddress goes, and they get another one. One that is Bound keeps it, and
 * says so in the condition AddressUnique (docs/adr/0021).
 *
 * @throws IpamError `INVALID_ARGUMENT` if an object is not the one that {@link claimReads} names, has no uid, or the ledger is of another pool
 */
export function planClaim<P extends KubeObject, L extends ClaimLedger<P>, O>(
  rules: ClaimRules<P, L, O>,
  input: ClaimInput<P, L>,
  time: PlanTime,
): Plan<ClaimOutcome> {
  const { claim, cluster, pool } = input
  const deleting = isDeleting(claim)
  const reads = claimReads(claim, rules)
  assertInput(input, reads, time)
  const planning: Planning<P, L, O> = { rules, input, reads, time }
  if (reads.pool === undefined) {
    const { apiGroup, kind } = claim.spec.poolRef
    return nothing({
      kind: 'ignored',
      message: `no pool kind of this provider: ${kind} of group ${JSON.stringify(apiGroup)}`,
    })
  }
  if (hasPausedAnnotation(claim)) return paused('claim', claim)
  const clusterName = clusterNameOf(claim)
  if (input.clusterProblem !== undefined) {
    const message = `Cluster ${claim.metadata.namespace}/${clusterName} can not be read: ${input.clusterProblem}`
    return nothing({ kind: 'waiting', reason: 'ClusterNotFound', message })
  }
  if (clusterName !== undefined && cluster === undefined && !deleting) {
    const message = `Cluster ${claim.metadata.namespace}/${clusterName} not found`
    return nothing({ kind: 'waiting', reason: 'ClusterNotFound', message })
  }
  if (clusterName !== undefined && cluster !== undefined && isClusterPaused(cluster)) {
    return paused('cluster', cluster)
  }
  if (deleting) {
    if (pool !== undefined && hasPausedAnnotation(pool)) return paused('pool', pool)
    const problem = input.poolProblem ?? input.addressProblem
    if (problem !== undefined)
      return nothing({ kind: 'waiting', reason: 'AllocationFailed', message: `not released: ${problem}` })
    return planHeld(planning, () => findAddress(planning)) ?? planRelease(planning)
  }

  const effects: Effect[] = []
  if (!hasFinalizer(claim, rules.finalizers.claim)) {
    effects.push(addFinalizer(claim, rules.finalizers.claim, 'the claim must not go before its address'))
  }
  if (pool !== undefined && hasPausedAnnotation(pool)) {
    return { ...paused('pool', pool), effects }
  }
  return planAddress(planning, effects)
}

/** Sees to it that the claim has its address, and says in its status whether it has. */
function planAddress<P extends KubeObject, L extends ClaimLedger<P>, O>(
  planning: Planning<P, L, O>,
  effects: Effect[],
): Plan<ClaimOutcome> {
  const { rules, input, reads, time } = planning
  const { claim, address, pool, ledger } = input
  const addressName = formatRef(reads.address)
  const start = startOf(claim)
  const isNew = start.state.phase !== 'Bound'
  const isLost = !isNew && (address === undefined || !fulfils(address, claim, rules))
  const before: SoFar = { claim, effects, progress: start, now: timeText(time) }
  const soFar = isLost ? step(before, 'AddressLost') : before

  if (address !== undefined && isStale(address, claim, rules)) {
    return removeStale(planning, address, soFar)
  }
  if (address !== undefined && isDeleting(address) && !hasFinalizer(address, rules.finalizers.address)) {
    return wait(soFar, 'AllocationFailed', `${addressName} is being deleted, and nothing of ours holds it`)
  }
  const notOurs = input.addressProblem ?? whyNotOurs(planning, address)
  const shared = isNew && notOurs === undefined ? whyShared(address, ledger) : undefined
  if (shared !== undefined && address !== undefined && givesWay(planning, address)) {
    const told = wait(soFar, 'AllocationFailed', `${shared}, and the claim gets another one`)
    return input.rivals?.isUntold === true
      ? told
      : { ...told, effects: [...told.effects, ...giveBack(planning, address, shared)] }
  }
  const denial = shared === undefined || address === undefined ? undefined : denialOf(planning, address)
  if (denial?.kind === 'ask') return asking(planning, intent(planning, effects), denial)
  if (denial?.kind === 'no' && shared !== undefined && address !== undefined) {
    const told = wait(soFar, 'AllocationFailed', `${shared}, and the claim gets another one`)
    return { ...told, effects: [...told.effects, ...giveBack(planning, address, shared)] }
  }
  const obstacle = notOurs ?? shared
  if (obstacle !== undefined) return wait(soFar, 'AllocationFailed', `${addressName} is in the way: ${obstacle}`)
  if (address !== undefined) {
    const unconfirmed = pool && unconfirmedOf(rules, input, { pool, address, isBound: !isNew, nowMs: time.nowMs })
    if (unconfirmed?.kind === 'ask') return asking(planning, intent(planning, effects), unconfirmed)
    if (unconfirmed?.kind === 'stale' && isNew) return removeStale(planning, address, soFar)
    const isKnown = unconfirmed?.kind !== 'unknown'
    if (unconfirmed !== undefined && (isNew || isKnown)) {
      return wait(
        isNew || isLost ? soFar : step(soFar, 'AddressLost'),
        'AllocationFailed',
        unconfirmed.message,
        unconfirmed.retryAfterSeconds,
      )
    }
    const repair = pool && repairOf(address, claim, pool, rules.finalizers.address)
    if (repair !== undefined) {
      effects.push(patchObject(address, repair, 'the address belongs to claim and pool, and is protected'))
    }
    // what knows more of an address than IPAddress objects say decides whose it is
    const others = isNew || rules.confirm !== undefined ? [] : (input.rivals?.names ?? ledger.othersHolding(address))
    const plan = bound(soFar, address, others)
    return isKnown ? plan : { ...plan, requeueAfterSeconds: unconfirmed.retryAfterSeconds ?? RETRY_SECONDS }
  }

  const found = findAddress(planning)
  if (found.kind === 'wait') return wait(soFar, found.reason, found.message, found.retryAfterSeconds)
  if (found.kind === 'ask') return asking(planning, intent(planning, effects), found)
  guarded(effects, claim)
  effects.push({ kind: 'create', object: found.address, why: found.why })
  return bound(soFar.progress.state.phase === 'Error' ? step(soFar, 'PoolHasRoom') : soFar, found.address)
}

/** Whether the claim gets another address than one that it shares: no consumer has read it yet, and the provider chooses by its ledger alone. */
function givesWay<P extends KubeObject, L extends ClaimLedger<P>, O>(
  { rules, input }: Planning<P, L, O>,
  address: IPAddress,
): boolean {
  if (!choosesByLedger(rules)) return false
  // not while nothing else can be given
  if (whyUnavailable(input.pool, input.ledger) !== undefined) return false
  return isControlledBy(address, input.claim) && input.rivals?.giveWay !== true
}

/**
 * What a provider that knows more than the IPAddress objects says of an address that a claim shares, whose IPAddress was made for this very claim: one that arrived
 * late is denied, and the claim gets another address.
 */
function denialOf<P extends KubeObject, L extends ClaimLedger<P>, O>(
  { rules, input, time }: Planning<P, L, O>,
  address: IPAddress,
): Asked | Unconfirmed | undefined {
  const { claim, pool, ledger } = input
  // not while nothing else can be given
  if (pool === undefined || whyUnavailable(pool, ledger) !== undefined || !isControlledBy(address, claim))
    return undefined
  return unconfirmedOf(rules, input, { pool, address, isBound: false, nowMs: time.nowMs })
}

/** The effects, of which one fails for a claim that is known from an old cache alone, and is gone: it must not leave an address behind. */
function guarded(effects: Effect[], claim: IPAddressClaim): Effect[] {
  if (effects.length === 0) effects.push(guard(claim, 'no address for a claim that is gone'))
  return effects
}

/**
 * The effects before a call. An external system that keeps what no claim has needs a durable intent: our finalizer on the claim. Where such left-overs are swept,
 * the call needs none: the finalizer is written with the IPAddress.
 */
function intent<P extends KubeObject, L extends ClaimLedger<P>, O>(
  { rules, input }: Planning<P, L, O>,
  effects: Effect[],
): readonly Effect[] {
  return rules.external?.orphans === 'swept' ? [] : guarded(effects, input.claim)
}

/** Removes what an earlier claim of the name has left: once it has gone, the claim gets an address of its own. */
function removeStale<P extends KubeObject, L extends ClaimLedger<P>, O>(
  planning: Planning<P, L, O>,
  address: IPAddress,
  soFar: SoFar,
): Plan<ClaimOutcome> {
  const { effects } = soFar
  const isHeld = hasFinalizer(address, planning.rules.finalizers.address)
  const end = isHeld ? holdUp(planning, address, { isStale: true }) : undefined
  if (end !== undefined) return { ...end, effects: [...effects, ...end.effects] }
  const removal = giveBack(planning, address, 'it is left from an earlier claim of this name')
  const message = `${formatRef(refOf(address))} is left from an earlier claim of this name`
  if (removal.length === 0) return wait(soFar, 'AllocationFailed', `${message}, and others hold it`)
  return { outcome: { kind: 'waiting', reason: 'AllocationFailed', message }, effects: [...effects, ...removal] }
}

const NOTHING_SAID: PoolCallResults<unknown> = { of: () => undefined }

export type Found =
  | { readonly kind: 'found'; readonly address: IPAddress; readonly why: string }
  | (Extract<Ensured, { readonly kind: 'wait' }> & { readonly kind: 'wait' })
  | Asked

/** The IPAddress for a claim that has none, as the provider wants it, or why there is none. */
function findAddress<P extends KubeObject, L extends ClaimLedger<P>, O>({
  rules,
  input,
  reads,
  time,
}: Planning<P, L, O>): Found {
  const { claim, pool, ledger, resultOf, former, poolCalls = NOTHING_SAID } = input
  const unavailable = whyUnavailable(pool, ledger)
  if (unavailable !== undefined || pool === undefined) {
    return { kind: 'wait', reason: 'PoolNotReady', message: `${formatRef(reads.pool as ObjectRef)} ${unavailable}` }
  }
  const resolved = rules.resolve({ claim, pool, ledger, poolCalls })
  if (resolved.kind === 'notReady') return { kind: 'wait', reason: 'PoolNotReady', message: resolved.message }
  const key = markerOf(rules.external, claim, { pool }) ?? ''
  const { offer } = resolved
  const { nowMs } = time
  const result = resolveCalls<Exclude<Ensured, CallRequest>>(
    (results) => rules.ensure({ claim, pool, ledger, poolCalls, offer, key, results, former, nowMs }),
    (operation) => resultOf?.(operation, key),
    nowMs,
  )
  if (result.kind === 'ask') return { ...result, key }
  if (result.kind === 'failed') {
    const { message, reason = 'AllocationFailed' } = result.failure
    return { kind: 'wait', reason, message, retryAfterSeconds: result.retryAfterSeconds }
  }
  const ensured = result.value
  if (ensured.kind === 'wait') return ensured
  // what is known by the claim alone needs no word of it on the IPAddress
  const marker = result.hasAsked && rules.external?.marker !== 'claim' ? key : undefined
  const address = newIPAddress(claim, pool, ensured, rules.finalizers.address, marker)
  // what was given back in the external system is free there before its IPAddress has gone
  const shared = result.hasAsked ? whyShared(address, ledger) : undefined
  if (shared !== undefined) return { kind: 'wait', reason: 'AllocationFailed', message: shared, retryAfterSeconds: 1 }
  return { kind: 'found', address, why: ensured.why }
}

/** Has an external system asked. What has to be durable before that is in the effects already. */
function asking<P extends KubeObject, L extends ClaimLedger<P>, O>(
  { rules, input }: Planning<P, L, O>,
  effects: readonly Effect[],
  { request, key }: Asked,
): Plan<ClaimOutcome> {
  const { operation, input: value, why } = request
  if (rules.external === undefined) {
    const expected = 'external in a definition whose verbs make calls'
    refuse('external', expected, 'undefined')
  }
  const message = `waiting for the external system to ${operation}`
  const leak = rules.external.marker === 'none' ? { leakPossible: true as const } : {}
  const call = { operation, key, about: refOf(input.claim), input: value }
  return {
    outcome: { kind: 'waiting', reason: 'ExternalCall', message, ...leak },
    effects: [...effects, { kind: 'external', call, why }],
  }
}

/** Why nothing can be allocated from a pool, or `undefined`. */
function whyUnavailable<P extends KubeObject>(pool: P | undefined, ledger: ClaimLedger<P>): string | undefined {
  if (ledger.problems.length > 0) return `is invalid: ${list(ledger.problems)}`
  if (pool === undefined) return 'not found'
  return isDeleting(pool) ? 'is being deleted' : undefined
}

const RELEASED = 'its claim no longer needs it'
const NO_ADDRESS = 'the claim has no address'

/** Gives the address back: the address object first, then the claim's own finalizer. */
function planRelease<P extends KubeObject, L extends ClaimLedger<P>, O>(
  planning: Planning<P, L, O>,
): Plan<ClaimOutcome> {
  const { rules, input } = planning
  const { claim, pool } = input
  const found = input.address
  const address = found && isOf(found, claim, rules) ? found : undefined
  const isHeld = hasFinalizer(claim, rules.finalizers.claim)
  const mayHaveSome = address !== undefined || isHeld
  const heldUp = mayHaveSome ? holdUp(planning, address, { isStale: false }) : undefined
  if (heldUp !== undefined) return heldUp
  const effects: Effect[] = address === undefined ? [] : giveBack(planning, address, RELEASED)
  if (isHeld) {
    const removal = removeFinalizer(claim, rules.finalizers.claim, 'its address is released')
    effects.push(...noAddress(planning, address), removal)
  }
  const text = address?.spec.address
  const message = text === undefined ? NO_ADDRESS : `${text} is released`
  const isLost = rules.external && mayHaveSome && markerOf(rules.external, claim, { pool, address }) === undefined
  const leak = isLost ? { leakPossible: true as const } : {}
  return { outcome: { kind: 'released', address: text, message, ...leak }, effects }
}

/** What is to be done before an address may go, or a claim that may have one in the external system; `undefined`: nothing. */
function holdUp<P extends KubeObject, L extends ClaimLedger<P>, O>(
  planning: Planning<P, L, O>,
  address: IPAddress | undefined,
  { isStale: leftOver }: { readonly isStale: boolean },
): Plan<ClaimOutcome> | undefined {
  const { rules, input, time } = planning
  if (rules.release === undefined) return undefined
  const { claim, ledger, resultOf } = input
  const { nowMs } = time
  const pool = leftOver ? (input.addressPool ?? input.pool) : input.pool
  const key = markerOf(rules.external, claim, { pool, address })
  const result = resolveCalls<Exclude<Released, CallRequest>>(
    (results) => rules.release!({ claim, pool, address, isStale: leftOver, ledger, key, results, nowMs }),
    (operation) => resultOf?.(operation, key ?? ''),
    nowMs,
  )
  if (result.kind === 'settled') {
    const { value } = result
    if (value.kind === 'done') return undefined
    const remainingSeconds = value.kind === 'wait' ? value.remainingSeconds : 0
    const effects = remainingSeconds > 0 || address === undefined ? [] : giveBack(planning, address, RELEASED)
    const message = `${address?.spec.address ?? 'what it has'} stays in use for another ${remainingSeconds} s`
    const outcome: ClaimOutcome = { kind: 'releasing', remainingSeconds, message }
    return { outcome, effects, requeueAfterSeconds: remainingSeconds || undefined }
  }
  if (result.kind === 'failed') return stuckPlan(planning, result)
  if (key === undefined) return undefined
  const checks = [guard(claim, 'only what this claim had is given back'), ...noAddress(planning, address)]
  return asking(planning, checks, { ...result, key })
}

/** Where several write, another one may have made the IPAddress of a claim a moment ago: what the claim had is not given back while there is one. */
function noAddress<P extends KubeObject, L extends ClaimLedger<P>, O>(
  { rules, input, reads }: Planning<P, L, O>,
  address: IPAddress | undefined,
): Effect[] {
  if (address !== undefined || rules.external === undefined) return []
  const why = NO_ADDRESS
  return [input.address === undefined ? { kind: 'absent', ref: reads.address, why } : guard(input.address, why)]
}

/** A release that the external system has not done: the claim says why it is still there. */
function stuckPlan<P extends KubeObject, L extends ClaimLedger<P>, O>(
  { input, time }: Planning<P, L, O>,
  { failure, retryAfterSeconds }: Extract<VerbResult<unknown>, { readonly kind: 'failed' }>,
): Plan<ClaimOutcome> {
  const { claim } = input
  const message = `not released: ${failure.message}`
  const status = stuck(claim, message, timeText(time))
  const event = { type: 'Warning', reason: 'ReleaseFailed', message } as const
  const effects = statusEffects(claim, status, 'the claim says why it is still there', event)
  return {
    outcome: { kind: 'waiting', reason: 'AllocationFailed', message },
    effects,
    ...(retryAfterSeconds === undefined ? {} : { requeueAfterSeconds: retryAfterSeconds }),
  }
}

/**
 * Takes our finalizer off an IPAddress and deletes it, if the claim is still the one that was read: one that has its name by now may live on
 * this address. Nothing, if the address is on its way out and only others hold it.
 */
function giveBack<P extends KubeObject, L extends ClaimLedger<P>, O>(
  { rules, input }: Planning<P, L, O>,
  address: IPAddress,
  why: string,
): Effect[] {
  const finalizer = rules.finalizers.address
  if (isDeleting(address) && !hasFinalizer(address, finalizer)) return []
  const effects: Effect[] = [guard(input.claim, 'the address of another claim of this name must not be removed')]
  if (hasFinalizer(address, finalizer)) effects.push(removeFinalizer(address, finalizer, why))
  if (!isDeleting(address)) effects.push(deletionOf(address))
  return effects
}

/** @throws IpamError `INVALID_ARGUMENT` where objects were mixed up: a plan from them could give an address of another pool away */
function assertInput<P extends KubeObject, L extends ClaimLedger<P>>(
  input: ClaimInput<P, L>,
  reads: ClaimReads,
  time: PlanTime,
): void {
  if (!Number.isFinite(time.nowMs)) refuse('nowMs', 'milliseconds since 1970', String(time.nowMs))
  for (const part of ['address', 'pool', 'cluster'] as const) {
    const object = input[part]
    const expected = reads[part]
    if (object === undefined || expected === undefined) continue
    if (!isAt(object, expected)) refuse(part, formatRef(expected), formatRef(refOf(object)))
  }
  if (input.pool !== undefined && reads.pool !== undefined && !input.ledger.serves(input.pool)) {
    refuse('ledger', `that of ${formatRef(reads.pool)}`, 'another one')
  }
}

/** Whether an object is the one that a reference names, whichever its API. */
function isAt({ kind, metadata }: KubeObject, ref: ObjectRef): boolean {
  const { name, namespace } = metadata
  return kind === ref.kind && name === ref.name && namespace === ref.namespace
}

/** Why the IPAddress under the name of a claim is not the claim's, or `undefined`. */
function whyNotOurs<P extends KubeObject, L extends ClaimLedger<P>, O>(
  { rules, input }: Planning<P, L, O>,
  address: IPAddress | undefined,
): string | undefined {
  if (address === undefined || fulfils(address, input.claim, rules)) return undefined
  const { claimRef, poolRef } = address.spec
  return `it is for the claim ${claimRef.name} from ${formatRef(poolRef)}`
}

/**
 * Why an IPAddress is none for a new claim to be Bound to, or `undefined`. It may have come after its address went to another claim: from a backup, by
 * hand, or as a write that nobody waited for any more, and then it may even be controlled by this very claim.
 */
function whyShared<P extends KubeObject>(address: IPAddress | undefined, ledger: ClaimLedger<P>): string | undefined {
  const others = address === undefined ? [] : ledger.othersHolding(address)
  return others.length === 0
    ? undefined
    : `its address ${address?.spec.address} is also that of ${listedInOrder(others, ', ')}`
}
