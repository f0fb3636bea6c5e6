import { AddressPool, type AddressPoolSpec, type Strategy } from 'ipam-kit/allocator'
import { Address, RangeSet } from 'ipam-kit/cidr'
import { describe, expect, test } from 'vitest'
import { staticBandOf } from '../../../src/allocator/strategy.js'

const at = (text: string) => Address.parse(text)
const ranges = (...texts: string[]) => RangeSet.parse(texts)

function give(pool: AddressPool, uid: string, stickyKey?: string): string {
  const outcome = pool.allocate({ owner: { uid }, stickyKey }, { nowMs: 0 })
  return outcome.kind === 'allocated' ? Address.format(outcome.address) : outcome.kind
}

function free(pool: AddressPool, address: string): void {
  const [owner] = pool.ownersOf(at(address))
  expect(pool.release(at(address), owner!, { nowMs: 0 }).kind).toBe('released')
}

const pool = (kind: Exclude<Strategy['kind'], 'random'>, more: Partial<AddressPoolSpec> = {}) =>
  new AddressPool({ ranges: ranges('10.0.0.0/29'), strategy: { kind }, ...more })

describe('strategies', () => {
  test('next-fit continues after the last address, and a release does not draw it back', () => {
    const small = pool('next-fit')
    expect([give(small, 'a'), give(small, 'b'), give(small, 'c')]).toEqual(['10.0.0.0', '10.0.0.1', '10.0.0.2'])
    free(small, '10.0.0.1')
    expect([give(small, 'd'), give(small, 'e')]).toEqual(['10.0.0.3', '10.0.0.4'])
    for (const uid of ['f', 'g', 'h']) give(small, uid)
    expect(give(small, 'i')).toBe('10.0.0.1')
  })

  test('least-recently-released gives what was never used, then what was released first', () => {
    const small = pool('least-recently-released')
    const uids = ['a', 'b', 'c', 'd', 'e', 'f']
    for (const uid of uids) give(small, uid)
    for (const last of [4, 2, 3]) free(small, `10.0.0.${last}`)
    expect(['g', 'h', 'i', 'j', 'k', 'l'].map((uid) => give(small, uid))).toEqual([
      '10.0.0.6',
      '10.0.0.7',
      '10.0.0.4',
      '10.0.0.2',
      '10.0.0.3',
      'exhausted',
    ])
  })

  test('random gives all of them, in an order that follows from the seed', () => {
    const drain = (seed: number) => {
      const made = new AddressPool({ ranges: ranges('10.0.0.0/24'), strategy: { kind: 'random', seed } })
      return Array.from({ length: 257 }, (_, i) => give(made, String(i)))
    }
    const [first, again, other] = [drain(1), drain(1), drain(2)]
    expect(new Set(first.slice(0, 256)).size).toBe(256)
    expect(first[256]).toBe('exhausted')
    expect(again).toEqual(first)
    expect(other).not.toEqual(first)
    // not in order, and from everywhere
    expect(new Set(first.slice(0, 32).map((text) => Number(text.split('.')[3]) >> 6)).size).toBe(4)
  })

  test('hashed gives a key the same address in every pool, and few keys another one when the pool grows', () => {
    const spec = (...texts: string[]) => ({ ranges: ranges(...texts), strategy: { kind: 'hashed' } as const })
    const keys = Array.from({ length: 400 }, (_, i) => `02:00:00:00:${i >> 8}:${i & 255}`)
    // one at a time, so that no two are after the same address
    const alone = (made: AddressPoolSpec) => keys.map((key) => give(new AddressPool(made), 'a', key))
    const before = alone(spec('10.0.0.0/22', '10.1.0.0/22'))
    expect(alone(spec('10.0.0.0/22', '10.1.0.0/22'))).toEqual(before)
    expect(new Set(before).size).toBeGreaterThan(300)
    const added = alone(spec('10.0.0.0/22', '10.1.0.0/22', '10.2.0.0/22'))
    const moved = added.filter((address, i) => address !== before[i])
    expect(moved.every((address) => address.startsWith('10.2.'))).toBe(true)
    expect(moved.length / keys.length).toBeGreaterThan(0.2)
    expect(moved.length / keys.length).toBeLessThan(0.47)
    const longer = alone(spec('10.0.0.0/22', '10.1.0.0-10.1.4.255'))
    expect(longer.filter((address, i) => address !== before[i]).length / keys.length).toBeLessThan(0.3)
  })

  test('hashed gives two keys that are after the same address two of them', () => {
    const small = pool('hashed')
    const given = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'].map((uid) => give(small, uid, uid))
    expect(new Set(given.slice(0, 8)).size).toBe(8)
    expect(given[8]).toBe('exhausted')
  })

  test.each<[kind: Strategy['kind']]>([['lowest'], ['next-fit'], ['least-recently-released'], ['hashed'], ['random']])(
    'the static band is left to the last, with %s',
    (kind) => {
      const strategy = (kind === 'random' ? { kind, seed: 3 } : { kind }) as Strategy
      const small = new AddressPool({ ranges: ranges('10.0.0.0/28'), strategy, staticBand: 6 })
      const wanted = small.allocate({ owner: { uid: 'static' }, want: { kind: 'address', address: at('10.0.0.2') } })
      expect(wanted.kind).toBe('allocated')
      const order = Array.from({ length: 15 }, (_, i) => Number(give(small, String(i)).split('.')[3]))
      expect(new Set(order.slice(0, 10))).toEqual(new Set([6, 7, 8, 9, 10, 11, 12, 13, 14, 15]))
      expect(new Set(order.slice(10))).toEqual(new Set([0, 1, 3, 4, 5]))
    },
  )

  test.each([
    [16, 0],
    [17, 16],
    [32, 16],
    [256, 16],
    [1024, 64],
    [4096, 256],
    [65_536, 256],
    [2 ** 24, 256],
  ])('the band of a range of %d is %d', (size, band) => expect(staticBandOf(size)).toBe(band))
})

