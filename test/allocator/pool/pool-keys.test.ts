import {
  AddressPool,
  type AddressPoolSpec,
  type AllocationOutcome,
  type AllocationRequest,
  type Strategy,
  type Want,
} from 'ipam-kit/allocator'
import { Address, type Family, RangeSet } from 'ipam-kit/cidr'
import { describe, expect, test } from 'vitest'

/** Eight addresses of a family. */
const eight = { 4: '10.0.0.0/29', 6: 'fd00::/125' } as const
const ranges = (...texts: string[]) => RangeSet.parse(texts)
const at = (family: Family, offset: number) =>
  Address.add(Address.parse(family === 4 ? '10.0.0.0' : 'fd00::'), BigInt(offset))
const lengthOf = (family: Family, count: number) => Address.bitsOf(family) - Math.log2(count)

/** The last numbers of the addresses that were given; else the kind of the outcome. */
function told(outcome: AllocationOutcome): readonly number[] | string {
  if (outcome.kind !== 'allocated' && outcome.kind !== 'already') return outcome.kind
  return outcome.addresses.map((address) => (address.family === 4 ? address.value & 0xff : address.w3 & 0xff))
}

/** A pool whose calls need no clock of their own. */
class Tried {
  readonly pool: AddressPool
  nowMs = 0

  constructor(spec: AddressPoolSpec) {
    this.pool = new AddressPool(spec)
  }

  ask(uid: string, more: Partial<AllocationRequest> = {}): readonly number[] | string {
    return told(this.pool.allocate({ owner: { uid }, ...more }, { nowMs: this.nowMs }))
  }

  release(uid: string): void {
    this.pool.releaseOwner(uid, { nowMs: this.nowMs })
  }
}

const FAMILIES = [4, 6] as const
const strategies: Strategy[] = [
  { kind: 'lowest' },
  { kind: 'next-fit' },
  { kind: 'random', seed: 7 },
  { kind: 'least-recently-released' },
  { kind: 'hashed' },
]

