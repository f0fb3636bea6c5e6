import { findCondition, setCondition } from '../../claim/index.js'
import { hasFinalizer, isDeleting } from '../../crd/meta/object.js'
import { READY, SERVICE_CIDR_FINALIZER, TERMINATING } from '../../crd/networking/names.js'
import type { ServiceCIDR } from '../../crd/networking/service-cidr.js'
import { listed } from '../../errors/listed.js'
import {
  addFinalizer,
  type Effect,
  guard,
  type Plan,
  type PlanTime,
  patchStatus,
  removeFinalizer,
} from '../../plan/index.js'
import type { ServiceIPOutcome } from './outcome.js'
import { addressText, canHold, readCIDRs, type ServiceRange, serviceCIDRProblem } from './ranges.js'
import type { ServiceContext } from './state.js'
import { KEYS } from './watches.js'

/**
 * The minimum time that a ServiceCIDR stays after its deletion, in seconds: allocators that have
 * not observed the deletion may still give its addresses.
 */
const DELETION_GRACE_SECONDS = 10
/** Reason of the condition `Ready` that this planner sets, beside {@link TERMINATING}. */
const IN_SERVICE = 'InService'
const INVALID = 'InvalidRange'
const OWN_REASONS: readonly string[] = [IN_SERVICE, INVALID, TERMINATING, '']

/**
 * Plans a ServiceCIDR: its finalizer and its condition, and the removal of the finalizer when
 * nothing depends on it.
 */
export function planRange(
  object: ServiceCIDR,
  context: ServiceContext,
  time: PlanTime,
  reportSeconds: number,
): Plan<ServiceIPOutcome> {
  if (isDeleting(object)) return planEnd(object, context, time, reportSeconds)
  const problem = serviceCIDRProblem(object)
  const effects: Effect[] = []
  if (!hasFinalizer(object, SERVICE_CIDR_FINALIZER)) {
    effects.push(addFinalizer(object, SERVICE_CIDR_FINALIZER, 'keeps it while addresses depend on it'))
  }
  const ready = findCondition(object.status?.conditions, READY)
  const isOwn = ready === undefined || OWN_REASONS.includes(ready.reason)
  if (problem !== undefined) effects.push(...writeReady(object, INVALID, problem, time))
  const { problems } = readCIDRs(object)
  const message = ['Services get addresses of it', ...problems].join('; ')
  const isTheirs = ready?.status === 'True' && ready.reason !== IN_SERVICE
  if (problem === undefined && isOwn && !isTheirs) effects.push(...writeReady(object, IN_SERVICE, message, time))
  if (problem === undefined && (isOwn || ready.status === 'True')) {
    const outcome = { kind: 'ready', message } as const
    // it is planned again after its own writes: a plan whose write fails sends no Event
    if (effects.length > 0) return { outcome, effects }
    const causes = problems.map((text) => ({ reason: INVALID, message: text }))
    const key = KEYS.format('ServiceCIDR', object.metadata)
    return { outcome, effects: context.sent.newEvents(key, object, causes) }
  }
  const why = problem ?? `${ready?.reason}: ${ready?.message}`
  const sinceMs =
    problem === undefined ? Date.parse(ready?.lastTransitionTime ?? '') : time.nowMs - reportSeconds * 1000
  return report(
    object,
    { kind: 'notReady', message: `not ready: ${why}` },
    { effects, sinceMs, reportSeconds },
    context,
    time,
  )
}

/**
 * Plans a ServiceCIDR that is being deleted. It is kept only by addresses that no other ServiceCIDR
 * can hold. A ServiceCIDR that is being deleted as well does not count as another one, so that two
 * of them never rely on each other.
 *
 * Source: KEP-1880 and `canDeleteCIDR` of Kubernetes 1.36.
 */
