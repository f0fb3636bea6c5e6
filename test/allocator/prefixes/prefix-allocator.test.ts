import { PrefixAllocator } from 'ipam-kit/allocator'
import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
import { describe, expect, test } from 'vitest'

const allocator = (parents: string[], childLength: number, exclude?: string[]) =>
  new PrefixAllocator({
    ranges: RangeSet.parse(parents),
    family: parents.length === 0 ? 6 : undefined,
    exclude: exclude && RangeSet.parse(exclude),
    childLength,
  })
const prefix = (text: string) => Prefix.parse(text)
const lowest = (from: PrefixAllocator) => {
  const found = from.lowestFree()
  return found && Prefix.format(found)
}
const entriesOf = (from: PrefixAllocator) =>
  from.entries().map(({ prefix, owners }) => [Prefix.format(prefix), owners.map((owner) => owner.uid)])

/** Occupies the lowest free child until there is none. */
function drain(from: PrefixAllocator, limit = 100): string[] {
  const given: string[] = []
  for (let child = from.lowestFree(); child !== undefined && given.length < limit; child = from.lowestFree()) {
    from.occupy(child, { uid: `drain-${given.length}` })
    given.push(Prefix.format(child))
  }
  return given
}

describe('children', () => {
  test.each<[about: string, parents: string[], childLength: number, children: string[]]>([
    ['of a /62', ['fd00::/62'], 64, ['fd00::/64', 'fd00:0:0:1::/64', 'fd00:0:0:2::/64', 'fd00:0:0:3::/64']],
    ['of IPv4', ['10.0.0.0/28'], 30, ['10.0.0.0/30', '10.0.0.4/30', '10.0.0.8/30', '10.0.0.12/30']],
    ['as long as the parent', ['fd00::/64'], 64, ['fd00::/64']],
    ['longer than the parent', ['fd00::/64'], 63, []],
    ['of the length of an address', ['10.0.0.0/30'], 32, ['10.0.0.0/32', '10.0.0.1/32', '10.0.0.2/32', '10.0.0.3/32']],
    [
      'of the length of an IPv6 address',
      ['fd00::ffff:ffff-fd00::1:0:0'],
      128,
      ['fd00::ffff:ffff/128', 'fd00::1:0:0/128'],
    ],
    ['of length 0', ['0.0.0.0/0'], 0, ['0.0.0.0/0']],
    ['of length 0 in IPv6', ['::/0'], 0, ['::/0']],
    ['of length 0 in less than everything', ['0.0.0.1-255.255.255.255'], 0, []],
    ['of two parents that touch', ['10.0.0.0/30', '10.0.0.4/30'], 29, ['10.0.0.0/29']],
    ['of two parents that do not', ['10.0.0.0/31', '10.0.0.4/31'], 31, ['10.0.0.0/31', '10.0.0.4/31']],
    ['of a range that is not aligned', ['10.0.0.3-10.0.0.17'], 30, ['10.0.0.4/30', '10.0.0.8/30', '10.0.0.12/30']],
    ['of a range shorter than a child', ['10.0.0.1-10.0.0.6'], 29, []],
    ['at the top of IPv4', ['255.255.255.248-255.255.255.255'], 30, ['255.255.255.248/30', '255.255.255.252/30']],
    ['at the top of IPv6', ['ffff:ffff:ffff:fffe::/63'], 64, ['ffff:ffff:ffff:fffe::/64', 'ffff:ffff:ffff:ffff::/64']],
    ['over a word border', ['fd00:0:0:ffff::/64', 'fd00:0:1::/64'], 64, ['fd00:0:0:ffff::/64', 'fd00:0:1::/64']],
    [
      'over a word border inside of a child',
      ['fd00::fffe:0:0-fd00::1:1:ffff:ffff'],
      95,
      ['fd00::fffe:0:0/95', 'fd00::1:0:0:0/95'],
    ],
    ['half an address space each', ['::/0'], 1, ['::/1', '8000::/1']],
    ['of nothing', [], 64, []],
  ])('%s', (_, parents, childLength, children) => {
    const all = allocator(parents, childLength)
    expect(all.total).toBe(BigInt(children.length))
    expect(all.free()).toBe(BigInt(children.length))
    expect(drain(all)).toEqual(children)
    expect([all.total, all.free()]).toEqual([BigInt(children.length), 0n])
  })

  test.each<[about: string, exclude: string[], children: string[]]>([
    ['the first address', ['fd00::'], ['fd00:0:0:1::/64', 'fd00:0:0:2::/64', 'fd00:0:0:3::/64']],
    ['the last address', ['fd00:0:0:3:ffff:ffff:ffff:ffff'], ['fd00::/64', 'fd00:0:0:1::/64', 'fd00:0:0:2::/64']],
    ['an address between', ['fd00:0:0:1:0:0:0:7'], ['fd00::/64', 'fd00:0:0:2::/64', 'fd00:0:0:3::/64']],
    ['two ends that meet', ['fd00:0:0:1:ffff:ffff:ffff:ffff-fd00:0:0:2::'], ['fd00::/64', 'fd00:0:0:3::/64']],
    ['a child', ['fd00:0:0:1::/64'], ['fd00::/64', 'fd00:0:0:2::/64', 'fd00:0:0:3::/64']],
    ['everything', ['fd00::/16'], []],
  ])('that an exclusion touches are lost as a whole: %s', (_, exclude, children) => {
    const rest = allocator(['fd00::/62'], 64, exclude)
    expect(rest.total).toBe(BigInt(children.length))
    expect(rest.free()).toBe(BigInt(children.length))
    expect(drain(rest)).toEqual(children)
  })

  test('are allocatable by their address, length and family, in use or not', () => {
    const some = allocator(['10.0.0.0/28'], 30, ['10.0.0.5'])
    some.occupy(prefix('10.0.0.0/30'), { uid: 'a' })
    expect(some.isAllocatable(prefix('10.0.0.0/30'))).toBe(true)
    expect(some.isAllocatable(prefix('10.0.0.8/30'))).toBe(true)
    expect(some.isAllocatable(prefix('10.0.0.4/30'))).toBe(false)
    expect(some.isAllocatable(prefix('10.0.0.16/30'))).toBe(false)
    expect(some.isAllocatable(prefix('10.0.0.8/29'))).toBe(false)
    expect(some.isAllocatable(prefix('10.0.0.8/31'))).toBe(false)
    expect(some.isAllocatable(prefix('::a00:8/126'))).toBe(false)
    expect(some.isAllocatable(prefix('::a00:8/30'))).toBe(false)
  })
})