describe.each(FAMILIES)('what is kept for a key in IPv%i', (family) => {
  const wants: [string, Want][] = [
    ['run', { kind: 'run', count: 4 }],
    ['prefix', { kind: 'prefix', length: lengthOf(family, 4) }],
  ]
  const key = { family, stickyKey: 'mac-1' }

  describe.each(wants)('is given to it as %s', (_, want) => {
    test.each(strategies)('after a release, and to no other key: $kind', (strategy) => {
      const tried = new Tried({ ranges: ranges(eight[family]), holdSeconds: 60, strategy })
      tried.ask('other', { family, want })
      const had = tried.ask('before', { ...key, want })
      tried.release('before')
      tried.release('other')
      tried.ask('filler', { family, want })
      expect(tried.ask('another', { family, want, stickyKey: 'mac-2' })).toBe('exhausted')
      expect(tried.ask('after', { ...key, want })).toEqual(had)
    })

    test('also where others are free, and after the time until another owner has it', () => {
      const tried = new Tried({ ranges: ranges(eight[family]), holdSeconds: 60 })
      tried.ask('other', { family, want })
      expect(tried.ask('before', { ...key, want })).toEqual([4, 5, 6, 7])
      for (const uid of ['before', 'other']) tried.release(uid)
      tried.nowMs = 59_999
      expect(tried.ask('after', { ...key, want })).toEqual([4, 5, 6, 7])
      tried.release('after')
      tried.nowMs += 60_000
      expect(tried.ask('late', { ...key, want })).toEqual([4, 5, 6, 7])
      tried.release('late')
      tried.nowMs += 60_000
      for (const uid of ['one', 'two']) tried.ask(uid, { family, want })
      tried.release('one')
      expect(tried.ask('later', { ...key, want })).toEqual([0, 1, 2, 3])
    })

    test('beside what is free, where neither is enough', () => {
      const tried = new Tried({ ranges: ranges(eight[family]), holdSeconds: 60 })
      const two: Want = { kind: 'run', count: 2 }
      for (const [uid, stickyKey] of [['a', 'mac-1'], ['b'], ['c', 'mac-2'], ['d', 'mac-3']] as const) {
        tried.ask(uid, { family, stickyKey, want: two })
      }
      for (const uid of ['a', 'b', 'c']) tried.release(uid)
      expect(tried.ask('another', { family, stickyKey: 'mac-3', want })).toBe('exhausted')
      expect(tried.ask('after', { ...key, want })).toEqual([0, 1, 2, 3])
    })

    test('as what was released last, where there are two', () => {
      const tried = new Tried({ ranges: ranges(eight[family]), holdSeconds: 60 })
      for (const uid of ['a', 'b']) tried.ask(uid, { ...key, want })
      for (const uid of ['b', 'a']) tried.release(uid)
      expect(tried.ask('c', { ...key, want })).toEqual([0, 1, 2, 3])
      tried.release('c')
      expect(tried.ask('d', { ...key, want })).toEqual([0, 1, 2, 3])
    })

    test('where it is preallocated', () => {
      const preallocated = [['mac-1', at(family, 2)] as const, ['mac-2', at(family, 5)] as const]
      const tried = new Tried({ ranges: ranges(eight[family]), preallocated })
      expect(tried.ask('another', { family, want: { kind: 'run', count: 3 } })).toBe('exhausted')
      const outcome = tried.ask('own', { ...key, want })
      expect(outcome).toHaveLength(4)
      expect(outcome).toContain(2)
      expect(outcome).not.toContain(5)
    })
  })

  test('is that which was released last, through every rolling update', () => {
    const tried = new Tried({ ranges: ranges(eight[family]), holdSeconds: 60 })
    tried.ask('v0', key)
    tried.ask('v1', key)
    tried.release('v0')
    tried.release('v1')
    for (let version = 2; version < 6; version++) {
      expect(tried.ask(`v${version}`, key)).toEqual([1])
      tried.nowMs += 1000
      tried.release(`v${version}`)
    }
  })

  test('is that which was released last, also from a snapshot', () => {
    const tried = new Tried({ ranges: ranges(eight[family]), holdSeconds: 60 })
    for (const uid of ['a', 'b', 'c']) tried.ask(uid, key)
    for (const uid of ['c', 'a', 'b']) tried.release(uid)
    const read = AddressPool.decode(AddressPool.encode(tried.pool))
    expect(told(read.allocate({ owner: { uid: 'd' }, ...key }, { nowMs: 0 }))).toEqual([1])
  })

  test('does not go to another key by an undo', () => {
    const tried = new Tried({ ranges: ranges(eight[family]), holdSeconds: 60 })
    const want: Want = { kind: 'run', count: 8 }
    tried.ask('before', { ...key, want })
    tried.release('before')
    const given = tried.pool.allocate({ owner: { uid: 'after' }, ...key, want }, { nowMs: 0 })
    if (given.kind !== 'allocated') throw new Error(given.kind)
    expect(tried.pool.undo(given.delta)).toBe(true)
    expect(tried.pool.counts({ nowMs: 0 })).toMatchObject({ cooldown: 8n, free: 0n })
    expect(tried.ask('another', { family, stickyKey: 'mac-2' })).toBe('exhausted')
    expect(tried.ask('again', { ...key, want })).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
  })

  test('is left as it is by a request that fails', () => {
    const tried = new Tried({ ranges: ranges(eight[family]), holdSeconds: 60 })
    tried.ask('before', { ...key, want: { kind: 'run', count: 3 } })
    tried.release('before')
    tried.ask('filler', { family, want: { kind: 'address', address: at(family, 5) } })
    const counts = tried.pool.counts({ nowMs: 0 })
    for (const want of [
      { kind: 'run', count: 6 },
      { kind: 'prefix', length: lengthOf(family, 8) },
    ] as const) {
      expect(tried.ask('after', { ...key, want })).toBe('exhausted')
      expect(tried.pool.counts({ nowMs: 0 })).toEqual(counts)
      expect(tried.ask('another', { family, want: { kind: 'address', address: at(family, 0) } })).toBe('cooldown')
    }
  })

  test.each([...wants, ['any', { kind: 'any' }] as [string, Want]])(
    'is told as time where nothing is free for %s',
    (_, want) => {
      const tried = new Tried({ ranges: ranges(eight[family]), cooldownSeconds: 10 })
      tried.ask('all', { family, want: { kind: 'run', count: 8 } })
      tried.pool.release(at(family, 3), { uid: 'all' }, { nowMs: 0 })
      tried.pool.release(at(family, 4), { uid: 'all' }, { nowMs: 5000 })
      const refused = tried.pool.allocate({ owner: { uid: 'b' }, family, want }, { nowMs: 6000 })
      expect(refused).toEqual({ kind: 'exhausted', freeAtMs: 10_000 })
    },
  )
})

