import { check, type Kind, type KindOf } from '../../errors/check.js'
import { refuse } from '../../errors/refuse.js'
import type { Refusal } from '../../plan/effect.js'
import type { Change, Effect, EventEffect, Outcome, Plan, Planner } from '../../plan/index.js'
import type { Store, StoreFailure } from '../../store/index.js'
import { STORE } from '../../store/store.js'
import { assertCanWrite, type CanWrite } from '../can-write.js'
import { assertLimit, PLANNER } from '../limits.js'
import { eventOf, refusalOf } from '../refusal.js'
import { type AnyCaller, type RunPlanOptions, runPlan } from './run-plan.js'
import { settle, type Unsettled } from './settle.js'

export interface RunKeyOptions {
  /** The clock: milliseconds since 1970. */
  readonly now: () => number
  /**
   * Receives every change that this run writes or reads, for an `absent` effect or after a
   * conflict, at once. Pass it to the planner, and to all other planners that share its objects.
   *
   * `since`: what `clock` returned before the read. Writes have none.
   */
  readonly show: (change: Change, source: 'written' | 'read', since: number | undefined) => void
  /**
   * `clock` of the cache of the host: a read that began before the last write does not replace that
   * write.
   */
  readonly clock?: (() => number) | undefined
  readonly onEvent?: ((event: EventEffect) => void) | undefined
  /**
   * Carries out the external calls of the plan, for a planner with such calls
   * ({@link Planner.onResult}).
   */
  readonly external?: AnyCaller | undefined
  /**
   * Called directly before every write and every external call: {@link CanWrite}. If it returns
   * false, the key fails, and nothing more is sent for it.
   */
  readonly canWrite?: CanWrite | undefined
  /** Called with each plan, before anything of it is done. */
  readonly onPlan?: ((plan: Plan | undefined) => void) | undefined
  /**
   * The number of conflicts in a row that are answered with a new plan, a whole number from 0. One
   * more counts as a refusal, except with 0: the key is left to another process. Default 20.
   */
  readonly maxConflicts?: number | undefined
}

const RUN_KEY_OPTIONS: KindOf<RunKeyOptions> = {
  now: 'function',
  show: 'function',
  clock: 'function?',
  onEvent: 'function?',
  external: 'function?',
  canWrite: 'function?',
  onPlan: 'function?',
  maxConflicts: 'number?',
}

/**
 * The result of a key.
 *
 * - `done`: its last plan was carried out. `outcome` is `undefined` if there is nothing under the
 *   key
 * - `failed`: the store refused an effect, or the limit of conflicts was reached. Plan the key
 *   again after a while: {@link Backoff}
 * - `unsettled`: the stored object of an effect is unknown, because the store has not answered
 *   since. Make no plan for any key that shares its ledger until {@link settle} has answered: an
 *   address that was perhaps allocated would be offered again. If the process ends, begin another
 *   one only after the time in which the server gives up such a write
 */
export type KeyResult<O extends Outcome = Outcome> = KeyEnd<O> & {
  /**
   * More keys to plan again. An address that was pending and not created may be what they wait
   * for, and the result of a call has to be planned. The key itself may be among them. After
   * `failed`, do not shorten the wait of keys that have failed as well by them: two keys that are
   * refused one address would wake each other without end.
   */
  readonly wakes: readonly string[]
}

export type KeyEnd<O extends Outcome> =
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
      /** The number of plans that met a conflict. */
      readonly conflicts: number
    }
  | {
      readonly kind: 'unsettled'
      readonly outcome: O
      /** What {@link settle} takes. */
      readonly unsettled: Unsettled
      /** Why the outcome is unknown. */
      readonly failure: StoreFailure
      readonly attempts: number
      /**
       * Ends the plan, and returns the keys to plan again. Call it when `settle` has answered and
       * the planner has observed its change. Until then the planner offers no address that may have
       * been created. A planner without {@link Planner.begin} must make no plan until then.
       */
      readonly release: () => readonly string[]
    }

/**
 * The number of answered calls in a row after which a key goes back to its queue, so that a planner
 * that always calls does not block other keys.
 */
const MAX_CALLS = 16

/**
 * Plans a key and carries the plan out. After a conflict it reads the stored object
 * ({@link settle}), passes it to the planner, and plans the same key again before any other. After
 * an answered call it also plans the key again at once, before the answer becomes stale. A refusal
 * of the store, and a write for which conflicts or unknown outcomes do not end, is passed to the
 * planner ({@link Planner.refused}), so that the object of the key reports it.
 *
 * @throws IpamError `INVALID_ARGUMENT`; what the planner throws
 */
