import type { Plan } from 'ipam-kit/plan'
import { ALL_FAULTS, EXTERNAL_FAULTS, simulate } from 'ipam-kit/testing'
import { expect, test } from 'vitest'
import { FakeIpam } from '../../../docs/examples/external-provider/fake-ipam.js'
import { infoblox } from '../../../docs/examples/external-provider/provider.js'
import { share } from '../../setup/depth.js'
import { externalSystem, type SystemOptions } from './system.js'

/** The seeds from 1 that go wrong, with what was found. */
async function failing(seeds: number, concurrency: number, options: () => SystemOptions = () => ({})) {
  const found = new Map<number, readonly string[]>()
  let faults = 0
  for (let seed = 1; seed <= seeds; seed++) {
    const result = await simulate({ system: externalSystem(options()), seed, concurrency, actions: 25 })
    faults += result.faults
    if (result.problems.length > 0) found.set(seed, result.problems)
  }
  expect(faults).toBeGreaterThan(seeds)
  return found
}

test.each([1, 2, 4])(
  '%i plans at a time: no address twice, none lost, and the external system has in the end what the cluster has',
  async (concurrency) => {
    expect(await failing(share(120), concurrency)).toEqual(new Map())
  },
)

test('an external system that is slow, does calls twice, or does them after they were given up: the same', async () => {
  const found = new Map<number, readonly string[]>()
  for (let seed = 1; seed <= share(100); seed++) {
    const faults = [...ALL_FAULTS, ...EXTERNAL_FAULTS]
    const { problems } = await simulate({ system: externalSystem(), seed, concurrency: 2, actions: 25, faults })
    if (problems.length > 0) found.set(seed, problems)
  }
  expect(found).toEqual(new Map())
})

test('an external system that keeps no markers loses addresses', async () => {
  class Forgetful extends FakeIpam {
    #calls = 0
    override allocate(request: Parameters<FakeIpam['allocate']>[0]) {
      return super.allocate({ ...request, marker: `${request.marker} ${++this.#calls}` })
    }
  }
  expect((await failing(share(40), 2, () => ({ ipam: new Forgetful() }))).size).toBeGreaterThan(share(40) / 2)
})

test('a provider that does not write down first that it asks loses addresses', async () => {
  const careless = () => {
    const planner = infoblox()
    const plan = (key: string, time: { readonly nowMs: number }) => {
      const made = planner.plan(key, time)
      if (made === undefined) return undefined
      const isCall = made.effects.some(({ kind }) => kind === 'external')
      const effects = isCall ? made.effects.filter(({ kind }) => kind === 'external') : made.effects
      return { ...made, effects } as Plan<typeof made.outcome>
    }
    return new Proxy(planner, {
      get: (target, name) => {
        if (name === 'plan') return plan
        const value = Reflect.get(target, name, target) as unknown
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  }
  expect((await failing(share(60), 2, () => ({ planner: careless }))).size).toBeGreaterThan(0)
})
