import fc from 'fast-check'
import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { expect, test } from 'vitest'
import { share } from '../../setup/depth.js'
import { blue, claim, pool, World } from './world.js'

const PREALLOCATED = ['203.0.113.50', '203.0.113.51'] as const
const names = fc.constantFrom('c1', 'c2', 'c3', 'c4')
const operations = fc.constantFrom('findNetwork', 'listAddresses', 'createAddress', 'markAddress', 'deleteAddress')
const troubles = fc.constantFrom('down', 'lostAnswer', 'late', 'quota', 'denied', 'rateLimited', 'unavailable')

const acts = fc.oneof(
  { weight: 4, arbitrary: fc.record({ act: fc.constant('claim' as const), name: names }) },
  { weight: 4, arbitrary: fc.record({ act: fc.constant('release' as const), name: names }) },
  {
    weight: 3,
    arbitrary: fc.record({ act: fc.constant('trouble' as const), operation: operations, trouble: troubles }),
  },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('start' as const) }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('attach' as const), nth: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant('detach' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ act: fc.constant('reclaim' as const), reclaimPolicy: fc.constantFrom('Delete', 'Retain') }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ act: fc.constant('minFree' as const), minFree: fc.integer({ min: 0, max: 2 }) }),
  },
)
const steps = fc.array(fc.tuple(acts, fc.constantFrom(0, 1, 7, 31, 100)), { minLength: 1, maxLength: 14 })
const worlds = fc.record({ maxIPs: fc.integer({ min: 0, max: 5 }), listLagMs: fc.constantFrom(0, 5000), steps })

type Act = typeof acts extends fc.Arbitrary<infer T> ? T : never

/** Does one of the acts of a user, an operator, the cloud or a process. */
async function act(world: World, claims: Set<string>, given: Act): Promise<void> {
  switch (given.act) {
    case 'claim':
      if (!claims.has(given.name)) await world.create(claim(given.name))
      return void claims.add(given.name)
    case 'release':
      if (claims.delete(given.name)) await world.remove(IPAddressClaim, given.name)
      return
    case 'trouble': {
      const { operation, trouble } = given
      return world.cloud.inject(operation as never, trouble === 'late' ? { kind: 'late', seconds: 10 } : trouble)
    }
    case 'attach': {
      const free = world.cloud.floatingIPs.filter(({ port }) => port === '')[given.nth]
      return free && world.attach(free.id)
    }
    case 'detach':
      for (const { id, port } of world.cloud.floatingIPs) if (port !== '') world.cloud.byHand.detach(id)
      return
    case 'reclaim':
      return world.patch(blue, { spec: { reclaimPolicy: given.reclaimPolicy } })
    case 'minFree':
      return world.patch(blue, { metadata: { annotations: { 'ipam-kit.dev/min-free': `${given.minFree}` } } })
    default:
  }
}

/** What holds at any time. */
async function check(world: World, maxIPs: number): Promise<void> {
  const given = (await world.list(IPAddress)).map(({ spec }) => spec.address)
  expect(new Set(given).size, 'an address is given once').toBe(given.length)
  expect(world.cloud.foreignDeletions, 'what the pool has not created is not deleted').toEqual([])
  for (const address of given) expect(world.outside, 'what a claim has is not deleted').toContain(address)
  expect(createdIn(world).length, 'the limit').toBeLessThanOrEqual(maxIPs)
}

function createdIn(world: World): readonly string[] {
  return world.outside.filter((address) => !PREALLOCATED.includes(address as never))
}

test('a pool gives each address once, keeps its limit, loses none, and comes to rest, whatever happens', async () => {
  await fc.assert(
    fc.asyncProperty(worlds, async ({ maxIPs, listLagMs, steps: given }) => {
      const world = new World()
      world.cloud.listLagMs = listLagMs
      world.marked(Object.fromEntries(PREALLOCATED.map((address) => [address, ''])))
      await world.create(pool({ maxIPs, preAllocatedFloatingIPs: [...PREALLOCATED] }))
      const claims = new Set<string>()
      let planner = world.start()
      for (const [each, seconds] of given) {
        if (each.act === 'start') planner = world.start()
        await act(world, claims, each)
        await world.runFor(seconds, planner)
        await check(world, maxIPs)
      }
      world.cloud.recover()
      await act(world, claims, { act: 'detach' })
      await world.runFor(1000, planner)
      await check(world, maxIPs)
      const served = Object.entries(await world.claims()).filter(([, state]) => state.startsWith('203.'))
      const { reclaimPolicy } = (await world.pool())!.spec
      const minFree = Number((await world.pool())!.metadata.annotations?.['ipam-kit.dev/min-free'] ?? 0)
      expect(served.length, 'claims that can be served').toBeGreaterThanOrEqual(
        Math.min(claims.size, Math.max(maxIPs, PREALLOCATED.length)),
      )
      const used = new Set((await world.list(IPAddress)).map(({ spec }) => spec.address))
      const spare = createdIn(world).filter((address) => !used.has(address))
      if (reclaimPolicy === 'Delete') expect(spare.length, 'leaks').toBeLessThanOrEqual(minFree)
      const before = world.sent.length
      const { written } = await world.run({ planner })
      expect([written, world.sent.length - before], 'at rest').toEqual([0, 0])
    }),
    { numRuns: share(400) },
  )
})

test('spare addresses never take a pool beyond maxIPs', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 4 }),
      fc.integer({ min: 0, max: 6 }),
      fc.array(fc.tuple(fc.constantFrom('claim' as const, 'release' as const), names), { maxLength: 6 }),
      async (maxIPs, minFree, given) => {
        const world = new World()
        await world.create(pool({ maxIPs }, { annotations: { 'ipam-kit.dev/min-free': `${minFree}` } }))
        const planner = world.start()
        const claims = new Set<string>()
        for (const [each, name] of given) {
          await act(world, claims, { act: each, name })
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
