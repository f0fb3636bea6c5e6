import type { Plan, Planner } from 'ipam-kit/plan'
import { inCluster } from 'ipam-kit/provider/in-cluster'
import { ALL_FAULTS, Dice, type SimulatedSystem, simulate } from 'ipam-kit/testing'
import { describe, expect, test } from 'vitest'
import { inClusterSystem } from '../../src/testing/simulation/in-cluster-system.js'
import type { SimulationOptions } from '../../src/testing/simulation/simulate.js'
import { share } from '../setup/depth.js'

/** The seeds from 1 that go wrong, with what was found. */
async function failing(
  seeds: number,
  options: Partial<SimulationOptions> = {},
): Promise<Map<number, readonly string[]>> {
  const found = new Map<number, readonly string[]>()
  for (let seed = 1; seed <= seeds; seed++) {
    const { problems } = await simulate({ system: inClusterSystem(), seed, ...options })
    if (problems.length > 0) found.set(seed, problems)
  }
  return found
}

/** What is found by the first of the seeds from 1 that goes wrong. */
async function firstFailing(seeds: number, options: Partial<SimulationOptions>): Promise<readonly string[]> {
  for (let seed = 1; seed <= seeds; seed++) {
    const { problems } = await simulate({ system: inClusterSystem(), seed, ...options })
    if (problems.length > 0) return problems
  }
  return []
}

/** The in-cluster system with a planner that does something else. */
function systemWith(own: (planner: Planner) => Partial<Planner>): SimulatedSystem {
  const planner = () => {
    const real = inCluster()
    return {
      name: real.name,
      watches: real.watches,
      observe: real.observe.bind(real),
      plan: real.plan.bind(real),
      isAggregate: real.isAggregate.bind(real),
      reset: real.reset.bind(real),
      ...own(real),
    }
  }
  return { ...inClusterSystem(), planner }
}

describe('the in-cluster provider', () => {
  test.each([2, 3, 5, 8])(
    'gives no address twice and loses none, with %i writers of whom one rules',
    async (writers) => {
      expect(await failing(share(60, 20), { writers })).toEqual(new Map())
    },
  )

  test.each([2, 4, 8])('gives no address twice and loses none, with %i plans at a time', async (concurrency) => {
    expect(await failing(share(100, 20), { concurrency, actions: 20 })).toEqual(new Map())
  })

  test('gives an address twice with several plans at a time if what they are about to write is not reserved', async () => {
    const system = systemWith(() => ({}))
    const found = await firstFailing(60, { system, writers: 1, concurrency: 4, faults: [] })
    expect(found.join('\n')).toMatch(/was given to 2 claims/)
  })

  test('gives no address twice when writes arrive after they were given up', async () => {
    expect(
      await failing(share(120, 20), { writers: 2, faults: ['late-call', 'down'], faultProbability: 0.25 }),
    ).toEqual(new Map())
  })

  test('gives an address twice if what was not found counts as not written, and never if it is settled', async () => {
    const options = { writers: 2, faults: ['late-call', 'down'], faultProbability: 0.5, actions: 40 } as const
    const found = await firstFailing(240, { ...options, settlesByReading: true })
    expect(found.join('\n')).toMatch(/was given to 2 claims/)
    expect(await failing(share(240, 20), options)).toEqual(new Map())
  })

  describe('with writers that stand still between their check that they may write and the write', () => {
    const options = { writers: 3, actions: 30, faults: ['stand-still'], faultProbability: 0.3 } as const

    test.each([1, 2, 4])(
      'binds no two claims to one address, and repairs the rest, with %i plans at a time',
      async (concurrency) => {
        const system = inClusterSystem({ standing: true })
        expect(await failing(share(120, 20), { ...options, system, concurrency })).toEqual(new Map())
        const all = [...ALL_FAULTS, 'stand-still'] as const
        expect(await failing(share(120, 20), { system, concurrency, actions: 20, faults: all })).toEqual(new Map())
      },
    )

    test('has two objects with one address for a while', async () => {
      const system = inClusterSystem({ sweepAfterSeconds: 1 })
      const found = await firstFailing(240, { ...options, system, concurrency: 4 })
      expect(found.join('\n')).toMatch(/was given to 2 claims/)
    })
  })

  // the limit of address objects as a ledger: nothing in the API keeps two of them from having one
  // address
  test('gives an address twice if it is not shown its own writes, and never if it is', async () => {
    const options = { writers: 1, faults: [] }
    const found = await firstFailing(60, { ...options, showsOwnWrites: false })
    expect(found.join('\n')).toMatch(/was given to 2 claims/)
    expect(await failing(share(60), options)).toEqual(new Map())
  })

  test('gives an address twice if two write at once', async () => {
    const found = await firstFailing(80, { writers: 3, mayWrite: 'all', faults: [] })
    expect(found.join('\n')).toMatch(/was given to 2 claims/)
  })
})