export async function runKey<O extends Outcome>(
  planner: Planner<O>,
  key: string,
  store: Store,
  options: RunKeyOptions,
): Promise<KeyResult<O>> {
  check<unknown>('runKey', 'planner', planner, PLANNER as Kind)
  check('runKey', 'key', key, 'text')
  check('runKey', 'store', store, STORE)
  check('runKey', 'options', options, RUN_KEY_OPTIONS)

  const { now, show, clock, onEvent, onPlan, external, canWrite, maxConflicts = 20 } = options
  assertLimit('runKey', 'maxConflicts', maxConflicts)
  assertCanWrite('runKey', canWrite)
  for (const [argument, value] of Object.entries({ now, show })) {
    if (typeof value !== 'function') refuse('runKey', argument, 'a function', typeof value)
  }
  const wakes: string[] = []
  let conflicts = 0
  let calls = 0
  for (let attempts = 1; ; attempts++) {
    const plan = planner.plan(key, { nowMs: now() })
    onPlan?.(plan)
    if (plan === undefined) return { kind: 'done', outcome: undefined, attempts, wakes }
    const end = planner.begin?.(plan)
    const release = (isDone: boolean) => [...(plan.wakes ?? []), ...(end?.(isDone) ?? [])]
    const events: EventEffect[] = []
    const answered: string[] = []
    const ended = await tryPlan(plan, store, {
      show,
      clock,
      onEvent: (event) => void events.push(event),
      external: external && sending(planner, external, { now, release }),
      canWrite,
      onCallResult: (call, answer) => answered.push(...(planner.onResult?.({ call, answer, atMs: now() }) ?? [])),
    })
    const isAnswered = answered.includes(key) && ++calls < MAX_CALLS
    wakes.push(...(isAnswered ? answered.filter((each) => each !== key) : answered))
    const { outcome, requeueAfterSeconds } = plan
    if (ended.kind === 'unsettled') return { ...ended, outcome, attempts, wakes, release: () => release(false) }
    wakes.push(...release(ended.kind === 'done'))
    // when the plan has ended: a callback may throw
    for (const event of events) onEvent?.(event)
    if (ended.kind === 'done' && isAnswered) continue
    if (ended.kind === 'done') return { kind: 'done', outcome, requeueAfterSeconds, attempts, wakes }
    const { failure } = ended
    const isConflict = ended.kind === 'conflict'
    if (isConflict && ++conflicts <= maxConflicts) continue
    // it was not sent, or the key is left to another process: the store has refused nothing
    const isLeft = isConflict ? maxConflicts === 0 : failure.code === 'STORE_WRITE_WITHHELD'
    if (isLeft) return { kind: 'failed', outcome, failure, attempts, conflicts, wakes }
    const told = await tellRefusal(planner, key, store, { ...options, refusal: refusalOf(ended.effect, failure) })
    wakes.push(...told.wakes)
    if (told.kind === 'unsettled') return { ...told, outcome, attempts, wakes, release: () => [] }
    return { kind: 'failed', outcome: told.outcome ?? outcome, failure, attempts, conflicts, wakes }
  }
}

type Told<O extends Outcome> = { readonly wakes: readonly string[] } & (
  | { readonly kind: 'told'; readonly outcome: O | undefined }
  | Extract<Try, { readonly kind: 'unsettled' }>
)

/**
 * Reports a refusal on the object of a key. A failure of that report does not change the refusal.
 */
async function tellRefusal<O extends Outcome>(
  planner: Planner<O>,
  key: string,
  store: Store,
  { refusal, now, onPlan, onEvent, ...options }: RunKeyOptions & { readonly refusal: Refusal },
): Promise<Told<O>> {
  const plan = planner.refused?.(key, refusal, { nowMs: now() })
  const events = plan === undefined ? [eventOf(refusal)] : plan.effects.filter((effect) => effect.kind === 'event')
  const wakes = plan?.wakes ?? []
  if (plan !== undefined) {
    onPlan?.(plan)
    const ended = await tryPlan(plan, store, options)
    if (ended.kind === 'unsettled') return { ...ended, wakes }
  }
  for (const event of events) onEvent?.(event)
  return { kind: 'told', outcome: plan?.outcome, wakes }
}

/**
 * Tells the planner when its call is sent, and ends the plan if the call throws: it is made again,
 * for the address that is chosen then.
 */
function sending(
  planner: Planner,
  external: AnyCaller,
  { now, release }: Pick<RunKeyOptions, 'now'> & { readonly release: (isDone: boolean) => unknown },
): AnyCaller {
  return async (call) => {
    planner.onSend?.(call, { nowMs: now() })
    try {
      return await external(call)
    } catch (error) {
      release(false)
      throw error
    }
  }
}

type Try =
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly effect: Effect; readonly failure: StoreFailure }
  | { readonly kind: 'conflict'; readonly effect: Effect; readonly failure: StoreFailure }
  | { readonly kind: 'unsettled'; readonly unsettled: Unsettled; readonly failure: StoreFailure }

/** Carries a plan out once, and passes on the result. */
async function tryPlan(
  plan: Plan,
  store: Store,
  {
    show,
    clock,
    onEvent,
    external,
    canWrite,
    onCallResult,
  }: Pick<RunKeyOptions, 'show' | 'clock' | 'onEvent' | 'external' | 'canWrite'> & Pick<RunPlanOptions, 'onCallResult'>,
): Promise<Try> {
  const beganAt = clock?.()
  const ended = await runPlan(plan, store, {
    onEvent,
    external,
    canWrite,
    onCallResult,
    onChange: (change) => {
      // an object that was absent already was not deleted here
      const isRead = change.kind === 'absent' && change.confirmed
      show(change, isRead ? 'read' : 'written', isRead ? beganAt : undefined)
    },
  })
  if (ended.kind === 'done') return { kind: 'done' }
  const { effect, failure } = ended
  if (ended.kind === 'failed') return { kind: 'failed', effect, failure }
  const unsettled = { effect, failure }
  const since = clock?.()
  const settled = await settle(store, unsettled, { canWrite })
  if (!settled.ok) return { kind: 'unsettled', unsettled, failure: settled.failure }
  const { change, source } = settled.value
  show(change, source, source === 'read' ? since : undefined)
  return { kind: 'conflict', effect, failure }
}
