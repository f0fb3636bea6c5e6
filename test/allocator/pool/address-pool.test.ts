import { AddressPool, type AllocationOutcome } from 'ipam-kit/allocator'
import { Address, RangeSet } from 'ipam-kit/cidr'
import { describe, expect, test } from 'vitest'

/** Nothing here cools down or is kept for a key. */
const idle = { cooldown: 0n, preallocated: 0n, reserved: expect.any(BigInt) }

const at = (text: string) => Address.parse(text)
const pool = (ranges: string[], exclude?: string[]) =>
  new AddressPool({ ranges: RangeSet.parse(ranges), exclude: exclude && RangeSet.parse(exclude) })
const [a, b, c] = [{ uid: 'a' }, { uid: 'b' }, { uid: 'c' }]

/** Allocates until nothing is left: the addresses in the order in which they come. */
function drain(from: AddressPool, name = 'drain'): string[] {
  const given: string[] = []
  for (;;) {
    const outcome = from.allocate({ owner: { uid: `${name}-${given.length}` } })
    if (outcome.kind !== 'allocated') return given
    given.push(Address.format(outcome.address))
  }
}

describe('allocate', () => {
  test('gives the lowest free address of all ranges, IPv4 before IPv6, without the excluded ones', () => {
    const mixed = pool(['fd00::4/127', '10.0.0.9', '10.0.0.0/30', 'fd00::1'], ['10.0.0.0', '10.0.0.3', 'fd00::4'])
    expect(drain(mixed)).toEqual(['10.0.0.1', '10.0.0.2', '10.0.0.9', 'fd00::1', 'fd00::5'])
    expect(mixed.allocate({ owner: a })).toEqual({ kind: 'exhausted' })
    expect(mixed.counts()).toEqual({ ...idle, total: 5n, used: 5n, free: 0n, outOfRange: 0n })
  })

  test('gives the lowest again when it has come back', () => {
    const small = pool(['10.0.0.0/29'])
    drain(small)
    small.release(at('10.0.0.5'), { uid: 'drain-5' })
    small.release(at('10.0.0.2'), { uid: 'drain-2' })
    expect(drain(small, 'again')).toEqual(['10.0.0.2', '10.0.0.5'])
  })

  test('gives an owner the same address again, of each family one', () => {
    const mixed = pool(['10.0.0.0/30', 'fd00::/126'])
    expect(mixed.allocate({ owner: a, family: 6 })).toMatchObject({ kind: 'allocated', address: at('fd00::') })
    expect(mixed.allocate({ owner: a, family: 6 })).toEqual({
      kind: 'already',
      address: at('fd00::'),
      addresses: [at('fd00::')],
    })
    expect(mixed.allocate({ owner: a })).toEqual({ kind: 'already', address: at('fd00::'), addresses: [at('fd00::')] })
    expect(mixed.allocate({ owner: a, family: 4 })).toMatchObject({ kind: 'allocated', address: at('10.0.0.0') })
    expect(mixed.allocate({ owner: a })).toEqual({ kind: 'already', address: at('fd00::'), addresses: [at('fd00::')] })
    expect(mixed.counts().used).toBe(2n)
  })

  test('gives one of each family or none at all, and says which is missing', () => {
    const mixed = pool(['10.0.0.0/30', 'fd00::/127'])
    const want = { kind: 'dualStack' } as const
    const addresses = [at('10.0.0.0'), at('fd00::')]
    expect(mixed.allocate({ owner: a, want })).toMatchObject({ kind: 'allocated', addresses })
    expect(mixed.allocate({ owner: a, want })).toEqual({ kind: 'already', address: addresses[0], addresses })
    mixed.allocate({ owner: b, family: 6 })
    const refused = { kind: 'refused', reason: 'OwnerHoldsAnother', address: at('fd00::1') }
    expect(mixed.allocate({ owner: b, want })).toEqual(refused)
    expect(mixed.allocate({ owner: c, want })).toEqual({ kind: 'exhausted' })
    expect(mixed.addressesOf('c')).toEqual([])
    expect(mixed.counts().used).toBe(3n)
    expect(() => mixed.allocate({ owner: c, want, family: 4 })).toThrow('dualStack wants both')
  })

  test('keeps to the family that is wanted', () => {
    const six = pool(['fd00::/126'])
    expect(six.allocate({ owner: a, family: 4 })).toEqual({ kind: 'exhausted' })
    expect(six.lowestFree({ family: 4 })).toBeUndefined()
    expect(six.lowestFree({ family: 6 })).toEqual(at('fd00::'))
    expect(six.lowestFree()).toEqual(at('fd00::'))
  })

  test('reports a delta with the owner as it was given, and undo takes it back', () => {
    const small = pool(['10.0.0.1'])
    const owner = { uid: 'a', key: 'default/web-0' }
    const outcome = small.allocate({ owner }) as Extract<AllocationOutcome, { kind: 'allocated' }>
    const holds = [{ address: at('10.0.0.1'), owner, sequence: 1 }]
    expect(outcome).toMatchObject({ address: at('10.0.0.1'), addresses: [at('10.0.0.1')], delta: { holds } })
    expect(small.ownersOf(at('10.0.0.1'))).toEqual([owner])
    expect(small.undo(outcome.delta)).toBe(true)
    expect(small.undo(outcome.delta)).toBe(false)
    expect(small.counts()).toEqual({ ...idle, total: 1n, used: 0n, free: 1n, outOfRange: 0n })
  })

  test('undo takes no address back that another owner has got since', () => {
    const small = pool(['10.0.0.1'])
    const outcome = small.allocate({ owner: a }) as Extract<AllocationOutcome, { kind: 'allocated' }>
    small.release(outcome.address, a)
    small.allocate({ owner: b })
    expect(small.undo(outcome.delta)).toBe(false)
    expect(small.ownersOf(outcome.address)).toEqual([b])
  })
})