test('a run of IPv6 that is kept is given also where the pool is too large for slots', () => {
  const tried = new Tried({ ranges: ranges('fd00::/64'), holdSeconds: 60 })
  const first = Address.parse('fd00::8000:0:0:0')
  for (const offset of [0n, 1n, 2n, 3n]) {
    const want: Want = { kind: 'address', address: Address.add(first, offset) }
    tried.ask(`before-${offset}`, { stickyKey: 'mac-1', want })
  }
  for (const offset of [0, 1, 2, 3]) tried.release(`before-${offset}`)
  for (const want of [
    { kind: 'run', count: 4 },
    { kind: 'prefix', length: 126 },
  ] as const) {
    const outcome = tried.pool.allocate(
      { owner: { uid: want.kind }, family: 6, stickyKey: 'mac-1', want },
      { nowMs: 0 },
    )
    expect('address' in outcome && Address.format(outcome.address)).toBe('fd00::8000:0:0:0')
    tried.release(want.kind)
  }
})

describe('IPv4 comes before IPv6 for a key', () => {
  const both = ranges(eight[4], eight[6])
  const pairs = [['mac-1', at(6, 2)] as const, ['mac-1', at(4, 3)] as const]

  test.each([
    ['IPv6 first', pairs],
    ['IPv4 first', [...pairs].reverse()],
  ])('whatever the order of what is preallocated: %s', (_, preallocated) => {
    const tried = new Tried({ ranges: both, preallocated })
    const outcome = tried.pool.allocate({ owner: { uid: 'a' }, stickyKey: 'mac-1' })
    expect('address' in outcome && outcome.address).toEqual(at(4, 3))
  })

  test('whatever was released last', () => {
    const tried = new Tried({ ranges: both, holdSeconds: 60 })
    tried.ask('a', { stickyKey: 'mac-1', want: { kind: 'dualStack' } })
    tried.release('a')
    const outcome = tried.pool.allocate({ owner: { uid: 'b' }, stickyKey: 'mac-1' }, { nowMs: 0 })
    expect('address' in outcome && outcome.address).toEqual(at(4, 0))
  })

  test('of both families each is that which was released last', () => {
    const tried = new Tried({ ranges: both, holdSeconds: 60 })
    for (const uid of ['a', 'b']) tried.ask(uid, { stickyKey: 'mac-1', want: { kind: 'dualStack' } })
    for (const uid of ['a', 'b']) tried.release(uid)
    expect(tried.ask('c', { stickyKey: 'mac-1', want: { kind: 'dualStack' } })).toEqual([1, 1])
  })
})

