import * as Address from '../../cidr/nouns/address.js'
import { IPAddress } from '../../crd/cluster-api/ip-address.js'
import { groupOf, type KubeObject, refOf } from '../../crd/meta/object.js'
import { refuse } from '../../errors/refuse.js'
import { type CallResult, type Effect, guard, type Outcome, type Plan } from '../../plan/index.js'
import type { UnknownCalls } from './call-schemas.js'
import type { Offer, PoolCall, PoolCallResult, PoolCallResults, PoolPlan } from './definition.js'
import { type LastResult, retryAfter } from './external.js'

/** The results of one call of a pool. */
interface Known {
  /** The last answer, and when it was requested. */
  readonly value?: { readonly of: unknown; readonly askedAtMs: number } | undefined
  /** The last result, if it is a failure. */
  readonly failed?: LastResult | undefined
}

/** The calls on behalf of one pool, and their results. */
export class PoolCalls {
  /** By operation and marker. */
  readonly #known = new Map<string, Known>()
  /** The calls in flight, and when they were planned. */
  readonly #inFlight = new Map<string, number>()

  /** The results for a verb. @param reads collects the keys that it reads */
  resultsOf(pool: KubeObject, nowMs: number, reads?: Set<string>): PoolCallResults<UnknownCalls> {
    return {
      of: (operation, id) => {
        const key = callKey(operation, markerOf(pool, id))
        reads?.add(key)
        const known = this.#known.get(key)
        return known && resultOf(known, nowMs)
      },
    }
  }

  /**
   * The plan of a pool with its call as an effect, if the call is due. Results that the plan does
   * not use are dropped.
   *
   * @throws IpamError `INVALID_ARGUMENT`
   */
  plan<R extends Outcome>(
    pool: KubeObject,
    nowMs: number,
    planPool: (calls: PoolCallResults<UnknownCalls>) => PoolPlan<R, UnknownCalls>,
  ): Plan<R> {
    const used = new Set<string>()
    const { call, concerns: _, problems: __, ...plan } = planPool(this.resultsOf(pool, nowMs, used))
    if (call !== undefined) used.add(callKey(call.operation, markerOf(pool, call.id)))
    for (const [key, { failed }] of this.#known) {
      const mayBeMade = failed === undefined || retryAfter(failed, nowMs) === 0
      if (mayBeMade && !used.has(key)) this.#known.delete(key)
    }
    if (plan.effects.some(({ kind }) => kind === 'external')) {
      refuse(
        'PoolCalls.plan',
        'planPool',
        'a call as `call` of its plan, so that its result is known',
        'an effect of kind external',
      )
    }
    if (call === undefined) return plan
    assertCall(call)
    const { operation, id, input, why, maxAgeSeconds, pending } = call
    const key = markerOf(pool, id)
    const waitSeconds = this.#waitOf(callKey(operation, key), maxAgeSeconds, nowMs)
    if (waitSeconds === undefined) return plan
    if (waitSeconds > 0) {
      return { ...plan, requeueAfterSeconds: Math.min(waitSeconds, plan.requeueAfterSeconds ?? waitSeconds) }
    }
    this.#inFlight.set(callKey(operation, key), nowMs)
    const about = refOf(pool)
    const ask: Effect = {
      kind: 'external',
      call: { operation, key, about, input },
      why,
      ...(pending && { pending: pendingFor(pool, pending) }),
    }
    return { ...plan, effects: [...plan.effects, ...checked(plan.effects, pool), ask] }
  }

  /** Stores a result. @returns false: it is not of this pool, or it is stale */
  onResult({ call, answer, atMs }: CallResult<unknown, unknown>): boolean {
    const key = callKey(call.operation, call.key)
    const askedAtMs = this.#inFlight.get(key)
    if (askedAtMs === undefined) return false
    this.#inFlight.delete(key)
    const { value, failed } = this.#known.get(key) ?? {}
    if (answer.ok) this.#known.set(key, { value: { of: answer.value, askedAtMs } })
    else this.#known.set(key, { value, failed: { answer, atMs, failures: (failed?.failures ?? 0) + 1 } })
    return true
  }

  /** Called when the external system may answer differently: failed calls may be made again. */
  retry(): void {
    for (const [key, { value }] of this.#known) this.#known.set(key, { value })
  }

  /** Called when the pool is another one: stored results and calls in flight do not concern it. */
  clear(): void {
    this.#known.clear()
    this.#inFlight.clear()
  }

  /** After how many seconds a call may be made; `undefined`: not before the pool changes. */
  #waitOf(key: string, maxAgeSeconds: number | undefined, nowMs: number): number | undefined {
    const { value, failed } = this.#known.get(key) ?? {}
    if (failed !== undefined) return retryAfter(failed, nowMs)
    if (value === undefined) return 0
    if (maxAgeSeconds === undefined) {
      const expected = 'a call without an answer, or the age at which its answer is too old (maxAgeSeconds)'
      refuse('defineProvider', 'planPool', expected, key)
    }
    return Math.max(0, Math.ceil((value.askedAtMs + maxAgeSeconds * 1000 - nowMs) / 1000))
  }
}

function resultOf({ value, failed }: Known, nowMs: number): PoolCallResult<unknown> {
  const failure = failed?.answer.ok === false ? failed.answer.failure : undefined
  const retryAfterSeconds = failed && retryAfter(failed, nowMs)
  return { value: value?.of, askedAtMs: value?.askedAtMs, failure, retryAfterSeconds }
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

function callKey(operation: string, marker: string): string {
  return `${operation} ${marker}`
}

/** @throws IpamError `INVALID_ARGUMENT` */
function assertCall({ operation, id, maxAgeSeconds }: PoolCall<UnknownCalls>): void {
  if (typeof operation !== 'string' || operation === '') refuse('defineProvider', 'call.operation', 'a text', operation)
  if (id !== undefined && (typeof id !== 'string' || id === '')) refuse('defineProvider', 'call.id', 'a text', id)
  if (maxAgeSeconds !== undefined && !(maxAgeSeconds >= 1)) {
    refuse('defineProvider', 'call.maxAgeSeconds', 'seconds, from 1', maxAgeSeconds)
  }
}
