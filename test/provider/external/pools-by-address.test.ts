import { expect, test } from 'vitest'
import type { ExternalLedger } from '../../../src/provider/external/ledger.js'
import { PoolsByAddress } from '../../../src/provider/external/pools-by-address.js'

test('a pool that is gone wakes each pool once that may use an address of it, and no other', () => {
  const pools = new PoolsByAddress<never>()
  const returned: string[] = []
  const ledger = (poolKey: string) =>
    ({
      poolKey,
      returned: (address: string) => returned.push(`${poolKey} ${address}`),
    }) as unknown as ExternalLedger<never>
  const [gone, beside, other] = [ledger('gone'), ledger('beside'), ledger('other')]
  for (let n = 0; n < 100; n++) pools.add(`10.0.0.${n}`, other)
  for (const address of ['10.0.1.1', '10.0.1.2']) for (const each of [gone, beside]) pools.add(address, each)
  expect(pools.observePool({ apiVersion: 'v1', kind: 'Pool', name: 'gone' }, undefined, gone)).toEqual(['beside'])
  expect(returned).toEqual(['beside 10.0.1.1', 'beside 10.0.1.2'])
})
