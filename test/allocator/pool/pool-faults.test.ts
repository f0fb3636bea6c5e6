import {
  AddressPool,
  type AddressPoolSpec,
  type AllocationOutcome,
  rebuildPool,
  type Strategy,
} from 'ipam-kit/allocator'
import { Address, RangeSet } from 'ipam-kit/cidr'
import { describe, expect, test } from 'vitest'

// Each of these goes red with a fault that all other tests would let pass.

const at = (text: string) => Address.parse(text)
const ranges = (...texts: string[]) => RangeSet.parse(texts)
const uidsOn = (pool: AddressPool, address: string) => pool.ownersOf(at(address)).map((owner) => owner.uid)

function given(outcome: AllocationOutcome): Extract<AllocationOutcome, { kind: 'allocated' }> {
  if (outcome.kind !== 'allocated') throw new Error(`${outcome.kind}, not allocated`)
  return outcome
}

describe('what is read back', () => {
  test('does not set the numbers of holds back', () => {
    const pool = new AddressPool({ ranges: ranges('10.0.0.0/29') })
    for (const uid of ['a', 'b', 'c']) pool.allocate({ owner: { uid } })
    pool.occupy(at('10.0.0.7'), { uid: 'd' }, { sequence: 1 })
    expect(given(pool.allocate({ owner: { uid: 'e' } })).delta.holds).toMatchObject([{ sequence: 4 }])
    pool.occupy(at('10.0.0.6'), { uid: 'f' }, { sequence: 70 })
    expect(given(pool.allocate({ owner: { uid: 'g' } })).delta.holds).toMatchObject([{ sequence: 71 }])
  })

  test('has a number of its own when only others come with one', () => {
    const observed = [
      { address: at('10.0.0.1'), owner: { uid: 'a' } },
      { address: at('10.0.0.2'), owner: { uid: 'b' }, sequence: 1 },
    ]
    const { pool } = rebuildPool({ ranges: ranges('10.0.0.0/29') }, observed)
    expect(pool.entries().flatMap((entry) => entry.holds.map((hold) => hold.sequence))).toEqual([2, 1])
  })

  test('is held back for its key when it has ended', () => {
    const pool = new AddressPool({ ranges: ranges('10.0.0.0/29'), holdSeconds: 60 })
    pool.occupy(at('10.0.0.3'), { uid: 'a' }, { stickyKey: 'mac-1' })
    pool.releaseOwner('a', { nowMs: 500 })
    const again = pool.allocate({ owner: { uid: 'b' }, stickyKey: 'mac-1' }, { nowMs: 1000 })
    expect(given(again).address).toEqual(at('10.0.0.3'))
  })

  test('is apart from everything else outside of the pool', () => {
    const pool = new AddressPool({ ranges: RangeSet.empty })
    const texts = ['0.0.0.0', '0.0.0.1', '10.0.0.1', '127.255.255.255', '138.0.0.1', '255.255.255.255', '::', '::1']
    for (const text of texts) expect(pool.occupy(at(text), { uid: text })).toEqual({ kind: 'outOfPool', others: [] })
    expect(pool.counts().outOfRange).toBe(8n)
    for (const text of texts) expect(uidsOn(pool, text)).toEqual([text])
  })

  test('is the same pool when the objects differ in nothing but their keys', () => {
    const hold = (stickyKey: string) => ({
      address: at('10.0.0.1'),
      owner: { uid: 'a' },
      stickyKey,
    })
    const spec = { ranges: ranges('10.0.0.0/29') }
    const holdsOf = (...observed: ReturnType<typeof hold>[]) => rebuildPool(spec, observed).pool.holdsOf(at('10.0.0.1'))
    expect(holdsOf(hold('k1'), hold('k2'))).toEqual(holdsOf(hold('k2'), hold('k1')))
  })
})

