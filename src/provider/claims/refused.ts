import { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import { isDeleting } from '../../crd/meta/object.js'
import { eventAbout, type Plan, type PlanTime, type Refusal } from '../../plan/index.js'
import type { ClaimOutcome } from './outcome.js'
import { type SoFar, statusEffects, step, wait } from './outcomes.js'
import { startOf, stuck, timeText } from './status.js'

/**
 * The plan by which a claim says that the store has refused an effect of its last plan: in the condition Ready, and by an event. A claim that keeps its address stays
 * Ready, and one whose status is refused has no condition: they have the event alone.
 *
 * @param isLost whether the claim is Bound, and has no IPAddress any more
 */
export function planRefused(
  claim: IPAddressClaim,
  { effect, message }: Refusal,
  { isLost, ...time }: PlanTime & { readonly isLost: boolean },
): Plan<ClaimOutcome> {
  const now = timeText(time)
  const start = startOf(claim)
  const isGoing = isDeleting(claim)
  const event = { type: 'Warning', reason: isGoing ? 'ReleaseFailed' : 'AllocationFailed', message } as const
  const outcome: ClaimOutcome = { kind: 'waiting', reason: 'AllocationFailed', message }
  const isOfStatus = effect.kind === 'patch' && effect.subresource === 'status' && IPAddressClaim.is(effect.ref)
  const keepsAddress = start.state.phase === 'Bound' && !isLost && !isGoing
  if (isOfStatus || keepsAddress) return { outcome, effects: [eventAbout(claim, event)] }
  if (isGoing) {
    const why = 'the claim says why it is still there'
    return { outcome, effects: statusEffects(claim, stuck(claim, message, now), why, event) }
  }
  const soFar: SoFar = { claim, effects: [], progress: start, now }
  return wait(isLost ? step(soFar, 'AddressLost') : soFar, 'AllocationFailed', message)
}
