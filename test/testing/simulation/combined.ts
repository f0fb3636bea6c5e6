import type { Change, ObjectCache, Plan, Planner, PlanTime, Refusal, Selection } from 'ipam-kit/plan'
import type { Applied } from '../../../src/plan/object-cache.js'

/**
 * Several planners that run in one process on one cache, as one planner: each key has the place of
 * its planner before it.
 */
export class Combined implements Planner {
  readonly name = 'combined'
  readonly watches: readonly Selection[]
  readonly onSend?: NonNullable<Planner['onSend']>
  readonly onResult?: NonNullable<Planner['onResult']>
  readonly #planners: readonly Planner[]
  readonly #made = new WeakMap<Plan, { readonly planner: Planner; readonly plan: Plan }>()

  constructor(planners: readonly Planner[]) {
    this.#planners = planners
    this.watches = planners.flatMap(({ watches }) => watches)
    if (planners.every(({ onResult }) => onResult === undefined)) return
    this.onSend = (call, time) => {
      for (const planner of this.#planners) planner.onSend?.(call, time)
    }
    this.onResult = (answered) => this.#each((planner) => planner.onResult?.(answered) ?? [])
  }

  share(objects: ObjectCache): void {
    for (const planner of this.#planners) planner.share?.(objects)
  }

  wakes(applied: Applied): readonly string[] {
    return this.#each((planner) => planner.wakes?.(applied) ?? planner.observe(applied.change))
  }

  observe(change: Change): readonly string[] {
    return this.#each((planner) => planner.observe(change))
  }

  plan(key: string, time: PlanTime): Plan | undefined {
    const [planner, own] = this.#split(key)
    const plan = planner.plan(own, time)
    const placed = plan && this.#placed(planner, plan)
    if (placed !== undefined) this.#made.set(placed, { planner, plan: plan! })
    return placed
  }

  /** Only the planner that has made a plan counts what it is about to write, as in a controller. */
  begin(plan: Plan): (isDone?: boolean) => readonly string[] {
    const made = this.#made.get(plan)
    const end = made?.planner.begin?.(made.plan)
    return (isDone) => (made === undefined ? [] : this.#keysOf(made.planner, end?.(isDone) ?? []))
  }

  refused(key: string, refusal: Refusal, time: PlanTime): Plan | undefined {
    const [planner, own] = this.#split(key)
    const plan = planner.refused?.(own, refusal, time)
    return plan && this.#placed(planner, plan)
  }

  isAggregate(key: string): boolean {
    const [planner, own] = this.#split(key)
    return planner.isAggregate(own)
  }

  reset(): void {
    for (const planner of this.#planners) planner.reset()
  }

  #each(keys: (planner: Planner) => readonly string[]): readonly string[] {
    return this.#planners.flatMap((planner) => this.#keysOf(planner, keys(planner)))
  }

  /** A plan of a planner, with the place of the planner before each key that it wakes. */
  #placed(planner: Planner, plan: Plan): Plan {
    return plan.wakes === undefined ? plan : { ...plan, wakes: this.#keysOf(planner, plan.wakes) }
  }

  #keysOf(planner: Planner, keys: readonly string[]): readonly string[] {
    const index = this.#planners.indexOf(planner)
    return keys.map((key) => `${index} ${key}`)
  }

  #split(key: string): readonly [Planner, string] {
    const space = key.indexOf(' ')
    return [this.#planners[Number(key.slice(0, space))] as Planner, key.slice(space + 1)]
  }
}
