import { assertObject, assertParts, assertString } from '../../errors/checks.js'
import { refuse } from '../../errors/refuse.js'
import type { Refusal } from '../../plan/effect.js'
import type { Change, Effect, EventEffect, Outcome, Plan, Planner } from '../../plan/index.js'
import type { Store, StoreFailure } from '../../store/index.js'
import { assertCanWrite, type CanWrite } from '../can-write.js'
import { assertLimit } from '../limits.js'
import { eventOf, refusalOf } from '../refusal.js'
import { type AnyCaller, type RunPlanOptions, runPlan } from './run-plan.js'
import { settle, type Unsettled } from './settle.js'

export interface RunKeyOptions {
  /** The clock: milliseconds since 1970. */
  readonly now: () => number
  /**
   * Receives every change that this run learns of, at once: what it has written, and what it has
   * read, for an `absent` effect or after a conflict. Show it here to the planner, and to all
   * others that share its objects.
   *
   * `since`: what `clock` answered before it was read. What was written has none.
   */
  readonly show: (change: Change, source: 'written' | 'read', since: number | undefined) => void
  /**
   * `clock` of the cache of the host: a read that began before the last write is not believed
   * over that.
   */
  readonly clock?: (() => number) | undefined
  readonly onEvent?: ((event: EventEffect) => void) | undefined
  /**
   * Carries out the calls of the plan to external systems, for a planner that has such
   * ({@link Planner.onResult}).
   */
  readonly external?: AnyCaller | undefined
  /**
   * Asked directly before every write and every external call: {@link CanWrite}. After a no the key
   * has failed, and nothing more is sent for it.
   */
  readonly canWrite?: CanWrite | undefined
  /** Called with each plan, before anything of it is done. */
  readonly onPlan?: ((plan: Plan | undefined) => void) | undefined
  /**
   * How many conflicts in a row are answered with a new plan, a whole number from 0. Default 20.
   */
  readonly maxConflicts?: number | undefined
}

/**
 * What became of a key.
 *
 * - `done`: its last plan was carried out. `outcome` is `undefined` if there is nothing under it
 *   any more
 * - `failed`: the store refused an effect, or conflicts did not end. Come back after a while:
 *   {@link Backoff}
 * - `unsettled`: it is not known what is stored of the object of an effect, because the store has
 *   not answered since. No plan may be made, for any key that shares its ledger, until
 *   {@link settle} has told: an address that was perhaps given away would be offered again. A
 *   process that ends meanwhile must not be followed by another one before the server has given
 *   such a write up
 */
export type KeyResult<O extends Outcome = Outcome> = KeyEnd<O> & {
  /**
   * Keys to plan again as well: what was reserved for a plan and not created may be what they wait
   * for, and the result of a call is to be planned from. The key itself may be among them.
   */
  readonly wakes: readonly string[]
}

type KeyEnd<O extends Outcome> =
  | {
      readonly kind: 'done'
      readonly outcome: O | undefined
      /** Plan again after this, in seconds, even if nothing changes. */
      readonly requeueAfterSeconds?: number | undefined
      readonly attempts: number
    }
  | {
      readonly kind: 'failed'
      readonly outcome: O
      readonly failure: StoreFailure
      readonly attempts: number
      /** How many of the plans met a conflict. */
      readonly conflicts: number
    }
  | {
      readonly kind: 'unsettled'
      readonly outcome: O
      /** What {@link settle} takes. */
      readonly unsettled: Unsettled
      /** Why it could not be found out. */
      readonly failure: StoreFailure
      readonly attempts: number
      /**
       * Ends the reservation of the plan, and returns the keys to plan again. Call it when `settle`
       * has answered and the planner has observed its change. Until then the planner offers no
       * address that may have been created. A planner that reserves nothing
       * ({@link Planner.reserve}) must make no plan until then.
       */
      readonly release: () => readonly string[]
    }

/**
 * After this many answered calls in a row a key goes back to its queue: a planner that asks without
 * end must not keep others waiting.
 */
const MAX_CALLS = 16

/**
 * Plans a key and carries the plan out. After a conflict it finds out what is stored of the object
 * in question ({@link settle}), shows it, and plans the same key again from what is known then,
 * before any other. After a call that was answered it plans the key again at once as well: the
 * answer is used before it can become stale. What the store refuses the planner is told
 * ({@link Planner.refused}), so that the object of the key says it.
 *
 * @throws IpamError `INVALID_ARGUMENT`; what the planner throws
 */
