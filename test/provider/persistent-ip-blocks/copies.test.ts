import { ALL_FAULTS, simulate } from 'ipam-kit/testing'
import { expect, test } from 'vitest'
import { copiesSystem } from './copies-system.js'

const SEEDS = Number(process.env.SEEDS ?? 8)
const FIRST = Number(process.env.FIRST ?? 1)

test.each(['v4', 'both'] as const)('copies at once give an address once, in a network of %s', async (subnets) => {
  for (let seed = FIRST; seed < FIRST + SEEDS; seed++) {
    const writers = 1 + (seed % 3)
    const options = { mayWrite: 'all', actions: 30, concurrency: 1 + (seed % 2), faults: ALL_FAULTS } as const
    const { problems } = await simulate({ system: copiesSystem(subnets), seed, writers, ...options })
    expect(problems, `seed ${seed}`).toEqual([])
  }
})