describe('simulate', () => {
  test('runs the same for the same seed, and otherwise for another', async () => {
    const run = (seed: number) => simulate({ system: inClusterSystem(), seed, writers: 3 })
    const first = await run(7)
    expect(await run(7)).toEqual(first)
    expect((await run(8)).schedule).not.toEqual(first.schedule)
  })

  test('has every fault, and none when there should be none', async () => {
    const schedules: string[] = []
    for (let seed = 1; seed <= 40; seed++) {
      schedules.push(...(await simulate({ system: inClusterSystem(), seed, writers: 2, actions: 20 })).schedule)
    }
    for (const fault of ALL_FAULTS)
      expect(
        schedules.some((line) => line.includes(`  ${fault}`)),
        fault,
      ).toBe(true)
    const calm = await simulate({ system: inClusterSystem(), seed: 1, faults: [] })
    expect(calm.faults).toBe(0)
    const sure = await simulate({ system: inClusterSystem(), seed: 1, faults: ['conflict'], faultProbability: 1 })
    expect(sure.faults).toBeGreaterThan(0)
    expect(sure.problems).toEqual([])
  })

  test('lets writes arrive soon in some simulations, and long after others in some', async () => {
    const waits: number[] = []
    const seeds = share(40, 2)
    for (let seed = 1; seed <= seeds; seed++) {
      const options = { seed, faults: ['late-call'], faultProbability: 0.3, actions: 40 } as const
      const { schedule } = await simulate({ system: inClusterSystem(), ...options })
      const sent: number[] = []
      let turns = 0
      let late = 0
      schedule.forEach((line, at) => {
        if (line.includes('  late-call')) sent.push(at)
        if (!line.includes('  late: ')) return
        turns += at - (sent[late] ?? at)
        late++
      })
      if (late > 0) waits.push(turns / late)
    }
    expect(waits.filter((lines) => lines < 8).length).toBeGreaterThan(seeds / 8)
    expect(waits.filter((lines) => lines > 10).length).toBeGreaterThan(seeds / 8)
  })

  test('reports a planner that throws', async () => {
    const plan = (): Plan => {
      throw new TypeError('broken')
    }
    const { problems } = await simulate({ system: systemWith(() => ({ plan })), seed: 1 })
    expect(problems).toEqual([expect.stringMatching(/^writer \d has thrown TypeError: broken/)])
  })

  test('reports a planner that does nothing', async () => {
    const plan = (): Plan => ({ outcome: { kind: 'idle', message: '' }, effects: [] })
    const { problems } = await simulate({ system: systemWith(() => ({ plan })), seed: 1 })
    expect(problems).toEqual([expect.stringMatching(/^at rest: /)])
  })

  test('reports a system that is never quiet', async () => {
    const restless = systemWith((real) => ({
      plan: (key, time) => {
        const plan = real.plan(key, time)
        if (plan === undefined || !key.includes('pool-a')) return plan
        const patch = { metadata: { annotations: { at: String(time.nowMs) } } }
        const ref = {
          apiVersion: 'ipam.cluster.x-k8s.io/v1alpha2',
          kind: 'InClusterIPPool',
          namespace: 'default',
          name: 'pool-a',
        }
        return { ...plan, effects: [{ kind: 'patch', ref, patch, if: {}, why: 'restless' }] }
      },
    }))
    const { problems } = await simulate({ system: restless, seed: 1, maxTurns: 2000 })
    expect(problems).toEqual(['still not quiet after 2000 turns'])
  })

  test('waits in its own time for plans that want to wait', async () => {
    let asked = 0
    const patient = systemWith((real) => ({
      plan: (key, time) => {
        const plan = real.plan(key, time)
        if (plan === undefined || !key.includes('pool-a') || asked++ > 3) return plan
        return { outcome: plan.outcome, effects: [], requeueAfterSeconds: 3600 }
      },
    }))
    const { problems } = await simulate({ system: patient, seed: 1, faults: [] })
    expect(problems).toEqual([])
    expect(asked).toBeGreaterThan(4)
  })

  test.each([
    { seed: 0.5 },
    { seed: Number.NaN },
    { seed: 1, writers: 0 },
    { seed: 1, writers: 65 },
    { seed: 1, faultProbability: 2 },
    { seed: 1, faults: ['late_call'] },
    { seed: 1, faults: 'all' },
    { seed: 1, mayWrite: 'two' },
    { seed: 1, actions: -1 },
    { seed: 1, actions: Number.NaN },
    { seed: 1, maxTurns: Number.NaN },
  ])('refuses %j', async (options) => {
    const refused = simulate({ system: inClusterSystem(), ...options } as SimulationOptions)
    await expect(refused).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
  })
})

test('dice are fair enough, and the same for the same seed', () => {
  const [one, two] = [new Dice(5), new Dice(5)]
  const draws = Array.from({ length: 6000 }, () => one.below(6))
  expect(Array.from({ length: 6000 }, () => two.below(6))).toEqual(draws)
  for (let side = 0; side < 6; side++) {
    const count = draws.filter((draw) => draw === side).length
    expect(count).toBeGreaterThan(850)
    expect(count).toBeLessThan(1150)
  }
})
