import type { ObjectRef } from '../../crd/meta/object.js'
import { check, type KindOf } from '../../errors/check.js'
import { RUN_LIMIT_EXCEEDED } from '../../errors/definitions.js'
import { ipamError } from '../../errors/failure.js'
import { refuse } from '../../errors/refuse.js'
import type { Change, Effect, EventEffect, Outcome, Step, Task } from '../../plan/index.js'
import type { TaskQuery } from '../../plan/task.js'
import type { Store, StoreFailure } from '../../store/index.js'
import { STORE } from '../../store/store.js'
import { assertCanWrite, type CanWrite } from '../can-write.js'
import { assertLimit } from '../limits.js'
import { refOfEffect } from '../plan/effect-ref.js'
import { runPlan } from '../plan/run-plan.js'
import { settle, UNSETTLED, type Unsettled } from '../plan/settle.js'
import type { LockHolder, ObjectLocks } from './object-locks.js'

export interface RunTaskOptions {
  /** The clock: milliseconds since 1970. */
  readonly now: () => number
  /**
   * Receives every change that this run reads or writes, after the task has observed it: for caches
   * that share its objects.
   */
  readonly show?: ((change: Change, source: 'written' | 'read') => void) | undefined
  readonly onEvent?: ((event: EventEffect) => void) | undefined
  /**
   * Called directly before every write: {@link CanWrite}. If it returns false, the task fails, and
   * nothing more is sent for it.
   */
  readonly canWrite?: CanWrite | undefined
  /** Called with each step, before it is done. */
  readonly onStep?: ((step: Step) => void) | undefined
  /**
   * Waits after the given number of conflicts in a row, and before the outcome of a write is read
   * again. Add jitter, so that writers that conflicted do not conflict again. Left out: no wait.
   */
  readonly pause?: ((conflicts: number) => Promise<void>) | undefined
  /**
   * Locks that the tasks of this process share ({@link objectLocks}): tasks that write the same
   * object wait for each other. After a conflict the stored object is read before the `pause`. Left
   * out: such tasks conflict, and plan again.
   */
  readonly locks?: ObjectLocks | undefined
  /** The number of conflicts after which the task fails, a whole number from 0. Default 100. */
  readonly maxConflicts?: number | undefined
  /**
   * How often the outcome of a write is read, if the store did not answer it, before the task ends
   * as `unsettled`. A whole number from 1. Default 5.
   */
  readonly maxSettles?: number | undefined
  /**
   * The number of steps after which `RUN_LIMIT_EXCEEDED` is thrown, a whole number from 1: the task
   * has a defect, because it makes no progress. Default 100,000.
   */
  readonly maxSteps?: number | undefined
}

const RUN_TASK_OPTIONS: KindOf<RunTaskOptions> = {
  now: 'function',
  show: 'function?',
  onEvent: 'function?',
  canWrite: 'function?',
  onStep: 'function?',
  pause: 'function?',
  locks: ['open?', { begin: 'function' }],
  maxConflicts: 'number?',
  maxSettles: 'number?',
  maxSteps: 'number?',
}

/**
 * How a task ended.
 *
 * - `done`: the task has its outcome
 * - `failed`: the store refused an effect, or the limit of conflicts is reached. What was written
 *   stays. Run the same task again, or another task with the same request and the same cache: tasks
 *   of blocks share what they have sent through their `KnownBlocks`
 * - `unsettled`: the outcome of a write is unknown. Run the **same task** again with this
 *   `unsettled`: the run first finds out whether the write was done
 */
export type TaskResult<O extends Outcome = Outcome> =
  | { readonly kind: 'done'; readonly outcome: O; readonly requests: number }
  | { readonly kind: 'failed'; readonly failure: StoreFailure; readonly requests: number }
  | {
      readonly kind: 'unsettled'
      readonly failure: StoreFailure
      readonly unsettled: Unsettled
      readonly requests: number
    }

/** Objects of one page of a list. */
const PAGE = 500

