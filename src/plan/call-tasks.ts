import type { ExternalCall } from './effect.js'
import type { Outcome } from './plan.js'
import type { ExternalResult, PlanTime } from './planner.js'
import type { Task } from './task.js'

/** A call that waits in a {@link CallGroup}, and its answer as soon as there is one. */
export interface CallSeat {
  readonly answer?: ExternalResult | undefined
}

/**
 * One task for several calls: what they write to one object at a time is one write (group commit). It is run for one of its calls after the other, and does the
 * work of the others on the way.
 */
export interface CallGroup extends Task {
  /** How many calls it has. */
  readonly size: number
  join(call: ExternalCall): CallSeat
  /** The task is done when this call is answered. */
  lead(seat: CallSeat): void
  /** Removes a call, answered or not. */
  leave(seat: CallSeat): void
}

/** How calls become tasks, and outcomes answers: a provider has it. */
export interface CallTasks {
  taskFor(call: ExternalCall): Task
  /** @param time when the task has ended */
  answerOf(call: ExternalCall, outcome: Outcome, time: PlanTime): ExternalResult
  /**
   * Which calls are carried out by one task while it runs: those of one key. `undefined`: the call has a task of its own. Left out: each call has.
   */
  groupOf?(call: ExternalCall): string | undefined
  /** A group without calls. */
  openGroup?(): CallGroup
}
