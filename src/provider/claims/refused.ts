import { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import { isDeleting } from '../../crd/meta/object.js'
import { eventAbout, type Plan, type PlanTime, type Refusal } from '../../plan/index.js'
import type { ClaimOutcome } from './outcome.js'
import { startOf, step, stuckEffects, wait, waiting } from './outcomes.js'
import { isBound } from './status.js'

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
