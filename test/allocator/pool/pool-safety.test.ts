import { AddressPool, type AllocationOutcome, explainRefusal, PrefixAllocator, rebuildPool } from 'ipam-kit/allocator'
import { Address, RangeSet } from 'ipam-kit/cidr'
import { describe, expect, test } from 'vitest'

const at = (text: string) => Address.parse(text)
const ranges = (...texts: string[]) => RangeSet.parse(texts)
const one = at('10.0.0.0')
const uidsOn = (pool: AddressPool, address = one) => pool.ownersOf(address).map((owner) => owner.uid)
const invalid = expect.objectContaining({ code: 'INVALID_ARGUMENT' })

function given(outcome: AllocationOutcome): Extract<AllocationOutcome, { kind: 'allocated' }> {
  if (outcome.kind !== 'allocated') throw new Error(`${outcome.kind}, not allocated`)
  return outcome
}

describe('an address is given to no other owner', () => {
  test('by undoing two releases of it', () => {
    const pool = new AddressPool({ ranges: ranges('10.0.0.0/32') })
    const deltas = ['a', 'b'].map((uid) => {
      pool.allocate({ owner: { uid } })
      return pool.releaseOwner(uid)
    })
    expect([pool.undo(deltas[0]!), pool.undo(deltas[1]!)]).not.toEqual([true, true])
    expect(uidsOn(pool)).toHaveLength(1)
  })

  test('by undoing two releases of a prefix', () => {
    const allocator = new PrefixAllocator({ ranges: ranges('10.0.0.0/24'), childLength: 24 })
    const deltas = ['a', 'b'].map((uid) => {
      allocator.allocate({ owner: { uid } })
      return allocator.releaseOwner(uid)
    })
    expect([allocator.undo(deltas[0]!), allocator.undo(deltas[1]!)]).not.toEqual([true, true])
    expect(allocator.entries()[0]?.owners).toHaveLength(1)
  })

  test('by undoing a release after another owner was read back with a lower number', () => {
    const pool = new AddressPool({ ranges: ranges('10.0.0.0/30') })
    for (const uid of ['a', 'b']) pool.allocate({ owner: { uid } })
    const delta = pool.releaseOwner('a')
    pool.occupy(one, { uid: 'c' }, { sequence: 1 })
    expect(pool.undo(delta)).toBe(false)
    expect(uidsOn(pool)).toEqual(['c'])
  })

  test('by owners whose names run together', () => {
    const pool = new AddressPool({ ranges: ranges('10.0.0.0/30') })
    pool.occupy(one, { uid: 'a', interface: 'b' })
    expect(() => pool.occupy(one, { uid: 'a\nb' })).toThrow(invalid)
  })
})

describe('bytes', () => {
  test('are read back after the highest sequence that can be read back', () => {
    const pool = new AddressPool({ ranges: ranges('10.0.0.0/29') })
    expect(() => pool.occupy(one, { uid: 'a' }, { sequence: 2 ** 52 + 1 })).toThrow(invalid)
    pool.occupy(one, { uid: 'a' }, { sequence: 2 ** 52 - 2 })
    const sequences = ['b', 'c'].map((uid) => given(pool.allocate({ owner: { uid } })).delta.holds[0]!.sequence)
    expect(sequences[0]).not.toBe(sequences[1])
    expect(AddressPool.safeDecode(AddressPool.encode(pool)).ok).toBe(true)
  })

  test('are read back after a release from before a restart was undone', () => {
    const pool = new AddressPool({ ranges: ranges('10.0.0.0/29') })
    for (const uid of ['a', 'b', 'c']) pool.allocate({ owner: { uid } })
    const delta = JSON.parse(JSON.stringify(pool.releaseOwner('c')))
    const { pool: fresh } = rebuildPool({ ranges: ranges('10.0.0.0/29') }, [])
    fresh.undo(delta)
    expect(AddressPool.safeDecode(AddressPool.encode(fresh)).ok).toBe(true)
  })

  test('are short though an owner has a long uid many times', () => {
    const pool = new AddressPool({ ranges: ranges('10.0.0.0/16') })
    const uid = 'x'.repeat(1024)
    for (let i = 0; i < 20_000; i++) pool.occupy(Address.from4(0x0a000000 + i), { uid })
    const bytes = AddressPool.encode(pool)
    expect(bytes.length).toBeLessThan(400_000)
    expect(() => pool.occupy(one, { uid: `${uid}x` })).toThrow(invalid)
    expect(AddressPool.safeDecode(bytes).ok).toBe(true)
  })

  test('say the same after the clock was set back', () => {
    const strategy = { kind: 'least-recently-released' } as const
    const pool = new AddressPool({ ranges: ranges('10.0.0.0/32'), cooldownSeconds: 10, strategy })
    pool.allocate({ owner: { uid: 'a' } }, { nowMs: 0 })
    pool.releaseOwner('a', { nowMs: 0 })
    pool.counts({ nowMs: 20_000 })
    pool.counts({ nowMs: 5000 })
    expect(AddressPool.decode(AddressPool.encode(pool)).counts()).toEqual(pool.counts())
  })
})