describe('undo', () => {
  test('of an allocation needs all of its holds, as they were given', () => {
    const pool = new AddressPool({ ranges: ranges('10.0.0.0/29') })
    const two = given(pool.allocate({ owner: { uid: 'a' }, want: { kind: 'run', count: 2 } }))
    pool.release(at('10.0.0.1'), { uid: 'a' })
    expect(pool.undo(two.delta)).toBe(false)
    expect(pool.addressesOf('a')).toEqual([at('10.0.0.0')])
    pool.releaseOwner('a')
    // the same owner, the same addresses, but later holds
    pool.allocate({ owner: { uid: 'a' }, want: { kind: 'run', count: 2 } })
    expect(pool.undo(two.delta)).toBe(false)
    expect(pool.counts().used).toBe(2n)
  })

  test('of a release needs all of its addresses', () => {
    const pool = new AddressPool({ ranges: ranges('10.0.0.0/29') })
    pool.allocate({ owner: { uid: 'a' }, want: { kind: 'run', count: 2 } })
    const delta = pool.releaseOwner('a')
    pool.allocate({ owner: { uid: 'b' }, want: { kind: 'address', address: at('10.0.0.1') } })
    expect(pool.undo(delta)).toBe(false)
    expect(pool.counts().used).toBe(1n)
  })

  test('of a release brings an owner back beside the one that was there with it, and in its order', () => {
    const pool = new AddressPool({ ranges: ranges('10.0.0.0/29') })
    for (const text of ['10.0.0.1', '10.0.0.5']) pool.occupy(at(text), { uid: 'a' })
    pool.occupy(at('10.0.0.1'), { uid: 'b' })
    const outcome = pool.release(at('10.0.0.1'), { uid: 'a' })
    expect(outcome.kind === 'released' && pool.undo(outcome.delta)).toBe(true)
    expect(uidsOn(pool, '10.0.0.1')).toEqual(['a', 'b'])
    expect(pool.addressesOf('a').map(Address.format)).toEqual(['10.0.0.1', '10.0.0.5'])
  })

  test('of one owner leaves the address to the other', () => {
    const pool = new AddressPool({ ranges: ranges('10.0.0.0/31') })
    const { delta } = given(pool.allocate({ owner: { uid: 'a' } }))
    pool.occupy(at('10.0.0.0'), { uid: 'b' })
    expect(pool.undo(delta)).toBe(true)
    expect(pool.counts()).toMatchObject({ used: 1n, free: 1n })
    expect(given(pool.allocate({ owner: { uid: 'c' } })).address).toEqual(at('10.0.0.1'))
  })

  test('of both families brings back what was held back for the key', () => {
    const pool = new AddressPool({ ranges: ranges('10.0.0.0/29', 'fd00::/125'), holdSeconds: 60 })
    const ask = (uid: string) =>
      given(pool.allocate({ owner: { uid }, want: { kind: 'dualStack' }, stickyKey: 'mac-1' }, { nowMs: 0 }))
    ask('a')
    pool.releaseOwner('a', { nowMs: 0 })
    expect(pool.undo(ask('b').delta)).toBe(true)
    expect(RangeSet.format(pool.inCooldown())).toEqual(['10.0.0.0-10.0.0.0', 'fd00::-fd00::'])
    expect(ask('c').addresses.map(Address.format)).toEqual(['10.0.0.0', 'fd00::'])
  })

  test('does not hold back again what would have cooled down by now', () => {
    const pool = new AddressPool({ ranges: ranges('10.0.0.0/31'), cooldownSeconds: 10 })
    pool.allocate({ owner: { uid: 'a' }, stickyKey: 'mac-1' }, { nowMs: 0 })
    pool.releaseOwner('a', { nowMs: 0 })
    const { delta } = given(pool.allocate({ owner: { uid: 'b' }, stickyKey: 'mac-1' }, { nowMs: 5000 }))
    pool.counts({ nowMs: 10_000 })
    expect(pool.undo(delta)).toBe(true)
    expect(pool.counts()).toMatchObject({ cooldown: 0n, free: 2n })
  })

  test('keeps the order in which two addresses were released for one key', () => {
    const pool = new AddressPool({ ranges: ranges('10.0.0.0/29'), holdSeconds: 60 })
    const ask = (uid: string) => given(pool.allocate({ owner: { uid }, stickyKey: 'mac-1' }, { nowMs: 0 }))
    for (const uid of ['a', 'b']) ask(uid)
    for (const uid of ['b', 'a']) pool.releaseOwner(uid, { nowMs: 0 })
    const first = ask('c')
    expect(first.address).toEqual(at('10.0.0.0'))
    pool.undo(first.delta)
    expect(ask('d').address).toEqual(at('10.0.0.0'))
  })

  test('does not make a preallocated address one that was never used', () => {
    const pool = new AddressPool({
      ranges: ranges('10.0.0.0/30'),
      strategy: { kind: 'least-recently-released' },
      preallocated: [['mac-1', at('10.0.0.1')]],
    })
    const { delta } = given(pool.allocate({ owner: { uid: 'a' }, stickyKey: 'mac-1' }))
    expect(pool.undo(delta)).toBe(true)
    const others = ['b', 'c', 'd'].map((uid) => Address.format(given(pool.allocate({ owner: { uid } })).address))
    expect(others).toEqual(['10.0.0.0', '10.0.0.2', '10.0.0.3'])
    expect(pool.allocate({ owner: { uid: 'e' } }).kind).toBe('exhausted')
  })
})

