import type { ObjectRef } from '../crd/meta/object.js'
import type { Change } from './change.js'
import type { Refusal } from './effect.js'
import type { Outcome, Plan } from './plan.js'
import type { PlanTime } from './planner.js'

/**
 * One piece of work for somebody who waits for it, such as an address for a Pod: as a
 * {@link Planner} a machine without I/O, but one that asks for what it needs to know, comes to an
 * end, and has an outcome.
 *
 * Level-based: each step follows from what is known, not from the step before. So a task can be
 * stopped between any two steps, and another one that begins anew, with the same request, continues
 * from what the first has written.
 */
export interface Task<O extends Outcome = Outcome> {
  /** What comes next. A task that has come to its end says so each time. */
  next(time: TaskTime): Step<O>
  /**
   * Takes in what became known of an object: what was asked for, what was written, what a watch
   * tells.
   */
  observe(change: Change): void
  /** All objects that a `list` step has asked for were shown. */
  listed?(query: TaskQuery): void
  /**
   * The store refuses an effect of the last plan: nothing of that effect was done, and those after
   * it were not sent. The code says why: `STORE_INVALID`, also by a webhook,
   * `STORE_OBJECT_TOO_LARGE`, or `STORE_IO` for what is no fault of the object, as a quota or a
   * missing permission. Left out, or false: the task ends with that. True: it continues another
   * way. A conflict, and a write of unknown outcome, are no refusals.
   */
  refused?(refusal: TaskRefusal): boolean
}

/** What the store refuses to make of an object. */
export type TaskRefusal = Refusal

export interface TaskTime extends PlanTime {
  /** How many plans have met a conflict since the task began. */
  readonly conflicts: number
  /**
   * Whether another task of this process is writing an object: who wants to write it too asks for a
   * `turn` first, until nobody is. Left out: tasks do not take turns, and none asks for one.
   */
  readonly isBusy?: ((ref: ObjectRef) => boolean) | undefined
}

/** All objects of a kind with these values in selectable fields. */
export interface TaskQuery {
  readonly apiVersion: string
  readonly kind: string
  readonly fields: { readonly [path: string]: string }
}

export type Step<O extends Outcome = Outcome> =
  /** Read these objects, and show what is stored: also that one is absent. */
  | { readonly kind: 'get'; readonly refs: readonly ObjectRef[]; readonly why: string }
  | { readonly kind: 'list'; readonly query: TaskQuery; readonly why: string }
  /**
   * Another task of this process writes this object, and the two would meet: go on when that is
   * done. Only where {@link TaskTime.isBusy} says so.
   */
  | { readonly kind: 'turn'; readonly ref: ObjectRef; readonly why: string }
  /** Carry this out, show what was written, and go on, also after a conflict. */
  | { readonly kind: 'write'; readonly plan: Plan }
  | { readonly kind: 'done'; readonly outcome: O }
