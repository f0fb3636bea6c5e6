import * as Address from '../../cidr/nouns/address.js'
import { type Cluster, hasPausedAnnotation, isClusterPaused } from '../../crd/cluster-api/cluster.js'
import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import type { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import { PROTECT_ADDRESS_FINALIZER, RELEASE_ADDRESS_FINALIZER } from '../../crd/in-cluster/names.js'
import type { InClusterPool } from '../../crd/in-cluster/pools.js'
import { formatRef, hasFinalizer, isDeleting, refOf } from '../../crd/meta/object.js'
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
import type { PoolLedger } from './ledger.js'
import type { ClaimOutcome } from './outcome.js'
import { type ClaimReads, claimReads, clusterNameOf } from './references.js'
import { advance, type Progress, startOf, statusPatch } from './status.js'

/** What a plan for a claim is made from: {@link claimReads} says which objects to look up. */
export interface ClaimInput {
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
  readonly pool?: InClusterPool | undefined
  /** The Cluster that the claim names, if it names one and it exists. */
  readonly cluster?: Cluster | undefined
  /** The ledger of the pool. */
  readonly ledger: PoolLedger
}

/** Tries again after this long where nothing else tells when to. */
const RETRY_SECONDS = 30

/**
 * The whole life of a claim, from what is observed to what is to be written: the contract of Cluster API for IPAM providers
 * (docs/book/src/developer/providers/contracts/ipam.md) as the in-cluster provider carries it out.
 *
 * Gates first: foreign pool, paused claim, missing or paused Cluster. Then the finalizer of the claim, the IPAddress with its
 * owners, and at last the status. A deleted claim gives its address back first, then its own finalizer. Every write can be the last
 * before a crash: the next plan goes on from there, and finds the address by the name of the claim.
 *
 * Unlike upstream a plan never touches an IPAddress of that name that is for another claim or from another pool (one that an earlier claim
 * of the name has left behind is removed), never adopts one whose address another IPAddress of the pool has as well, never allocates from a pool that is being deleted, and says in the condition Ready why a
 * claim has no address. O(log n) in addresses in use.
 *
 * @throws IpamError `INVALID_ARGUMENT` if an object is not the one that {@link claimReads} names, has no uid, or the ledger is of another pool
 */
export function planClaim(input: ClaimInput, time: PlanTime): Plan<ClaimOutcome> {
  const { claim, cluster, pool } = input
  const deleting = isDeleting(claim)
  const reads = claimReads(claim)
  assertInput(input, reads, time)
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
    return planRelease(input, time)
  }

  const effects: Effect[] = []
  if (!hasFinalizer(claim, RELEASE_ADDRESS_FINALIZER)) {
    effects.push(addFinalizer(claim, RELEASE_ADDRESS_FINALIZER, 'the claim must not go before its address'))
  }
  if (pool !== undefined && hasPausedAnnotation(pool)) {
    return { ...paused('pool', `${formatRef(refOf(pool))} is paused`), effects }
  }
  return planAddress(input, effects, time)
}

/** Sees to it that the claim has its address, and says in its status whether it has. */
function planAddress(input: ClaimInput, effects: Effect[], time: PlanTime): Plan<ClaimOutcome> {
  const { claim, address, pool, ledger } = input
  const reads = claimReads(claim)
  const addressName = formatRef(reads.address)
  const poolName = formatRef(reads.pool as NonNullable<typeof reads.pool>)
  const now = new Date(time.nowMs).toISOString().replace(/\.\d+Z$/, 'Z')
  const start = startOf(claim)
  const isLost = start.state.phase === 'Bound' && (address === undefined || !fulfils(address, claim))
  const progress = isLost ? advance(start, 'AddressLost', claim, { message: '', now }) : start
  const wait = (event: WaitEvent, message: string) =>
    waiting(claim, effects, advance(progress, event, claim, { message, now }), reasons[event], message)

  if (address !== undefined && isLeftOver(address, claim)) {
    const removal = giveBack(address, claim, 'an earlier claim of this name has left it')
    const message = `${addressName} is left from an earlier claim of this name`
    if (removal.length === 0) return wait('AllocationFailed', `${message}, and others hold it`)
    return { outcome: { kind: 'waiting', reason: 'AllocationFailed', message }, effects: [...effects, ...removal] }
  }
  if (address !== undefined && isDeleting(address) && !hasFinalizer(address, PROTECT_ADDRESS_FINALIZER)) {
    return wait('AllocationFailed', `${addressName} is being deleted, and nothing of ours holds it`)
  }
  const isNew = start.state.phase !== 'Bound'
  const obstacle =
    input.addressProblem ?? whyNotOurs(address, claim) ?? (isNew ? whyShared(address, ledger) : undefined)
  if (obstacle !== undefined) return wait('AllocationFailed', `${addressName} is in the way: ${obstacle}`)
  if (address !== undefined) {
    const repair = pool && repairOf(address, claim, pool)
    if (repair !== undefined) {
      effects.push(patchObject(address, repair, 'the address belongs to claim and pool, and is protected'))
    }
    return bound(claim, effects, advance(progress, 'AddressAllocated', claim, { message: '', now }), address)
  }

  const unavailable = whyUnavailable(pool, ledger, poolName)
  if (unavailable !== undefined || pool === undefined) return wait('PoolUnavailable', unavailable as string)
  const offer = ledger.next()
  if (offer === undefined) return wait('PoolExhausted', `no address available in ${poolName}`)
  const created = newIPAddress(claim, pool, offer)
  const why = `${Address.format(offer.address)} is the lowest that is free in ${poolName}`
  // a claim that is known from an old cache alone, and is gone, must not leave an address behind
  if (effects.length === 0) effects.push(guard(claim, 'no address for a claim that is gone'))
  effects.push({ kind: 'create', object: created, why })
  const ready =
    progress.state.phase === 'Error' ? advance(progress, 'PoolHasRoom', claim, { message: '', now }) : progress
  return bound(claim, effects, advance(ready, 'AddressAllocated', claim, { message: '', now }), created)
}

