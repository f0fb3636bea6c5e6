import { AddressPool, type Owner, PrefixAllocator } from 'ipam-kit/allocator'
import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
import { describe, expect, test } from 'vitest'

describe.each([{}, { uid: '' }, { uid: undefined }, { uid: 7 }, undefined, null])('an owner %j', (owner) => {
  const mistake = expect.objectContaining({ code: 'INVALID_ARGUMENT' })

  test('is a mistake, not an owner that it shares with others like it', () => {
    const pool = new AddressPool({ ranges: RangeSet.parse(['10.0.0.0/24']) })
    expect(() => pool.allocate({ owner: owner as Owner })).toThrow(mistake)
    expect(() => pool.occupy(Address.parse('10.0.0.1'), owner as Owner)).toThrow(mistake)
    expect(pool.counts().used).toBe(0n)
  })

  test('of a prefix is one too', () => {
    const allocator = new PrefixAllocator({ ranges: RangeSet.parse(['fd00::/62']), childLength: 64 })
    expect(() => allocator.occupy(Prefix.parse('fd00::/64'), owner as Owner)).toThrow(mistake)
    expect(() => allocator.occupy(Prefix.parse('fd00::/63'), owner as Owner)).toThrow(mistake)
  })
})

test('one owner may hold very many addresses', () => {
  // what it costs is measured in address-pool.cost.ts
  const pool = new AddressPool({ ranges: RangeSet.parse(['10.0.0.0/15']) })
  for (let i = 0; i < 100_000; i++) pool.occupy(Address.from4(0x0a000000 + i), { uid: 'unknown' })
  expect(pool.releaseOwner('unknown').holds).toHaveLength(100_000)
  expect(pool.counts().used).toBe(0n)
})
