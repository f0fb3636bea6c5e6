import { type Cluster, hasPausedAnnotation, isClusterPaused } from '../../crd/cluster-api/cluster.js'
import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import type { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import { formatRef, hasFinalizer, isDeleting, type KubeObject, refOf } from '../../crd/meta/object.js'
import { ipamError } from '../../errors/index.js'
import {
  addFinalizer,
  type Effect,
  guard,
  type Plan,
  type PlanTime,
  patchObject,
  patchStatus,
  removeFinalizer,
} from '../../plan/index.js'
import { fulfils, isControlledBy, isLeftOver, newIPAddress, repairOf, uidOf } from './address-object.js'
import type { Ledger, WaitReason } from './definition.js'
import type { ClaimOutcome } from './outcome.js'
import { type ClaimReads, claimReads, clusterNameOf } from './references.js'
import type { ClaimRules } from './rules.js'
import { advance, type Progress, startOf, statusPatch } from './status.js'

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
}

/** Tries again after this long where nothing else tells when to. */
const RETRY_SECONDS = 30

/** A plan in the making: what is decided from, by which rules. */
interface Planning<P extends KubeObject, L extends Ledger<P>, O> {
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
 * A plan never touches an IPAddress of that name that is for another claim or from another pool (one that an earlier claim of the name has left
 * behind is removed), never adopts one whose address another IPAddress of the pool has as well, never allocates from a pool that is being deleted,
 * and says in the condition Ready why a claim has no address. As fast as the verbs of the provider.
 *
 * @throws IpamError `INVALID_ARGUMENT` if an object is not the one that {@link claimReads} names, has no uid, or the ledger is of another pool
 */
export function planClaim<P extends KubeObject, L extends Ledger<P>, O>(
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
  if (hasPausedAnnotation(claim)) return paused('claim', 'the claim is paused')
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
    return paused('cluster', `${formatRef(refOf(cluster))} is paused`)
  }
  if (deleting) {
    if (pool !== undefined && hasPausedAnnotation(pool)) return paused('pool', `${formatRef(refOf(pool))} is paused`)
    const problem = input.poolProblem ?? input.addressProblem
    if (problem !== undefined)
      return nothing({ kind: 'waiting', reason: 'AllocationFailed', message: `not released: ${problem}` })
    return planRelease(planning)
  }

  const effects: Effect[] = []
  if (!hasFinalizer(claim, rules.finalizers.claim)) {
    effects.push(addFinalizer(claim, rules.finalizers.claim, 'the claim must not go before its address'))
  }
  if (pool !== undefined && hasPausedAnnotation(pool)) {
    return { ...paused('pool', `${formatRef(refOf(pool))} is paused`), effects }
  }
  return planAddress(planning, effects)
}

/** Sees to it that the claim has its address, and says in its status whether it has. */
function planAddress<P extends KubeObject, L extends Ledger<P>, O>(
  planning: Planning<P, L, O>,
  effects: Effect[],
): Plan<ClaimOutcome> {
  const { rules, input, reads, time } = planning
  const { claim, address, pool, ledger } = input
  const addressName = formatRef(reads.address)
  const now = new Date(time.nowMs).toISOString().replace(/\.\d+Z$/, 'Z')
  const start = startOf(claim)
  const isLost = start.state.phase === 'Bound' && (address === undefined || !fulfils(address, claim, rules))
  const progress = isLost ? advance(start, 'AddressLost', claim, { message: '', now }) : start
  const wait = (reason: WaitReason, message: string) =>
    waiting(claim, effects, advance(progress, events[reason], claim, { message, now }), reason, message)

  if (address !== undefined && isLeftOver(address, claim, rules)) {
    const removal = giveBack(planning, address, 'an earlier claim of this name has left it')
    const message = `${addressName} is left from an earlier claim of this name`
    if (removal.length === 0) return wait('AllocationFailed', `${message}, and others hold it`)
    return { outcome: { kind: 'waiting', reason: 'AllocationFailed', message }, effects: [...effects, ...removal] }
  }
  if (address !== undefined && isDeleting(address) && !hasFinalizer(address, rules.finalizers.address)) {
    return wait('AllocationFailed', `${addressName} is being deleted, and nothing of ours holds it`)
  }
  const isNew = start.state.phase !== 'Bound'
  const obstacle =
    input.addressProblem ?? whyNotOurs(planning, address) ?? (isNew ? whyShared(address, ledger) : undefined)
  if (obstacle !== undefined) return wait('AllocationFailed', `${addressName} is in the way: ${obstacle}`)
  if (address !== undefined) {
    const repair = pool && repairOf(address, claim, pool, rules.finalizers.address)
    if (repair !== undefined) {
      effects.push(patchObject(address, repair, 'the address belongs to claim and pool, and is protected'))
    }
    return bound(claim, effects, advance(progress, 'AddressAllocated', claim, { message: '', now }), address)
  }

  const found = findAddress(planning)
  if (found.kind === 'wait') return wait(found.reason, found.message)
  // a claim that is known from an old cache alone, and is gone, must not leave an address behind
  if (effects.length === 0) effects.push(guard(claim, 'no address for a claim that is gone'))
  effects.push({ kind: 'create', object: found.address, why: found.why })
  const ready =
    progress.state.phase === 'Error' ? advance(progress, 'PoolHasRoom', claim, { message: '', now }) : progress
  return bound(claim, effects, advance(ready, 'AddressAllocated', claim, { message: '', now }), found.address)
}

