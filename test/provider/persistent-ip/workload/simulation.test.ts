import { simulate } from 'ipam-kit/testing'
import { expect, test } from 'vitest'
import { persistentIPSystem } from '../../../testing/simulation/persistent-ip-system.js'

test('machines and a StatefulSet, with faults at every call', async () => {
  for (let seed = 1; seed <= 5; seed++) {
    const { problems } = await simulate({ system: persistentIPSystem(), seed, writers: 1 + (seed % 3), actions: 40 })
    expect(problems, `seed ${seed}`).toEqual([])
  }
})
