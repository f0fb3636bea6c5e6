import type { LedgerEntry } from '../allocator/index.js'
import type { Json } from '../crd/meta/object.js'
import type { Change } from './change.js'
import type { AnyCall, ExternalCall, Refusal } from './effect.js'
import type { Holder, PoolUsage } from './holdings.js'
import type { Applied, ObjectCache } from './object-cache.js'
import type { Outcome, Plan } from './plan.js'
import type { Selection } from './selection.js'

/**
 * The result of a call to an external system: the second way, beside a {@link Change}, in which a
 * planner observes something.
 */
export interface CallResult<I = Json, V = Json> {
  readonly call: ExternalCall<I>
  readonly answer: ExternalResult<V>
  /** When the call was answered, in milliseconds since 1970. */
  readonly atMs: number
}

/** A result as a host passes it on. */
// biome-ignore lint/suspicious/noExplicitAny: inputs and values differ
export type AnyResult = CallResult<any, any>

/** The result of an {@link ExternalCall}. `V` is its value. */
export type ExternalResult<V = Json> =
  | { readonly ok: true; readonly value: V }
  | { readonly ok: false; readonly failure: ExternalFailure }

/** Why a call failed, or why its outcome is unknown. A time-out is a retryable failure. */
export interface ExternalFailure {
  /** One sentence for people, without a final full stop. */
  readonly message: string
  /**
   * Whether the same call may succeed later. If true, the call is made again after a while. If
   * false, it is made again only after a change: a provider of `defineProvider` makes it again when
   * the pool changes, and not when the claim does.
   */
  readonly retryable: boolean
  /**
   * When to call again, in seconds, if the external system says so. Left out: the planner waits
   * longer after each failure in a row.
   */
  readonly retryAfterSeconds?: number | undefined
  /**
   * Whether the external system has confirmed that it did nothing. Left out: the call may have been
   * carried out, or may still be. A provider that keeps a marker makes the same call again in both
   * cases.
   */
  readonly nothingDone?: boolean | undefined
  /**
   * The reason of the condition of the claim: `BackendExhausted` is a quota or a limit of the
   * external system, `BackendDenied` a missing permission. Default `AllocationFailed`.
   */
  readonly reason?:
    | 'PoolExhausted'
    | 'PoolNotReady'
    | 'AllocationFailed'
    | 'BackendExhausted'
    | 'BackendDenied'
    | undefined
}

/** The time for which a plan is made: a planner has no other clock. */
export interface PlanTime {
  /** Milliseconds since 1970. */
  readonly nowMs: number
}

/**
 * A provider as a machine without I/O. It observes changes, returns the keys to plan again, and
 * makes the plan for a key.
 *
 * A planner is level-based. An object that is observed twice, a late older version, and skipped
 * versions in between lead to the same plans. It indexes what it observes, so that a plan costs the
 * same for any number of objects. A host feeds it from informers, a list or a test.
 */
