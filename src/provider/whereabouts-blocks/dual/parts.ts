import { refOf } from '../../../crd/meta/object.js'
import { IPPool } from '../../../crd/whereabouts/index.js'
import type { Change, Outcome, Step, Task, TaskTime } from '../../../plan/index.js'
import type { TaskQuery, TaskRefusal } from '../../../plan/task.js'
import { upgradePhase } from '../../whereabouts/tasks/objects.js'

/** The work on one side after the other: each part is a task, whose outcome it gets. */
export type Parts<O extends Outcome> = Generator<Task, O, Outcome>

/** One part of {@link Parts}. */
export function* part<O extends Outcome>(task: Task<O>): Generator<Task, O, Outcome> {
  return (yield task) as O
}

/** The phases of the pools of whereabouts that the parts have read or written, by name. */
export class PoolPhases {
  readonly #phases = new Map<string, ReturnType<typeof upgradePhase>>()

  observe(change: Change): void {
    const ref = change.kind === 'present' ? refOf(change.object) : change.ref
    if (ref.apiVersion !== IPPool.info.apiVersion || ref.kind !== IPPool.info.kind) return
    if (change.kind === 'present') this.#phases.set(ref.name, upgradePhase(change.object))
    else this.#phases.delete(ref.name)
  }

  /** The pools that have a phase. */
  get upgraded(): readonly string[] {
    return [...this.#phases].flatMap(([name, phase]) => (phase === undefined ? [] : [name]))
  }

  /** Whether the blocks are the truth for a pool. */
  isOnBlocks(name: string): boolean {
    const phase = this.#phases.get(name)
    return phase === 'blocks' || phase === 'finished'
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