/**
 * Runs a task on a store: reads the objects of its steps, carries out its plans, and reads the
 * stored object after a conflict.
 *
 * @param before the `unsettled` of an earlier run of this task
 * @throws IpamError `INVALID_ARGUMENT`, `RUN_LIMIT_EXCEEDED` after too many steps; what the task
 * throws
 */
export async function runTask<O extends Outcome>(
  task: Task<O>,
  store: Store,
  options: RunTaskOptions,
  before?: Unsettled | undefined,
): Promise<TaskResult<O>> {
  check('runTask', 'task', task, ['open', { next: 'function' }])
  check('runTask', 'store', store, STORE)
  check('runTask', 'options', options, RUN_TASK_OPTIONS)
  if (before !== undefined) check<unknown>('runTask', 'before', before, UNSETTLED)

  const { maxConflicts = 100, maxSettles = 5, maxSteps = 100_000 } = options
  assertCanWrite('runTask', options.canWrite)
  assertLimit('runTask', 'maxConflicts', maxConflicts)
  assertLimit('runTask', 'maxSettles', maxSettles, 1)
  assertLimit('runTask', 'maxSteps', maxSteps, 1)
  return new TaskRun(task, store, { ...options, maxConflicts, maxSettles, maxSteps }).run(before)
}

type TaskLimits = RunTaskOptions & {
  readonly maxConflicts: number
  readonly maxSettles: number
  readonly maxSteps: number
}

class TaskRun<O extends Outcome> {
  readonly #task: Task<O>
  readonly #store: Store
  readonly #options: TaskLimits
  readonly #locks: LockHolder | undefined
  #requests = 0
  /** All conflicts of the task, also of earlier runs: {@link TaskTime.conflicts}. */
  #conflicts = 0

  constructor(task: Task<O>, store: Store, options: TaskLimits) {
    this.#task = task
    this.#store = store
    this.#options = options
    this.#locks = options.locks?.begin()
  }

  run(before: Unsettled | undefined): Promise<TaskResult<O>> {
    const ended = this.#run(before)
    return this.#locks === undefined ? ended : ended.finally(() => this.#locks?.release())
  }

