import { type ClaimEvent, type ClaimState, stateOf, transition } from '../../claim/index.js'
import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import { IPAddressClaim, type IPAddressClaimStatus } from '../../crd/cluster-api/ip-address-claim.js'
import { formatRef, isDeleting, type KubeObject, refOf } from '../../crd/meta/object.js'
import type { Refusal } from '../../plan/effect.js'
import { type Effect, eventAbout, type Plan, type PlanTime, patchStatus } from '../../plan/index.js'
import type { WaitReason } from './definition.js'
import type { ClaimOutcome } from './outcome.js'
import {
  ADDRESS_UNIQUE_CONDITION,
  isBound,
  namedOther,
  sharedText,
  statusPatch,
  timeText,
  withReady,
  withUniqueness,
} from './status.js'

/** How long to wait before the next try, where nothing else tells. */
export const RETRY_SECONDS = 30

/**
 * A plan in the making, before it is known whether the claim gets its address: events of the claim
 * machine change it.
 */
export interface SoFar {
  readonly claim: IPAddressClaim
  readonly effects: Effect[]
  readonly state: ClaimState
  readonly status: IPAddressClaimStatus | undefined
  readonly retriesLater: boolean
  readonly now: string
}

/** Starts from the status of a claim. */
export function startOf(claim: IPAddressClaim, effects: Effect[], time: PlanTime): SoFar {
  return { claim, effects, state: stateOf(claim), status: claim.status, retriesLater: false, now: timeText(time) }
}

/** Applies an event of the claim machine, and writes the new state to the status. */
export function step(soFar: SoFar, event: ClaimEvent, message = ''): SoFar {
  const { claim, now } = soFar
  const { name } = claim.metadata
  const [state, effects] = transition(soFar.state, event)
  let { status } = soFar
  if (effects.includes('setAddressRef') && status?.addressRef?.name !== name)
    status = { ...status, addressRef: { name } }
  if (effects.includes('clearAddressRef')) {
    const { addressRef: _, ...rest } = status ?? {}
    status = rest
  }
  if (effects.includes('setReady')) status = withReady(status, claim, 'AddressAllocated', '', now)
  if (effects.includes('setNotReady') && state.phase !== 'Bound' && state.reason !== undefined) {
    status = withReady(status, claim, state.reason, message, now)
  }
  return { ...soFar, state, status, retriesLater: effects.includes('retryLater') }
}

/** The plan of a claim that waits, with the reason in its status. */
export function wait(
  soFar: SoFar,
  reason: WaitReason,
  message: string,
  retryAfterSeconds?: number,
): Plan<ClaimOutcome> {
  const now = step(soFar, reason === 'PoolNotReady' ? 'PoolUnavailable' : reason, message)
  const seconds = retryAfterSeconds ?? (now.retriesLater ? RETRY_SECONDS : undefined)
  const effects = written(now, { type: 'Warning', reason, message })
  return { outcome: { kind: 'waiting', reason, message }, effects, requeueAfterSeconds: seconds }
}

/**
 * The plan of a claim that has its address. @param others other IPAddress objects with the same
 * address
 */
export function bound(soFar: SoFar, { spec }: IPAddress, others: readonly string[] = []): Plan<ClaimOutcome> {
  const { address, prefix, gateway } = spec
  const now = step(soFar, 'AddressAllocated')
  const message = prefix === undefined ? address : `${address}/${prefix}`
  const other = namedOther(soFar.claim, address, others)
  const duplicate = other === undefined ? undefined : sharedText(address, other)
  const status = withUniqueness(now.status, now.claim, duplicate, now.now)
  const event: EventText =
    duplicate !== undefined
      ? { type: 'Warning', reason: 'DuplicateAddress', message: duplicate }
      : status === now.status
        ? { type: 'Normal', reason: 'AddressAllocated', message }
        : {
            type: 'Normal',
            reason: ADDRESS_UNIQUE_CONDITION,
            message: `${address} is no longer shared with another claim`,
          }
  return { outcome: { kind: 'bound', address, prefix, gateway, message }, effects: written({ ...now, status }, event) }
}

type EventText = Parameters<typeof eventAbout>[1]

function written({ claim, effects, state, status }: SoFar, event: EventText): readonly Effect[] {
  return [...effects, ...statusEffects(claim, status, `the claim is ${state.phase}`, event)]
}

/** The write of a status that has changed. The event is written only together with the status. */
function statusEffects(
  claim: IPAddressClaim,
  status: IPAddressClaimStatus | undefined,
  why: string,
  event: EventText,
): Effect[] {
  const patch = statusPatch(claim.status, status)
  return patch === undefined ? [] : [patchStatus(claim, patch, why), eventAbout(claim, event)]
}

/** Says in the status why a claim that is being deleted is still there. */
export function stuckEffects(claim: IPAddressClaim, message: string, time: PlanTime): Effect[] {
  return notReadyEffects(claim, 'ReleaseFailed', message, time)
}

/** Says in the status, and in an Event, what is wrong with a claim that keeps what it has. */
export function notReadyEffects(claim: IPAddressClaim, reason: string, message: string, time: PlanTime): Effect[] {
  const status = withReady(claim.status, claim, 'AllocationFailed', message, timeText(time))
  return statusEffects(claim, status, message, { type: 'Warning', reason, message })
}

/**
 * The plan for a claim whose last plan the store has refused: it reports the refused effect in the
 * condition Ready, and by an event. A claim that keeps its address stays Ready, and one whose
 * status is refused has no condition: they get the event alone.
 *
 * @param isLost whether the claim is Bound but has no IPAddress any more
 */
export function planRefused(
  claim: IPAddressClaim,
  { effect, message }: Refusal,
  { isLost, ...time }: PlanTime & { readonly isLost: boolean },
): Plan<ClaimOutcome> {
  const isGoing = isDeleting(claim)
  const outcome = waiting('AllocationFailed', message)
  const isOfStatus = effect.kind === 'patch' && effect.subresource === 'status' && IPAddressClaim.is(effect.ref)
  const keepsAddress = isBound(claim) && !isLost && !isGoing
  if (isOfStatus || keepsAddress) {
    const reason = isGoing ? 'ReleaseFailed' : 'AllocationFailed'
    return { outcome, effects: [eventAbout(claim, { type: 'Warning', reason, message })] }
  }
  if (isGoing) return { outcome, effects: stuckEffects(claim, message, time) }
  const soFar = startOf(claim, [], time)
  return wait(isLost ? step(soFar, 'AddressLost') : soFar, 'AllocationFailed', message)
}

export function waiting(reason: 'ClusterNotFound' | 'Reservation' | WaitReason, message: string): ClaimOutcome {
  return { kind: 'waiting', reason, message }
}

export function paused(by: 'claim' | 'cluster' | 'pool', object: KubeObject): ClaimOutcome {
  return { kind: 'paused', by, message: `${formatRef(refOf(object))} is paused` }
}
