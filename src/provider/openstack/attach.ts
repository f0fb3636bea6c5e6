import type { ConditionUpdate } from '../../claim/conditions.js'
import type { IPAddress } from '../../crd/cluster-api/ip-address.js'
import type { IPAddressClaim } from '../../crd/cluster-api/ip-address-claim.js'
import { hasFinalizer } from '../../crd/meta/object.js'
import {
  FLOATING_ADDRESS_CONDITION,
  FLOATING_IP_FINALIZER,
  POOL_EXHAUSTED_REASON,
  READY_REASON,
  WAITING_FOR_INSTANCE_REASON,
} from '../../crd/openstack/names.js'
import { isIpamError } from '../../errors/index.js'
import { quote } from '../../errors/quote.js'
import { addFinalizer, type Effect, eventAbout, guard, type Plan } from '../../plan/index.js'
import { type ConsumerOutcome, planClaims } from '../consumer/plan.js'
import type { Resolution } from '../consumer/resolution.js'
import { consumerStateOf } from '../consumer/table.js'
import type { FloatingServerOutcome } from './outcome.js'
import { attachment } from './port-choice.js'
import {
  canonical,
  change,
  conditionEffects,
  consumerInput,
  errorCondition,
  instanceOf,
  lookAt,
  planStep,
  RECHECK_SECONDS,
  type ServerView,
} from './server-view.js'

/** The reasons of a claim that mean that no address is free. */
const EXHAUSTED: readonly (string | undefined)[] = ['PoolExhausted', 'BackendExhausted']

/** Plans a server that exists and names a pool. */
export function planAttach(view: ServerView): Plan<FloatingServerOutcome> {
  const { server, rules } = view
  let claims: Plan<ConsumerOutcome>
  try {
    claims = planClaims(consumerInput(view))
  } catch (error) {
    if (!isIpamError(error)) throw error
    const { message } = error
    return { outcome: { kind: 'error', message }, effects: conditionEffects(view, errorCondition(message)) }
  }
  const { resolution } = claims.outcome.claims[0]!
  const isProtected = hasFinalizer(server, FLOATING_IP_FINALIZER)
  const finalizer = isProtected
    ? []
    : [addFinalizer(server, FLOATING_IP_FINALIZER, 'keeps it until its floating IP is detached')]
  const effects = [...finalizer, ...claims.effects]
  if (resolution.kind === 'bound') return planBound(view, resolution, effects)
  if (rules.onExhausted === 'fail' && resolution.kind === 'pending' && EXHAUSTED.includes(resolution.reason)) {
    return planFailure(view, resolution)
  }
  return planWaiting(view, claims, resolution, effects)
}

/** Marks a server as failed whose pool has no address. The next plan removes its claim. */
function planFailure(
  view: ServerView,
  { claim, message }: Extract<Resolution, { readonly kind: 'pending' }>,
): Plan<FloatingServerOutcome> {
  const update = { type: FLOATING_ADDRESS_CONDITION, status: 'False', reason: POOL_EXHAUSTED_REASON, message } as const
  const event = eventAbout(view.server, { type: 'Warning', reason: POOL_EXHAUSTED_REASON, message })
  const [write] = conditionEffects(view, update)
  const effects = write === undefined ? [] : [guard(claim, 'it still has no address'), write, event]
  return { outcome: { kind: 'failed', message }, effects }
}

function planWaiting(
  view: ServerView,
  { outcome: { kind, condition }, requeueAfterSeconds }: Plan<ConsumerOutcome>,
  resolution: Exclude<Resolution, { readonly kind: 'bound' }>,
  effects: readonly Effect[],
): Plan<FloatingServerOutcome> {
  const writes = conditionEffects(view, condition)
  const message = condition?.message ?? resolution.message
  const event = eventAbout(view.server, { type: 'Normal', reason: 'WaitingForIPAddressClaim', message })
  const isConflict = kind === 'conflict' && resolution.kind === 'conflict'
  const state = consumerStateOf(resolution)
  const outcome: FloatingServerOutcome = isConflict
    ? { kind: 'conflict', message, conflict: resolution.reason, state }
    : { kind: WAITING[resolution.kind], message, state }
  return {
    outcome,
    effects: [...effects, ...writes, ...(writes.length > 0 && !isConflict ? [event] : [])],
    ...(requeueAfterSeconds === undefined ? {} : { requeueAfterSeconds }),
  }
}