function planEnd(
  object: ServiceCIDR,
  context: ServiceContext,
  time: PlanTime,
  reportSeconds: number,
): Plan<ServiceIPOutcome> {
  const message = 'it is being deleted'
  if (!hasFinalizer(object, SERVICE_CIDR_FINALIZER)) return { outcome: { kind: 'terminating', message }, effects: [] }
  const why = 'it gives no new addresses, and stays while addresses depend on it that no other ServiceCIDR can hold'
  const status = writeReady(object, TERMINATING, why, time)
  const sinceMs = Date.parse(object.metadata.deletionTimestamp ?? '')
  const { left, others } = dependentsOf(object, context)
  if (left.length > 0) {
    // a Service and its IPAddress are one holder
    const names = listed(new Set(left.map(({ prefix, holder }) => `${addressText(prefix)} of ${holder.key}`)), ', ')
    const outcome = { kind: 'terminating', message: `${message}, and kept by ${names}` } as const
    return report(object, outcome, { effects: status, sinceMs, reportSeconds, cause: message }, context, time)
  }
  const waitSeconds = DELETION_GRACE_SECONDS - Math.floor((time.nowMs - sinceMs) / 1000)
  if (waitSeconds > 0)
    return { outcome: { kind: 'terminating', message }, effects: status, requeueAfterSeconds: waitSeconds }
  const guards = [...others].map((other) => guard(other, 'it can hold the addresses'))
  const end = removeFinalizer(object, SERVICE_CIDR_FINALIZER, 'no address depends on it')
  return { outcome: { kind: 'terminating', message: 'no address depends on it' }, effects: [...status, ...guards, end] }
}

/**
 * The addresses that keep a ServiceCIDR, and the other objects that can hold the rest. O(addresses
 * of it x ranges).
 */
function dependentsOf({ metadata: { name } }: ServiceCIDR, { state: { ranges }, holdings }: ServiceContext) {
  const isOf = ({ objects }: ServiceRange) => objects.some(({ metadata }) => metadata.name === name)
  const held = ranges.filter(isOf).flatMap(({ prefix }) => {
    const canHoldIt = canHold(prefix)
    return holdings
      .ledger()
      .holders(prefix)
      .filter((entry) => canHoldIt(entry.prefix.address))
  })
  // a ServiceCIDR without the finalizer would be deleted at once, and leave its addresses in no
  // range
  const stays = (other: ServiceCIDR) =>
    other.metadata.name !== name && !isDeleting(other) && hasFinalizer(other, SERVICE_CIDR_FINALIZER)
  const around = ranges
    .map(({ prefix, objects }) => ({ canHoldIt: canHold(prefix), others: objects.filter(stays) }))
    .filter(({ canHoldIt, others }) => others.length > 0 && held.some(({ prefix }) => canHoldIt(prefix.address)))
  const left = held.filter(({ prefix }) => !around.some(({ canHoldIt }) => canHoldIt(prefix.address)))
  return {
    left,
    others: new Set(around.flatMap(({ others }) => others)),
  }
}

/**
 * The condition `Ready`, if it changes. Other controllers set {@link TERMINATING} too: their
 * messages stay.
 */
function writeReady(object: ServiceCIDR, reason: string, message: string, { nowMs }: PlanTime): readonly Effect[] {
  const before = object.status?.conditions
  const status = reason === IN_SERVICE ? 'True' : 'False'
  const ready = findCondition(before, READY)
  const isSame = ready?.status === status && ready.reason === reason
  if (isSame && (reason === TERMINATING || ready.message === message)) return []
  const conditions = setCondition(before, { type: READY, status, reason, message }, new Date(nowMs).toISOString())
  return [patchStatus(object, { status: { conditions } }, message)]
}

interface Lasting {
  readonly effects: readonly Effect[]
  /** Since when the ServiceCIDR is not ready. */
  readonly sinceMs: number
  readonly reportSeconds: number
  /** What it is reported for. Left out: the message. */
  readonly cause?: string | undefined
}

/** Reports a ServiceCIDR that is not ready for a long time, once. */
function report(
  object: ServiceCIDR,
  outcome: ServiceIPOutcome,
  { effects, sinceMs, reportSeconds, cause }: Lasting,
  context: ServiceContext,
  { nowMs }: PlanTime,
): Plan<ServiceIPOutcome> {
  const waitSeconds = Math.ceil((sinceMs - nowMs) / 1000) + reportSeconds
  if (waitSeconds > 0) return { outcome, effects, requeueAfterSeconds: waitSeconds }
  // as above
  if (effects.length > 0) return { outcome, effects }
  const problem = { reason: 'ServiceCIDRNotReady', message: outcome.message, cause }
  const events = context.sent.newEvents(KEYS.format('ServiceCIDR', object.metadata), object, [problem])
  return { outcome, effects: events }
}
