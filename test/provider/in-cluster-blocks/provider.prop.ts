import fc from 'fast-check'
import { inCluster } from 'ipam-kit/provider/in-cluster'
import { expect, test } from 'vitest'
import { isDeep, runs } from '../../setup/depth.js'
import { claim, claimRef, poolOf, World } from '../in-cluster/world.js'
import { BlocksWorld, outcomeOf } from './world.js'

const CLAIMS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']

/** By kind: specs that a pool may have, one after the other. */
const SPECS = {
  InClusterIPPool: [
    { addresses: ['10.0.0.0/29'], prefix: 29, gateway: '10.0.0.1' },
    { addresses: ['10.0.0.2-10.0.0.5'], prefix: 29, excludedAddresses: ['10.0.0.3'] },
    { addresses: ['10.0.0.4', '10.0.3.255-10.0.4.2'], prefix: 20, gateway: '' },
    { addresses: ['10.0.0.7', '10.0.0.0-10.0.0.1'], prefix: 29, allocateReservedIPAddresses: true },
    { addresses: ['10.0.0.1'], prefix: 32 },
    { addresses: ['nonsense'], prefix: 24 },
  ],
  GlobalInClusterIPPool: [
    { addresses: ['10.0.0.0/30'], prefix: 24 },
    { addresses: ['10.0.0.0/28'], prefix: 24, gateway: '10.0.1.1' },
    { addresses: ['10.0.0.2', '10.0.0.5', '10.0.0.9'], prefix: 24 },
  ],
  InClusterPrefixPool: [
    { prefixes: ['fd00::/62'] },
    { prefixes: ['fd00::/63', 'fd00:0:0:7::/64'], gateway: 'fe80::1' },
    { prefixes: ['fd00::/60'], excludedPrefixes: ['fd00:0:0:1::1-fd00:0:0:3::5'] },
  ],
  GlobalInClusterPrefixPool: [
    { prefixes: ['10.0.0.0/26'], allocationPrefixLength: 28 },
    { prefixes: ['10.0.0.0/25'], allocationPrefixLength: 28, excludedPrefixes: ['10.0.0.17', '10.0.0.64/27'] },
  ],
} as const
type Kind = keyof typeof SPECS
const KINDS = Object.keys(SPECS) as Kind[]

type Step =
  | { readonly do: 'claim' | 'unclaim'; readonly name: string; readonly kind: Kind }
  | { readonly do: 'pool' | 'unpool'; readonly kind: Kind; readonly spec: number }

const kind = fc.constantFrom(...KINDS)
const name = fc.constantFrom(...CLAIMS)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant('claim' as const), name, kind }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('unclaim' as const), name, kind }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('pool' as const), kind, spec: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('unpool' as const), kind, spec: fc.constant(0) }) },
)

/**
 * What people do. Whether it can be done depends on what is there, which is the same in both
 * worlds.
 */
async function act(world: World, step: Step): Promise<void> {
  const { store } = world
  world.nowMs += 1000
  if ('spec' in step) {
    const specs = SPECS[step.kind]
    const pool = { ...poolOf(step.kind, {}), spec: specs[step.spec % specs.length] as object }
    const ref = { ...pool, ...pool.metadata }
    if (step.do === 'unpool') await store.delete(ref)
    else if (!(await store.create(pool)).ok) {
      const found = await store.get(ref)
      if (found.ok) await store.update({ ...found.value, spec: pool.spec } as typeof pool)
    }
  } else if (step.do === 'claim') {
    await store.create(claim(step.name, { poolRef: { kind: step.kind, name: 'pool' } }))
  } else await store.delete(claimRef(step.name))
}

// each step runs two providers until they are quiet
test('gives, claim by claim, what the provider gives whose ledger are IPAddress objects', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 20, size: 'max' }), async (steps) => {
      const [plain, blocks] = [new World(), new BlocksWorld()]
      for (const each of [...KINDS.map((kind) => ({ do: 'pool', kind, spec: 0 }) as const), ...steps]) {
        await act(plain, each)
        await act(blocks, each)
        await plain.run(plain.store, inCluster())
        if (each.do === 'pool') blocks.restart()
        await blocks.runOnBlocks()
        expect(await outcomeOf(blocks)).toEqual(await outcomeOf(plain))
      }
      for (const name of CLAIMS) await act(blocks, { do: 'unclaim', name, kind: 'InClusterIPPool' })
      await blocks.runOnBlocks()
      blocks.nowMs += 120_000
      await blocks.runOnBlocks()
      expect([await blocks.claims(), await blocks.rows(), await blocks.blocks()]).toEqual([[], [], []])
    }),
    { numRuns: runs(isDeep ? 1 : 0.5) },
  )
})
