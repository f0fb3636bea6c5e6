import type { ObjectRef } from '../crd/meta/object.js'
import type { Change } from './change.js'
import type { Refusal } from './effect.js'
import type { Outcome, Plan } from './plan.js'
import type { PlanTime } from './planner.js'

/**
 * One piece of work whose caller waits for the outcome, such as an address for a Pod. A task is a
 * machine without I/O, as a {@link Planner} is. It names the objects that it needs, ends, and has
 * an outcome.
 *
 * A task is level-based: each step follows from the objects that it has observed, not from the step
 * before. So a task can be stopped between any two steps. Another task with the same request
 * continues from what the first one has written.
 */
export interface Task<O extends Outcome = Outcome> {
  /** The next step. A task that has ended returns its `done` step each time. */
  next(time: TaskTime): Step<O>
  /**
   * Takes in the state of an object: one that the task has read or written, or an event of a watch.
   */
  observe(change: Change): void
  /** All objects of a `list` step have been observed. */
  listed?(query: TaskQuery): void
  /**
   * The store refuses an effect of the last plan. Nothing of that effect was done, and the effects
   * after it were not sent. The code of the refusal is one of:
   *
   * - `STORE_INVALID`: the API server or a webhook rejects the object
   * - `STORE_OBJECT_TOO_LARGE`
   * - `STORE_IO`: the object is not at fault, for example a quota or a missing permission
   *
   * A conflict, and a write of unknown outcome, are not refusals.
   *
   * @returns true if the task continues another way. False, or no such method: the task fails
   */
  refused?(refusal: TaskRefusal): boolean
}

/** An effect that the store refuses, and why. */
export type TaskRefusal = Refusal

export interface TaskTime extends PlanTime {
  /** The number of plans that have met a conflict since the task began. */
  readonly conflicts: number
  /**
   * Whether another task of this process holds the lock of an object. A task that wants to write a
   * locked object returns a `lock` step first. Left out: tasks share no locks, and return no `lock`
   * step.
   */
  readonly isLocked?: ((ref: ObjectRef) => boolean) | undefined
}

/** All objects of a kind with these values in selectable fields. */
export interface TaskQuery {
  readonly apiVersion: string
  readonly kind: string
  /** Left out: all namespaces. */
  readonly namespace?: string | undefined
  readonly fields: { readonly [path: string]: string }
}

export type Step<O extends Outcome = Outcome> =
  /** Read these objects, and pass what is stored to `observe`, also that an object is absent. */
  | { readonly kind: 'get'; readonly refs: readonly ObjectRef[]; readonly why: string }
  | { readonly kind: 'list'; readonly query: TaskQuery; readonly why: string }
  /**
   * Wait for the lock of this object, which another task of this process holds. Only where
   * {@link TaskTime.isLocked} returns true.
   */
  | { readonly kind: 'lock'; readonly ref: ObjectRef; readonly why: string }
  /**
   * Carry out this plan, pass what was written to `observe`, and continue, also after a conflict.
   */
  | { readonly kind: 'write'; readonly plan: Plan }
  | { readonly kind: 'done'; readonly outcome: O }