describe('prefixes in use', () => {
  test('of the length of a child take that child', () => {
    const some = allocator(['10.0.0.0/28'], 30)
    some.occupy(prefix('10.0.0.0/30'), { uid: 'a', key: 'default/a' })
    some.occupy(prefix('10.0.0.6/30'), { uid: 'b' })
    expect(lowest(some)).toBe('10.0.0.8/30')
    expect(some.free()).toBe(2n)
    expect(some.entries()[0]).toMatchObject({ prefix: prefix('10.0.0.0/30'), owners: [{ uid: 'a', key: 'default/a' }] })
    expect(entriesOf(some)).toEqual([
      ['10.0.0.0/30', ['a']],
      ['10.0.0.4/30', ['b']],
    ])
  })

  test('that are longer take the child around them', () => {
    const some = allocator(['10.0.0.0/28'], 30)
    some.occupy(prefix('10.0.0.3/32'), { uid: 'a' })
    expect(lowest(some)).toBe('10.0.0.4/30')
    expect(some.free()).toBe(3n)
    expect(some.free(32)).toBe(15n)
    expect(entriesOf(some)).toEqual([['10.0.0.3/32', ['a']]])
  })

  test('that are shorter take all children in them', () => {
    const some = allocator(['10.0.0.0/28'], 30)
    some.occupy(prefix('10.0.0.0/29'), { uid: 'a' })
    expect(lowest(some)).toBe('10.0.0.8/30')
    expect(some.free()).toBe(2n)
    some.occupy(prefix('10.0.0.8/29'), { uid: 'b' })
    expect(lowest(some)).toBeUndefined()
    expect(some.free()).toBe(0n)
    some.releaseOwner('a')
    expect(lowest(some)).toBe('10.0.0.0/30')
  })

  test('that are shorter are one entry with all their owners, host bits cleared', () => {
    const some = allocator(['fd00::/48'], 64)
    some.occupy(prefix('fd00::5/56'), { uid: 'a', key: 'default/a' })
    some.occupy(prefix('fd00::/56'), { uid: 'b' })
    some.occupy(prefix('fd00::7/56'), { uid: 'a', key: 'default/a' })
    some.occupy(prefix('fd00::/60'), { uid: 'c' })
    some.occupy(prefix('fd00::/64'), { uid: 'd' })
    expect(some.entries()[0]).toMatchObject({
      prefix: prefix('fd00::/56'),
      owners: [{ uid: 'a', key: 'default/a' }, { uid: 'b' }],
    })
    expect(entriesOf(some)).toEqual([
      ['fd00::/56', ['a', 'b']],
      ['fd00::/60', ['c']],
      ['fd00::/64', ['d']],
    ])
    some.releaseOwner('a')
    some.releaseOwner('c')
    expect(entriesOf(some)).toEqual([
      ['fd00::/56', ['b']],
      ['fd00::/64', ['d']],
    ])
  })

  test('may be nested, and wider than all parents', () => {
    const some = allocator(['10.0.0.0/28'], 30)
    some.occupy(prefix('10.0.0.0/29'), { uid: 'a' })
    some.occupy(prefix('10.0.0.0/24'), { uid: 'b' })
    some.occupy(prefix('0.0.0.0/0'), { uid: 'c' })
    expect(lowest(some)).toBeUndefined()
    expect(some.free()).toBe(0n)
    some.releaseOwner('c')
    some.releaseOwner('b')
    expect(lowest(some)).toBe('10.0.0.8/30')
  })

  test('outside of the space are remembered and take nothing', () => {
    const some = allocator(['10.0.0.0/29'], 30)
    some.occupy(prefix('192.168.0.0/30'), { uid: 'a' })
    some.occupy(prefix('192.168.0.0/16'), { uid: 'b' })
    expect(some.free()).toBe(2n)
    expect(entriesOf(some)).toEqual([
      ['192.168.0.0/16', ['b']],
      ['192.168.0.0/30', ['a']],
    ])
  })

  test('of the other family are remembered and take nothing', () => {
    const some = allocator(['10.0.0.0/29'], 30)
    some.occupy(prefix('::a00:0/126'), { uid: 'a' })
    some.occupy(prefix('::/0'), { uid: 'a' })
    expect(some.occupy(prefix('::/1'), { uid: 'b' })).toMatchObject([
      { prefix: prefix('::/0') },
      { owner: { uid: 'a' } },
    ])
    expect(some.counts()).toEqual({ total: 2n, free: 2n, held: 3, outOfRange: 3 })
    some.releaseOwner('a')
    expect(some.counts()).toEqual({ total: 2n, free: 2n, held: 1, outOfRange: 1 })
  })

  test('held by two owners are free when both are gone', () => {
    const some = allocator(['10.0.0.0/30'], 30)
    some.occupy(prefix('10.0.0.0/30'), { uid: 'a' })
    some.occupy(prefix('10.0.0.0/30'), { uid: 'b' })
    some.releaseOwner('a')
    expect(lowest(some)).toBeUndefined()
    some.releaseOwner('b')
    expect(lowest(some)).toBe('10.0.0.0/30')
  })
})

