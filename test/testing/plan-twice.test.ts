import type { Plan } from 'ipam-kit/plan'
import { inCluster } from 'ipam-kit/provider/in-cluster'
import { inClusterSystem, simulate } from 'ipam-kit/testing'
import { describe, expect, test } from 'vitest'
import { systems } from '../../scripts/simulate-systems.js'
import { planTwice } from '../../src/testing/simulation/plan-twice.js'
import { gcSystem } from '../provider/gc/system.js'
import { share } from '../setup/depth.js'

// a simulation makes each plan twice, carries out the second one, and reports a difference
describe('plans each key twice in one state, and the plans are equal', () => {
  const quick = Object.entries(systems).filter(([name]) => !name.startsWith('slow'))

  test.each(quick)('%s', async (_, { run }) => {
    for (let seed = 1; seed <= share(30); seed++) expect((await run(seed, undefined)).problems).toEqual([])
  })

  test('in-cluster with all options', async () => {
    const system = {
      ...inClusterSystem(),
      planner: () =>
        inCluster({
          random: { seed: 7 },
          sticky: {},
          overlaps: 'avoid',
          poolConditions: true,
          requestedAddress: {},
          preallocations: {},
        }),
    }
    for (let seed = 1; seed <= share(30); seed++) expect((await simulate({ system, seed })).problems).toEqual([])
  })

  test('gc', async () => {
    const system = gcSystem({ oneWriter: true })
    for (let seed = 1; seed <= share(30); seed++) expect((await simulate({ system, seed })).problems).toEqual([])
  })
})

describe('a planner whose plans depend on how often they are made', () => {
  const found = (plans: readonly unknown[]) => {
    const [problems, left] = [[] as string[], [...plans]]
    const planner = { ...inCluster(), plan: () => left.shift() as Plan }
    planTwice(planner, (problem) => problems.push(problem)).plan('a', { nowMs: 0 })
    return problems
  }
  const outcome = { kind: 'ready', message: '' }

  test.each([
    [{ outcome, effects: [] }, { outcome, effects: [{ kind: 'event' }] }, /differs at effects\.0: /],
    [{ outcome, effects: [] }, undefined, /differs at : /],
    [
      { outcome, effects: [], requeueAfterSeconds: 1 },
      { outcome, effects: [] },
      /at requeueAfterSeconds: 1 and undefined/,
    ],
    [
      { outcome: { at: new Map([['a', 1]]) } },
      { outcome: { at: new Map([['a', 2]]) } },
      /at outcome\.at\.0\.1: 1 and 2/,
    ],
  ])('is reported: %o and %o', (first, second, problem) => {
    expect(found([first, second])).toEqual([expect.stringMatching(problem)])
  })

  test('is not reported if the plans are equal', () => {
    expect(
      found([
        { outcome, effects: [] },
        { effects: [], outcome: { ...outcome } },
      ]),
    ).toEqual([])
  })
})
