import type { ObjectRef } from '../../crd/meta/object.js'
import { ipamError } from '../../errors/failure.js'
import { describe } from '../../errors/index.js'
import { refuse } from '../../errors/refuse.js'
import type { Change, Effect, EventEffect, Outcome, Step, Task } from '../../plan/index.js'
import type { TaskQuery } from '../../plan/task.js'
import type { Store, StoreFailure } from '../../store/index.js'
import { assertCanWrite, type CanWrite } from '../can-write.js'
import { assertLimit } from '../limits.js'
import { refOfEffect } from '../plan/effect-ref.js'
import { runPlan } from '../plan/run-plan.js'
import { settle, type Unsettled } from '../plan/settle.js'
import type { TaskTurn, TaskTurns } from './task-turns.js'

export interface RunTaskOptions {
  /** The clock: milliseconds since 1970. */
  readonly now: () => number
  /**
   * Receives every change that this run learns of, at once: for others that share its objects. The
   * task itself was shown it before.
   */
  readonly show?: ((change: Change, source: 'written' | 'read') => void) | undefined
  readonly onEvent?: ((event: EventEffect) => void) | undefined
  /**
   * Asked directly before every write: {@link CanWrite}. After a no the task has failed, and
   * nothing more is sent for it.
   */
  readonly canWrite?: CanWrite | undefined
  /** Called with each step, before it is done. */
  readonly onStep?: ((step: Step) => void) | undefined
  /**
   * Waits after so many conflicts in a row: with some jitter, so that those who met do not meet
   * again. Also before it is asked once more what has become of a write. Left out: nobody waits.
   */
  readonly pause?: ((conflicts: number) => Promise<void>) | undefined
  /**
   * Of the tasks that know the same, in this process: those that would meet wait for each other
   * ({@link taskTurns}), and who was faster is found out before the `pause`. Left out: they meet.
   */
  readonly turns?: TaskTurns | undefined
  /** After how many conflicts it gives up, a whole number from 0. Default 100. */
  readonly maxConflicts?: number | undefined
  /**
   * How often it asks what has become of a write that nobody knows of before it ends as
   * `unsettled`, a whole number from 1. Default 5.
   */
  readonly maxSettles?: number | undefined
  /**
   * After how many steps it is broken off, a whole number from 1: a task that makes no headway is a
   * mistake of that task. Default 100,000.
   */
  readonly maxSteps?: number | undefined
}

/**
 * How a task ended.
 *
 * - `done`: it has come to its end
 * - `failed`: the store refused something, or conflicts did not end. What was written stays: run
 *   the same task again, or one with the same request that knows what this one has sent (tasks of
 *   blocks do by their `KnownBlocks`)
 * - `unsettled`: it is not known what has become of a write. Run the **same task** again, with
 *   `unsettled`: it finds that out first
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

/** How many objects are asked for at a time. */
const PAGE = 500

/**
 * Carries a task out on a store: reads what it asks for, does what it plans, and after a conflict
 * shows it what is stored.
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
  const { maxConflicts = 100, maxSettles = 5, maxSteps = 100_000 } = options
  assertCanWrite(options.canWrite)
  assertLimit('maxConflicts', maxConflicts)
  assertLimit('maxSettles', maxSettles, 1)
  assertLimit('maxSteps', maxSteps, 1)
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
  readonly #turn: TaskTurn | undefined
  #requests = 0
  /** Of the task, and not of this run: it tells by them what was done of what it has planned. */
  #conflicts = 0

  constructor(task: Task<O>, store: Store, options: TaskLimits) {
    this.#task = task
    this.#store = store
    this.#options = options
    this.#turn = options.turns?.begin()
  }

  run(before: Unsettled | undefined): Promise<TaskResult<O>> {
    const ended = this.#run(before)
    return this.#turn === undefined ? ended : ended.finally(() => this.#turn?.pass())
  }

  async #run(before: Unsettled | undefined): Promise<TaskResult<O>> {
    const { now, onStep, pause, maxConflicts, maxSteps } = this.#options
    let unsettled = before
    // what is unsettled has met one at least
    this.#conflicts = before === undefined ? 0 : (before.conflicts ?? 1)
    const most = this.#conflicts + maxConflicts
    const isBusy = this.#turn && ((ref: ObjectRef) => this.#turn?.isBusy(ref) === true)
    for (let steps = 0; ; steps++) {
      if (unsettled !== undefined) {
        const failure = await this.#settle(unsettled)
        if (failure !== undefined) return this.#endUnsettled(failure, unsettled)
        unsettled = undefined
      }
      const step = this.#task.next({ nowMs: now(), conflicts: this.#conflicts, isBusy })
      onStep?.(step)
      if (steps >= maxSteps) {
        const stillBusy = [step.kind === 'write' ? step.plan.outcome.message : step.kind]
        throw ipamError('RUN_LIMIT_EXCEEDED', { limit: 'steps', max: maxSteps, stillBusy })
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
      if (this.#turn !== undefined && unsettled !== undefined && ended.failure.code !== 'STORE_OUTCOME_UNKNOWN') {
        // the tasks that wait need to know what is stored, and do not wait for the pause
        const failure = await this.#settle(unsettled)
        if (failure !== undefined) return this.#endUnsettled(failure, unsettled)
        // read again after the pause: another process may have written meanwhile, and the next
        // write would meet it for certain
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
      case 'turn': {
        await this.#turn?.wait(step.ref)
        return undefined
      }
      case 'write': {
        const { plan } = step
        this.#requests += plan.effects.filter(({ kind }) => kind !== 'event').length
        this.#turn?.writes(plan.effects.filter(({ kind }) => kind !== 'event').map(refOfEffect))
        const onChange = (change: Change) => this.#show(change, 'written')
        const { onEvent, canWrite } = this.#options
        const ended = await runPlan(plan, this.#store, { onChange, onEvent, canWrite })
        // where others were faster, those that wait go on when it is known how
        if (ended.kind !== 'conflict' || ended.failure.code === 'STORE_OUTCOME_UNKNOWN') this.#turn?.pass()
        if (ended.kind === 'done') return undefined
        const { effect, failure } = ended
        if (ended.kind === 'conflict') return { kind: 'conflict', failure, unsettled: { effect, failure } }
        return this.#goesOn(effect, failure) ? undefined : { kind: 'failed', failure }
      }
    }
  }

  /** Whether the task has another way where the store refuses a write. */
  #goesOn(effect: Effect, failure: StoreFailure): boolean {
    const { code } = failure
    // it was not sent, and nothing may be sent any more
    if (code === 'STORE_WRITE_WITHHELD') return false
    return this.#task.refused?.({ effect, code, message: describe(failure) }) === true
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
      refuse('task', 'listed(), where it lists', 'none')
    }
    this.#task.listed(query)
    return undefined
  }

  /** @returns why it could not be found out */
  async #settle(unsettled: Unsettled): Promise<StoreFailure | undefined> {
    const { maxSettles, pause, canWrite } = this.#options
    for (let attempt = 1; ; attempt++) {
      this.#requests++
      const settled = await settle(this.#store, unsettled, { canWrite })
      if (settled.ok) this.#show(settled.value.change, settled.value.source)
      this.#turn?.pass()
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
