import type { Planner } from '../../plan/index.js'

/**
 * Has a planner plan each key twice in one state, and carries out the second plan. `plan` is pure:
 * what a plan is made for is noted when it is carried out.
 *
 * @param failed receives the first difference between the two plans
 */
export function planTwice(planner: Planner, failed: (problem: string) => void): Planner {
  const plan = planner.plan.bind(planner)
  planner.plan = (key, time) => {
    const first = plan(key, time)
    const second = plan(key, time)
    const found = differenceOf(first, second, [])
    if (found !== undefined) failed(`${planner.name} plans ${key} twice in one state, and differs ${found}`)
    return second
  }
  return planner
}

/** Where two values differ, in words. `undefined`: they are equal. */
function differenceOf(left: unknown, right: unknown, path: readonly string[]): string | undefined {
  if (Object.is(left, right)) return undefined
  const [one, other] = [membersOf(left), membersOf(right)]
  if (one === undefined || other === undefined) {
    return `at ${path.join('.')}: ${JSON.stringify(left)} and ${JSON.stringify(right)}`
  }
  for (const name of new Set([...Object.keys(one), ...Object.keys(other)])) {
    const found = differenceOf(one[name], other[name], [...path, name])
    if (found !== undefined) return found
  }
  return undefined
}

/** The members of an object or a list, or the items of a set or a map. */
function membersOf(value: unknown): { readonly [name: string]: unknown } | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  return { ...(Symbol.iterator in value ? [...(value as Iterable<unknown>)] : value) }
}
