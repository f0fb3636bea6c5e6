import fc from 'fast-check'
import { Address, type Family, Range, RangeSet } from 'ipam-kit/cidr'
import { address } from 'ipam-kit/testing/arbitraries'
import { describe, expect, test } from 'vitest'
import { property } from '../property.js'
import { large } from '../windows.js'

/** The ends of every range, and what lies on the other side of them. */
function edges(set: RangeSet): Address[] {
  return RangeSet.ranges(set).flatMap(({ first, last }) => {
    const { family } = first
    const top = (1n << BigInt(Address.bitsOf(family))) - 1n
    return [Address.toBigInt(first), Address.toBigInt(last)]
      .flatMap((value) => [value - 1n, value, value + 1n])
      .filter((value) => value >= 0n && value <= top)
      .map((value) => Address.fromBigInt(family, value))
  })
}

/** By looking at every range. */
function contains(list: readonly Range[], member: Address): boolean {
  return list.some((range) => Range.contains(range, member))
}

function rank(list: readonly Range[], member: Address): bigint {
  return list.reduce((sum, { first, last }) => {
    if (Address.compare(last, member) < 0) return sum + Range.size({ first, last })
    return Address.compare(first, member) < 0 ? sum + Address.distance(first, member) : sum
  }, 0n)
}

describe('a search finds the same', () => {
  property([large, fc.array(address(), { maxLength: 20 })])(
    'with a new directory, with the one of an earlier search, and in copies that have none',
    (set, strangers) => {
      const list = RangeSet.ranges(set)
      const probes = [...edges(set), ...strangers]
      const expected = probes.map((probe) => contains(list, probe))
      const ask = (asked: RangeSet) => probes.map((probe) => RangeSet.contains(asked, probe))
      // a fresh set for each question: each search builds a directory
      const fresh = () => RangeSet.decode(RangeSet.encode(set))
      expect(probes.map((probe) => RangeSet.contains(fresh(), probe))).toEqual(expected)
      for (let round = 0; round < 2; round++) expect(ask(set)).toEqual(expected)
      expect(ask(structuredClone(set))).toEqual(expected)
    },
  )

  property([large, fc.array(address(), { maxLength: 20 })], 0.3)(
    'for ranks, and back from them, in the set and in a copy',
    (set, strangers) => {
      const list = RangeSet.ranges(set)
      for (const asked of [set, structuredClone(set)]) {
        for (const probe of [...edges(set), ...strangers]) {
          const found = RangeSet.rank(asked, probe)
          expect(found).toBe(rank(list, probe))
          if (contains(list, probe)) expect(RangeSet.at(asked, found)).toEqual(probe)
        }
      }
    },
  )
})

describe.each<[name: string, family: Family]>([
  ['IPv4', 4],
  ['IPv6', 6],
])('%s addresses that first differ at any place', (_, family) => {
  const bits = Address.bitsOf(family)

  test.each(Array.from({ length: bits - 3 }, (_, place) => place))('from bit %i on', (place) => {
    const members = alikeUpTo(place, bits)
    const set = RangeSet.fromAddresses(members.map((value) => Address.fromBigInt(family, value)))
    const has = new Set(members)
    const sorted = [...has].sort((a, b) => (a < b ? -1 : 1))
    expect(Array.from(RangeSet.addresses(set), Address.toBigInt)).toEqual(sorted)
    const probes = [...members].reverse().flatMap((value) => [value, value - 1n, value + 1n])
    const inside = probes.filter((value) => value >= 0n && value < 1n << BigInt(bits))
    const expected = inside.map((value) => has.has(value))
    const ask = () => inside.map((value) => RangeSet.contains(set, Address.fromBigInt(family, value)))
    expect(ask()).toEqual(expected)
    expect(ask()).toEqual(expected)
  })
})

/**
 * 256 numbers in no order. The bits before `place` are the same in all, and the four from there on
 * in sixteen of them: half of these go on in any way, the others differ in their last bits only.
 */
function alikeUpTo(place: number, bits: number): bigint[] {
  const rest = BigInt(bits - place - 4)
  const shared = 0xa6a6a6a6_a6a6a6a6_a6a6a6a6_a6a6a6a6n >> BigInt(128 - place)
  return Array.from({ length: 256 }, (_, i) => {
    const behind = i < 128 ? BigInt(i) * 0x9e3779b9_7f4a7c15_f39cc060_5cedc835n : BigInt(511 - i)
    return (((shared << 4n) | BigInt((i * 5) & 15)) << rest) | (behind & ((1n << rest) - 1n))
  })
}

describe.each([
  ['IPv4', (i: number) => Address.from4(0x0a000000 + i * 3)],
  ['IPv6', (i: number) => Address.fromBigInt(6, (0xfd00n << 112n) + BigInt(i * 3))],
])('a set of 4,096 %s addresses', (_, nth) => {
  const make = () => RangeSet.fromAddresses(Array.from({ length: 4096 }, (_, i) => nth(i)))
  const ask = (set: RangeSet) => {
    for (let i = 0; i < 4096; i++) expect(RangeSet.contains(set, nth(i))).toBe(true)
  }

  test('is equal to another before and after it has been searched', () => {
    const [searched, fresh] = [make(), make()]
    ask(searched)
    expect(RangeSet.size(searched)).toBe(4096n)
    expect(searched).toEqual(fresh)
    expect(searched).toStrictEqual(fresh)
  })

  test('can be frozen to its last field', () => {
    const set = make()
    Object.freeze(set)
    Object.freeze(set.v4)
    Object.freeze(set.v6)
    ask(set)
    expect(RangeSet.size(set)).toBe(4096n)
  })

  test('is searched in fewer steps after its first search, and a copy of it is not', () => {
    const set = make()
    const ofCopy = readsOf(structuredClone(set))
    const ofSet = readsOf(set)
    const once = (some: RangeSet) => RangeSet.contains(some, nth(1000))
    expect(ofSet(once)).toBeGreaterThanOrEqual(4096)
    expect(ofSet(once) * 2).toBeLessThan(ofCopy(once))
    expect(ofSet(ask) * 2).toBeLessThan(ofCopy(ask))
  })

  test('is counted once', () => {
    const ofSet = readsOf(make())
    expect(ofSet(RangeSet.size)).toBeGreaterThanOrEqual(4096)
    expect(ofSet(RangeSet.size)).toBeLessThanOrEqual(4 * 64)
  })
})

/**
 * How many numbers some work reads of the beginnings of a set's ranges, which is what a search
 * looks at.
 */
function readsOf(set: RangeSet): (work: (set: RangeSet) => unknown) => number {
  let count = 0
  // the other one is shared by all sets that have nothing there
  const ranges = set.v4.firsts.length > 0 ? set.v4 : set.v6
  const firsts = new Proxy(ranges.firsts, {
    get(words, key) {
      if (typeof key === 'string' && /^\d+$/.test(key)) count++
      const value = Reflect.get(words, key)
      return typeof value === 'function' ? value.bind(words) : value
    },
  })
  Object.assign(ranges, { firsts })
  return (work) => {
    const before = count
    work(set)
    return count - before
  }
}