describe('runs', () => {
  test('lie in one range, and those of a prefix begin where it does', () => {
    const made = new AddressPool({ ranges: ranges('10.0.0.3-10.0.0.5', '10.0.0.7-10.0.0.30') })
    const run = made.allocate({ owner: { uid: 'a' }, want: { kind: 'run', count: 4 } })
    expect(run).toMatchObject({ kind: 'allocated', address: at('10.0.0.7') })
    const prefix = made.allocate({ owner: { uid: 'b' }, want: { kind: 'prefix', length: 30 }, family: 4 })
    expect(prefix).toMatchObject({ kind: 'allocated', address: at('10.0.0.12') })
    expect(made.allocate({ owner: { uid: 'b' }, want: { kind: 'prefix', length: 30 }, family: 4 })).toMatchObject({
      kind: 'already',
    })
    expect(made.allocate({ owner: { uid: 'c' }, want: { kind: 'prefix', length: 28 }, family: 4 })).toEqual({
      kind: 'exhausted',
    })
    expect(made.counts().used).toBe(8n)
  })

  test('of IPv6 across a border of words', () => {
    const made = new AddressPool({ ranges: ranges('fd00::ffff:fffe-fd00::1:0:ff') })
    const outcome = made.allocate({ owner: { uid: 'a' }, want: { kind: 'prefix', length: 124 }, family: 6 })
    expect(outcome).toMatchObject({ kind: 'allocated', address: at('fd00::1:0:0') })
    const run = made.allocate({ owner: { uid: 'b' }, want: { kind: 'run', count: 2 } })
    expect(run.kind === 'allocated' && run.addresses.map(Address.format)).toEqual([
      'fd00::ffff:fffe',
      'fd00::ffff:ffff',
    ])
  })
})

