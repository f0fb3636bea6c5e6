import type { Json } from '../crd/meta/object.js'
import type { ExternalCall } from './effect.js'
import type { Outcome } from './plan.js'
import type { ExternalResult, PlanTime } from './planner.js'
import type { Task } from './task.js'

/** A call that waits in a {@link CallGroup}, and its answer as soon as there is one. */
export interface CallSeat<V = Json> {
  readonly answer?: ExternalResult<V> | undefined
}

/**
 * One task for several calls: what they write to one object at a time is one write (group commit).
 * It is run for one of its calls after the other, and does the work of the others on the way.
 */
export interface CallGroup<I = Json, V = Json> extends Task {
  /** How many calls it has. */
  readonly size: number
  join(call: ExternalCall<I>): CallSeat<V>
  /** The task is done when this call is answered. */
  lead(seat: CallSeat<V>): void
  /** Removes a call, answered or not. */
  leave(seat: CallSeat<V>): void
}

/**
 * How calls with inputs `I` become tasks with outcomes `O`, and those answers `V`: a provider has
 * it.
 */
export interface CallTasks<I = Json, O extends Outcome = Outcome, V = Json> {
  taskFor(call: ExternalCall<I>): Task<O>
  /** @param time when the task has ended */
  answerOf(call: ExternalCall<I>, outcome: O, time: PlanTime): ExternalResult<V>
  /**
   * Which calls are carried out by one task while it runs: those of one key. `undefined`: the call
   * has a task of its own. Left out: each call has.
   */
  groupOf?(call: ExternalCall<I>): string | undefined
  /** A group without calls. */
  openGroup?(): CallGroup<I, V>
}