export interface Planner<O extends Outcome = Outcome> {
  readonly name: string
  /** The objects that it has to observe, each selection with all or some objects of a kind. */
  readonly watches: readonly Selection[]
  /**
   * The period in which all keys that have a plan are planned again, in seconds, from 1 to 86,400.
   * The plans are spread evenly over the period. For a planner that depends on a system without a
   * watch, such as an external IPAM. Left out: a key is planned again when it is woken, or when its
   * plan asks for that.
   */
  readonly resyncSeconds?: number | undefined
  /**
   * Uses this cache, together with the other planners of a host, until the next `reset`. The host
   * applies each change to the cache once, and calls `wakes` in place of `observe`.
   *
   * @throws IpamError `INVALID_ARGUMENT` for a cache that has objects
   */
  share?(objects: ObjectCache): void
  /**
   * The cache that it uses: the one of `share`, or its own. `runUntilQuiet` continues with the
   * cache of its last run. Left out: every run resets the planner.
   */
  readonly objects?: ObjectCache | undefined
  /**
   * The keys to plan again after a change that was applied to the shared cache: {@link observe}.
   */
  wakes?(applied: Applied): readonly string[]
  /**
   * Observes a change. Pass the answer of each own write at once, before the next plan is made.
   * Otherwise an address that was just given away would look free.
   *
   * It must not throw for any object. It notes an object that it cannot read, and reports it in a
   * plan. If it throws for an object of a list or a watch, a `Controller` ends its run, because the
   * planner is no longer up to date. `runUntilQuiet` and `runKey` throw the same error.
   *
   * @returns the keys to plan again, oldest object first
   */
  observe(change: Change): readonly string[]
  /**
   * Marks a selection as complete: an object of it that was not observed does not exist. Call it
   * after the first list of a selection, and {@link plan} after that of all selections. An earlier
   * plan waits where it depends on one object by name. It does not wait for holders of addresses:
   * it may give an address whose IPAddress was not listed yet. With a shared cache,
   * {@link ObjectCache.complete} is called instead.
   */
  complete?(selection: Selection): void
  /**
   * Observes that the `external` effect of a plan is sent now. `runKey` calls it directly before
   * the call, after {@link begin}.
   */
  onSend?(call: AnyCall, time: PlanTime): void
  /**
   * Observes the result of an `external` effect of one of its plans. `runKey` calls it. A planner
   * with this method needs a host that can carry out such effects. A planner without it has no such
   * effects. The result of a call is dropped if its plan was not passed to {@link begin}.
   *
   * @returns the keys to plan again
   */
  onResult?(answered: AnyResult): readonly string[]
  /**
   * The plan for a key, after {@link complete} of all selections. `undefined`: there is nothing
   * under the key. Pure: two plans of one key, in one state and at one time, are equal, also if
   * neither is carried out.
   */
  plan(key: string, time: PlanTime): Plan<O> | undefined
  /**
   * The plan by which the object of a key reports an effect that the store has refused, or for
   * which conflicts or unknown outcomes do not end. `runKey` carries it out at once. The key itself
   * has failed, and is planned again after a while. Left out, or `undefined`: an event about the
   * object of the effect reports it.
   */
  refused?(key: string, refusal: Refusal, time: PlanTime): Plan<O> | undefined
  /**
   * Notes that a plan is about to be carried out. What it writes is pending until the plan has
   * ended, so that no concurrent plan for another key allocates it, and its external call is
   * registered. `runKey` calls it in the turn in which the plan returns. The plans of a planner
   * without this method are carried out one at a time.
   *
   * @returns a function that ends the plan. Call it once, when the planner has observed all changes
   *   of the plan and the outcome of each write is known. It returns the keys to plan again, as
   *   `observe` does: an address that was not created may serve another claim. Pass false if not
   *   all effects were carried out, so that the Events of the plan were not sent. Default true
   */
  begin?(plan: Plan): (isDone?: boolean) => readonly string[]
  /**
   * The holders of extents, for a planner whose objects hold any: by the objects, and by the plans
   * that are being carried out. Ledger by ledger, in the order of extents. O(n log n).
   */
  entries?(): readonly LedgerEntry<Holder>[]
  /**
   * How much of each pool is in use, for a planner whose objects hold any extents. The counts are
   * kept: O(pools), unless the planner says otherwise. `poolMetrics` of `ipam-kit/render` reads it.
   */
  usage?(): readonly PoolUsage[]
  /** Whether this key aggregates other keys. It is planned when no other key waits. */
  isAggregate(key: string): boolean
  /**
   * Whether the plan of this key ends a state in which addresses are not safe: two objects have one
   * address, or an address in use has no record that keeps it from others. Such keys are planned
   * before all others. Left out: false for all keys. O(1).
   */
  isRepair?(key: string): boolean
  /**
   * Whether the object of this key has what it asks for, as a claim that is Bound. Keys that still
   * wait are planned before it. In a `Controller`, the delays of a key that has failed grow until
   * it is true, or there is nothing under the key. Left out: not known, and a key that was carried
   * out has it. O(1).
   */
  isServed?(key: string): boolean
  /**
   * Whether the store shows that a process has begun with this key, and its object does not yet
   * have what it asks for. With several processes, another one may be working on it. Left out:
   * false for all keys. O(1).
   */
  isBegun?(key: string): boolean
  /**
   * Removes all state: when a `Controller` starts, and after the database of the store was restored
   * to an earlier state. Other processes may have worked since the last list.
   */
  reset(): void
}
