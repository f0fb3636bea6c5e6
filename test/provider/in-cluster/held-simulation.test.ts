import { simulate } from 'ipam-kit/testing'
import { expect, test } from 'vitest'
import { inClusterSystem } from '../../../src/testing/simulation/in-cluster-system.js'
import { share } from '../../setup/depth.js'
import { inClusterBlocksSystem } from '../../testing/simulation/in-cluster-blocks-system.js'

const systems = {
  objects: () => inClusterSystem({ consumers: true }),
  'objects, with a sweep': () => inClusterSystem({ consumers: true, sweepAfterSeconds: 1 }),
  blocks: () => inClusterBlocksSystem({ consumers: true }),
} as const

test.each(Object.keys(systems) as (keyof typeof systems)[])(
  '%s: no address is taken from a claim that its consumer holds, whatever fails meanwhile',
  async (name) => {
    const found: { [seed: number]: readonly string[] } = {}
    let faults = 0
    const mayWrite = name === 'blocks' ? 'all' : 'one'
    for (let seed = 1; seed <= share(15, 5); seed++) {
      const result = await simulate({ system: systems[name](), seed, writers: 2, mayWrite, actions: 40 })
      faults += result.faults
      if (result.problems.length > 0) found[seed] = result.problems
    }
    expect(found).toEqual({})
    expect(faults).toBeGreaterThan(0)
  },
)