test('what cools down is not lost when the pool no longer has a cooldown', () => {
  const pool = new AddressPool({ ranges: ranges('10.0.0.0/32'), cooldownSeconds: 10 })
  pool.allocate({ owner: { uid: 'a' } }, { nowMs: 0 })
  pool.releaseOwner('a', { nowMs: 0 })
  pool.resize({ ranges: ranges('10.0.0.0/32') })
  expect(() => pool.allocate({ owner: { uid: 'b' } })).toThrow(invalid)
  expect(pool.allocate({ owner: { uid: 'b' } }, { nowMs: 9999 })).toEqual({ kind: 'exhausted', freeAtMs: 10_000 })
  expect(pool.allocate({ owner: { uid: 'b' } }, { nowMs: 10_000 }).kind).toBe('allocated')
  expect(pool.allocate({ owner: { uid: 'c' } })).toEqual({ kind: 'exhausted' })
})

test('a refused request for a run changes nothing', () => {
  const pool = new AddressPool({ ranges: ranges('10.0.0.0/29'), strategy: { kind: 'next-fit' } })
  pool.allocate({ owner: { uid: 'a' } })
  const { delta } = given(pool.allocate({ owner: { uid: 'b' } }))
  const before = AddressPool.encode(pool)
  expect(pool.allocate({ owner: { uid: 'c' }, want: { kind: 'run', count: 9 } }).kind).toBe('exhausted')
  expect(AddressPool.encode(pool)).toEqual(before)
  pool.undo(delta)
  expect(given(pool.allocate({ owner: { uid: 'b' } })).address).toEqual(at('10.0.0.1'))
})

test('the static band is left to the last also by least-recently-released', () => {
  const strategy = { kind: 'least-recently-released' } as const
  const pool = new AddressPool({ ranges: ranges('10.0.0.0/29'), strategy, staticBand: 4 })
  for (const uid of ['a', 'b', 'c', 'd']) pool.allocate({ owner: { uid } })
  for (const uid of ['a', 'b', 'c', 'd']) pool.releaseOwner(uid)
  expect(given(pool.allocate({ owner: { uid: 'e' } })).address).toEqual(at('10.0.0.4'))
})

test('what was held back for a key and is now preallocated for another does not keep the key from the rest', () => {
  const spec = { ranges: ranges('10.0.0.0/29'), holdSeconds: 60 }
  const pool = new AddressPool(spec)
  pool.allocate({ owner: { uid: 'a' }, stickyKey: 'k1' }, { nowMs: 0 })
  pool.releaseOwner('a', { nowMs: 0 })
  pool.resize({ ...spec, preallocated: [['k2', one]] })
  expect(pool.allocate({ owner: { uid: 'b' }, stickyKey: 'k1' }, { nowMs: 1 }).kind).toBe('allocated')
})

test('a spec may be used twice', () => {
  const once = { ranges: ranges('10.0.0.0/29'), preallocated: new Map([['k', one]]).entries() }
  expect(() => new AddressPool(once)).toThrow(invalid)
  const spec = { ...once, preallocated: new Map([['k', one]]) }
  const pool = new AddressPool(spec)
  pool.resize(spec)
  expect(given(pool.allocate({ owner: { uid: 'a' } })).address).not.toEqual(one)
})

test('a prefix of another family is not what the owner asks for', () => {
  const allocator = new PrefixAllocator({ ranges: ranges('10.0.0.0/8'), childLength: 24 })
  allocator.allocate({ owner: { uid: 'a' } })
  allocator.resize({ ranges: ranges('fd00::/16'), childLength: 24 })
  expect(allocator.allocate({ owner: { uid: 'a' } })).toMatchObject({ prefix: { address: { family: 6 } } })
})

test('next-fit continues after the last allocated address, once round after a resize', () => {
  const spec = (...texts: string[]) => ({ ranges: ranges(...texts), strategy: { kind: 'next-fit' } as const })
  const pool = new AddressPool(spec('10.0.0.8/29'))
  const give = (uid: string) => Address.format(given(pool.allocate({ owner: { uid } })).address)
  for (const uid of ['a', 'b', 'c']) give(uid)
  pool.resize(spec('10.0.0.0/30', '10.0.0.12/30'))
  for (let i = 0; i < 7; i++) give(`d${i}`)
  expect(give('last')).toBe('10.0.0.3')
  pool.resize(spec('10.0.0.0/28'))
  expect(give('e')).toBe('10.0.0.4')
})

test('a refusal far in the future is told in words', () => {
  const pool = new AddressPool({ ranges: ranges('10.0.0.0/32'), cooldownSeconds: 10 })
  const nowMs = 2 ** 52
  pool.allocate({ owner: { uid: 'a' } }, { nowMs })
  pool.releaseOwner('a', { nowMs })
  expect(explainRefusal(pool.allocate({ owner: { uid: 'b' } }, { nowMs }))).toContain('no suitable address is free')
})

test('what is no address leaves nothing behind', () => {
  const pool = new AddressPool({ ranges: ranges('10.0.0.0/29') })
  expect(() => pool.occupy({ family: 4, value: 0x0a000000 + 0.5 }, { uid: 'a' })).toThrow()
  expect(pool.addressesOf('a')).toEqual([])
})