describe('a wanted address', () => {
  const want = (text: string) => ({ kind: 'address', address: at(text) }) as const

  test('is given if it is free', () => {
    const small = pool(['10.0.0.0/29'])
    expect(small.allocate({ owner: a, want: want('10.0.0.5') })).toMatchObject({
      kind: 'allocated',
      address: at('10.0.0.5'),
    })
    expect(small.lowestFree()).toEqual(at('10.0.0.0'))
  })

  test.each([
    ['10.0.0.8', 'behind the pool'],
    ['9.255.255.255', 'before the pool'],
    ['10.0.0.3', 'excluded', 'Reserved'],
    ['::ffff:10.0.0.1', 'of the other family'],
  ])('is outOfPool: %s, %s', (text, _, reason = 'Outside') => {
    const small = pool(['10.0.0.0/29'], ['10.0.0.3'])
    expect(small.allocate({ owner: a, want: want(text) })).toEqual({ kind: 'outOfPool', address: at(text), reason })
  })

  test('is taken by the owner that held it first', () => {
    const small = pool(['10.0.0.0/29'])
    small.occupy(at('10.0.0.5'), b)
    small.occupy(at('10.0.0.5'), c)
    expect(small.allocate({ owner: a, want: want('10.0.0.5') })).toEqual({
      kind: 'taken',
      address: at('10.0.0.5'),
      by: b,
    })
  })

  test('is already the one that the owner holds, in or out of the pool, alone or not', () => {
    const small = pool(['10.0.0.0/29'])
    for (const text of ['10.0.0.5', '192.168.0.1']) {
      const fresh = pool(['10.0.0.0/29'])
      fresh.occupy(at(text), b)
      fresh.occupy(at(text), a)
      expect(fresh.allocate({ owner: a, want: want(text) })).toEqual({
        kind: 'already',
        address: at(text),
        addresses: [at(text)],
      })
    }
    expect(small.counts().used).toBe(0n)
  })

  test('is refused if the owner holds another one of that family, and only then', () => {
    const mixed = pool(['10.0.0.0/29', 'fd00::/125'])
    mixed.allocate({ owner: a, want: want('10.0.0.5') })
    const refused = { kind: 'refused', reason: 'OwnerHoldsAnother', address: at('10.0.0.5') }
    expect(mixed.allocate({ owner: a, want: want('10.0.0.6') })).toEqual(refused)
    expect(mixed.allocate({ owner: a, want: want('192.168.0.1') })).toEqual(refused)
    expect(mixed.allocate({ owner: a, want: want('fd00::5') })).toMatchObject({ kind: 'allocated' })
    expect(mixed.counts().used).toBe(2n)
  })
})

