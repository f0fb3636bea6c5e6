import type { KubeObject } from '../../../crd/meta/object.js'
import { IPPool } from '../../../crd/whereabouts/index.js'
import type { Change, Outcome, Step, Task, TaskTime } from '../../../plan/index.js'
import type { TaskQuery, TaskRefusal } from '../../../plan/task.js'
import { type UpgradePhase, upgradePhase } from '../../whereabouts/tasks/objects.js'

/** The work on one side after the other: each part is a task, whose outcome it gets. */
export type Parts<O extends Outcome> = Generator<Task, O, Outcome>

/** One part of {@link Parts}. */
export function* part<O extends Outcome>(task: Task<O>): Generator<Task, O, Outcome> {
  return (yield task) as O
}

/** The pools of whereabouts that the parts have read or written. */
export class PoolPhases {
  readonly #pools = new Map<string, KubeObject>()

  observe(change: Change): void {
    if (change.kind === 'absent') this.#pools.delete(change.ref.name)
    else if (change.object.apiVersion === IPPool.info.apiVersion && change.object.kind === IPPool.info.kind) {
      this.#pools.set(change.object.metadata.name, change.object)
    }
  }

  /** The phase of each pool that exists. */
  get all(): readonly (UpgradePhase | 'unknown' | undefined)[] {
    return [...this.#pools.values()].map(upgradePhase)
  }

  /** Whether a pool has a phase. */
  get isUpgraded(): boolean {
    return this.all.some((phase) => phase !== undefined)
  }
}

/** A task that consists of parts. */
export class PartsTask<O extends Outcome> implements Task<O> {
  readonly #phases = new PoolPhases()
  readonly #parts: Parts<O>
  #part: Task | undefined
  #outcome: O | undefined

  constructor(parts: (phases: PoolPhases) => Parts<O>) {
    this.#parts = parts(this.#phases)
    this.#continue(this.#parts.next())
  }

  observe(change: Change): void {
    this.#phases.observe(change)
    this.#part?.observe(change)
  }

  listed(query: TaskQuery): void {
    this.#part?.listed?.(query)
  }

  refused(refusal: TaskRefusal): boolean {
    return this.#part?.refused?.(refusal) === true
  }

  next(time: TaskTime): Step<O> {
    while (this.#part !== undefined) {
      const step = this.#part.next(time)
      if (step.kind !== 'done') return step
      this.#continue(this.#parts.next(step.outcome))
    }
    return { kind: 'done', outcome: this.#outcome as O }
  }

  #continue({ done, value }: IteratorResult<Task, O>): void {
    this.#part = done === true ? undefined : value
    if (done === true) this.#outcome = value
  }
}