export async function runKey<O extends Outcome>(
  planner: Planner<O>,
  key: string,
  store: Store,
  options: RunKeyOptions,
): Promise<KeyResult<O>> {
  assertParts('runKey', 'planner', planner, { name: 'text', watches: 'objects', observe: 'function' })
  assertString('runKey', 'key', key)
  assertParts('runKey', 'store', store, { capabilities: 'object', get: 'function' })
  assertObject('runKey', 'options', options)

  const { now, show, clock, onEvent, onPlan, external, canWrite, maxConflicts = 20 } = options
  assertLimit('maxConflicts', maxConflicts)
  assertCanWrite(canWrite)
  for (const [argument, value] of Object.entries({ now, show })) {
    if (typeof value !== 'function') refuse(argument, 'a function', typeof value)
  }
  const wakes: string[] = []
  let conflicts = 0
  let calls = 0
  for (let attempts = 1; ; attempts++) {
    const plan = planner.plan(key, { nowMs: now() })
    onPlan?.(plan)
    if (plan === undefined) return { kind: 'done', outcome: undefined, attempts, wakes }
    const release = planner.reserve?.(plan) ?? (() => [])
    const events: EventEffect[] = []
    const answered: string[] = []
    const ended = await tryPlan(plan, store, {
      show,
      clock,
      onEvent: (event) => void events.push(event),
      external: external && releasing(external, release),
      canWrite,
      onCallResult: (call, answer) => answered.push(...(planner.onResult?.({ call, answer, atMs: now() }) ?? [])),
    })
    const isAnswered = answered.includes(key) && ++calls < MAX_CALLS
    wakes.push(...(isAnswered ? answered.filter((each) => each !== key) : answered))
    const { outcome, requeueAfterSeconds } = plan
    if (ended.kind === 'unsettled') return { ...ended, outcome, attempts, wakes, release }
    wakes.push(...release())
    // when nothing is reserved any more: what people do with it may throw
    for (const event of events) onEvent?.(event)
    if (ended.kind === 'done' && isAnswered) continue
    if (ended.kind === 'done') return { kind: 'done', outcome, requeueAfterSeconds, attempts, wakes }
    const { failure } = ended
    if (ended.kind === 'failed') {
      // it was not sent: the store has refused nothing
      if (failure.code === 'STORE_WRITE_WITHHELD')
        return { kind: 'failed', outcome, failure, attempts, conflicts, wakes }
      const told = await tellRefusal(planner, key, store, { ...options, refusal: refusalOf(ended.effect, failure) })
      if (told.kind === 'unsettled') return { ...told, outcome, attempts, wakes, release: () => [] }
      return { kind: 'failed', outcome: told.outcome ?? outcome, failure, attempts, conflicts, wakes }
    }
    if (++conflicts > maxConflicts) return { kind: 'failed', outcome, failure, attempts, conflicts, wakes }
  }
}

type Told<O extends Outcome> =
  | { readonly kind: 'told'; readonly outcome: O | undefined }
  | Extract<Try, { readonly kind: 'unsettled' }>

/**
 * Has the object of a key say what the store has refused. Whether that can be written changes
 * nothing about the refusal.
 */
async function tellRefusal<O extends Outcome>(
  planner: Planner<O>,
  key: string,
  store: Store,
  { refusal, now, onPlan, onEvent, ...options }: RunKeyOptions & { readonly refusal: Refusal },
): Promise<Told<O>> {
  const plan = planner.refused?.(key, refusal, { nowMs: now() })
  const events = plan === undefined ? [eventOf(refusal)] : plan.effects.filter((effect) => effect.kind === 'event')
  if (plan !== undefined) {
    onPlan?.(plan)
    const ended = await tryPlan(plan, store, options)
    if (ended.kind === 'unsettled') return ended
  }
  for (const event of events) onEvent?.(event)
  return { kind: 'told', outcome: plan?.outcome }
}

/**
 * What is reserved for a plan is free again when its call is thrown out of: the call is made anew,
 * for what is chosen then.
 */
function releasing(external: AnyCaller, release: () => unknown): AnyCaller {
  return async (call) => {
    try {
      return await external(call)
    } catch (error) {
      release()
      throw error
    }
  }
}

type Try =
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly effect: Effect; readonly failure: StoreFailure }
  | { readonly kind: 'conflict'; readonly failure: StoreFailure }
  | { readonly kind: 'unsettled'; readonly unsettled: Unsettled; readonly failure: StoreFailure }

/** Carries a plan out once, and shows what became of it. */
async function tryPlan(
  plan: Plan,
  store: Store,
  {
    show,
    clock,
    ...options
  }: Pick<RunKeyOptions, 'show' | 'clock' | 'onEvent' | 'external' | 'canWrite'> & Pick<RunPlanOptions, 'onCallResult'>,
): Promise<Try> {
  const beganAt = clock?.()
  const ended = await runPlan(plan, store, {
    ...options,
    onChange: (change) => {
      // what was not there any more was not removed here
      const isRead = change.kind === 'absent' && change.confirmed
      show(change, isRead ? 'read' : 'written', isRead ? beganAt : undefined)
    },
  })
  if (ended.kind === 'done') return { kind: 'done' }
  const { effect, failure } = ended
  if (ended.kind === 'failed') return { kind: 'failed', effect, failure }
  const unsettled = { effect, failure }
  const since = clock?.()
  const settled = await settle(store, unsettled, { canWrite: options.canWrite })
  if (!settled.ok) return { kind: 'unsettled', unsettled, failure: settled.failure }
  const { change, source } = settled.value
  show(change, source, source === 'read' ? since : undefined)
  return { kind: 'conflict', failure }
}
