import { Prefix, RangeSet } from 'ipam-kit/cidr'
import { addressSpace, prefixSpace } from 'ipam-kit/crd/in-cluster'
import { describe, expect, test } from 'vitest'
import type { InClusterIPPoolSpec } from '../../../src/crd/in-cluster/pools.js'
import { clampCount, prefixOf } from '../../../src/crd/in-cluster/space.js'

function available(spec: InClusterIPPoolSpec): string[] | string {
  const space = addressSpace(spec)
  return space.ok ? RangeSet.format(space.value.available) : space.failure.context.problems.join('; ')
}

describe('what a pool of addresses may hand out', () => {
  test.each<[string, InClusterIPPoolSpec, string[]]>([
    ['all but network and broadcast', { addresses: ['10.0.0.0/29'], prefix: 29 }, ['10.0.0.1-10.0.0.6']],
    [
      'all, if reserved ones are allowed',
      { addresses: ['10.0.0.0/31'], prefix: 31, allocateReservedIPAddresses: true },
      ['10.0.0.0-10.0.0.1'],
    ],
    ['nothing of a /31', { addresses: ['10.0.0.0/31'], prefix: 31 }, []],
    ['one of an IPv6 /127', { addresses: ['fd00::6/127'], prefix: 127 }, ['fd00::7-fd00::7']],
    ['the last address of an IPv6 subnet', { addresses: ['fd00::ff'], prefix: 120 }, ['fd00::ff-fd00::ff']],
    [
      'not the gateway, even if reserved ones are allowed',
      { addresses: ['10.0.0.0/30'], prefix: 30, gateway: '10.0.0.2', allocateReservedIPAddresses: true },
      ['10.0.0.0-10.0.0.1', '10.0.0.3-10.0.0.3'],
    ],
    [
      'not what is excluded',
      { addresses: ['10.0.0.4-10.0.0.9'], prefix: 24, excludedAddresses: ['10.0.0.6/31'] },
      ['10.0.0.4-10.0.0.5', '10.0.0.8-10.0.0.9'],
    ],
    [
      'reserved by the subnet of the lowest address, although it is excluded',
      { addresses: ['10.0.0.0/25'], prefix: 26, excludedAddresses: ['10.0.0.0/26'] },
      ['10.0.0.64-10.0.0.127'],
    ],
    ['the whole IPv4 space but its ends', { addresses: ['0.0.0.0/0'], prefix: 0 }, ['0.0.0.1-255.255.255.254']],
  ])('%s', (_, spec, expected) => {
    expect(available(spec)).toEqual(expected)
  })

  test('every problem of a spec is named with its field', () => {
    expect(available({ addresses: ['x'], prefix: 24, excludedAddresses: ['y'], gateway: 'z' })).toBe(
      'spec.addresses: "x" is not a valid IP, range, nor CIDR; ' +
        'spec.excludedAddresses: "y" is not a valid IP, range, nor CIDR; spec.gateway: "z" is not a valid IP',
    )
  })
})

test('the space of a prefix pool: aligned sources of one family, and a length that fits', () => {
  expect(prefixSpace({ prefixes: ['fd00::/62'] })).toMatchObject({ ok: true, value: { childLength: 64 } })
  expect(prefixSpace({ prefixes: ['10.0.0.0/24'], allocationPrefixLength: 28 })).toMatchObject({ ok: true })
  for (const spec of [
    { prefixes: [] },
    { prefixes: ['fd00::1/62'] },
    { prefixes: ['fd00::/62', '10.0.0.0/24'] },
    { prefixes: ['10.0.0.0/24'], allocationPrefixLength: 33 },
    { prefixes: ['fd00::/62'], excludedPrefixes: ['nope'] },
  ]) {
    expect(prefixSpace(spec).ok).toBe(false)
  }
})

test('the prefix that an IPAddress stands for has no host bits, or is none', () => {
  const of = (address: string, prefix?: number) => {
    const found = prefixOf(prefix === undefined ? { address } : { address, prefix })
    return found && Prefix.format(found)
  }
  expect(of('fd00:0:0:5::1234', 64)).toBe('fd00:0:0:5::/64')
  for (const [address, prefix] of [
    ['garbage', 64],
    ['fd00::'],
    ['fd00::', 129],
    ['fd00::', -1],
    ['10.0.0.0', 33],
  ] as const) {
    expect(of(address, prefix)).toBeUndefined()
  }
})

test('a count in a status is exact while a JSON number is, and never more than a 64-bit integer', () => {
  expect(clampCount(2n ** 53n - 1n)).toBe(2 ** 53 - 1)
  const largest = clampCount(2n ** 128n)
  expect(BigInt(largest)).toBeLessThan(2n ** 63n)
  expect(BigInt(JSON.stringify(largest))).toBeLessThan(2n ** 63n)
})