test('a request that nothing is left for changes nothing that follows from the seed', () => {
  const pool = new AddressPool({ ranges: ranges('10.0.0.0/29'), strategy: { kind: 'random', seed: 3 } })
  for (let i = 0; i < 8; i++) pool.allocate({ owner: { uid: String(i) } })
  const before = AddressPool.encode(pool)
  expect(pool.allocate({ owner: { uid: 'late' } })).toEqual({ kind: 'exhausted' })
  expect(AddressPool.encode(pool)).toEqual(before)
})

test('next-fit continues after the last allocated address in a pool that was changed twice', () => {
  const pool = new AddressPool({ ranges: ranges('10.0.0.0/29'), strategy: { kind: 'next-fit' } })
  const give = (uid: string) => Address.format(given(pool.allocate({ owner: { uid } })).address)
  expect([give('a'), give('b')]).toEqual(['10.0.0.0', '10.0.0.1'])
  pool.resize({ ranges: ranges('10.0.0.4-10.0.0.15'), strategy: { kind: 'next-fit' } })
  expect([give('c'), give('d')]).toEqual(['10.0.0.4', '10.0.0.5'])
  pool.resize({ ranges: ranges('10.0.0.0/28'), strategy: { kind: 'next-fit' } })
  expect(give('e')).toBe('10.0.0.6')
})

describe('a run', () => {
  test.each([
    [23, 4, '10.0.1.0-10.0.4.255', '10.0.2.0'],
    [119, 6, 'fd00::100-fd00::4ff', 'fd00::200'],
  ] as const)('of a prefix of /%d begins at a multiple of more than 256', (length, family, range, first) => {
    const pool = new AddressPool({ ranges: ranges(range) })
    const outcome = pool.allocate({ owner: { uid: 'a' }, family, want: { kind: 'prefix', length } })
    expect(given(outcome).address).toEqual(at(first))
  })

  test.each([
    ['10.0.0.9-10.0.0.14', ['10.0.0.5', '10.0.0.9']],
    ['10.0.0.9', ['10.0.0.5', '10.0.0.9']],
  ])('of a prefix is the lowest, whichever ranges are before and behind: %s', (behind, taken) => {
    const pool = new AddressPool({ ranges: ranges('10.0.0.1', '10.0.0.5-10.0.0.7', behind) })
    for (const text of taken) pool.occupy(at(text), { uid: 'taken' })
    const outcome = pool.allocate({ owner: { uid: 'a' }, family: 4, want: { kind: 'prefix', length: 31 } })
    expect(given(outcome).address).toEqual(at('10.0.0.6'))
  })

  test('reaches up to the end of its range, and not beyond', () => {
    const pool = new AddressPool({ ranges: ranges('10.0.0.1-10.0.0.2', '10.0.0.4-10.0.0.6', '10.0.0.8-10.0.0.10') })
    const run = (uid: string) => pool.allocate({ owner: { uid }, want: { kind: 'run', count: 3 } })
    expect([given(run('a')).address, given(run('b')).address]).toEqual([at('10.0.0.4'), at('10.0.0.8')])
    expect(run('c').kind).toBe('exhausted')
  })

  test('is the one that the owner holds only if it is as long and as aligned as the one that it asks for', () => {
    const pool = new AddressPool({ ranges: ranges('10.0.0.0/28') })
    const hold = (uid: string, ...texts: string[]) => {
      for (const text of texts) pool.occupy(at(text), { uid })
    }
    const kindOf = (uid: string, want: { kind: 'run'; count: number } | { kind: 'prefix'; length: number }) =>
      pool.allocate({ owner: { uid }, want, family: 4 }).kind
    hold('gap', '10.0.0.0', '10.0.0.2')
    hold('odd', '10.0.0.5', '10.0.0.6')
    hold('short', '10.0.0.8')
    expect(kindOf('gap', { kind: 'run', count: 2 })).toBe('refused')
    expect(kindOf('odd', { kind: 'prefix', length: 31 })).toBe('refused')
    expect(kindOf('odd', { kind: 'run', count: 2 })).toBe('already')
    expect(kindOf('short', { kind: 'run', count: 2 })).toBe('refused')
  })
})

