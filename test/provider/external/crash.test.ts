import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { SimulatedCrash } from 'ipam-kit/testing'
import { expect, test } from 'vitest'
import { cuts } from '../../setup/depth.js'
import { dyingAt } from '../claims/world.js'
import { claim, pool, World } from './world.js'

/** A claim comes and goes, and the process dies at a step. @returns how many steps there were */
async function life(at: number, point: 'before' | 'after'): Promise<number> {
  const world = new World({ size: 28 })
  await world.create(pool(), claim('c1'))
  const dying = dyingAt(world, at, point)
  const first = world.start()
  const run = async () => {
    try {
      await world.runFor(100, first, dying)
    } catch (error) {
      if (!(error instanceof SimulatedCrash)) throw error
    }
    const isDead = dying.steps() >= at
    await world.runFor(400, isDead ? world.start() : first)
  }
  await run()
  const { c1 } = await world.claims()
  expect([c1, await addressesIn(world)]).toEqual([expect.stringMatching(/^203\./), [c1]])
  expect(world.outside).toEqual([c1])
  await world.remove(IPAddressClaim, 'c1')
  await run()
  expect([await world.claims(), await addressesIn(world), world.outside]).toEqual([{}, [], []])
  expect(world.cloud.foreignDeletions).toEqual([])
  return dying.steps()
}

async function addressesIn(world: World): Promise<readonly string[]> {
  return (await world.list(IPAddress)).map(({ spec }) => spec.address)
}

test('a crash before or after any write and any call of a claim leaves nothing behind', async () => {
  const steps = await life(Number.POSITIVE_INFINITY, 'after')
  expect(steps).toBeGreaterThan(8)
  for (const at of cuts(steps)) {
    for (const point of ['before', 'after'] as const) await life(at, point)
  }
})
