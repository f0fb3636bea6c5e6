import fc from 'fast-check'
import { IPAddress } from 'ipam-kit/crd/cluster-api'
import { SimulatedCrash } from 'ipam-kit/testing'
import { expect, test } from 'vitest'
import { claim, claimRef, dyingAt, pool, World } from './world.js'

const name = fc.constantFrom('a', 'b', 'c', 'd')
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('claim' as const), name }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('unclaim' as const), name }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('trouble' as const), of: fc.constantFrom('down', 'lost-answer') }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('time' as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('run' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('die' as const),
      at: fc.integer({ min: 1, max: 10 }),
      point: fc.constantFrom('before' as const, 'after' as const),
    }),
  },
)

/**
 * The model: who wants an address. Of two addresses there are, as many have one as want one, and
 * the others say that there is none.
 */
const wanting = new Set<string>()

test('whatever happens, in the end the external system has what the cluster has, and as many are served as there is room for', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 30, size: 'max' }), async (steps) => {
      const world = new World()
      wanting.clear()
      await world.create(pool())
      for (const each of steps) {
        await play(world, each)
        const given = (await world.list(IPAddress)).map(({ spec }) => spec.address)
        expect(new Set(given).size, given.join()).toBe(given.length)
      }
      world.ipam.recover()
      await world.runOften()
      const { inside, external } = await world.bindings()
      expect(external).toEqual(inside)
      expect(inside).toHaveLength(Math.min(2, wanting.size))
      expect(inside.every((entry) => wanting.has(entry.split(/[. ]/)[1] as string))).toBe(true)
      expect((await world.run()).written, 'a run after that writes nothing').toBe(0)
    }),
  )
})

async function play(world: World, it: typeof step extends fc.Arbitrary<infer T> ? T : never): Promise<void> {
  switch (it.do) {
    case 'claim':
      if ((await world.store.create(claim(it.name))).ok) wanting.add(it.name)
      return
    case 'unclaim':
      await world.store.delete(claimRef(it.name))
      wanting.delete(it.name)
      return
    case 'trouble':
      world.ipam.inject(it.of as 'down' | 'lost-answer')
      return
    case 'time':
      world.nowMs += 100_000
      return
    case 'run':
      await world.run()
      return
    case 'die':
      try {
        await world.run(dyingAt(world, it.at, it.point))
      } catch (error) {
        if (!(error instanceof SimulatedCrash)) throw error
      }
  }
}
