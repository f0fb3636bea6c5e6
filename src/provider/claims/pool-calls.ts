import * as Address from '../../cidr/nouns/address.js'
import { IPAddress } from '../../crd/cluster-api/ip-address.js'
import { formatRef, groupOf, type KubeObject, refOf } from '../../crd/meta/object.js'
import { refuse } from '../../errors/refuse.js'
import { type Calls, type KnownCall, retryAfter } from '../../plan/calls.js'
import { type Effect, guard, type Outcome, type Plan } from '../../plan/index.js'
import type { UnknownCalls } from './call-schemas.js'
import type { Offer, PoolCall, PoolCallResult, PoolCallResults, PoolPlan } from './definition.js'

/** The results of the calls for a pool. @param reads collects the calls that are read */
export function poolResults(
  calls: Calls,
  pool: KubeObject,
  nowMs: number,
  reads?: Set<string>,
): PoolCallResults<UnknownCalls> {
  const about = formatRef(refOf(pool))
  const read = (operation: string, id: string | undefined) => {
    const key = markerOf(pool, id)
    reads?.add(`${operation} ${key}`)
    return calls.get(about, operation, key)
  }
  return {
    of: (operation, id) => resultOf(read(operation, id), nowMs),
    all: () => calls.inGroup(about).filter(changes),
  }
}

/**
 * The plan of a pool with its call as an effect, if the call is due.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function withPoolCall<R extends Outcome>(
  calls: Calls,
  pool: KubeObject,
  nowMs: number,
  { call, shownMs: _, problems: __, ...plan }: PoolPlan<R, UnknownCalls>,
  reads: Set<string>,
): Plan<R> {
  if (plan.effects.some(({ kind }) => kind === 'external')) {
    const expected = 'a call as `call` of its plan, so that its result is known'
    refuse('defineProvider', 'planPool', expected, 'an effect of kind external')
  }
  if (call === undefined) return plan
  assertCall(call)
  const { operation, id, input, why, maxAgeSeconds, pending, effectSeconds } = call
  const key = markerOf(pool, id)
  const about = refOf(pool)
  reads.add(`${operation} ${key}`)
  const waitSeconds = waitOf(calls.get(formatRef(about), operation, key), maxAgeSeconds, nowMs)
  if (waitSeconds === undefined) return plan
  if (waitSeconds > 0) {
    return { ...plan, requeueAfterSeconds: Math.min(waitSeconds, plan.requeueAfterSeconds ?? waitSeconds) }
  }
  const ask: Effect = {
    kind: 'external',
    call: { operation, key, about, input },
    why,
    ...(effectSeconds !== undefined && { effectSeconds }),
    ...(pending && { pending: pendingFor(pool, pending) }),
  }
  // a call that only reads does no harm if the pool has changed
  const checks = effectSeconds === 0 ? [] : checked(plan.effects, pool)
  return { ...plan, effects: [...plan.effects, ...checks, ask] }
}

/**
 * Drops the calls with a result that the plan of a pool has not read. A failure stays until its
 * call may be made again, and the pool knows what has happened up to it.
 */
export function dropUnread(
  calls: Calls,
  pool: KubeObject,
  { nowMs, shownMs = nowMs }: { readonly nowMs: number; readonly shownMs?: number | undefined },
  reads: ReadonlySet<string>,
): void {
  calls.drop(formatRef(refOf(pool)), 'calls', (known) => {
    const { call, last, value, endsAtMs } = known
    const hasNoEffect = !changes(known) || (last?.answer.ok === false && endsAtMs === Number.NEGATIVE_INFINITY)
    const mayBeMade =
      last === undefined
        ? value !== undefined
        : last.answer.ok || (retryAfter(last, nowMs) === 0 && (last.atMs <= shownMs || !changes(known)))
    return mayBeMade && !reads.has(`${call.operation} ${call.key}`) && hasNoEffect
  })
}

/** Whether a call says how long it may have an effect. It stays until a plan ends it. */
function changes({ effectSeconds }: KnownCall): boolean {
  return effectSeconds > 0 && effectSeconds < Number.POSITIVE_INFINITY
}

/** The same of a call that stays no longer: it only reads, or its effect is not followed. */
export function isFree(known: KnownCall): boolean {
  return !changes(known)
}

/**
 * Drops the calls of a pool and of its claims whose effect the pool knows. A failure stays while
 * the external system has asked for a pause, and while its call is repeated: the waits get longer.
 *
 * @param isRepeated whether a call that has failed may be made again
 */
