import { describe } from '../../errors/index.js'
import type { CallGroup, CallTasks } from '../../plan/call-tasks.js'
import type { Change, ExternalResult, Outcome } from '../../plan/index.js'
import type { Store } from '../../store/index.js'
import type { ExternalCaller } from '../plan/run-plan.js'
import { problemOf } from '../refusal.js'
import { type RunTaskOptions, runTask, type TaskResult } from './run-task.js'
import { type TaskTurns, taskTurns } from './task-turns.js'

export interface TaskCallerOptions<I, O extends Outcome, V>
  extends Pick<RunTaskOptions, 'now' | 'canWrite' | 'pause' | 'maxConflicts' | 'maxSettles'> {
  readonly store: Store
  /** How its tasks wait for each other. Default: {@link taskTurns} of its own. */
  readonly turns?: TaskTurns | undefined
  readonly tasks: CallTasks<I, O, V>
  /** Receives every change that a task learns of: show it to the planners that have these kinds. */
  readonly show?: ((change: Change, source: 'written' | 'read') => void) | undefined
}

/**
 * Carries calls out that are tasks on the store itself, for planners whose ledger is not in what
 * they plan: an {@link ExternalCaller}. Calls of one group that arrive while its task is at work
 * join that task. A call that the store refuses, or does not answer, is a failure that is
 * retryable: the planner makes the call again after a while.
 */
export function taskCaller<I, O extends Outcome, V>(options: TaskCallerOptions<I, O, V>): ExternalCaller<I, V> {
  const { store, tasks, turns = taskTurns(), ...limits } = options
  const groups = new Map<string, CallGroup<I, V>>()
  return async (call) => {
    const key = tasks.groupOf?.(call)
    if (key === undefined || tasks.openGroup === undefined) {
      const ended = await runTask(tasks.taskFor(call), store, { ...limits, turns })
      return ended.kind === 'done' ? tasks.answerOf(call, ended.outcome, { nowMs: options.now() }) : failureOf(ended)
    }
    const group = groups.get(key) ?? tasks.openGroup()
    const seat = group.join(call)
    groups.set(key, group)
    const turn = turns.begin()
    try {
      // one of its calls leads a group at a time
      const ref = { ...GROUP, name: key }
      if (turn.isBusy(ref)) await turn.wait(ref)
      else turn.writes([ref])
      if (seat.answer !== undefined) return seat.answer
      group.lead(seat)
      const ended = await runTask(group, store, { ...limits, turns })
      return seat.answer ?? (ended.kind === 'done' ? UNANSWERED : failureOf(ended))
    } finally {
      group.leave(seat)
      if (group.size === 0 && groups.get(key) === group) groups.delete(key)
      turn.pass()
    }
  }
}

/** What names a group among the objects that tasks wait for: no store has such a kind. */
const GROUP = { apiVersion: 'ipam-kit.dev/run', kind: 'CallGroup' }

/** A fault of the group. */
const UNANSWERED: ExternalResult<never> = {
  ok: false,
  failure: { message: 'its group has ended without an answer', retryable: true },
}

const NOT_REFUSED: ReadonlySet<string> = new Set(['STORE_CONFLICT', 'STORE_OUTCOME_UNKNOWN', 'STORE_WRITE_WITHHELD'])

function failureOf({ failure }: Exclude<TaskResult, { readonly kind: 'done' }>): ExternalResult<never> {
  // what others write meanwhile is soon over; what the store refuses is tried after longer and
  // longer waits
  const isRace = NOT_REFUSED.has(failure.code)
  const message = isRace ? describe(failure) : `could not write what it is to have: ${problemOf(failure)}`
  return { ok: false, failure: { message, retryable: true, retryAfterSeconds: isRace ? 1 : undefined } }
}
