import { inCluster } from 'ipam-kit/provider/in-cluster'
import { describe, expect, test } from 'vitest'
import { claim, poolOf, World } from '../in-cluster/world.js'
import { BlocksWorld, outcomeOf } from './world.js'

const NAMES = ['a', 'b', 'c', 'd', 'e', 'f', 'g']

/** A pool and seven claims of it, in a world without blocks and in one with them. */
async function outcomes(
  kind: Parameters<typeof poolOf>[0],
  spec: object,
): Promise<readonly { readonly [object: string]: unknown }[]> {
  const [plain, blocks] = [new World(), new BlocksWorld()]
  for (const each of [plain, blocks]) {
    await each.create(poolOf(kind, spec), ...NAMES.map((name) => claim(name, { poolRef: { kind } })))
  }
  await plain.run(plain.store, inCluster())
  await blocks.runOnBlocks()
  return [await outcomeOf(plain), await outcomeOf(blocks)]
}

const ADDRESSES: readonly object[] = [
  { addresses: ['0.0.0.0/0'], prefix: 0 },
  { addresses: ['0.0.0.0/0'], prefix: 0, allocateReservedIPAddresses: true },
  { addresses: ['255.255.255.250-255.255.255.255'], prefix: 28, allocateReservedIPAddresses: true },
  { addresses: ['10.0.0.0/31'], prefix: 31, allocateReservedIPAddresses: true },
  { addresses: ['10.0.0.77/24', '10.0.0.3', '10.0.0.3-10.0.0.4'], prefix: 24, excludedAddresses: ['10.0.0.0/25'] },
  { addresses: ['10.0.0.1', '10.9.9.9'], prefix: 24 },
  { addresses: ['10.0.0.1-10.0.0.3'], prefix: 24, gateway: 'fd00::1', excludedAddresses: ['::/0'] },
  { addresses: ['::/0'], prefix: 0 },
  { addresses: ['fe80::1%eth0', 'fe80::2-fe80::4%x'], prefix: 64, gateway: 'fe80::2%eth1' },
  { addresses: ['fd00::-fd00::5'], prefix: 64, gateway: 'FD00:0::2' },
  { addresses: ['10.0.0.1', 'fd00::1'], prefix: 24 },
  { addresses: ['x', '10.0.0.1-10.0.0.3', '10.0.0.9-10.0.0.8', '10.0.0.7'], prefix: 24 },
  { addresses: ['10.0.0.1-10.0.0.3'], prefix: 24, excludedAddresses: ['10.0.0.2', 'x'] },
  { addresses: ['10.0.0.1-10.0.0.3'], prefix: 24, gateway: 'x' },
  { addresses: ['10.0.0.1'], prefix: 40 },
  { addresses: [], prefix: 24 },
]

const PREFIXES: readonly object[] = [
  { prefixes: ['fd00::/126'], allocationPrefixLength: 128 },
  { prefixes: ['fd00::/125'], allocationPrefixLength: 127 },
  { prefixes: ['10.0.0.0/29'], allocationPrefixLength: 32, gateway: '10.0.0.1' },
  { prefixes: ['0.0.0.0/0'], allocationPrefixLength: 9 },
  { prefixes: ['::/1', '8000::/1'], allocationPrefixLength: 1 },
  { prefixes: ['::/0'], allocationPrefixLength: 8, excludedPrefixes: ['::5'] },
  { prefixes: ['fd00::/64', 'fd00:1::/66'] },
  { prefixes: ['fd00::/65', 'fd00:0:0:0:8000::/65'] },
  { prefixes: ['fd00::/64'], excludedPrefixes: ['fd00::/60'] },
  { prefixes: ['x', 'fd00::/63', 'fd00:5::1/64', '10.0.0.0/8'] },
  { prefixes: ['fd00::/63'], excludedPrefixes: ['x'] },
]

describe('gives what the provider without blocks gives', () => {
  test.each(ADDRESSES)('of addresses: %j', async (spec) => {
    const [plain, blocks] = await outcomes('InClusterIPPool', spec)
    expect(blocks).toEqual(plain)
  })

  test.each(PREFIXES)('of prefixes: %j', async (spec) => {
    const [plain, blocks] = await outcomes('GlobalInClusterPrefixPool', spec)
    expect(blocks).toEqual(plain)
  })
})

test('what blocks cannot have is not given, and the claim says why', async () => {
  const [, blocks] = await outcomes('InClusterIPPool', { addresses: ['::ffff:10.0.0.0/120'], prefix: 120 })
  expect(blocks?.['claim default/a']).toMatchObject({ isNamed: false, reason: 'PoolNotReady' })
})