describe.each(FAMILIES)('a cooldown of IPv%i when the clock steps back', (family) => {
  const spec = (strategy: Strategy) => ({ ranges: ranges(eight[family]), cooldownSeconds: 10, strategy })
  const all: Want = { kind: 'run', count: 8 }

  test.each(strategies)('lasts by the present clock, also if it had ended by the clock before: $kind', (strategy) => {
    const tried = new Tried(spec(strategy))
    tried.ask('a', { want: all })
    tried.nowMs = 100_000
    tried.release('a')
    // one hour ahead for a moment
    expect(tried.pool.counts({ nowMs: 3_700_000 }).cooldown).toBe(0n)
    tried.nowMs = 109_999
    for (const want of [{ kind: 'any' }, all] as const) {
      expect(tried.pool.allocate({ owner: { uid: 'b' }, want }, { nowMs: tried.nowMs })).toEqual({
        kind: 'exhausted',
        freeAtMs: 110_000,
      })
    }
    const read = AddressPool.decode(AddressPool.encode(tried.pool))
    expect(read.counts()).toMatchObject({ cooldown: 8n, free: 0n })
    tried.nowMs = 110_000
    expect(tried.ask('b', { want: all })).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
  })

  test.each(strategies)('is no longer for what is released after that: $kind', (strategy) => {
    const tried = new Tried(spec(strategy))
    tried.nowMs = 3_700_000
    tried.ask('a', { want: all })
    tried.nowMs = 100_000
    tried.release('a')
    tried.nowMs = 109_999
    expect(tried.ask('b', { want: all })).toBe('exhausted')
    tried.nowMs = 110_000
    expect(tried.ask('b', { want: all })).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
  })

  test('keeps an address for its key, and what was given meanwhile stays given', () => {
    const tried = new Tried({ ranges: ranges(eight[family]), holdSeconds: 10 })
    for (const uid of ['a', 'b']) tried.ask(uid, { stickyKey: uid })
    tried.ask('rest', { want: { kind: 'run', count: 6 } })
    for (const uid of ['a', 'b']) tried.release(uid)
    tried.nowMs = 10_000
    expect(tried.ask('c')).toEqual([0])
    tried.nowMs = 5000
    expect(tried.ask('d')).toBe('exhausted')
    expect(tried.ask('e', { stickyKey: 'b' })).toEqual([1])
    expect(tried.pool.counts({ nowMs: 5000 })).toMatchObject({ used: 8n, cooldown: 0n })
  })
})

describe('next-fit in IPv6 continues after the last address where that has no slot', () => {
  const nextFit = { kind: 'next-fit' } as const
  const next = (pool: AddressPool, uid: string) => {
    const outcome = pool.allocate({ owner: { uid } })
    if (outcome.kind !== 'allocated') throw new Error(outcome.kind)
    return { text: Address.format(outcome.address), delta: outcome.delta }
  }
  /** The last one that was given is `fd01::2`, behind 2^64 addresses. */
  const beyond = (...more: string[]) => {
    const pool = new AddressPool({ ranges: ranges('fd01::/125'), strategy: nextFit })
    for (const uid of ['a', 'b', 'c']) next(pool, uid)
    pool.resize({ ranges: ranges('fd00::/64', 'fd01::/125', ...more), strategy: nextFit })
    return pool
  }

  test('then from the first one on', () => {
    const pool = beyond()
    pool.occupy(Address.parse('fd01::4'), { uid: 'x' })
    const given = ['d', 'e', 'f', 'g', 'h', 'i'].map((uid) => next(pool, uid).text)
    expect(given).toEqual(['fd01::3', 'fd01::5', 'fd01::6', 'fd01::7', 'fd00::', 'fd00::1'])
  })

  test('also in another range, and after a snapshot', () => {
    const pool = beyond('fd02::5')
    pool.releaseOwner('c')
    const read = AddressPool.decode(AddressPool.encode(pool))
    for (const one of [pool, read]) {
      const given = ['d', 'e', 'f', 'g', 'h', 'i', 'j'].map((uid) => next(one, uid).text)
      expect(given).toEqual(['fd01::3', 'fd01::4', 'fd01::5', 'fd01::6', 'fd01::7', 'fd02::5', 'fd00::'])
    }
  })

  test('and an undo takes it back', () => {
    const pool = beyond()
    const { delta } = next(pool, 'd')
    expect(pool.undo(delta)).toBe(true)
    expect(next(pool, 'e').text).toBe('fd01::3')
  })

  test('over the border of what has slots', () => {
    const last = Address.add(Address.parse('fd00::'), 2n ** 52n - 1n)
    const text = Address.format(last)
    const pool = new AddressPool({ ranges: ranges(`${text}-${text}`), strategy: nextFit })
    next(pool, 'a')
    pool.resize({ ranges: ranges('fd00::/64'), strategy: nextFit })
    const given = ['b', 'c'].map((uid) => next(pool, uid).text)
    expect(given).toEqual([1n, 2n].map((offset) => Address.format(Address.add(last, offset))))
    const read = AddressPool.decode(AddressPool.encode(pool))
    expect(next(read, 'd').text).toBe(Address.format(Address.add(last, 3n)))
    // back among the slots
    pool.resize({ ranges: ranges('fd00::/124'), strategy: nextFit })
    expect(next(pool, 'e').text).toBe('fd00::')
  })
})
