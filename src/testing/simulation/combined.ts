import { kindKey } from '../../crd/meta/object.js'
import {
  type AnyResult,
  type Applied,
  type Change,
  ObjectCache,
  type Plan,
  type Planner,
  type PlanTime,
  type Selection,
} from '../../plan/index.js'

/** Several planners that run in one process on one cache, as one planner: each key has the place of its planner before it. */
export class Combined implements Planner {
  readonly name = 'combined'
  readonly watches: readonly Selection[]
  readonly #planners: readonly Planner[]
  /** The keys that wait because of what a task has found out: told with the result of its call. */
  readonly #announced = new Set<string>()
  readonly #objects = new ObjectCache({
    onAnnounced: (applied) => {
      for (const key of this.#wake(applied)) this.#announced.add(key)
    },
  })

  constructor(planners: readonly Planner[]) {
    this.#planners = planners
    this.#share()
    const kinds = new Map(planners.flatMap(({ watches }) => watches.map((kind) => [kindKey(kind), kind])))
    this.watches = [...kinds.values()]
  }

  observe(change: Change): readonly string[] {
    return this.#wake(this.#objects.apply(change))
  }

  onResult(answered: AnyResult): readonly string[] {
    const keys = new Set([...this.#announced, ...this.#each((planner) => planner.onResult?.(answered) ?? [])])
    this.#announced.clear()
    return [...keys]
  }

  plan(key: string, time: PlanTime): Plan | undefined {
    const [planner, own] = this.#split(key)
    return planner.plan(own, time)
  }

  reserve(plan: Plan): () => readonly string[] {
    const ends = this.#planners.map((planner) => planner.reserve?.(plan))
    return () => ends.flatMap((end, index) => (end?.() ?? []).map((key) => `${index} ${key}`))
  }

  isAggregate(key: string): boolean {
    const [planner, own] = this.#split(key)
    return planner.isAggregate(own)
  }

  reset(): void {
    for (const planner of this.#planners) planner.reset()
    this.#objects.clear()
    this.#announced.clear()
    this.#share()
  }

  #share(): void {
    for (const planner of this.#planners) planner.share?.(this.#objects)
  }

  #wake(applied: Applied): readonly string[] {
    return this.#each((planner) => planner.wakes?.(applied) ?? planner.observe(applied.change))
  }

  #each(keys: (planner: Planner) => readonly string[]): readonly string[] {
    return this.#planners.flatMap((planner, index) => keys(planner).map((key) => `${index} ${key}`))
  }

  #split(key: string): readonly [Planner, string] {
    const space = key.indexOf(' ')
    return [this.#planners[Number(key.slice(0, space))] as Planner, key.slice(space + 1)]
  }
}