describe('hashed', () => {
  const spec = (...texts: string[]) => ({ ranges: ranges(...texts), strategy: { kind: 'hashed' } as const })
  const keys = Array.from({ length: 300 }, (_, i) => `key-${i}`)
  /** What each key is given, alone in a pool. */
  const alone = (made: AddressPoolSpec) =>
    keys.map((uid) => Address.format(given(new AddressPool(made).allocate({ owner: { uid } })).address))

  test.each([
    [['10.1.0.0/24', '10.2.0.0/24'], '10.0.0.0/24'],
    [['10.0.0.5', '10.0.0.9'], '10.0.0.20'],
    [['10.0.0.5', '10.0.0.9'], '10.0.0.1'],
  ])('gives keys in %j none but new addresses when %s is added', (texts, more) => {
    const before = alone(spec(...texts))
    const after = alone(spec(...texts, more))
    const changed = after.filter((address, i) => address !== before[i])
    expect(changed.length).toBeGreaterThan(50)
    expect(changed.length).toBeLessThan(150)
    expect(changed.every((address) => RangeSet.contains(ranges(more), at(address)))).toBe(true)
  })

  test('gives a large range more keys than a small one', () => {
    const small = alone(spec('10.0.0.0/30', '10.1.0.0/22')).filter((address) => address.startsWith('10.0.'))
    expect(small.length).toBeLessThan(10)
  })

  test('spreads the keys that tend to the static band over all that is above it', () => {
    const addresses = alone({ ...spec('10.0.0.0/24'), staticBand: 192 })
    expect(addresses.every((address) => Number(address.split('.')[3]) >= 192)).toBe(true)
    expect(new Set(addresses).size).toBeGreaterThan(50)
  })
})

describe('a pool that was changed', () => {
  const make = (strategy: Strategy, more: Partial<AddressPoolSpec> = {}) => {
    const spec = (...texts: string[]): AddressPoolSpec => ({ ranges: ranges(...texts), strategy, ...more })
    const pool = new AddressPool(spec('10.0.0.0/29'))
    const give = (uid: string, nowMs = 0) => {
      const outcome = pool.allocate({ owner: { uid } }, { nowMs })
      return outcome.kind === 'allocated' ? Address.format(outcome.address) : outcome.kind
    }
    return { pool, give, resize: (...texts: string[]) => pool.resize(spec(...texts)) }
  }

  test('gives nothing that was released and is outside now', () => {
    const { pool, give, resize } = make({ kind: 'least-recently-released' })
    give('a')
    pool.releaseOwner('a')
    resize('10.0.0.2-10.0.0.3')
    expect(['b', 'c', 'd'].map((uid) => give(uid))).toEqual(['10.0.0.2', '10.0.0.3', 'exhausted'])
    resize('10.0.0.0/30')
    expect(['e', 'f', 'g'].map((uid) => give(uid))).toEqual(['10.0.0.1', '10.0.0.0', 'exhausted'])
  })

  test('gives no address that is in its cooldown', () => {
    const { pool, give, resize } = make({ kind: 'least-recently-released' }, { cooldownSeconds: 10 })
    give('a')
    pool.releaseOwner('a', { nowMs: 0 })
    resize('10.0.0.0/31')
    expect(['b', 'c'].map((uid) => give(uid))).toEqual(['10.0.0.1', 'exhausted'])
    expect(give('c', 10_000)).toBe('10.0.0.0')
  })

  test('draws on as before', () => {
    const [one, other] = [make({ kind: 'random', seed: 5 }), make({ kind: 'random', seed: 5 })]
    for (const { give } of [one, other]) for (const uid of ['a', 'b']) give(uid)
    other.resize('10.0.0.0/29')
    const rest = ['c', 'd', 'e', 'f']
    expect(rest.map((uid) => other.give(uid))).toEqual(rest.map((uid) => one.give(uid)))
  })

  test('and changed back continues after an address that it did not have meanwhile', () => {
    const { pool, give, resize } = make({ kind: 'next-fit' })
    for (const uid of ['a', 'b', 'c', 'd', 'e', 'f']) give(uid)
    for (const uid of ['a', 'b', 'c', 'd', 'e', 'f']) pool.releaseOwner(uid)
    resize('10.0.0.0/31', '10.0.0.6/31')
    resize('10.0.0.0/29')
    expect(give('g')).toBe('10.0.0.6')
  })
})

test('what is exhausted is told when the first address of either family has cooled down', () => {
  const pool = new AddressPool({ ranges: ranges('10.0.0.0/32', 'fd00::/128'), cooldownSeconds: 10 })
  for (const [uid, family] of [
    ['a', 4],
    ['b', 6],
  ] as const) {
    pool.allocate({ owner: { uid }, family }, { nowMs: 0 })
  }
  pool.releaseOwner('b', { nowMs: 1000 })
  pool.releaseOwner('a', { nowMs: 2000 })
  const freeAt = (family?: 4 | 6) => pool.allocate({ owner: { uid: 'c' }, family }, { nowMs: 3000 })
  expect(freeAt()).toEqual({ kind: 'exhausted', freeAtMs: 11_000 })
  expect([freeAt(4), freeAt(6)]).toMatchObject([{ freeAtMs: 12_000 }, { freeAtMs: 11_000 }])
})