describe('time', () => {
  test('an address cools down, and is known to come back', () => {
    const small = new AddressPool({ ranges: ranges('10.0.0.0/31'), cooldownSeconds: 10 })
    const ask = (uid: string, nowMs: number) => small.allocate({ owner: { uid } }, { nowMs })
    ask('a', 0)
    ask('b', 0)
    small.release(at('10.0.0.0'), { uid: 'a' }, { nowMs: 1000 })
    expect(ask('c', 2000)).toEqual({ kind: 'exhausted', freeAtMs: 11_000 })
    expect(small.counts()).toMatchObject({ used: 1n, cooldown: 1n, free: 0n })
    expect(ask('a', 10_999)).toEqual({ kind: 'exhausted', freeAtMs: 11_000 })
    expect(small.counts({ nowMs: 11_000 })).toMatchObject({ used: 1n, cooldown: 0n, free: 1n })
    expect(ask('c', 11_000)).toMatchObject({ kind: 'allocated', address: at('10.0.0.0') })
  })

  test('a key finds its address again for as long as it is held back for it', () => {
    const small = new AddressPool({ ranges: ranges('10.0.0.0/29'), holdSeconds: 60 })
    const ask = (uid: string, stickyKey: string | undefined, nowMs: number) =>
      small.allocate({ owner: { uid }, stickyKey }, { nowMs })
    ask('other', undefined, 0)
    expect(ask('pod-1', 'default/web-0', 0)).toMatchObject({ address: at('10.0.0.1') })
    small.releaseOwner('pod-1', { nowMs: 1000 })
    expect(ask('pod-2', 'default/web-1', 2000)).toMatchObject({ address: at('10.0.0.2') })
    expect(ask('pod-3', 'default/web-0', 60_999)).toMatchObject({ kind: 'allocated', address: at('10.0.0.1') })
    small.releaseOwner('pod-3', { nowMs: 61_000 })
    expect(ask('pod-4', undefined, 121_000)).toMatchObject({ kind: 'allocated', address: at('10.0.0.1') })
    expect(ask('pod-5', 'default/web-0', 121_000)).toMatchObject({ kind: 'allocated', address: at('10.0.0.3') })
  })
})

describe('releases', () => {
  test('a late release does not end what the owner was given since', () => {
    const small = new AddressPool({ ranges: ranges('10.0.0.0/32') })
    const sequenceOf = () => small.holdsOf(at('10.0.0.0'))[0]!.sequence
    give(small, 'a')
    const late = sequenceOf()
    small.releaseOwner('a')
    give(small, 'a')
    const outcome = small.release(at('10.0.0.0'), { uid: 'a' }, { sequence: late })
    expect(outcome).toEqual({ kind: 'otherSequence', sequence: sequenceOf() })
    expect(small.counts().used).toBe(1n)
  })

  test('a release is not undone once another owner has the address', () => {
    const small = new AddressPool({ ranges: ranges('10.0.0.0/32') })
    give(small, 'a')
    const delta = small.releaseOwner('a')
    give(small, 'b')
    expect(small.undo(delta)).toBe(false)
    expect(small.ownersOf(at('10.0.0.0'))).toEqual([{ uid: 'b' }])
    small.releaseOwner('b')
    expect(small.undo(delta)).toBe(true)
    expect(small.ownersOf(at('10.0.0.0'))).toEqual([{ uid: 'a' }])
  })

  test('interfaces of one owner are apart, and end together', () => {
    const small = new AddressPool({ ranges: ranges('10.0.0.0/29') })
    const nic = (name: string) => ({ uid: 'a', interface: name })
    expect(small.allocate({ owner: nic('net1') })).toMatchObject({ kind: 'allocated', address: at('10.0.0.0') })
    expect(small.allocate({ owner: nic('net2') })).toMatchObject({ kind: 'allocated', address: at('10.0.0.1') })
    expect(small.allocate({ owner: nic('net1') })).toMatchObject({ kind: 'already', address: at('10.0.0.0') })
    expect(small.release(at('10.0.0.0'), nic('net2'))).toEqual({ kind: 'notHeld' })
    expect(small.releaseOwner('a').holds).toHaveLength(2)
  })
})

test('what is kept back is counted, and comes back when the pool is changed', () => {
  const spec = {
    ranges: ranges('10.0.0.0/28'),
    exclude: ranges('10.0.0.4/30'),
    reserved: ranges('10.0.0.0', '10.0.0.15'),
  }
  const made = new AddressPool({ ...spec, gateway: at('10.0.0.1'), preallocated: [['mac', at('10.0.0.2')]] })
  expect(made.counts()).toEqual({
    total: 9n,
    used: 0n,
    cooldown: 0n,
    preallocated: 1n,
    free: 8n,
    reserved: 7n,
    outOfRange: 0n,
  })
  expect(give(made, 'a')).toBe('10.0.0.3')
  made.resize(spec)
  expect(made.counts()).toMatchObject({ total: 10n, used: 1n, preallocated: 0n, free: 9n, reserved: 6n })
  expect(give(made, 'b')).toBe('10.0.0.1')
})

