import { AddressPool, type AddressPoolSpec, PrefixAllocator, rebuildPool } from 'ipam-kit/allocator'
import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
import { describe, expect, test } from 'vitest'

const available = (spec: AddressPoolSpec) => RangeSet.format(new AddressPool(spec).available)

describe('a pool of ranges as texts', () => {
  test.each<[string, AddressPoolSpec, string[]]>([
    ['a prefix without its edges', { ranges: ['10.0.0.0/29'] }, ['10.0.0.1-10.0.0.6']],
    ['host bits do not count', { ranges: ['10.0.0.5/29'] }, ['10.0.0.1-10.0.0.6']],
    ['all of a /31', { ranges: ['10.0.0.0/31'] }, ['10.0.0.0-10.0.0.1']],
    ['a /32', { ranges: ['10.0.0.0/32'] }, ['10.0.0.0-10.0.0.0']],
    ['an address', { ranges: ['10.0.0.0'] }, ['10.0.0.0-10.0.0.0']],
    ['a range, whatever its ends', { ranges: ['10.0.0.0-10.0.0.255'] }, ['10.0.0.0-10.0.0.255']],
    ['all of IPv6', { ranges: ['fd00::/126'] }, ['fd00::-fd00::3']],
    ['none reserved', { ranges: ['10.0.0.0/30'], reserve: 'none' }, ['10.0.0.0-10.0.0.3']],
    ['a rule of both families', { ranges: ['fd00::/126'], reserve: 'subnet-edges' }, ['fd00::1-fd00::3']],
    ['each prefix of its own', { ranges: ['10.0.0.0/30', '10.0.0.4/30'] }, ['10.0.0.1-10.0.0.2', '10.0.0.5-10.0.0.6']],
    ['a set, as it is', { ranges: RangeSet.parse(['10.0.0.0/30']) }, ['10.0.0.0-10.0.0.3']],
    ['exclusions as texts', { ranges: ['10.0.0.0/29'], exclude: ['10.0.0.4/30'] }, ['10.0.0.1-10.0.0.3']],
    ['reserved ones as texts', { ranges: ['10.0.0.0/29'], reserved: ['10.0.0.1'] }, ['10.0.0.2-10.0.0.6']],
  ])('gives out %s', (_, spec, expected) => {
    expect(available(spec)).toEqual(expected)
    expect(AddressPool.decode(AddressPool.encode(new AddressPool(spec))).available).toEqual(
      new AddressPool(spec).available,
    )
  })

  test('counts the edges as reserved, and refuses them', () => {
    const pool = new AddressPool({ ranges: ['10.0.0.0/24'] })
    expect(pool.counts()).toMatchObject({ total: 254n, reserved: 2n })
    const address = Address.parse('10.0.0.255')
    expect(pool.allocate({ owner: { uid: 'a' }, want: { kind: 'address', address } })).toMatchObject({
      kind: 'outOfPool',
      reason: 'Reserved',
    })
  })

  test('reads texts on a resize and a rebuild', () => {
    const pool = new AddressPool({ ranges: ['10.0.0.0/30'] })
    pool.resize({ ranges: ['10.0.0.0/29'] })
    expect(pool.counts().total).toBe(6n)
    expect(rebuildPool({ ranges: ['10.0.0.0/30'] }, []).pool.counts().total).toBe(2n)
  })

  test('a text that is no range is refused', () => {
    const refused = expect.objectContaining({ code: 'MALFORMED_RANGE_SET_ENTRY' })
    expect(() => new AddressPool({ ranges: ['10.0.0.0/33'] })).toThrow(refused)
    expect(() => new AddressPool({ ranges: ['10.0.0.0/30'], exclude: ['banana'] })).toThrow(refused)
    expect(() => new PrefixAllocator({ ranges: [''], childLength: 64 })).toThrow(refused)
  })

  test('the gateway and preallocated addresses can be texts', () => {
    const pool = new AddressPool({ ranges: ['10.0.0.0/29'], gateway: '10.0.0.1', preallocated: [['a', '10.0.0.3']] })
    const next = () => pool.allocate({ owner: { uid: 'x' }, want: { kind: 'any' } })
    expect(next()).toMatchObject({ kind: 'allocated', address: Address.parse('10.0.0.2') })
    expect(pool.counts()).toMatchObject({ total: 5n, reserved: 3n })
  })

  test.each([
    [
      { ranges: ['10.0.0.0/24', '10.0.1.0/33'] },
      'AddressPool: argument ranges: entry 1 is not an address, range or CIDR: ',
    ],
    [
      { ranges: ['10.0.0.0/24'], exclude: ['banana'] },
      'AddressPool: argument exclude: not an address, range or CIDR: ',
    ],
    [{ ranges: [], reserved: ['banana'] }, 'AddressPool: argument reserved: not an address, range or CIDR: '],
    [
      { ranges: [], gateway: '10.0.0.256' },
      'AddressPool: argument gateway: not an IP address: "10.0.0.256": IPv4 field has value >255 (at position 7)',
    ],
    [{ ranges: [], gateway: 'gw.example.com' }, 'AddressPool: argument gateway: not an IP address: "gw.example.com"'],
    [
      { ranges: [], preallocated: [['a', 'banana']] as const },
      'AddressPool: argument preallocated[a]: not an IP address: ',
    ],
  ])('the message of a wrong text names its argument: %j', (spec, message) => {
    expect(() => new AddressPool(spec)).toThrow(message)
  })

  test('an allocator of prefixes names its argument', () => {
    const spec = { ranges: ['fd00::/48', 'banana'], childLength: 64 }
    expect(() => new PrefixAllocator(spec)).toThrow('PrefixAllocator: argument ranges: entry 1 is not ')
  })

  test('a set does not tell which prefixes it was made of', () => {
    const spec = { ranges: RangeSet.parse(['10.0.0.0/30']) }
    expect(available({ ...spec, reserve: 'none' })).toEqual(['10.0.0.0-10.0.0.3'])
    expect(() => available({ ...spec, reserve: 'subnet-edges' })).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', context: expect.objectContaining({ argument: 'reserve' }) }),
    )
  })

  test('one text is no list', () => {
    expect(() => new AddressPool({ ranges: '10.0.0.0/24' as unknown as string[] })).toThrow(
      /^AddressPool: argument ranges: expected a list of texts, .* got the text "10\.0\.0\.0\/24"$/u,
    )
  })
})