  async #run(before: Unsettled | undefined): Promise<TaskResult<O>> {
    const { now, onStep, pause, maxConflicts, maxSteps } = this.#options
    let unsettled = before
    // an unsettled write counts as a conflict
    this.#conflicts = before === undefined ? 0 : (before.conflicts ?? 1)
    const most = this.#conflicts + maxConflicts
    const isLocked = this.#locks && ((ref: ObjectRef) => this.#locks?.isLocked(ref) === true)
    for (let steps = 0; ; steps++) {
      if (unsettled !== undefined) {
        const failure = await this.#settle(unsettled)
        if (failure !== undefined) return this.#endUnsettled(failure, unsettled)
        unsettled = undefined
      }
      const step = this.#task.next({ nowMs: now(), conflicts: this.#conflicts, isLocked })
      onStep?.(step)
      if (steps >= maxSteps) {
        const stillBusy = [step.kind === 'write' ? step.plan.outcome.message : step.kind]
        throw ipamError(RUN_LIMIT_EXCEEDED, { limit: 'steps', max: maxSteps, stillBusy })
      }
      if (step.kind === 'done') return { kind: 'done', outcome: step.outcome, requests: this.#requests }
      const ended = await this.#do(step)
      if (ended === undefined) continue
      if (ended.kind === 'failed' || this.#conflicts >= most) {
        const { failure } = ended
        if (ended.kind === 'failed' || failure.code !== 'STORE_OUTCOME_UNKNOWN')
          return { kind: 'failed', failure, requests: this.#requests }
      }
      this.#conflicts++
      if (ended.kind === 'conflict') unsettled = ended.unsettled
      if (this.#locks !== undefined && unsettled !== undefined && ended.failure.code !== 'STORE_OUTCOME_UNKNOWN') {
        // the tasks that wait need the stored object, and do not wait for the pause
        const failure = await this.#settle(unsettled)
        if (failure !== undefined) return this.#endUnsettled(failure, unsettled)
        // read again after the pause: another process may write during it, and the next write would
        // conflict for certain
        if (pause === undefined) unsettled = undefined
      }
      await pause?.(this.#conflicts)
    }
  }

  #endUnsettled(failure: StoreFailure, { effect, failure: before }: Unsettled): TaskResult<O> {
    const unsettled = { effect, failure: before, conflicts: this.#conflicts }
    return { kind: 'unsettled', failure, unsettled, requests: this.#requests }
  }

  async #do(
    step: Exclude<Step<O>, { kind: 'done' }>,
  ): Promise<
    | { readonly kind: 'failed'; readonly failure: StoreFailure }
    | { readonly kind: 'conflict'; readonly failure: StoreFailure; readonly unsettled: Unsettled }
    | undefined
  > {
    switch (step.kind) {
      case 'get': {
        for (const ref of step.refs) {
          this.#requests++
          const found = await this.#store.get(ref)
          if (found.ok) this.#show({ kind: 'present', object: found.value }, 'read')
          else if (found.failure.code === 'STORE_NOT_FOUND')
            this.#show({ kind: 'absent', ref, confirmed: true }, 'read')
          else return { kind: 'failed', failure: found.failure }
        }
        return undefined
      }
      case 'list': {
        const failure = await this.#list(step.query)
        return failure === undefined ? undefined : { kind: 'failed', failure }
      }
      case 'lock': {
        await this.#locks?.wait(step.ref)
        return undefined
      }
      case 'write': {
        const { plan } = step
        this.#requests += plan.effects.filter(({ kind }) => kind !== 'event').length
        this.#locks?.acquire(plan.effects.filter(({ kind }) => kind !== 'event').map(refOfEffect))
        const onChange = (change: Change) => this.#show(change, 'written')
        const { onEvent, canWrite } = this.#options
        const ended = await runPlan(plan, this.#store, { onChange, onEvent, canWrite })
        // after a conflict the tasks that wait continue when the stored object has been read
        if (ended.kind !== 'conflict' || ended.failure.code === 'STORE_OUTCOME_UNKNOWN') this.#locks?.release()
        if (ended.kind === 'done') return undefined
        const { effect, failure } = ended
        if (ended.kind === 'conflict') return { kind: 'conflict', failure, unsettled: { effect, failure } }
        return this.#continues(effect, failure) ? undefined : { kind: 'failed', failure }
      }
    }
  }

  /** Whether the task continues another way after a refused write. */
  #continues(effect: Effect, failure: StoreFailure): boolean {
    const { code } = failure
    // the write was not sent, and no other one may be sent
    if (code === 'STORE_WRITE_WITHHELD') return false
    return this.#task.refused?.({ effect, code, message: failure.message }) === true
  }

  async #list(query: TaskQuery): Promise<StoreFailure | undefined> {
    let page: string | undefined
    do {
      this.#requests++
      const listed = await this.#store.list(query, { limit: PAGE, continue: page })
      if (!listed.ok) return listed.failure
      for (const object of listed.value.items) this.#show({ kind: 'present', object }, 'read')
      page = listed.value.continue
    } while (page !== undefined)
    if (this.#task.listed === undefined) {
      refuse('runTask', 'task', 'listed(), where it lists', 'none')
    }
    this.#task.listed(query)
    return undefined
  }

  /** @returns why the outcome is still unknown */
  async #settle(unsettled: Unsettled): Promise<StoreFailure | undefined> {
    const { maxSettles, pause, canWrite } = this.#options
    for (let attempt = 1; ; attempt++) {
      this.#requests++
      const settled = await settle(this.#store, unsettled, { canWrite })
      if (settled.ok) this.#show(settled.value.change, settled.value.source)
      this.#locks?.release()
      if (settled.ok) return undefined
      if (attempt >= maxSettles) return settled.failure
      await pause?.(attempt)
    }
  }

  #show(change: Change, source: 'written' | 'read'): void {
    this.#task.observe(change)
    this.#options.show?.(change, source)
  }
}