/** Gives the address back: the address object first, then the claim's own finalizer. */
function planRelease(input: ClaimInput, time: PlanTime): Plan<ClaimOutcome> {
  const { claim, pool } = input
  const isOurs = input.address !== undefined && (fulfils(input.address, claim) || isControlledBy(input.address, claim))
  const address = isOurs ? input.address : undefined
  const remainingSeconds = address === undefined ? 0 : graceLeft(claim, pool, time)
  if (remainingSeconds > 0) {
    const message = `${address?.spec.address} stays in use for another ${remainingSeconds} s`
    const outcome: ClaimOutcome = { kind: 'releasing', remainingSeconds, message }
    return { outcome, effects: [], requeueAfterSeconds: remainingSeconds }
  }
  const effects: Effect[] = address === undefined ? [] : giveBack(address, claim, 'its claim no longer needs it')
  if (hasFinalizer(claim, RELEASE_ADDRESS_FINALIZER)) {
    effects.push(removeFinalizer(claim, RELEASE_ADDRESS_FINALIZER, 'its address is released'))
  }
  const released = address?.spec.address
  const message = released === undefined ? 'the claim has no address' : `${released} is released`
  return { outcome: { kind: 'released', address: released, message }, effects }
}

/**
 * Takes our finalizer off an IPAddress and deletes it, if the claim is still the one that was read: one that has its name by now may live on
 * this address. Nothing, if the address is on its way out and only others hold it.
 */
function giveBack(address: IPAddress, claim: IPAddressClaim, why: string): Effect[] {
  if (isDeleting(address) && !hasFinalizer(address, PROTECT_ADDRESS_FINALIZER)) return []
  const effects: Effect[] = [guard(claim, 'the address of another claim of this name must not be removed')]
  if (hasFinalizer(address, PROTECT_ADDRESS_FINALIZER)) {
    effects.push(removeFinalizer(address, PROTECT_ADDRESS_FINALIZER, why))
  }
  if (!isDeleting(address)) {
    const free = `${address.spec.address} is free again`
    // for this version only: a write of ours that is still on its way could put the finalizer back, and the deletion would be held for ever
    const asItIs = { uid: uidOf(address), resourceVersion: address.metadata.resourceVersion }
    effects.push({ kind: 'delete', ref: refOf(address), if: asItIs, why: free })
  }
  return effects
}

/** The events that leave a claim without an address, and the reasons that its condition then gives. */
const reasons = {
  PoolUnavailable: 'PoolNotReady',
  PoolExhausted: 'PoolExhausted',
  AllocationFailed: 'AllocationFailed',
} as const

type WaitEvent = keyof typeof reasons

/** @throws IpamError `INVALID_ARGUMENT` where objects were mixed up: a plan from them could give an address of another pool away */
function assertInput(input: ClaimInput, reads: ClaimReads, time: PlanTime): void {
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
function whyNotOurs(address: IPAddress | undefined, claim: IPAddressClaim): string | undefined {
  if (address === undefined || fulfils(address, claim)) return undefined
  const { claimRef, poolRef } = address.spec
  return `it is for the claim ${claimRef.name} from ${formatRef(poolRef)}`
}

/**
 * Why an IPAddress is none for a new claim to be Bound to, or `undefined`. It may have come after its address went to another claim: from a backup, by
 * hand, or as a write that nobody waited for any more, and then it may even be controlled by this very claim.
 */
function whyShared(address: IPAddress | undefined, ledger: PoolLedger): string | undefined {
  const others = address === undefined ? [] : ledger.othersHolding(address)
  return others.length === 0 ? undefined : `its address ${address?.spec.address} is also that of ${others.join(', ')}`
}

/** Why nothing can be allocated from a pool, or `undefined`. */
function whyUnavailable(pool: InClusterPool | undefined, ledger: PoolLedger, name: string): string | undefined {
  if (ledger.problems.length > 0) return `${name} is invalid: ${ledger.problems.join('; ')}`
  if (pool === undefined) return `${name} not found`
  return isDeleting(pool) ? `${name} is being deleted` : undefined
}

/** How long the address of a deleted claim stays in use, in whole seconds. Not at all if the pool is gone or going. */
function graceLeft(claim: IPAddressClaim, pool: InClusterPool | undefined, time: PlanTime): number {
  const graceSeconds = pool?.spec.addressReuseGracePeriodSeconds ?? 0
  if (pool === undefined || isDeleting(pool) || graceSeconds <= 0) return 0
  const deletedMs = Date.parse(claim.metadata.deletionTimestamp as string)
  if (Number.isNaN(deletedMs)) return graceSeconds
  return Math.max(0, Math.ceil((deletedMs + graceSeconds * 1000 - time.nowMs) / 1000))
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
  reason: 'PoolNotReady' | 'PoolExhausted' | 'AllocationFailed',
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
