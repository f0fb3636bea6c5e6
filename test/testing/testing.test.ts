import fc from 'fast-check'
import { Address, Prefix, Range, RangeSet } from 'ipam-kit/cidr'
import { memoryStore } from 'ipam-kit/store/memory'
import { crashingStore, SimulatedCrash } from 'ipam-kit/testing'
import { address, prefix, range, rangeSetIn } from 'ipam-kit/testing/arbitraries'
import { describe, expect, test } from 'vitest'
import { ModelPool } from '../allocator/pool/model-pool.js'

const thing = (name: string) => ({ apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name } })

describe('crashingStore', () => {
  test('crashes before a write: nothing of it is stored, and nothing works after it', async () => {
    const below = memoryStore({ now: () => 0 })
    const store = crashingStore(below, 2, 'before')
    expect((await store.create(thing('a'))).ok).toBe(true)
    await expect(store.create(thing('b'))).rejects.toBeInstanceOf(SimulatedCrash)
    await expect(store.list({ apiVersion: 'example.com/v1', kind: 'Thing' })).rejects.toBeInstanceOf(SimulatedCrash)
    const listed = await below.list({ apiVersion: 'example.com/v1', kind: 'Thing' })
    expect(listed.ok && listed.value.items.map((it) => it.metadata.name)).toEqual(['a'])
  })

  test('crashes after a write: it is stored, and its answer is lost', async () => {
    const below = memoryStore({ now: () => 0 })
    const store = crashingStore(below, 1, 'after')
    await expect(store.create(thing('a'))).rejects.toBeInstanceOf(SimulatedCrash)
    const listed = await below.list({ apiVersion: 'example.com/v1', kind: 'Thing' })
    expect(listed.ok && listed.value.items).toHaveLength(1)
  })

  test('counts every kind of write, and no read', async () => {
    const store = crashingStore(memoryStore({ now: () => 0 }), 100, 'before')
    const ref = { apiVersion: 'example.com/v1', kind: 'Thing', name: 'a' }
    const created = await store.create(thing('a'))
    await store.get(ref)
    await store.patch(ref, { spec: { size: 1 } })
    if (created.ok) await store.update(created.value)
    await store.delete(ref)
    expect(store.writes).toBe(4)
  })
})

describe('ModelPool', () => {
  test('is the Set and the loop: lowest first, holders, counts', () => {
    const model = new ModelPool(RangeSet.parse(['10.0.0.1-10.0.0.3', 'fd00::1']), RangeSet.parse(['10.0.0.2']))
    expect(model.addresses).toEqual(['10.0.0.1', '10.0.0.3', 'fd00::1'])
    model.occupy('10.0.0.1', 'a')
    model.occupy('10.0.0.1', 'b')
    model.occupy('192.0.2.1', 'c')
    expect(model.lowestFree()).toBe('10.0.0.3')
    expect(model.lowestFree(6)).toBe('fd00::1')
    expect(model.counts()).toEqual({ total: 3n, used: 1n, free: 2n, outOfRange: 1n })
    expect(model.release('10.0.0.1', 'a')).toBe(true)
    expect(model.release('10.0.0.1', 'a')).toBe(false)
    expect(model.lowestFree()).toBe('10.0.0.3')
    model.release('10.0.0.1', 'b')
    expect(model.lowestFree()).toBe('10.0.0.1')
  })

  test('refuses a pool that is too large to write out', () => {
    expect(() => new ModelPool(RangeSet.parse(['10.0.0.0/8']))).toThrow(RangeError)
  })

  test('reaches the end of the address space', () => {
    expect(new ModelPool(RangeSet.parse(['255.255.255.254/31'])).addresses).toEqual([
      '255.255.255.254',
      '255.255.255.255',
    ])
  })
})

describe('arbitraries', () => {
  test('make values that print and parse', () => {
    fc.assert(fc.property(address(), (it) => Address.equals(Address.parse(Address.format(it)), it)))
    fc.assert(fc.property(prefix(), (it) => Prefix.format(Prefix.parse(Prefix.format(it))) === Prefix.format(it)))
    fc.assert(fc.property(range(), (it) => Range.format(Range.parse(Range.format(it))) === Range.format(it)))
  })

  test('reach the ends of the space and of words', () => {
    const [low, high] = [Address.parse('0.0.0.0'), Address.parse('255.255.255.255')]
    const seen4 = fc.sample(address(4), { numRuns: 500, seed: 1 })
    for (const end of [low, high]) expect(seen4.some((it) => Address.equals(it, end))).toBe(true)
    const seen6 = fc.sample(address(6), { numRuns: 500, seed: 1 })
    expect(seen6.some((it) => it.w3 === 0xffffffff)).toBe(true)
    expect(seen6.some((it) => it.w1 === 0)).toBe(true)
  })

  test('keep a set in its window', () => {
    const base = Address.parse('::ffff:fff0')
    const window = RangeSet.fromRanges([Range.of(base, Address.add(base, 31n))])
    fc.assert(fc.property(rangeSetIn(base, 32), (it) => RangeSet.isEmpty(RangeSet.subtract(it, window))))
  })
})