describe('occupy', () => {
  test('tells what it found', () => {
    const small = pool(['10.0.0.0/30'])
    const inside = at('10.0.0.1')
    const outside = at('10.0.0.9')
    expect(small.occupy(inside, a)).toEqual({ kind: 'occupied', others: [] })
    expect(small.occupy(inside, a)).toEqual({ kind: 'already', others: [] })
    expect(small.occupy(inside, b)).toEqual({ kind: 'occupied', others: [a] })
    expect(small.occupy(inside, a)).toEqual({ kind: 'already', others: [b] })
    expect(small.occupy(outside, a)).toEqual({ kind: 'outOfPool', others: [] })
    expect(small.occupy(outside, a)).toEqual({ kind: 'outOfPool', others: [] })
    expect(small.occupy(outside, b)).toEqual({ kind: 'outOfPool', others: [a] })
    expect(small.counts()).toEqual({ ...idle, total: 4n, used: 1n, free: 3n, outOfRange: 1n })
  })

  test('an address of two owners is free when both are gone', () => {
    const small = pool(['10.0.0.1'])
    small.occupy(at('10.0.0.1'), a)
    small.occupy(at('10.0.0.1'), b)
    expect(small.release(at('10.0.0.1'), a).kind).toBe('released')
    expect(small.allocate({ owner: c })).toEqual({ kind: 'exhausted' })
    expect(small.release(at('10.0.0.1'), a)).toEqual({ kind: 'notHeld' })
    expect(small.release(at('10.0.0.1'), b).kind).toBe('released')
    expect(small.allocate({ owner: c })).toMatchObject({ kind: 'allocated' })
  })

  test('an address outside of the pool is forgotten when it is released', () => {
    const small = pool(['10.0.0.0/30'])
    small.occupy(at('192.168.0.1'), a)
    expect(small.release(at('192.168.0.1'), a).kind).toBe('released')
    expect(small.entries()).toEqual([])
    expect(small.counts().outOfRange).toBe(0n)
  })
})

describe('owners', () => {
  test('hold addresses in the order in which they got them, and lose them all at once', () => {
    const small = pool(['10.0.0.0/29'])
    for (const text of ['10.0.0.5', '192.168.0.1', '10.0.0.2']) small.occupy(at(text), a)
    small.occupy(at('10.0.0.5'), b)
    expect(small.addressesOf('a').map(Address.format)).toEqual(['10.0.0.5', '192.168.0.1', '10.0.0.2'])
    expect(small.releaseOwner('a').holds.map(({ address }) => Address.format(address))).toEqual([
      '10.0.0.5',
      '192.168.0.1',
      '10.0.0.2',
    ])
    expect(small.releaseOwner('a').holds).toEqual([])
    expect(small.addressesOf('a')).toEqual([])
    expect(small.entries()).toMatchObject([{ address: at('10.0.0.5'), owners: [b] }])
  })

  test('a release by another owner, or of a free address, changes nothing', () => {
    const small = pool(['10.0.0.0/29'])
    small.occupy(at('10.0.0.5'), a)
    expect(small.release(at('10.0.0.5'), b)).toEqual({ kind: 'notHeld' })
    expect(small.release(at('10.0.0.6'), a)).toEqual({ kind: 'notHeld' })
    expect(small.ownersOf(at('10.0.0.5'))).toEqual([a])
    expect(small.ownersOf(at('10.0.0.6'))).toEqual([])
  })

  test('an owner named __proto__ is an owner like any other', () => {
    const small = pool(['10.0.0.0/29'])
    for (const uid of ['__proto__', 'constructor', 'hasOwnProperty'])
      expect(small.allocate({ owner: { uid } }).kind).toBe('allocated')
    expect(small.addressesOf('constructor').map(Address.format)).toEqual(['10.0.0.1'])
    expect(small.releaseOwner('toString').holds).toEqual([])
  })

  test('what the pool answers can be changed without changing the pool', () => {
    const small = pool(['10.0.0.0/29'])
    small.occupy(at('10.0.0.5'), a)
    ;(small.ownersOf(at('10.0.0.5')) as unknown[]).pop()
    small.addressesOf('a').pop()
    for (const { owners } of small.entries()) (owners as unknown[]).pop()
    expect(small.entries()).toMatchObject([{ address: at('10.0.0.5'), owners: [a] }])
    expect(small.addressesOf('a')).toEqual([at('10.0.0.5')])
  })
})

