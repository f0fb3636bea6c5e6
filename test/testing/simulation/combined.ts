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
  readonly #madeBy = new WeakMap<Plan, Planner>()

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
    if (plan !== undefined) this.#madeBy.set(plan, planner)
    return plan
  }

  /** Only the planner that has made a plan counts what it is about to write, as in a controller. */
  begin(plan: Plan): (isDone?: boolean) => readonly string[] {
    const planner = this.#madeBy.get(plan)
    const end = planner?.begin?.(plan)
    return (isDone) => (end?.(isDone) ?? []).map((key) => `${this.#planners.indexOf(planner!)} ${key}`)
  }

  refused(key: string, refusal: Refusal, time: PlanTime): Plan | undefined {
    const [planner, own] = this.#split(key)
    return planner.refused?.(own, refusal, time)
  }

  isAggregate(key: string): boolean {
    const [planner, own] = this.#split(key)
    return planner.isAggregate(own)
  }

  reset(): void {
    for (const planner of this.#planners) planner.reset()
  }

  #each(keys: (planner: Planner) => readonly string[]): readonly string[] {
    return this.#planners.flatMap((planner, index) => keys(planner).map((key) => `${index} ${key}`))
  }

  #split(key: string): readonly [Planner, string] {
    const space = key.indexOf(' ')
    return [this.#planners[Number(key.slice(0, space))] as Planner, key.slice(space + 1)]
  }
}
