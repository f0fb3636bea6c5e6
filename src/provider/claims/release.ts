import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import { hasFinalizer } from '../../crd/meta/object.js'
import { type Effect, guard, type Plan, proofOfAbsence, removeFinalizer } from '../../plan/index.js'
import { isOf } from './address-object.js'
import type { UnknownCalls } from './call-schemas.js'
import type { Released } from './definition.js'
import { markerOf } from './external.js'
import type { ClaimOutcome } from './outcome.js'
import { stuckEffects, waiting } from './outcomes.js'
import { askVerb, callPlan, giveBack, type Planning } from './planning.js'

const RELEASED = 'its claim no longer needs it'
const NO_ADDRESS = 'the claim has no address'

/**
 * Releases the address of a deleted claim: first the IPAddress, then the finalizer of the claim.
 */
export function planRelease(planning: Planning): Plan<ClaimOutcome> {
  const { rules, input } = planning
  const { claim, pool } = input
  const address = input.address && isOf(input.address, claim, rules) ? input.address : undefined
  const isHeld = hasFinalizer(claim, rules.finalizers.claim)
  const mayHaveSome = address !== undefined || isHeld
  const before = mayHaveSome ? planBeforeRelease(planning, address) : undefined
  if (before !== undefined) return before
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

/**
 * The plan that has to come before an address is released, or a claim ends that may have an address
 * in the external system; `undefined`: none.
 *
 * @param isStale whether the address is that of an earlier claim of the name
 */
export function planBeforeRelease(
  planning: Planning,
  address: IPAddress | undefined,
  { isStale = false } = {},
): Plan<ClaimOutcome> | undefined {
  const { rules, input, time } = planning
  const { claim, ledger } = input
  const pool = isStale ? (input.addressPool ?? input.pool) : input.pool
  const key = markerOf(rules.external, claim, { pool, address })
  const released = askVerb<Released<UnknownCalls>>(planning, key, (results) =>
    rules.release === undefined
      ? { kind: 'done' }
      : rules.release({ claim, pool, address, isStale, ledger, key, results, nowMs: time.nowMs }),
  )
  if (released.kind === 'failed') {
    const message = `not released: ${released.failure.message}`
    const effects = stuckEffects(claim, message, time)
    const { retryAfterSeconds: requeueAfterSeconds } = released
    return {
      outcome: waiting('AllocationFailed', message),
      effects,
      ...(requeueAfterSeconds && { requeueAfterSeconds }),
    }
  }
  if (released.kind === 'ask') {
    if (key === undefined) return undefined
    const checks = [guard(claim, 'releases only addresses of this claim'), ...noAddress(planning, address)]
    return callPlan(planning, checks, released)
  }
  const { value } = released
  if (value.kind === 'done') return undefined
  const remainingSeconds = value.kind === 'wait' ? value.remainingSeconds : 0
  const effects = remainingSeconds > 0 || address === undefined ? [] : giveBack(planning, address, RELEASED)
  const message = `${address?.spec.address ?? 'address'} is released in ${remainingSeconds} s`
  const outcome: ClaimOutcome = { kind: 'releasing', remainingSeconds, message }
  return { outcome, effects, requeueAfterSeconds: remainingSeconds || undefined }
}

/**
 * Another writer may have created the IPAddress of a claim a moment ago: while one exists, nothing
 * of the claim is released.
 */
function noAddress({ rules, input, reads }: Planning, address: IPAddress | undefined): readonly Effect[] {
  if (address !== undefined || rules.external === undefined) return []
  const why = NO_ADDRESS
  return input.address === undefined ? proofOfAbsence({ ref: reads.address }, why) : [guard(input.address, why)]
}
