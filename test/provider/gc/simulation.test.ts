import { simulate } from 'ipam-kit/testing'
import { expect, test } from 'vitest'
import { share } from '../../setup/depth.js'
import { gcSystem } from './system.js'

/** The seeds from 1 that go wrong, with what was found. */
async function failing(seeds: number, writers: number, mayWrite: 'one' | 'all') {
  const found = new Map<number, readonly string[]>()
  let faults = 0
  for (let seed = 1; seed <= seeds; seed++) {
    const system = gcSystem({ oneWriter: mayWrite === 'one' })
    const result = await simulate({ system, seed, writers, mayWrite, actions: 25 })
    faults += result.faults
    if (result.problems.length > 0) found.set(seed, result.problems)
  }
  expect(faults).toBeGreaterThan(seeds)
  return found
}

test.each([2, 4])(
  '%i collectors of whom one writes: no dependent of an owner that lives is lost, and all others are gone',
  async (writers) => {
    expect(await failing(share(150), writers, 'one')).toEqual(new Map())
  },
)

test.each([2, 4])('%i collectors that all write at once', async (writers) => {
  expect(await failing(share(150), writers, 'all')).toEqual(new Map())
})
