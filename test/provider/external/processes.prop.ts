import fc from 'fast-check'
import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { storeOver } from 'ipam-kit/testing'
import { expect, test } from 'vitest'
import { share } from '../../setup/depth.js'
import { claim, pool, World } from './world.js'

/**
 * What a process has of the world when its writes and calls are done in the order of a scheduler.
 */
function scheduled({ store, external }: World, scheduler: fc.Scheduler) {
  const later = async <T>(label: string, action: () => Promise<T>): Promise<T> => {
    await scheduler.schedule(Promise.resolve(), label)
    return action()
  }
  return {
    store: storeOver(store, {
      create: (object) => later('create', () => store.create(object)),
      update: (object, options) => later('update', () => store.update(object, options)),
      patch: (ref, patch, options) => later('patch', () => store.patch(ref, patch, options)),
      delete: (ref, options) => later('delete', () => store.delete(ref, options)),
    }),
    external: ((call) => later('call', () => external(call))) as World['external'],
  }
}

const policies = fc.record({
  maxIPs: fc.integer({ min: 1, max: 5 }),
  reclaimPolicy: fc.constantFrom('Delete' as const, 'Retain' as const),
  marker: fc.constantFrom('atomic' as const, 'after' as const),
})

test('two processes that work at the same time never give an address twice, nor more than the pool may have', async () => {
  await fc.assert(
    fc.asyncProperty(fc.scheduler(), policies, async (scheduler, { maxIPs, reclaimPolicy, marker }) => {
      const world = new World({ marker })
      world.cloud.byHand.create({ network: world.network, address: '203.0.113.20' })
      await world.create(pool({ maxIPs, reclaimPolicy, preAllocatedFloatingIPs: ['203.0.113.20'] }))
      for (const name of ['c1', 'c2', 'c3', 'c4']) await world.create(claim(name))
      const planners = [world.start(), world.start()]
      const runs = planners.map((planner) => () => world.run({ planner, ...scheduled(world, scheduler) }))
      const both = () => scheduler.waitFor(Promise.all(runs.map((run) => run())))
      // the second one begins later, and knows of a claim that is before all others
      const late = async () => {
        await scheduler.schedule(Promise.resolve(), 'a claim')
        await world.create(claim('a1'))
        await runs[1]?.()
      }
      const check = async () => {
        const given = (await world.list(IPAddress)).map(({ spec }) => spec.address)
        expect(new Set(given).size).toBe(given.length)
        expect(new Set([...world.outside, ...given]).size).toBeLessThanOrEqual(maxIPs + 1)
      }
      await scheduler.waitFor(Promise.all([runs[0]?.(), late()]))
      await check()
      await world.remove(IPAddressClaim, 'c1')
      await both()
      await check()
      await world.runFor(200, planners[0])
      await check()
      const served = Object.values(await world.claims()).filter((state) => state.startsWith('203.'))
      expect(served).toHaveLength(Math.min(4, maxIPs))
    }),
    { numRuns: share(60) },
  )
})

test('spare addresses never take a pool beyond maxIPs', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 4 }),
      fc.integer({ min: 0, max: 6 }),
      fc.array(fc.tuple(fc.constantFrom('create' as const, 'remove' as const), fc.integer({ min: 1, max: 4 })), {
        maxLength: 6,
      }),
      async (maxIPs, minFree, acts) => {
        const world = new World()
        await world.create(pool({ maxIPs }, { annotations: { 'ipam-kit.dev/min-free': `${minFree}` } }))
        const planner = world.start()
        const claims = new Set<string>()
        for (const [act, nth] of acts) {
          const name = `c${nth}`
          if (act === 'create' && !claims.has(name)) await world.create(claim(name))
          if (act === 'remove' && claims.has(name)) await world.remove(IPAddressClaim, name)
          if (act === 'create') claims.add(name)
          else claims.delete(name)
          await world.runFor(35, planner)
          expect(world.outside.length).toBeLessThanOrEqual(maxIPs)
        }
        await world.runFor(300, planner)
        expect(world.outside).toHaveLength(Math.min(maxIPs, claims.size + minFree))
      },
    ),
    { numRuns: share(40) },
  )
})
