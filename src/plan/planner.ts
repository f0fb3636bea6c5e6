import type { Json } from '../crd/meta/object.js'
import type { Change } from './change.js'
import type { ExternalCall, Refusal } from './effect.js'
import type { Applied, ObjectCache } from './object-cache.js'
import type { Outcome, Plan } from './plan.js'
import type { Selection } from './selection.js'

/**
 * What an external system has said to a call: the other way, beside a {@link Change}, in which
 * something becomes known.
 */
export interface CallResult<I = Json, V = Json> {
  readonly call: ExternalCall<I>
  readonly answer: ExternalResult<V>
  /** When, in milliseconds since 1970. */
  readonly atMs: number
}

/** A result as a host hands it on. */
// biome-ignore lint/suspicious/noExplicitAny: what is asked and answered differs
export type AnyResult = CallResult<any, any>

/** The answer to an {@link ExternalCall}. `V` is what it says. */
export type ExternalResult<V = Json> =
  | { readonly ok: true; readonly value: V }
  | { readonly ok: false; readonly failure: ExternalFailure }

/**
 * Why an external system has not done what it was asked for, or why that is not known: a time-out
 * is a failure that is retryable.
 */
export interface ExternalFailure {
  /** For people, without a final full stop. */
  readonly message: string
  /**
   * Whether the same call may be answered otherwise later: it is made again after a while. One that
   * is not is left alone until something changes: a provider of `defineProvider` makes it again
   * when the pool changes, and not when the claim does.
   */
  readonly retryable: boolean
  /**
   * When to ask again, in seconds, if the external system says so. Left out: a planner waits longer
   * after each failure in a row.
   */
  readonly retryAfterSeconds?: number | undefined
  /**
   * Whether the external system has said that it did nothing. Left out: the call may have been
   * carried out, or may still be. What a provider makes of that is its own affair: with a marker
   * that is kept the same call is made again in both cases.
   */
  readonly nothingDone?: boolean | undefined
  /**
   * What the condition of the claim gives as its reason: `BackendExhausted` is a quota or a limit
   * of the external system, `BackendDenied` a lack of permission. Default `AllocationFailed`.
   */
  readonly reason?:
    | 'PoolExhausted'
    | 'PoolNotReady'
    | 'AllocationFailed'
    | 'BackendExhausted'
    | 'BackendDenied'
    | undefined
}

/** The moment a plan is made for: the only way in which time enters. */
export interface PlanTime {
  /** Milliseconds since 1970. */
  readonly nowMs: number
}

/**
 * A provider as a machine without I/O: it is shown what changes, says which of its objects want a
 * new plan, and makes the plan.
 *
 * Level-based: showing the same object again, an older version of it late, or leaving out steps in
 * between, leads to the same plans. It keeps an index of what it was shown, so that a plan costs
 * the same however many objects there are. A host feeds it from informers, a list, a test.
 */
export interface Planner<O extends Outcome = Outcome> {
  readonly name: string
  /** The objects that it has to be shown: those of some kinds, or some of them. */
  readonly watches: readonly Selection[]
  /**
   * The period in which all keys that have a plan are planned again, in seconds, from 1 to 86,400.
   * The plans are spread evenly over the period. For a planner that depends on a system without a
   * watch, such as an external IPAM. Left out: a key is planned again when it is woken, or when its
   * plan asks for that.
   */
  readonly resyncSeconds?: number | undefined
  /**
   * Uses this cache from now on, until the next `reset`, with the other planners of a host. The
   * host applies each change to it once, and calls `wakes` in place of `observe`.
   *
   * @throws IpamError `INVALID_ARGUMENT` for a cache that has objects
   */
  share?(objects: ObjectCache): void
  /**
   * Says which keys to plan again after a change that the shared cache has taken in:
   * {@link observe}.
   */
  wakes?(applied: Applied): readonly string[]
  /**
   * Takes a change in. Show the answer of each own write at once, before the next plan is made: a
   * cache that lags behind must not hide an address that was just given away.
   *
   * It must not throw, whatever the object looks like: what it cannot read it notes, and says so in
   * a plan. A `Controller` ends its run with what is thrown at a change that was listed or watched,
   * as the planner does not know the world any more; `runUntilQuiet` and `runKey` throw it on.
   *
   * @returns the keys to plan again, oldest object first
   */
  observe(change: Change): readonly string[]
  /**
   * Takes in that all objects of a selection were shown: what was not, does not exist. Call it when
   * the first list of a selection was observed. Until then a planner waits where it matters whether
   * an object exists. A shared cache is told in its place: {@link ObjectCache.complete}.
   */
  complete?(selection: Selection): void
  /**
   * Takes the answer to an `external` effect of one of its plans in. `runKey` does it. A planner
   * that has this needs a host that can carry such effects out; one that does not has no such
   * effects in its plans.
   *
   * @returns the keys to plan again
   */
  onResult?(answered: AnyResult): readonly string[]
  /** The plan for a key, or `undefined` if there is nothing under it any more. */
  plan(key: string, time: PlanTime): Plan<O> | undefined
  /**
   * The store has refused an effect of a plan for this key: the plan by which its object says so.
   * `runKey` carries it out at once; the key itself has failed, and is planned again after a while.
   * Left out, or `undefined`: an event about the object of the effect says so.
   */
  refused?(key: string, refusal: Refusal, time: PlanTime): Plan<O> | undefined
  /**
   * Counts what a plan is about to create as in use, so that no plan for another key gives it away
   * as well while this one is carried out. `runKey` does it. The plans of a planner without this
   * are carried out one at a time.
   *
   * @returns what ends that: call it once, when all that became known of the plan was shown, and
   *   never before it is known what has become of it. It returns the keys to plan again, as
   *   `observe` does: what was not created after all may be what others wait for
   */
  reserve?(plan: Plan): () => readonly string[]
  /** Whether this key only sums up others, and so is best planned when nothing else is waiting. */
  isAggregate(key: string): boolean
  /**
   * Whether the object of this key has what it asks for, as a claim that is Bound: keys that still
   * wait are planned before it. Left out: that of none has. O(1).
   */
  isServed?(key: string): boolean
  /**
   * Whether a process has begun with this key, and its object does not have yet what it asks for:
   * with several processes, another one may be at work on it. Left out: that of none has. O(1).
   */
  isBegun?(key: string): boolean
  /**
   * Forgets everything: before a fresh list, and after what is stored was restored to an earlier
   * state.
   */
  reset(): void
}
