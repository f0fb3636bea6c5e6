import type { Json } from '../crd/meta/object.js'
import type { ExternalCall } from './effect.js'
import type { Outcome } from './plan.js'
import type { ExternalResult, PlanTime } from './planner.js'
import type { Task } from './task.js'

/** A call that waits in a {@link CallGroup}, and its answer when it has one. */
export interface CallSeat<V = Json> {
  readonly answer?: ExternalResult<V> | undefined
}

/**
 * One task for several calls: it combines their changes of one object into one write (group
 * commit). It runs for one call at a time, and also does the work of the calls that wait.
 */
export interface CallGroup<I = Json, V = Json> extends Task {
  /** The number of calls. */
  readonly size: number
  join(call: ExternalCall<I>): CallSeat<V>
  /** Sets the call for which the task runs: the task is done when this call is answered. */
  lead(seat: CallSeat<V>): void
  /** Removes a call, answered or not. */
  leave(seat: CallSeat<V>): void
}

/**
 * How a provider turns calls with inputs `I` into tasks with outcomes `O`, and those into answers
 * `V`.
 */
export interface CallTasks<I = Json, O extends Outcome = Outcome, V = Json> {
  taskFor(call: ExternalCall<I>): Task<O>
  /** @param time when the task has ended */
  answerOf(call: ExternalCall<I>, outcome: O, time: PlanTime): ExternalResult<V>
  /**
   * The key of the group of a call: one task carries out all calls of a key while it runs.
   * `undefined`: the call has a task of its own. Left out: each call has a task of its own.
   */
  groupOf?(call: ExternalCall<I>): string | undefined
  /** A group without calls. */
  openGroup?(): CallGroup<I, V>
}
