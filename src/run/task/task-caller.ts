import { check, type KindOf } from '../../errors/check.js'
import type { CallGroup, CallTasks } from '../../plan/call-tasks.js'
import type { Change, ExternalResult, Outcome } from '../../plan/index.js'
import type { Store } from '../../store/index.js'
import { STORE } from '../../store/store.js'
import type { ExternalCaller } from '../plan/run-plan.js'
import { problemOf } from '../refusal.js'
import { type ObjectLocks, objectLocks } from './object-locks.js'
import { type RunTaskOptions, runTask, type TaskResult } from './run-task.js'

export interface TaskCallerOptions<I, O extends Outcome, V>
  extends Pick<RunTaskOptions, 'now' | 'canWrite' | 'pause' | 'maxConflicts' | 'maxSettles'> {
  readonly store: Store
  /** Locks that its tasks share. Default: {@link objectLocks} of this caller. */
  readonly locks?: ObjectLocks | undefined
  readonly tasks: CallTasks<I, O, V>
  /** Receives every change that a task reads or writes: pass it to the planners of these kinds. */
  readonly show?: ((change: Change, source: 'written' | 'read') => void) | undefined
}

const TASK_CALLER_OPTIONS: KindOf<TaskCallerOptions<never, never, never>> = {
  now: 'function',
  store: STORE,
  tasks: 'object',
  canWrite: 'function?',
  pause: 'function?',
  show: 'function?',
  locks: ['open?', { begin: 'function' }],
  maxConflicts: 'number?',
  maxSettles: 'number?',
}

/**
 * An {@link ExternalCaller} whose calls are tasks on the store, for planners that do not watch the
 * objects of their ledger. Calls of one group that are sent together, or that arrive while a task
 * of the group runs, share a task. If the store refuses or does not answer a write, the call fails
 * as retryable, and the planner makes it again later. If the outcome of a write cannot be found
 * out, all calls of the group fail.
 */
export function taskCaller<I, O extends Outcome, V>(options: TaskCallerOptions<I, O, V>): ExternalCaller<I, V> {
  check<unknown>('taskCaller', 'options', options, TASK_CALLER_OPTIONS)

  const { store, tasks, locks = objectLocks(), ...limits } = options
  const groups = new Map<string, OpenGroup<I, V>>()
  return async (call) => {
    const key = tasks.groupOf?.(call)
    if (key === undefined || tasks.openGroup === undefined) {
      const ended = await runTask(tasks.taskFor(call), store, { ...limits, locks })
      return ended.kind === 'done' ? tasks.answerOf(call, ended.outcome, { nowMs: options.now() }) : failureOf(ended)
    }
    const open: OpenGroup<I, V> = groups.get(key) ?? { group: tasks.openGroup(), failed: undefined }
    const { group } = open
    const seat = group.join(call)
    groups.set(key, open)
    const holder = locks.begin()
    try {
      // a group is led by one call at a time
      const ref = { ...GROUP, name: key }
      if (holder.isLocked(ref)) await holder.wait(ref)
      else holder.acquire([ref])
      const answered = () => seat.answer ?? open.failed
      for (let turn = 0; turn < JOIN_TURNS && answered() === undefined; turn++) await Promise.resolve()
      const answer = answered()
      if (answer !== undefined) return answer
      group.lead(seat)
      const ended = await runTask(group, store, { ...limits, locks })
      if (ended.kind === 'done') return seat.answer ?? UNANSWERED
      const failed = failureOf(ended)
      if (ended.kind === 'unsettled') {
        // the store does not answer: the calls that wait would meet its time limits one by one
        open.failed = failed
        if (groups.get(key) === open) groups.delete(key)
      }
      return seat.answer ?? failed
    } finally {
      group.leave(seat)
      if (group.size === 0 && groups.get(key) === open) groups.delete(key)
      holder.release()
    }
  }
}

/** A group that calls can join. */
interface OpenGroup<I, V> {
  readonly group: CallGroup<I, V>
  /** What its calls are answered after the outcome of a write could not be found out. */
  failed: ExternalResult<V> | undefined
}

/**
 * How many turns of the queue of promises a group waits for more calls before it begins. A
 * controller that begins many keys needs some turns between them, and their calls can share a
 * write.
 */
const JOIN_TURNS = 32

/** The lock of a group: no store has objects of this kind. */
const GROUP = { apiVersion: 'ipam-kit.dev/run', kind: 'CallGroup' }

/** A defect of the group. */
const UNANSWERED: ExternalResult<never> = {
  ok: false,
  failure: { message: 'the group of the call ended without an answer', retryable: true },
}

const NOT_REFUSED: ReadonlySet<string> = new Set(['STORE_CONFLICT', 'STORE_OUTCOME_UNKNOWN', 'STORE_WRITE_WITHHELD'])

function failureOf({ failure }: Exclude<TaskResult, { readonly kind: 'done' }>): ExternalResult<never> {
  // a race with other writers ends soon; a write that the store refuses is repeated with back-off
  const isRace = NOT_REFUSED.has(failure.code)
  const message = isRace ? failure.message : `could not write the allocation: ${problemOf(failure)}`
  return { ok: false, failure: { message, retryable: true, retryAfterSeconds: isRace ? 1 : undefined } }
}
