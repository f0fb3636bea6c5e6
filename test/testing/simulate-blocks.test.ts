import { ALL_FAULTS, simulate } from 'ipam-kit/testing'
import { describe, expect, test } from 'vitest'
import { type BlocksSimulationOptions, simulateBlocks } from '../../src/testing/simulation/simulate-blocks.js'
import { share } from '../setup/depth.js'
import { blockClaimsSystem } from './simulation/block-claims-system.js'

/** What goes wrong with seeds from 1. */
async function problems(seeds: number, options: Partial<BlocksSimulationOptions> = {}): Promise<readonly string[]> {
  const found: string[] = []
  for (let seed = 1; seed <= seeds; seed++) {
    const result = await simulateBlocks({ seed, ...options })
    found.push(...result.problems.map((problem) => `${seed}: ${problem}`))
  }
  return found
}

describe('writers of blocks', () => {
  test.each([2, 5, 16])('give no address twice and lose none: %i of them', async (writers) => {
    expect(await problems(share(writers === 16 ? 8 : 25, 8), { writers })).toEqual([])
  })

  test('meet every kind of fault', async () => {
    let schedule = ''
    let faults = 0
    for (let seed = 1; seed <= share(25, 4); seed++) {
      const result = await simulateBlocks({ seed, faultProbability: 0.3 })
      expect(result.problems).toEqual([])
      schedule += result.schedule.join('\n')
      faults += result.faults
    }
    expect(faults).toBeGreaterThan(12 * share(25, 4))
    for (const fault of ALL_FAULTS) expect(schedule).toContain(`  ${fault}`)
  })

  test('give addresses twice if they write without conditions', async () => {
    const found = await problems(share(25, 4), { dropsConditions: true, faults: [] })
    expect(found.length).toBeGreaterThan(share(25, 4) / 9)
    expect(found.join('\n')).toMatch(/lost what it had|was told of/)
  })

  test('do the same for the same seed', async () => {
    const [one, two] = [await simulateBlocks({ seed: 7 }), await simulateBlocks({ seed: 7 })]
    expect(one).toEqual(two)
  })

  test.each([
    [{ seed: 1.5 }, 'seed'],
    [{ seed: 1, writers: 17 }, 'writers'],
    [{ seed: 1, faultProbability: 2 }, 'faultProbability'],
  ])('refuse %j', async (options, argument) => {
    await expect(simulateBlocks(options)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', context: { argument } })
  })
})

describe('claims on blocks', () => {
  test.each([2, 4])('are Bound to no address twice, with %i providers that all serve them', async (writers) => {
    for (let seed = 1; seed <= share(40, 20); seed++) {
      const concurrency = 2 ** (seed % 3)
      const options = { seed, writers, concurrency, mayWrite: 'all', actions: 24, maxTurns: 60_000 } as const
      expect((await simulate({ system: blockClaimsSystem(), ...options })).problems).toEqual([])
    }
  })
})
