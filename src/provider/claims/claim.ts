import { hasPausedAnnotation, isClusterPaused } from '../../crd/cluster-api/cluster.js'
import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import type { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import { formatRef, hasFinalizer, isDeleting, type ObjectRef, refOf } from '../../crd/meta/object.js'
import { listedInOrder } from '../../errors/listed.js'
import { refuse } from '../../errors/refuse.js'
import {
  addFinalizer,
  type Effect,
  guard,
  type Plan,
  type PlanTime,
  patchIfFields,
  patchObject,
} from '../../plan/index.js'
import { fulfils, isControlledBy, isStale, newIPAddress, repairOf } from './address-object.js'
import type { UnknownCalls } from './call-schemas.js'
import type { Confirmed, Ensured } from './definition.js'
import { type Asked, markerOf } from './external.js'
import { planHeld } from './held-claim.js'
import type { ClaimOutcome } from './outcome.js'
import { bound, notReadyEffects, paused, RETRY_SECONDS, type SoFar, startOf, step, wait, waiting } from './outcomes.js'
import { askVerb, type ClaimInput, callPlan, giveBack, type Planning, poolInputOf, whyUnavailable } from './planning.js'
import { type ClaimReads, claimReads } from './references.js'
import { planBeforeRelease, planRelease } from './release.js'
import { areOrphansLeft, choosesByLedger, type ProviderRules } from './rules.js'
import { isBound } from './status.js'

/**
 * Plans the whole life of a claim: the contract of Cluster API for IPAM providers
 * (docs/book/src/developer/providers/contracts/ipam.md).
 *
 * First come the gates: foreign pool, paused claim, missing or paused Cluster. Then follow the
 * finalizer of the claim, the IPAddress with its owners, and at last the status. A deleted claim
 * first releases its address, then its own finalizer. Every write can be the last before a crash:
 * the next plan continues from there, and finds the address by the name of the claim.
 *
 * While a deleted claim has the finalizer of a consumer, its address stays in use: see
 * {@link ProviderDefinition.holdsAddress}.
 *
 * Rules that each plan keeps:
 *
 * - An IPAddress of that name for another claim or from another pool is not changed. One that an
 *   earlier claim of the name has left is deleted.
 * - A claim is never bound to an address that another IPAddress of the pool has as well.
 * - A pool that is being deleted gives no address.
 * - The condition Ready says why a claim has no address.
 *
 * Complexity: that of the verbs of the provider.
 *
 * Of several claims with one address, those that are not Bound get another one, and their IPAddress
 * is deleted. A Bound claim keeps the address, with the condition AddressUnique (docs/adr/0021).
 *
 * @throws IpamError `INVALID_ARGUMENT` if an object is not the one that {@link claimReads} names,
 * has no uid, or the ledger is of another pool
 */
export function planClaim(rules: ProviderRules, input: ClaimInput, time: PlanTime): Plan<ClaimOutcome> {
  const { claim, pool } = input
  const reads = claimReads(claim, rules)
  assertInput(input, reads, time)
  const planning: Planning = { rules, input, reads, time }
  const outcome = gateOf(planning)
  if (outcome !== undefined) return { outcome, effects: [] }
  if (pool === undefined && input.poolProblem === undefined && input.isPoolUnknown === true) {
    const message = `${formatRef(reads.pool as ObjectRef)} is not known yet: pools of its kind are being listed`
    return { outcome: waiting('PoolNotReady', message), effects: [], requeueAfterSeconds: RETRY_SECONDS }
  }
  if (isDeleting(claim)) return planHeld(planning, () => addressFor(planning)) ?? planRelease(planning)
  const effects: Effect[] = []
  if (!hasFinalizer(claim, rules.finalizers.claim)) {
    effects.push(addFinalizer(claim, rules.finalizers.claim, 'keeps the claim until its address is released'))
  }
  if (pool !== undefined && hasPausedAnnotation(pool)) return { outcome: paused('pool', pool), effects }
  return planAddress(planning, startOf(claim, effects, time))
}

/** Why nothing is done for a claim: the first reason that holds. */
function gateOf({ input, reads }: Planning): ClaimOutcome | undefined {
  const { claim, cluster, pool, clusterProblem } = input
  const isGoing = isDeleting(claim)
  const problem = input.poolProblem ?? input.addressProblem
  const named = reads.cluster
  const gates: readonly (ClaimOutcome | false | undefined)[] = [
    reads.pool === undefined && ignored(claim),
    hasPausedAnnotation(claim) && paused('claim', claim),
    named &&
      clusterProblem !== undefined &&
      waiting('ClusterNotFound', `${formatRef(named)} cannot be read: ${clusterProblem}`),
    named && !cluster && !isGoing && waiting('ClusterNotFound', `${formatRef(named)} not found`),
    named && cluster && isClusterPaused(cluster) && paused('cluster', cluster),
    isGoing && pool && hasPausedAnnotation(pool) && paused('pool', pool),
    isGoing && problem !== undefined && waiting('AllocationFailed', `not released: ${problem}`),
  ]
  return gates.find((gate) => gate !== false && gate !== undefined) || undefined
}

function ignored({ spec: { poolRef } }: IPAddressClaim): ClaimOutcome {
  const message = `no pool kind of this provider: ${poolRef.kind} of group ${JSON.stringify(poolRef.apiGroup)}`
  return { kind: 'ignored', message }
}

/** Gives the claim its address, and writes its status. */
function planAddress(planning: Planning, start: SoFar): Plan<ClaimOutcome> {
  const { rules, input, reads } = planning
  const { claim, address, pool, ledger } = input
  const name = formatRef(reads.address)
  const isNew = !isBound(claim)
  const isLost = !isNew && (address === undefined || !fulfils(address, claim, rules))
  const soFar = isLost ? step(start, 'AddressLost') : start
  const inTheWay = (why: string) => wait(soFar, 'AllocationFailed', `${name} is in the way: ${why}`)

  if (address === undefined) {
    return input.addressProblem === undefined ? planNewAddress(planning, soFar) : inTheWay(input.addressProblem)
  }
  if (isStale(address, claim, rules)) return removeStale(planning, address, soFar)
  if (isDeleting(address) && !hasFinalizer(address, rules.finalizers.address)) {
    return wait(soFar, 'AllocationFailed', `${name} is being deleted, and has no finalizer of this provider`)
  }
  if (input.addressProblem !== undefined) return inTheWay(input.addressProblem)
  if (!fulfils(address, claim, rules)) {
    return inTheWay(`it is for the claim ${address.spec.claimRef.name} from ${formatRef(address.spec.poolRef)}`)
  }
  const shared = isNew ? whyShared(address, input) : undefined
  if (shared !== undefined) return planShared(planning, address, soFar, shared) ?? inTheWay(shared)

  const unconfirmed = unconfirmedOf(planning, address)
  if (unconfirmed?.kind === 'ask') return callPlan(planning, intent(planning, soFar), unconfirmed)
  if (unconfirmed?.kind === 'stale' && isNew) return removeStale(planning, address, soFar, unconfirmed.message)
  if (unconfirmed?.kind === 'stale') {
    const effects = notReadyEffects(claim, 'AddressMissing', unconfirmed.message, planning.time)
    return { outcome: waiting('AllocationFailed', unconfirmed.message), effects: [...soFar.effects, ...effects] }
  }
  const isKnown = unconfirmed?.kind !== 'unknown'
  if (unconfirmed !== undefined && (isNew || isKnown)) {
    const lost = isNew || isLost ? soFar : step(soFar, 'AddressLost')
    return wait(lost, 'AllocationFailed', unconfirmed.message, unconfirmed.retryAfterSeconds)
  }
  const repair = pool && repairOf(address, claim, pool, rules.finalizers.address)
  if (repair !== undefined) {
    soFar.effects.push(patchObject(address, repair, 'the address belongs to claim and pool, and is protected'))
  }
  // a provider whose `confirm` says which claim has an address knows more than IPAddress objects
  const decides = rules.confirm !== undefined && !choosesByLedger(rules)
  const others = isNew || decides ? [] : (input.rivals?.names ?? ledger.othersHolding(address))
  const plan = bound(soFar, address, others)
  return isKnown ? plan : { ...plan, requeueAfterSeconds: unconfirmed.retryAfterSeconds ?? RETRY_SECONDS }
}

/**
 * Plans a claim that is not Bound and shares its address: it gets another one, if it may give way
 * and another one is free.
 */
function planShared(planning: Planning, address: IPAddress, soFar: SoFar, why: string): Plan<ClaimOutcome> | undefined {
  const { rules, input } = planning
  if (whyUnavailable(input) !== undefined || !isControlledBy(address, input.claim)) return undefined
  // `confirm` knows more than IPAddress objects, and refuses one that arrived late
  const denied = unconfirmedOf(planning, address)
  if (denied?.kind === 'ask') return callPlan(planning, intent(planning, soFar), denied)
  const givesWay = choosesByLedger(rules) && input.rivals?.giveWay !== true
  if (!givesWay && denied?.kind !== 'no') return undefined
  const plan = wait(soFar, 'AllocationFailed', `${why}, and the claim gets another one`)
  if (givesWay && input.rivals?.isUnreported === true) return plan
  return { ...plan, effects: [...plan.effects, ...giveBack(planning, address, why)] }
}

/** Gives an address to a claim without one. */
function planNewAddress(planning: Planning, soFar: SoFar): Plan<ClaimOutcome> {
  const found = findAddress(planning)
  const { poolRefused } = planning.input
  if (found.kind === 'wait' && found.reason === 'PoolNotReady' && poolRefused !== undefined) {
    return wait(soFar, 'PoolNotReady', poolRefused)
  }
  if (found.kind === 'wait') return wait(soFar, found.reason, found.message, found.retryAfterSeconds)
  if (found.kind === 'ask') return callPlan(planning, intent(planning, soFar), found)
  guarded(planning, soFar).push({ kind: 'create', object: found.address, why: found.why })
  return bound(soFar.state.phase === 'Error' ? step(soFar, 'PoolHasRoom') : soFar, found.address)
}

/**
 * The effects, one of which fails if the claim no longer exists. A claim that is known from an old
 * cache alone must not leave an address behind.
 */
function guarded({ input }: Planning, { effects }: SoFar): Effect[] {
  if (effects.length === 0) effects.push(guard(input.claim, 'no address for a claim that does not exist'))
  return effects
}

/**
 * The effects before a call. An external system that keeps addresses without a claim needs a
 * durable intent: the finalizer on the claim. Where such addresses are swept, the finalizer is
 * written with the IPAddress. Where they are those of the pool, the pool has to allow the call.
 */
function intent(planning: Planning, soFar: SoFar): readonly Effect[] {
  const { pool } = planning.input
  if (!areOrphansLeft(planning.rules) && planning.rules.external?.marker !== 'pool') return []
  if (planning.rules.external?.marker !== 'pool' || pool === undefined) return guarded(planning, soFar)
  const { generation } = pool.metadata
  const why = 'the pool allows what it did'
  return [
    generation === undefined ? guard(pool, why) : patchIfFields(pool, { 'metadata.generation': generation }, [], why),
  ]
}

/**
 * Deletes the IPAddress that an earlier claim of the name has left. The claim gets an address after
 * that.
 */
function removeStale(
  planning: Planning,
  address: IPAddress,
  soFar: SoFar,
  why = 'an earlier claim of this name has left it',
): Plan<ClaimOutcome> {
  const { effects } = soFar
  const isHeld = hasFinalizer(address, planning.rules.finalizers.address)
  const before = isHeld ? planBeforeRelease(planning, address, { isStale: true }) : undefined
  if (before !== undefined) return { ...before, effects: [...effects, ...before.effects] }
  const removal = giveBack(planning, address, why)
  const message = `${formatRef(refOf(address))} is deleted: ${why}`
  if (removal.length === 0)
    return wait(soFar, 'AllocationFailed', `${message}, and finalizers of other controllers hold it`)
  return { outcome: waiting('AllocationFailed', message), effects: [...effects, ...removal] }
}

/** Why a claim is not Bound to an existing IPAddress. */
interface Unconfirmed {
  /** `unknown`: the external system has not answered. */
  readonly kind: 'no' | 'stale' | 'unknown'
  readonly message: string
  readonly retryAfterSeconds?: number | undefined
}

/**
 * Why a claim is not Bound to an existing IPAddress, by the provider, or the call to make first;
 * `undefined`: it may be Bound.
 */
function unconfirmedOf(planning: Planning, address: IPAddress): Asked | Unconfirmed | undefined {
  const { rules, input } = planning
  const { claim, pool } = input
  if (rules.confirm === undefined || pool === undefined) return undefined
  const key = markerOf(rules.external, claim, { pool }) ?? ''
  const confirmed = askVerb<Confirmed<UnknownCalls>>(planning, key, (results) =>
    rules.confirm!({ ...poolInputOf(planning, pool), claim, address, isBound: isBound(claim), key, results }),
  )
  if (confirmed.kind === 'ask') return confirmed
  if (confirmed.kind === 'failed') {
    const { failure, retryAfterSeconds } = confirmed
    return { kind: 'unknown', message: failure.message, retryAfterSeconds }
  }
  const { value } = confirmed
  return value.kind === 'no' || value.kind === 'stale' ? value : undefined
}

type Found =
  | { readonly kind: 'found'; readonly address: IPAddress; readonly why: string }
  | Extract<Ensured, { readonly kind: 'wait' }>
  | Asked

/** The IPAddress that the provider makes for a claim, or the reason why it makes no IPAddress. */
function findAddress(planning: Planning): Found {
  const { rules, input, reads } = planning
  const { claim, pool, former } = input
  const unavailable = whyUnavailable(input)
  if (unavailable !== undefined || pool === undefined) {
    return { kind: 'wait', reason: 'PoolNotReady', message: `${formatRef(reads.pool as ObjectRef)} ${unavailable}` }
  }
  const scope = poolInputOf(planning, pool)
  const resolved = rules.resolve({ ...scope, claim })
  if (resolved.kind === 'notReady') return { kind: 'wait', reason: 'PoolNotReady', message: resolved.message }
  const key = markerOf(rules.external, claim, { pool }) ?? ''
  const { offer } = resolved
  const ensured = askVerb<Ensured<UnknownCalls>>(planning, key, (results) =>
    rules.ensure({
      ...scope,
      claim,
      offer,
      key,
      results,
      former,
      callOf: (operation) => input.callOf?.(operation, key),
    }),
  )
  if (ensured.kind === 'ask') return ensured
  if (ensured.kind === 'failed') {
    const { message, reason = 'AllocationFailed' } = ensured.failure
    return { kind: 'wait', reason, message, retryAfterSeconds: ensured.retryAfterSeconds }
  }
  const { value, hasAsked } = ensured
  if (value.kind !== 'address') return value
  // with the marker `claim` the uid of the claim is enough, and with `pool` the pool finds it
  const isNoted = rules.external?.marker === 'kept' || rules.external?.marker === 'none'
  const marker = hasAsked && isNoted ? key : undefined
  const address = newIPAddress(claim, pool, value, rules.finalizers.address, marker)
  // the external system may give an address again before its IPAddress is deleted
  const shared = hasAsked ? whyShared(address, input) : undefined
  if (shared !== undefined) return { kind: 'wait', reason: 'AllocationFailed', message: shared, retryAfterSeconds: 1 }
  return { kind: 'found', address, why: value.why }
}

function addressFor(planning: Planning): IPAddress | undefined {
  const found = findAddress(planning)
  return found.kind === 'found' ? found.address : undefined
}

/**
 * @throws IpamError `INVALID_ARGUMENT` for objects that do not belong together: a plan from them
 * could give an address of another pool away
 */
function assertInput(input: ClaimInput, reads: ClaimReads, time: PlanTime): void {
  if (!Number.isFinite(time.nowMs)) refuse('planClaim', 'nowMs', 'milliseconds since 1970', time.nowMs)
  for (const part of ['address', 'pool', 'cluster'] as const) {
    const [object, expected] = [input[part], reads[part]]
    if (object === undefined || expected === undefined) continue
    const { kind, name, namespace } = refOf(object)
    const isIt = kind === expected.kind && name === expected.name && namespace === expected.namespace
    if (!isIt) refuse('planClaim', part, formatRef(expected), formatRef(refOf(object)))
  }
  if (input.pool !== undefined && reads.pool !== undefined && !input.ledger.serves(input.pool)) {
    refuse('planClaim', 'ledger', `that of ${formatRef(reads.pool)}`, 'another one')
  }
}

/**
 * Why a new claim is not Bound to an IPAddress, or `undefined`. The IPAddress may have appeared
 * after its address went to another claim: from a backup, by hand, or as a write that timed out. In
 * the last case this claim may be its controller.
 */
function whyShared(address: IPAddress, { ledger }: ClaimInput): string | undefined {
  const others = ledger.othersHolding(address)
  return others.length === 0
    ? undefined
    : `its address ${address.spec.address} is also that of ${listedInOrder(others, ', ')}`
}
