import type { KindInfo } from 'ipam-kit/crd/meta'
import type { Change, ObjectCache, Plan, Planner, PlanTime, Refusal } from 'ipam-kit/plan'
import { SimulatedCrash } from 'ipam-kit/testing'
import type { Applied } from '../../../../src/plan/object-cache.js'

const RESTART = 'restart'

/**
 * A planner that is on or off, as the program that runs it was started. When an operator changes
 * that, its process ends, and begins again with the other one.
 */
export class Switched implements Planner {
  readonly name: string
  readonly watches: Planner['watches']
  readonly onSend?: NonNullable<Planner['onSend']>
  readonly onResult?: NonNullable<Planner['onResult']>
  readonly #planners: { readonly on: Planner; readonly off: Planner }
  readonly #isWanted: () => boolean
  readonly #kind: KindInfo
  #isOn: boolean
  #active: Planner
  /** Whether a process is on: as it has begun to observe, not before. */
  isOn: boolean

  constructor(planners: { readonly on: Planner; readonly off: Planner }, kind: KindInfo, isWanted: () => boolean) {
    this.#planners = planners
    this.#isWanted = isWanted
    this.#kind = kind
    this.name = planners.on.name
    this.watches = [...planners.on.watches, kind]
    this.#isOn = isWanted()
    this.isOn = this.#isOn
    this.#active = this.#isOn ? planners.on : planners.off
    if (planners.on.onResult === undefined) return
    this.onSend = (call, time) => this.#active.onSend?.(call, time)
    this.onResult = (answered) => this.#active.onResult?.(answered) ?? []
  }

  get active(): Planner {
    return this.#active
  }

  share(objects: ObjectCache): void {
    this.#active.share?.(objects)
  }

  wakes(applied: Applied): readonly string[] {
    return [...this.#begin(applied.change), ...(this.#active.wakes?.(applied) ?? [])]
  }

  observe(change: Change): readonly string[] {
    return [...this.#begin(change), ...this.#active.observe(change)]
  }

  plan(key: string, time: PlanTime): Plan | undefined {
    if (key !== RESTART) return this.#active.plan(key, time)
    if (this.#isWanted() !== this.#isOn) throw new SimulatedCrash('the process is started with another setting')
    return undefined
  }

  begin(plan: Plan): (isDone?: boolean) => readonly string[] {
    return this.#active.begin?.(plan) ?? (() => [])
  }

  refused(key: string, refusal: Refusal, time: PlanTime): Plan | undefined {
    return this.#active.refused?.(key, refusal, time)
  }

  isAggregate(key: string): boolean {
    return key !== RESTART && this.#active.isAggregate(key)
  }

  reset(): void {
    this.#planners.on.reset()
    this.#planners.off.reset()
    this.#isOn = this.#isWanted()
    this.#active = this.#isOn ? this.#planners.on : this.#planners.off
  }

  #begin(change: Change): readonly string[] {
    this.isOn = this.#isOn
    const { kind } = change.kind === 'present' ? change.object : change.ref
    return kind === this.#kind.kind ? [RESTART] : []
  }
}
