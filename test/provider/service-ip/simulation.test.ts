import { simulate } from 'ipam-kit/testing'
import { expect, test } from 'vitest'
import { share } from '../../setup/depth.js'
import { serviceIPSystem } from '../../testing/simulation/service-ip-system.js'

/** The seeds from 1 that go wrong, with what was found. */
async function failing(seeds: number, writers: number, mayWrite: 'one' | 'all') {
  const found = new Map<number, readonly string[]>()
  let faults = 0
  for (let seed = 1; seed <= seeds; seed++) {
    const result = await simulate({
      system: serviceIPSystem(),
      seed,
      writers,
      mayWrite,
      actions: 25,
      concurrency: 1 + (seed % 3),
    })
    faults += result.faults
    if (result.problems.length > 0) found.set(seed, result.problems)
  }
  expect(faults).toBeGreaterThan(seeds)
  return found
}

test.each([2, 3])(
  '%i writers that all write at once: no address twice, none lost, no range ends too early',
  async (writers) => {
    expect(await failing(share(200, 25), writers, 'all')).toEqual(new Map())
  },
)

test('writers of whom one writes at a time', async () => {
  expect(await failing(share(100, 25), 2, 'one')).toEqual(new Map())
})
