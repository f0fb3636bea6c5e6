import type { ClaimEvent } from '../../claim/index.js'
import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import type { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import { formatRef, type KubeObject, refOf } from '../../crd/meta/object.js'
import { listedInOrder } from '../../errors/listed.js'
import { type Effect, eventAbout, type Plan, patchStatus } from '../../plan/index.js'
import type { WaitReason } from './definition.js'
import type { ClaimOutcome } from './outcome.js'
import { ADDRESS_UNIQUE_CONDITION, advance, type Progress, statusPatch, withUniqueness } from './status.js'

/** Tries again after this long where nothing else tells when to. */
export const RETRY_SECONDS = 30

/** What is to be written for a claim before it is known whether it gets its address. */
export interface SoFar {
  readonly claim: IPAddressClaim
  readonly effects: Effect[]
  readonly progress: Progress
  readonly now: string
}

/** One event further. */
export function step(soFar: SoFar, event: ClaimEvent, message = ''): SoFar {
  const { claim, progress, now } = soFar
  return { ...soFar, progress: advance(progress, event, claim, { message, now }) }
}

/** The claim waits, and says why. */
export function wait(
  soFar: SoFar,
  reason: WaitReason,
  message: string,
  retryAfterSeconds?: number,
): Plan<ClaimOutcome> {
  const now = step(soFar, reason === 'PoolNotReady' ? 'PoolUnavailable' : reason, message)
  pushProgress(now, { type: 'Warning', reason, message })
  const seconds = retryAfterSeconds ?? (now.progress.retryLater ? RETRY_SECONDS : undefined)
  return { outcome: { kind: 'waiting', reason, message }, effects: now.effects, requeueAfterSeconds: seconds }
}

/** The claim has its address. @param others the other IPAddress objects that have it */
export function bound(
  soFar: SoFar,
  { spec: { address, prefix, gateway } }: IPAddress,
  others: readonly string[] = [],
): Plan<ClaimOutcome> {
  const now = step(soFar, 'AddressAllocated')
  const message = prefix === undefined ? address : `${address}/${prefix}`
  const duplicate = others.length === 0 ? undefined : `${address} is also that of ${listedInOrder(others, ', ')}`
  const { claim, progress } = now
  const status = withUniqueness(progress.status, claim, duplicate, now.now)
  const told: Told =
    duplicate !== undefined
      ? { type: 'Warning', reason: 'DuplicateAddress', message: duplicate }
      : status === progress.status
        ? { type: 'Normal', reason: 'AddressAllocated', message }
        : { type: 'Normal', reason: ADDRESS_UNIQUE_CONDITION, message: `${address} is that of no other claim any more` }
  pushProgress({ ...now, progress: { ...progress, status } }, told)
  return { outcome: { kind: 'bound', address, prefix, gateway, message }, effects: now.effects }
}

function pushProgress({ claim, effects, progress }: SoFar, event: Told): void {
  effects.push(...statusEffects(claim, progress.status, `the claim is ${progress.state.phase}`, event))
}

type Told = Parameters<typeof eventAbout>[1]

/** A status that is to be written, if it is another one, and an event only where it goes with a write. */
export function statusEffects(
  claim: IPAddressClaim,
  status: IPAddressClaim['status'],
  why: string,
  event: Told,
): Effect[] {
  const patch = statusPatch(claim.status, status)
  return patch === undefined ? [] : [patchStatus(claim, patch, why), eventAbout(claim, event)]
}

/** Nothing is written. */
export function nothing(outcome: ClaimOutcome): Plan<ClaimOutcome> {
  return { outcome, effects: [] }
}

export function paused(by: 'claim' | 'cluster' | 'pool', object: KubeObject): Plan<ClaimOutcome> {
  return nothing({ kind: 'paused', by, message: `${formatRef(refOf(object))} is paused` })
}
