import fc from 'fast-check'
import { Address, Range, RangeSet } from 'ipam-kit/cidr'
import { address } from 'ipam-kit/testing'
import { describe, expect, test } from 'vitest'
import { property } from './property.js'
import { large } from './windows.js'

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
    'before a directory is there, with it, and in copies that have none',
    (set, strangers) => {
      const list = RangeSet.ranges(set)
      const probes = [...edges(set), ...strangers]
      const expected = probes.map((probe) => contains(list, probe))
      const ask = (asked: RangeSet) => probes.map((probe) => RangeSet.contains(asked, probe))
      // a fresh set for each question: the first search has no directory
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

describe.each([
  ['IPv4', (i: number) => Address.from4(0x0a000000 + i * 3)],
  ['IPv6', (i: number) => Address.fromBigInt(6, (0xfd00n << 112n) + BigInt(i * 3))],
])('a set of 4,096 %s addresses', (_, nth) => {
  const make = () => RangeSet.fromAddresses(Array.from({ length: 4096 }, (_, i) => nth(i)))
  const ask = (set: RangeSet) => {
    for (let i = 0; i < 4096; i++) expect(RangeSet.contains(set, nth(i))).toBe(true)
    expect(RangeSet.size(set)).toBe(4096n)
  }

  test('is equal to another before and after it has been searched', () => {
    const [searched, fresh] = [make(), make()]
    ask(searched)
    expect(searched).toEqual(fresh)
    expect(searched).toStrictEqual(fresh)
  })

  test('can be frozen to its last field', () => {
    const set = make()
    Object.freeze(set)
    Object.freeze(set.v4)
    Object.freeze(set.v6)
    ask(set)
  })
})
