import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import type { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import { type Effect, eventAbout, type Plan, patchStatus } from '../../plan/index.js'
import type { WaitReason } from './definition.js'
import type { ClaimOutcome } from './outcome.js'
import { advance, type Progress, statusPatch } from './status.js'

/** Tries again after this long where nothing else tells when to. */
export const RETRY_SECONDS = 30

/** What is to be written for a claim before it is known whether it gets its address. */
export interface SoFar {
  readonly claim: IPAddressClaim
  readonly effects: Effect[]
  readonly progress: Progress
  readonly now: string
}

/** The claim waits, and says why. */
export function wait(
  { claim, effects, progress, now }: SoFar,
  reason: WaitReason,
  message: string,
  retryAfterSeconds?: number,
): Plan<ClaimOutcome> {
  const plan = waiting(claim, effects, advance(progress, events[reason], claim, { message, now }), reason, message)
  return retryAfterSeconds === undefined ? plan : { ...plan, requeueAfterSeconds: retryAfterSeconds }
}

/** What has happened to a claim that waits for a reason. */
const events = {
  PoolNotReady: 'PoolUnavailable',
  PoolExhausted: 'PoolExhausted',
  AllocationFailed: 'AllocationFailed',
} as const

/** The claim has its address. */
export function bound(
  claim: IPAddressClaim,
  effects: Effect[],
  progress: Progress,
  address: IPAddress,
): Plan<ClaimOutcome> {
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
  effects.push(eventAbout(claim, event))
}

/** Nothing is written. */
export function nothing(outcome: ClaimOutcome): Plan<ClaimOutcome> {
  return { outcome, effects: [] }
}

export function paused(by: 'claim' | 'cluster' | 'pool', message: string): Plan<ClaimOutcome> {
  return nothing({ kind: 'paused', by, message })
}