type Found =
  | { readonly kind: 'found'; readonly address: IPAddress; readonly why: string }
  | { readonly kind: 'wait'; readonly reason: WaitReason; readonly message: string }

/** The IPAddress for a claim that has none, as the provider wants it, or why there is none. */
function findAddress<P extends KubeObject, L extends Ledger<P>, O>({
  rules,
  input,
  reads,
  time,
}: Planning<P, L, O>): Found {
  const { claim, pool, ledger } = input
  const poolName = formatRef(reads.pool as NonNullable<typeof reads.pool>)
  const notReady = (message: string): Found => ({ kind: 'wait', reason: 'PoolNotReady', message })
  if (ledger.problems.length > 0) return notReady(`${poolName} is invalid: ${ledger.problems.join('; ')}`)
  if (pool === undefined) return notReady(`${poolName} not found`)
  if (isDeleting(pool)) return notReady(`${poolName} is being deleted`)
  const resolved = rules.resolve({ claim, pool, ledger })
  if (resolved.kind === 'notReady') return notReady(resolved.message)
  const ensured = rules.ensure({ claim, pool, ledger, offer: resolved.offer, nowMs: time.nowMs })
  if (ensured.kind === 'wait') return ensured
  return { kind: 'found', address: newIPAddress(claim, pool, ensured, rules.finalizers.address), why: ensured.why }
}

/** Gives the address back: the address object first, then the claim's own finalizer. */
function planRelease<P extends KubeObject, L extends Ledger<P>, O>(planning: Planning<P, L, O>): Plan<ClaimOutcome> {
  const { rules, input, time } = planning
  const { claim, pool, ledger } = input
  const isOurs =
    input.address !== undefined && (fulfils(input.address, claim, rules) || isControlledBy(input.address, claim))
  const address = isOurs ? input.address : undefined
  const released = rules.release?.({ claim, pool, address, ledger, nowMs: time.nowMs }) ?? { kind: 'done' }
  if (released.kind === 'wait') {
    const { remainingSeconds } = released
    const message = `${address?.spec.address} stays in use for another ${remainingSeconds} s`
    const outcome: ClaimOutcome = { kind: 'releasing', remainingSeconds, message }
    return { outcome, effects: [], requeueAfterSeconds: remainingSeconds }
  }
  const effects: Effect[] = address === undefined ? [] : giveBack(planning, address, 'its claim no longer needs it')
  if (hasFinalizer(claim, rules.finalizers.claim)) {
    effects.push(removeFinalizer(claim, rules.finalizers.claim, 'its address is released'))
  }
  const text = address?.spec.address
  const message = text === undefined ? 'the claim has no address' : `${text} is released`
  return { outcome: { kind: 'released', address: text, message }, effects }
}

/**
 * Takes our finalizer off an IPAddress and deletes it, if the claim is still the one that was read: one that has its name by now may live on
 * this address. Nothing, if the address is on its way out and only others hold it.
 */
