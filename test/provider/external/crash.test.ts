import { RangeSet } from 'ipam-kit/cidr'
import { IPAddress, IPAddressClaim } from 'ipam-kit/crd/cluster-api'
import { type CloudFacts, externalPools } from 'ipam-kit/provider/external'
import { SimulatedCrash } from 'ipam-kit/testing'
import { expect, test } from 'vitest'
import { floatingIPPoolKind } from '../../../src/provider/openstack/pools.js'
import { cuts } from '../../setup/depth.js'
import { dyingAt } from '../claims/world.js'
import { claim, pool, World } from './world.js'

const clouds: readonly [string, CloudFacts][] = [
  ['sets markers at creation', { marker: 'atomic', choosesAddress: false, listsByMarker: true }],
  ['sets markers afterwards', { marker: 'after', choosesAddress: false, listsByMarker: true }],
  ['keeps none and is asked for a certain address', { marker: 'none', choosesAddress: true, listsByMarker: false }],
]

let processes = 0

/** A process of a provider that chooses from a range where the cloud lets it. */
function start(facts: CloudFacts) {
  const ranges = RangeSet.parse(['203.0.113.0/28'])
  const kind: typeof floatingIPPoolKind = {
    ...floatingIPPoolKind,
    policyOf: (object) => {
      const read = floatingIPPoolKind.policyOf(object)
      return read.ok ? { ...read, policy: { ...read.policy, ranges } } : read
    },
  }
  return externalPools({ name: 'chosen', kind, facts, identity: `crash-${++processes}`, callSeconds: 10 })
}

/** A claim comes and goes, and the process dies at a step. @returns how many steps there were */
async function life(facts: CloudFacts, at: number, point: 'before' | 'after'): Promise<number> {
  const world = new World(facts, { size: 28 })
  await world.create(pool(), claim('c1'))
  const dying = dyingAt(world, at, point)
  const first = start(facts)
  const run = async () => {
    try {
      await world.run({ planner: first, store: dying.store, external: dying.external })
    } catch (error) {
      if (!(error instanceof SimulatedCrash)) throw error
    }
    const isDead = dying.steps() >= at
    await world.runFor(400, isDead ? start(facts) : first)
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

test.each(clouds)(
  'a crash before or after any write and any call of a claim leaves nothing behind in a cloud that %s',
  async (_, facts) => {
    const steps = await life(facts, Number.POSITIVE_INFINITY, 'after')
    expect(steps).toBeGreaterThan(8)
    for (const at of cuts(steps)) {
      for (const point of ['before', 'after'] as const) await life(facts, at, point)
    }
  },
)