const WAITING = { missing: 'creating', pending: 'waiting', deleting: 'terminating', conflict: 'waiting' } as const

interface Bound {
  readonly claim: IPAddressClaim
  readonly address: IPAddress
}

function planBound(
  view: ServerView,
  { claim, address: object }: Bound,
  effects: readonly Effect[],
): Plan<FloatingServerOutcome> {
  const { server, rules } = view
  const address = canonical(object.spec.address)
  if (address === undefined) {
    const message = `IPAddress ${object.metadata.name} has ${quote(object.spec.address)}, which is no address`
    return {
      outcome: { kind: 'error', message },
      effects: [...effects, ...conditionEffects(view, errorCondition(message))],
    }
  }
  const outcomeOf = (
    kind: FloatingServerOutcome['kind'],
    message: string,
    more: Pick<FloatingServerOutcome, 'conflict'> = {},
  ): FloatingServerOutcome => ({ kind, message, address, state: 'Bound', ...more })
  if (instanceOf(server) === undefined) {
    const message = `${address} is attached when the server has an instance`
    const update = {
      type: FLOATING_ADDRESS_CONDITION,
      status: 'False',
      reason: WAITING_FOR_INSTANCE_REASON,
      message,
    } as const
    return { outcome: outcomeOf('bound', message), effects: [...effects, ...conditionEffects(view, update)] }
  }
  const look = lookAt(view, address, rules.checkSeconds)
  if ('kind' in look) {
    const outcome = outcomeOf('attaching', `the cloud is asked for ${address}`)
    return planStep(view, look, { outcome, effects, failed: `cannot see whether ${address} is attached` })
  }
  const found = attachment(address, look.network)
  if (found.kind === 'attach') {
    const { id, revision = null } = found.floatingIP
    const { port, fixedAddress } = found
    const step = change(view, address, 'attachFloatingIP', { id, port: port.id, fixedAddress, revision })
    const outcome = outcomeOf('attaching', found.message)
    // the claim must still have this address: an earlier IPAddress of the name may have another one
    const proof = [claim, object].map((each) => guard(each, 'only the address of this claim is attached'))
    const held = step.kind === 'ask' ? [...effects, ...proof] : effects
    return planStep(view, step, { outcome, effects: held, failed: 'Failed while associating ip from pool' })
  }
  if (found.kind === 'attached') {
    const update: ConditionUpdate = {
      type: FLOATING_ADDRESS_CONDITION,
      status: 'True',
      reason: READY_REASON,
      message: '',
    }
    const rest = Math.max(1, Math.ceil(rules.checkSeconds - (view.nowMs - look.atMs) / 1000))
    const done = [...effects, ...conditionEffects(view, update)]
    return { outcome: outcomeOf('attached', found.message), effects: done, requeueAfterSeconds: rest }
  }
  return planProblem(view, found.message, {
    outcome: outcomeOf(
      found.kind === 'conflict' ? 'conflict' : 'error',
      found.message,
      found.kind === 'conflict' ? { conflict: found.reason } : {},
    ),
    effects,
    address,
  })
}

/**
 * Reports a problem in the cloud, and looks again after a while: no event tells when it is solved.
 */
function planProblem(
  view: ServerView,
  message: string,
  {
    outcome,
    effects,
    address,
  }: { readonly outcome: FloatingServerOutcome; readonly effects: readonly Effect[]; readonly address: string },
): Plan<FloatingServerOutcome> {
  const reported = [...effects, ...conditionEffects(view, errorCondition(message))]
  const again = lookAt(view, address, Math.min(RECHECK_SECONDS, view.rules.checkSeconds))
  if ('kind' in again && again.kind === 'ask') return { outcome, effects: [...reported, ...again.effects] }
  return { outcome, effects: reported, requeueAfterSeconds: RECHECK_SECONDS }
}
