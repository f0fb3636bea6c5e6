import { describe } from '../errors/index.js'
import type { Change, Outcome, OutsideAnswer, OutsideCall, PlanTime, Task } from '../plan/index.js'
import type { Store } from '../store/index.js'
import type { OutsideCaller } from './run-plan.js'
import { type RunTaskOptions, runTask } from './run-task.js'
import { type TaskTurns, taskTurns } from './task-turns.js'

export interface TaskCallerOptions extends Pick<RunTaskOptions, 'now' | 'pause' | 'maxConflicts' | 'maxSettles'> {
  readonly store: Store
  /** How its tasks wait for each other. Default: {@link taskTurns} of its own. */
  readonly turns?: TaskTurns | undefined
  /** How calls become tasks, and outcomes answers: the provider has it. */
  readonly tasks: {
    taskFor(call: OutsideCall): Task
    answerOf(call: OutsideCall, outcome: Outcome, time: PlanTime): OutsideAnswer
  }
  /** Receives every change that a task learns of: show it to the planners that have these kinds. */
  readonly show?: ((change: Change, source: 'written' | 'read') => void) | undefined
}

/**
 * Carries calls out that are tasks on the store itself, for planners whose ledger is not in what they plan: a {@link OutsideCaller}. What the store does not
 * do, or does not answer, is a failure that is retryable: the planner makes the call again after a while.
 */
export function taskCaller(options: TaskCallerOptions): OutsideCaller {
  const { store, tasks, turns = taskTurns(), ...limits } = options
  return async (call) => {
    const ended = await runTask(tasks.taskFor(call), store, { ...limits, turns })
    if (ended.kind === 'done') return tasks.answerOf(call, ended.outcome, { nowMs: options.now() })
    return { ok: false, failure: { message: describe(ended.failure), retryable: true, retryAfterSeconds: 1 } }
  }
}
