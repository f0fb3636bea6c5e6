import type { Store } from 'ipam-kit/store'
import { crashingStore, SimulatedCrash } from 'ipam-kit/testing'
import { describe, expect, test } from 'vitest'
import type { CrashingStore, CrashPoint } from '../../../src/testing/crashing-store.js'
import { cuts } from '../../setup/depth.js'
import { claim, claimRef, cluster, clusterRef, pool, poolOf, poolRef, World } from './world.js'

/**
 * The life of some claims in stages. In each stage the world changes from outside, then the
 * provider runs until nothing is left to do, either in one go or cut off at some write and started
 * again.
 */
const stages: readonly ((world: World) => Promise<void>)[] = [
  async (world) => {
    const prefixPool = { kind: 'InClusterPrefixPool', name: 'prefixes' }
    await world.create(pool(['10.0.0.0/29'], { gateway: '10.0.0.1', excludedAddresses: ['10.0.0.4'], prefix: 29 }))
    await world.create(poolOf('InClusterPrefixPool', { prefixes: ['fd00::/63'] }, 'prefixes'), cluster('c1'))
    await world.create(claim('a'), claim('b', { clusterName: 'c1' }), claim('c'), claim('d'), claim('e'), claim('f'))
    await world.create(claim('p', { poolRef: prefixPool }), claim('q', { poolRef: prefixPool }))
    await world.create(claim('lost', { poolRef: { name: 'no-such-pool' } }))
  },
  async (world) => {
    await world.delete('claim', 'a')
    await world.delete('claim', 'e')
    await world.delete('claim', 'p')
  },
  async (world) => {
    await world.patch(clusterRef('c1'), { spec: { paused: true } })
    await world.patch(poolRef(), { spec: { addresses: ['10.0.0.3-10.0.0.6'] } })
    await world.delete('claim', 'b')
    await world.create(claim('a'))
  },
  async (world) => {
    await world.patch(clusterRef('c1'), { spec: { paused: null } })
    await world.patch(claimRef('c'), { metadata: { finalizers: null } })
  },
  async (world) => {
    for (const it of await world.claims()) {
      if (it.metadata.deletionTimestamp === undefined) await world.delete('claim', it.metadata.name)
    }
    await world.delete('pool', 'pool')
  },
]

/** Runs stage by stage; `cut` may put a failing store in front of the run of each. */
async function live(cut: (stage: number, store: Store) => Store): Promise<{ states: unknown[]; crashes: number }> {
  const world = new World()
  const states: unknown[] = []
  let crashes = 0
  for (const [index, stage] of stages.entries()) {
    await stage(world)
    try {
      await world.run(cut(index, world.store))
    } catch (error) {
      if (!(error instanceof SimulatedCrash)) throw error
      crashes++
    }
    await world.run()
    states.push(await world.state())
  }
  return { states, crashes }
}

async function writesOf(stage: number): Promise<number> {
  const counting: CrashingStore[] = []
  await live((index, store) => {
    if (index !== stage) return store
    counting.push(crashingStore(store, Number.POSITIVE_INFINITY, 'before'))
    return counting[0] as CrashingStore
  })
  return counting[0]?.writes ?? 0
}

describe('a run that is cut off at any single write, and started again, ends in the same state', async () => {
  const expected = await live((_, store) => store)
  for (const stage of stages.keys()) {
    const writes = await writesOf(stage)
    test(`stage ${stage + 1}: ${writes} writes, before and after each`, async () => {
      expect(writes).toBeGreaterThan(0)
      for (const at of cuts(writes)) {
        for (const point of ['before', 'after'] satisfies CrashPoint[]) {
          const cut = await live((index, store) => (index === stage ? crashingStore(store, at, point) : store))
          expect(cut.crashes).toBe(1)
          expect(cut.states, `crash ${point} write ${at} of stage ${stage + 1}`).toEqual(expected.states)
        }
      }
    })
  }
})