function giveBack<P extends KubeObject, L extends Ledger<P>, O>(
  { rules, input }: Planning<P, L, O>,
  address: IPAddress,
  why: string,
): Effect[] {
  const finalizer = rules.finalizers.address
  if (isDeleting(address) && !hasFinalizer(address, finalizer)) return []
  const effects: Effect[] = [guard(input.claim, 'the address of another claim of this name must not be removed')]
  if (hasFinalizer(address, finalizer)) effects.push(removeFinalizer(address, finalizer, why))
  if (!isDeleting(address)) {
    const free = `${address.spec.address} is free again`
    // for this version only: a write of ours that is still on its way could put the finalizer back, and the deletion would be held for ever
    const asItIs = { uid: uidOf(address), resourceVersion: address.metadata.resourceVersion }
    effects.push({ kind: 'delete', ref: refOf(address), if: asItIs, why: free })
  }
  return effects
}

/** What has happened to a claim that waits for a reason. */
const events = {
  PoolNotReady: 'PoolUnavailable',
  PoolExhausted: 'PoolExhausted',
  AllocationFailed: 'AllocationFailed',
} as const

/** @throws IpamError `INVALID_ARGUMENT` where objects were mixed up: a plan from them could give an address of another pool away */
function assertInput<P extends KubeObject, L extends Ledger<P>>(
  input: ClaimInput<P, L>,
  reads: ClaimReads,
  time: PlanTime,
): void {
  const refuse = (argument: string, expected: string, got: string) => {
    throw ipamError('INVALID_ARGUMENT', { argument, expected, got })
  }
  if (!Number.isFinite(time.nowMs)) refuse('nowMs', 'milliseconds since 1970', String(time.nowMs))
  for (const part of ['address', 'pool', 'cluster'] as const) {
    const object = input[part]
    const expected = reads[part]
    if (object === undefined || expected === undefined) continue
    const [got, wanted] = [formatRef(refOf(object)), formatRef(expected)]
    if (got !== wanted) refuse(part, wanted, got)
  }
  if (input.pool !== undefined && reads.pool !== undefined && !input.ledger.serves(input.pool)) {
    refuse('ledger', `the ledger of ${formatRef(reads.pool)}`, 'that of another pool, or of none')
  }
}

/** Why the IPAddress under the name of a claim is not the claim's, or `undefined`. */
function whyNotOurs<P extends KubeObject, L extends Ledger<P>, O>(
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
function whyShared<P extends KubeObject>(address: IPAddress | undefined, ledger: Ledger<P>): string | undefined {
  const others = address === undefined ? [] : ledger.othersHolding(address)
  return others.length === 0 ? undefined : `its address ${address?.spec.address} is also that of ${others.join(', ')}`
}

function bound(claim: IPAddressClaim, effects: Effect[], progress: Progress, address: IPAddress): Plan<ClaimOutcome> {
  const { address: text, prefix, gateway } = address.spec
  const full = prefix === undefined ? text : `${text}/${prefix}`
  pushStatus(claim, effects, progress, { type: 'Normal', reason: 'AddressAllocated', message: full })
  return { outcome: { kind: 'bound', address: text, prefix, gateway, message: full }, effects }
}

function waiting(
  claim: IPAddressClaim,
  effects: Effect[],
  progress: Progress,
  reason: WaitReason,
  message: string,
): Plan<ClaimOutcome> {
  pushStatus(claim, effects, progress, { type: 'Warning', reason, message })
  const outcome: ClaimOutcome = { kind: 'waiting', reason, message }
  return progress.retryLater ? { outcome, effects, requeueAfterSeconds: RETRY_SECONDS } : { outcome, effects }
}

/** The status last, and an event only where it goes with a write. */
function pushStatus(
  claim: IPAddressClaim,
  effects: Effect[],
  progress: Progress,
  event: { readonly type: 'Normal' | 'Warning'; readonly reason: string; readonly message: string },
): void {
  const patch = statusPatch(claim.status, progress.status)
  if (patch === undefined) return
  effects.push(patchStatus(claim, patch, `the claim is ${progress.state.phase}`))
  effects.push({ kind: 'event', about: refOf(claim), ...event })
}

function nothing(outcome: ClaimOutcome): Plan<ClaimOutcome> {
  return { outcome, effects: [] }
}

function paused(by: 'claim' | 'cluster' | 'pool', message: string): Plan<ClaimOutcome> {
  return nothing({ kind: 'paused', by, message })
}
