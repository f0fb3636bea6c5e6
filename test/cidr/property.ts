import fc from 'fast-check'
import { test } from 'vitest'
import { runs } from '../setup/depth.js'

/**
 * A test of a property, as `test.prop` of @fast-check/vitest without the seconds that its import
 * takes.
 *
 * @param factor how many times as many runs as usual: more for cheap properties over a wide input
 */
export function property<Ts extends [unknown, ...unknown[]]>(
  arbitraries: { [K in keyof Ts]: fc.Arbitrary<Ts[K]> },
  factor = 1,
): (name: string, check: (...values: Ts) => void) => void {
  const numRuns = runs(factor)
  return (name, check) => test(name, () => fc.assert(fc.property(...arbitraries, check), { numRuns }))
}