test('an allocation is undone after the pool was changed, and next-fit continues where it is then', () => {
  const made = new AddressPool({ ranges: ranges('10.0.0.8/29'), strategy: { kind: 'next-fit' } })
  give(made, 'a')
  const outcome = made.allocate({ owner: { uid: 'b' } })
  made.resize({ ranges: ranges('10.0.0.0/28'), strategy: { kind: 'next-fit' } })
  expect(outcome.kind === 'allocated' && made.undo(outcome.delta)).toBe(true)
  expect(made.counts()).toMatchObject({ used: 1n, free: 15n })
  expect(give(made, 'c')).toBe('10.0.0.10')
})

describe('mistakes of the caller', () => {
  const spec = (more: object) => ({ ranges: ranges('10.0.0.0/28'), ...more }) as AddressPoolSpec
  test.each<[argument: string, more: object]>([
    ['spec.strategy.kind', { strategy: { kind: 'first' } }],
    ['spec.strategy.seed', { strategy: { kind: 'random' } }],
    ['spec.strategy.seed', { strategy: { kind: 'random', seed: 0.5 } }],
    ['staticBand', { staticBand: -1 }],
    ['staticBand', { staticBand: 1.5 }],
    ['spec.cooldownSeconds', { cooldownSeconds: -1 }],
    ['spec.cooldownSeconds', { cooldownSeconds: Number.NaN }],
    ['spec.holdSeconds', { holdSeconds: 1e12 }],
    [
      'preallocated',
      {
        preallocated: [
          ['a', at('10.0.0.1')],
          ['b', at('10.0.0.1')],
        ],
      },
    ],
    [
      'preallocated',
      {
        preallocated: [
          ['a', at('10.0.0.1')],
          ['a', at('10.0.0.2')],
        ],
      },
    ],
  ])('%s', (argument, more) => {
    expect(() => new AddressPool(spec(more))).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', context: expect.objectContaining({ argument }) }),
    )
  })

  const refusal = (argument: string) =>
    expect.objectContaining({ code: 'INVALID_ARGUMENT', context: expect.objectContaining({ argument }) })

  test('no time where one is needed', () => {
    const pool = new AddressPool(spec({ cooldownSeconds: 1 }))
    expect(() => pool.allocate({ owner: { uid: 'a' } })).toThrow(refusal('nowMs'))
    expect(() => pool.release(at('10.0.0.1'), { uid: 'a' })).toThrow(refusal('nowMs'))
    expect(() => pool.releaseOwner('a', { nowMs: Number.NaN })).toThrow(refusal('nowMs'))
    expect(() => new AddressPool(spec({})).counts({ nowMs: Number.NaN })).toThrow(refusal('nowMs'))
  })

  test('counts and lengths that no request has', () => {
    const made = new AddressPool(spec({}))
    for (const count of [0, -1, 0.5, 65_537, Number.NaN]) {
      expect(() => made.allocate({ owner: { uid: 'a' }, want: { kind: 'run', count } })).toThrow(refusal('want.count'))
    }
    for (const length of [15, 33, 24.5]) {
      const want = { kind: 'prefix', length } as const
      expect(() => made.allocate({ owner: { uid: 'a' }, want, family: 4 })).toThrow(refusal('want.length'))
    }
    expect(() => made.allocate({ owner: { uid: 'a' }, want: { kind: 'prefix', length: 28 } })).toThrow(
      refusal('family'),
    )
    expect(() => made.allocate({ owner: { uid: 'a', interface: '' } })).toThrow(refusal('owner.interface'))
  })

  test('another strategy for a pool that is in use', () => {
    const made = new AddressPool(spec({}))
    expect(() => made.resize(spec({ strategy: { kind: 'next-fit' } }))).toThrow(refusal('strategy.kind'))
    expect(made.lowestFree()).toEqual(at('10.0.0.0'))
  })
})