describe('resize under live holds', () => {
  test('what falls outside is counted apart, and what comes back is in use again', () => {
    const small = pool(['10.0.0.0/30'])
    drain(small)
    small.resize({ ranges: RangeSet.parse(['10.0.0.2-10.0.0.5']) })
    expect(small.counts()).toEqual({ ...idle, total: 4n, used: 2n, free: 2n, outOfRange: 2n })
    expect(small.lowestFree()).toEqual(at('10.0.0.4'))
    small.resize({ ranges: RangeSet.parse(['10.0.0.0/29']), exclude: RangeSet.parse(['10.0.0.3-10.0.0.4']) })
    expect(small.counts()).toEqual({ ...idle, total: 6n, used: 3n, free: 3n, outOfRange: 1n })
    expect(small.lowestFree()).toEqual(at('10.0.0.5'))
    expect(RangeSet.format(small.available)).toEqual(['10.0.0.0-10.0.0.2', '10.0.0.5-10.0.0.7'])
  })

  test('to nothing and back', () => {
    const small = pool(['10.0.0.0/30', 'fd00::/127'])
    drain(small)
    small.resize({ ranges: RangeSet.empty })
    expect(small.counts()).toEqual({ ...idle, total: 0n, used: 0n, free: 0n, outOfRange: 6n })
    expect(small.allocate({ owner: a })).toEqual({ kind: 'exhausted' })
    small.resize({ ranges: RangeSet.parse(['10.0.0.0/30', 'fd00::/127']) })
    expect(small.counts()).toEqual({ ...idle, total: 6n, used: 6n, free: 0n, outOfRange: 0n })
  })
})

describe('lowestFree from an address on', () => {
  test.each([
    ['0.0.0.0', '10.0.0.1'],
    ['10.0.0.1', '10.0.0.1'],
    ['10.0.0.2', '10.0.0.3'],
    ['10.0.0.4', '10.0.0.8'],
    ['10.0.0.9', '10.0.0.9'],
    ['10.0.0.10', undefined],
    ['255.255.255.255', undefined],
    ['::', 'fd00::1'],
    ['fd00::2', 'fd00::2'],
    ['fd00::3', 'fd00::8'],
    ['fd00::9', 'fd00::9'],
    ['fd00::a', undefined],
  ])('%s: %s', (from, expected) => {
    const gaps = pool(['10.0.0.1-10.0.0.3', '10.0.0.8-10.0.0.9', 'fd00::1-fd00::2', 'fd00::8-fd00::9'])
    gaps.occupy(at('10.0.0.2'), a)
    const lowest = gaps.lowestFree({ from: at(from) })
    expect(lowest && Address.format(lowest)).toBe(expected)
  })

  test('from implies the family', () => {
    const mixed = pool(['10.0.0.0/30', 'fd00::/126'])
    expect(mixed.lowestFree({ family: 4, from: at('fd00::') })).toEqual(at('fd00::'))
    expect(mixed.lowestFree({ family: 6, from: at('10.0.0.2') })).toEqual(at('10.0.0.2'))
  })
})

test('a pool without addresses has none to give', () => {
  const none = pool([])
  expect(none.allocate({ owner: a })).toEqual({ kind: 'exhausted' })
  expect([none.lowestFree(), none.lowestFree({ from: at('::') }), none.lowestFree({ from: at('0.0.0.0') })]).toEqual([
    undefined,
    undefined,
    undefined,
  ])
  expect(none.occupy(at('::1'), a)).toEqual({ kind: 'outOfPool', others: [] })
  expect(none.counts()).toEqual({ ...idle, total: 0n, used: 0n, free: 0n, outOfRange: 1n })
})