export function dropShown(
  calls: Calls,
  pool: string,
  { shownMs, nowMs }: { readonly shownMs: number; readonly nowMs: number },
  isRepeated: (known: KnownCall) => boolean,
): void {
  dropFrom(calls, pool, (known) => {
    const { last, endsAtMs } = known
    const untilMs = last?.answer.ok === true ? last.atMs : endsAtMs
    const isPaused = last?.answer.ok === false && (retryAfter(last, nowMs) ?? 0) > 0
    const isFailed = last?.answer.ok === false && isRepeated(known)
    return untilMs <= shownMs && untilMs !== Number.NEGATIVE_INFINITY && !isPaused && !isFailed
  })
}

/**
 * Drops the calls of a pool and of its claims that were refused and have done nothing, and that are
 * not repeated: before a plan, which must not read them.
 *
 * @param isRepeated whether the object of a call still exists, so that it may be made again
 */
export function dropRefused(calls: Calls, pool: string, isRepeated: (known: KnownCall) => boolean): void {
  dropFrom(calls, pool, (known) => {
    const hasDone = known.last?.answer.ok === true || known.endsAtMs !== Number.NEGATIVE_INFINITY
    return !hasDone && !isRepeated(known)
  })
}

function dropFrom(calls: Calls, pool: string, isMeant: (known: KnownCall) => boolean): void {
  for (const known of calls.inGroup(pool)) {
    if (known.isInFlight || !changes(known) || !isMeant(known)) continue
    calls.drop(formatRef(known.call.about), 'calls', ({ call }) => call === known.call)
  }
}

/** After how many seconds a call may be made; `undefined`: not before the pool changes. */
function waitOf(known: KnownCall | undefined, maxAgeSeconds: number | undefined, nowMs: number): number | undefined {
  const { value, last } = known ?? {}
  if (last?.answer.ok === false) return retryAfter(last, nowMs)
  if (value === undefined) return 0
  if (maxAgeSeconds === undefined) {
    const expected = 'a call without an answer, or the age at which its answer is too old (maxAgeSeconds)'
    refuse('defineProvider', 'planPool', expected, known?.call.operation)
  }
  return Math.max(0, Math.ceil((value.sentAtMs + maxAgeSeconds * 1000 - nowMs) / 1000))
}

function resultOf(known: KnownCall | undefined, nowMs: number): PoolCallResult<unknown> | undefined {
  const { value, last } = known ?? {}
  if (value === undefined && last === undefined) return undefined
  const failure = last?.answer.ok === false ? last.answer.failure : undefined
  const retryAfterSeconds = failure && last && retryAfter(last, nowMs)
  return { value: value?.of, askedAtMs: value?.sentAtMs, failure, retryAfterSeconds }
}

/**
 * Adds a guard, so that no call is made for a pool that has changed. A patch of this version of the
 * pool is one already.
 */
function checked(effects: readonly Effect[], pool: KubeObject): readonly Effect[] {
  const { kind, name, namespace } = refOf(pool)
  const isChecked = effects.some(
    (effect) =>
      effect.kind === 'patch' &&
      effect.if.resourceVersion !== undefined &&
      effect.ref.kind === kind &&
      effect.ref.name === name &&
      effect.ref.namespace === namespace,
  )
  return isChecked ? [] : [guard(pool, 'the pool has not changed')]
}

/** The pending address of a call of the pool itself. */
function pendingFor({ apiVersion, kind, metadata }: KubeObject, { address, prefix }: Offer): IPAddress {
  const { namespace } = metadata
  const poolRef = { apiGroup: groupOf(apiVersion), kind, name: metadata.name }
  // no claim can have this name
  const name = `pool ${metadata.name}`
  const spec = { claimRef: { name: '' }, poolRef, address: Address.format(address), prefix }
  return { apiVersion: IPAddress.info.apiVersion, kind: IPAddress.info.kind, metadata: { name, namespace }, spec }
}

/** The marker of a call for a pool: names are used again, uids are not. */
function markerOf({ metadata }: KubeObject, id: string | undefined): string {
  return id === undefined ? `${metadata.uid}` : `${metadata.uid}/${id}`
}

/** @throws IpamError `INVALID_ARGUMENT` */
function assertCall({ operation, id, maxAgeSeconds }: PoolCall<UnknownCalls>): void {
  if (typeof operation !== 'string' || operation === '') refuse('defineProvider', 'call.operation', 'a text', operation)
  if (id !== undefined && (typeof id !== 'string' || id === '')) refuse('defineProvider', 'call.id', 'a text', id)
  if (maxAgeSeconds !== undefined && !(maxAgeSeconds >= 1)) {
    refuse('defineProvider', 'call.maxAgeSeconds', 'seconds, from 1', maxAgeSeconds)
  }
}
