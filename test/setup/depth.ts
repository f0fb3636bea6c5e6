import * as fc from 'fast-check'
import { inject } from 'vitest'

declare module 'vitest' {
  interface ProvidedContext {
    readonly isDeep: boolean
  }
}

/**
 * Whether this is `npm run test:deep`, which runs every property 100 times, every schedule of a
 * simulation and every comparison. `npm test` runs a share of each. This is the one place where a
 * test learns how deep it has to go.
 */
export const isDeep: boolean = inject('isDeep')

/** How often a property is run when nothing else is said. FC_NUM_RUNS says something else. */
export const defaultRuns = isDeep ? 100 : 20

/** The number of runs of a property that needs `factor` times as many as others. */
export function runs(factor: number): number {
  return Math.ceil(factor * (fc.readConfigureGlobal().numRuns ?? defaultRuns))
}

/**
 * The number of schedules, steps or rounds: `count` of them when the suite runs deep, otherwise one
 * of `parts`.
 */
export function share(count: number, parts = 10): number {
  return isDeep ? count : Math.ceil(count / parts)
}

/** All cases when the suite runs deep, otherwise the first of each `parts` in a row. */
export function some<T>(cases: readonly T[], parts = 4): readonly T[] {
  return isDeep ? cases : cases.filter((_, at) => at % parts === 0)
}

/**
 * The places of 1 to `count` at which a run is cut: all of them when the suite runs deep, otherwise
 * every third one, the first and the last among them.
 */
export function cuts(count: number): number[] {
  const all = Array.from({ length: count }, (_, i) => i + 1)
  return isDeep ? all : all.filter((at) => at % 3 === 1 || at === count)
}
