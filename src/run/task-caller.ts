import { describe } from '../errors/index.js'
import type { Change, Outcome, OutsideAnswer, OutsideCall, Task } from '../plan/index.js'
import type { Store } from '../store/index.js'
import type { OutsideCaller } from './run-plan.js'
import { type RunTaskOptions, runTask } from './run-task.js'
import type { Unsettled } from './settle.js'

export interface TaskCallerOptions extends Pick<RunTaskOptions, 'now' | 'pause' | 'maxConflicts'> {
  readonly store: Store
  /** How calls become tasks, and outcomes answers: the provider has it. */
  readonly tasks: {
    taskFor(call: OutsideCall): Task
    answerOf(call: OutsideCall, outcome: Outcome): OutsideAnswer
  }
  /** Receives every change that a task learns of: show it to the planners that have these kinds. */
  readonly show?: ((change: Change, source: 'written' | 'read') => void) | undefined
  /** How often it is asked what has become of a write that nobody knows of, a whole number from 1. Default 5. */
  readonly maxSettles?: number | undefined
}

/**
 * Carries calls out that are tasks on the store itself, for planners whose ledger is not in what they plan: a {@link OutsideCaller}. What the store does not
 * do, or does not answer, is a failure that is retryable: the planner makes the call again after a while.
 */
export function taskCaller(options: TaskCallerOptions): OutsideCaller {
  const { store, tasks, now, pause, maxConflicts, show, maxSettles = 5 } = options
  return async (call) => {
    const task = tasks.taskFor(call)
    let unsettled: Unsettled | undefined
    let message = ''
    for (let attempt = 0; attempt < maxSettles; attempt++) {
      const ended = await runTask(task, store, { now, pause, maxConflicts, show }, unsettled)
      if (ended.kind === 'done') return tasks.answerOf(call, ended.outcome)
      message = describe(ended.failure)
      if (ended.kind === 'failed') break
      unsettled = ended.unsettled
    }
    return { ok: false, failure: { message, retryable: true, retryAfterSeconds: 1 } }
  }
}
