import type { Change, EventEffect, Outcome, Plan, Planner } from '../plan/index.js'
import type { Store, StoreFailure } from '../store/index.js'
import { assertLimit } from './limits.js'
import { runPlan } from './run-plan.js'
import { settle, type Unsettled } from './settle.js'

export interface RunKeyOptions {
  /** The clock: milliseconds since 1970. */
  readonly now: () => number
  /**
   * Receives every change that this run learns of, at once: what it has written, and what it has read, for an `absent` effect or after a
   * conflict. Show it here to the planner, and to all others that share its objects.
   */
  readonly show: (change: Change, source: 'written' | 'read') => void
  readonly onEvent?: ((event: EventEffect) => void) | undefined
  /** Called with each plan, before anything of it is done. */
  readonly onPlan?: ((plan: Plan | undefined) => void) | undefined
  /** How many conflicts in a row are answered with a new plan, a whole number from 0. Default 20. */
  readonly maxConflicts?: number | undefined
}

/**
 * What became of a key.
 *
 * - `done`: its last plan was carried out. `outcome` is `undefined` if there is nothing under it any more
 * - `failed`: the store refused an effect, or conflicts did not end. Come back after a while: {@link Backoff}
 * - `unsettled`: it is not known what is stored of the object of an effect, because the store has not answered since. No plan may be made, for
 *   any key that shares its ledger, until {@link settle} has told: an address that was perhaps given away would be offered again. A process
 *   that ends meanwhile must not be followed by another one before the server has given such a write up
 */
export type KeyResult<O extends Outcome = Outcome> =
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
    }
  | {
      readonly kind: 'unsettled'
      readonly outcome: O
      /** What {@link settle} takes. */
      readonly unsettled: Unsettled
      /** Why it could not be found out. */
      readonly failure: StoreFailure
      readonly attempts: number
    }

/**
 * Plans a key and carries the plan out. After a conflict it finds out what is stored of the object in question ({@link settle}), shows it, and
 * plans the same key again from what is known then, before any other.
 *
 * @throws IpamError `INVALID_ARGUMENT`; what the planner throws
 */
export async function runKey<O extends Outcome>(
  planner: Planner<O>,
  key: string,
  store: Store,
  options: RunKeyOptions,
): Promise<KeyResult<O>> {
  const { now, show, onEvent, onPlan, maxConflicts = 20 } = options
  assertLimit('maxConflicts', maxConflicts)
  for (let attempts = 1; ; attempts++) {
    const plan = planner.plan(key, { nowMs: now() })
    onPlan?.(plan)
    if (plan === undefined) return { kind: 'done', outcome: undefined, attempts }
    const { outcome, requeueAfterSeconds } = plan
    const ended = await runPlan(plan, store, {
      // what was not there any more was not removed here
      onChange: (change) => show(change, change.kind === 'absent' && change.confirmed ? 'read' : 'written'),
      onEvent,
    })
    if (ended.kind === 'done') return { kind: 'done', outcome, requeueAfterSeconds, attempts }
    const { effect, failure } = ended
    if (ended.kind === 'failed') return { kind: 'failed', outcome, failure, attempts }
    const unsettled = { effect, failure }
    const settled = await settle(store, unsettled)
    if (!settled.ok) return { kind: 'unsettled', outcome, unsettled, failure: settled.failure, attempts }
    show(settled.value.change, settled.value.source)
    if (attempts > maxConflicts) return { kind: 'failed', outcome, failure, attempts }
  }
}