describe('huge spaces cost no more than small ones', () => {
  test('::/0 by /64', () => {
    const all = allocator(['::/0'], 64)
    expect(all.total).toBe(1n << 64n)
    expect(drain(all, 3)).toEqual(['::/64', '0:0:0:1::/64', '0:0:0:2::/64'])
    all.occupy(prefix('::/1'), { uid: 'a' })
    expect(lowest(all)).toBe('8000::/64')
    all.occupy(prefix('8000::/1'), { uid: 'b' })
    expect(lowest(all)).toBeUndefined()
    expect([all.total, all.free()]).toEqual([1n << 64n, 0n])
  })

  test('::/0 by /128', () => {
    const all = allocator(['::/0'], 128)
    expect([all.total, all.free(), lowest(all)]).toEqual([1n << 128n, 1n << 128n, '::/128'])
    all.occupy(prefix('::/0'), { uid: 'a' })
    expect([all.free(), lowest(all)]).toEqual([0n, undefined])
  })

  test('an exclusion in the middle of ::/0', () => {
    const all = allocator(['::/0'], 64, ['::1', 'ffff:ffff:ffff:ffff::1'])
    expect([all.total, lowest(all)]).toEqual([(1n << 64n) - 2n, '0:0:0:1::/64'])
  })
})

describe('what cannot be carved', () => {
  test('parents of two families', () => {
    expect(() => allocator(['10.0.0.0/8', 'fd00::/48'], 24)).toThrow(
      expect.objectContaining({ code: 'FAMILY_MISMATCH', context: { left: '10.0.0.0', right: 'fd00::' } }),
    )
  })

  test.each([
    [['10.0.0.0/8'], 33, 32],
    [['10.0.0.0/8'], -1, 32],
    [['10.0.0.0/8'], 24.5, 32],
    [['10.0.0.0/8'], Number.NaN, 32],
    [['fd00::/8'], 129, 128],
    [[], 129, 128],
  ])('%j by length %s', (parents, length, max) => {
    expect(() => allocator(parents, length)).toThrow(
      expect.objectContaining({ code: 'INVALID_PREFIX_LENGTH', context: { length, max } }),
    )
  })

  test('the spec is not changed', () => {
    const spec = { ranges: RangeSet.parse(['fd00::/62']), exclude: RangeSet.parse(['fd00::1']), childLength: 64 }
    const before = structuredClone(spec)
    drain(new PrefixAllocator(spec))
    expect(spec).toEqual(before)
    expect(RangeSet.contains(spec.exclude, Address.parse('fd00::1'))).toBe(true)
  })
})