test('a prefix allocator of texts', () => {
  const allocator = new PrefixAllocator({ ranges: ['fd00::/48'], exclude: ['fd00::/64'], childLength: 64 })
  const outcome = allocator.allocate({ owner: { uid: 'a' } })
  expect(outcome.kind === 'allocated' && Prefix.format(outcome.prefix)).toBe('fd00:0:0:1::/64')
})

describe('a sticky key alone', () => {
  const ask = (pool: AddressPool, uid: string, stickyKey?: string) => {
    const outcome = pool.allocate({ owner: { uid }, stickyKey })
    return outcome.kind === 'allocated' ? Address.format(outcome.address) : outcome.kind
  }

  test('gets the address again that it released, while that is free', () => {
    const pool = new AddressPool({ ranges: ['10.0.0.0/29'], strategy: { kind: 'next-fit' } })
    expect(ask(pool, 'a', 'web-0')).toBe('10.0.0.1')
    pool.releaseOwner('a')
    expect(pool.counts().free).toBe(6n)
    expect(ask(pool, 'b')).toBe('10.0.0.2')
    expect(ask(pool, 'c', 'web-0')).toBe('10.0.0.1')
  })

  test('gets another one if another owner has it', () => {
    const pool = new AddressPool({ ranges: ['10.0.0.0/29'] })
    ask(pool, 'a', 'web-0')
    pool.releaseOwner('a')
    expect(ask(pool, 'b')).toBe('10.0.0.1')
    expect(ask(pool, 'c', 'web-0')).toBe('10.0.0.2')
    pool.releaseOwner('b')
    pool.releaseOwner('c')
    expect(ask(pool, 'd', 'web-0')).toBe('10.0.0.2')
  })

  test('is remembered by a stored pool', () => {
    const pool = new AddressPool({ ranges: ['10.0.0.0/29'], strategy: { kind: 'next-fit' } })
    ask(pool, 'a', 'web-0')
    pool.releaseOwner('a')
    expect(ask(AddressPool.decode(AddressPool.encode(pool)), 'b', 'web-0')).toBe('10.0.0.1')
  })

  test('is forgotten when 65,536 others were released later', () => {
    const pool = new AddressPool({ ranges: ['10.0.0.0/15'], strategy: { kind: 'next-fit' } })
    const first = ask(pool, 'a', 'web-0')
    pool.releaseOwner('a')
    for (let i = 0; i < 65_536; i++) {
      ask(pool, `${i}`, `key-${i}`)
      pool.releaseOwner(`${i}`)
    }
    expect(ask(pool, 'last', 'key-65535')).toBe('10.1.0.1')
    expect(ask(pool, 'b', 'web-0')).not.toBe(first)
  })
})
