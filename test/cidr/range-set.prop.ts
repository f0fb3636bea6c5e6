import fc from 'fast-check'
import { Address, Range, RangeSet } from 'ipam-kit/cidr'
import { address, range, rangeSetIn } from 'ipam-kit/testing'
import { describe, expect } from 'vitest'
import { property } from './property.js'

const value = Address.toBigInt
const at = (base: Address, offset: number) => Address.fromBigInt(base.family, value(base) + BigInt(offset))

/** Where arithmetic breaks: the ends of the spaces, the sign bit, each border between two words. */
const windows = [
  { base: '0.0.0.0', size: 24 },
  { base: '127.255.255.244', size: 24 },
  { base: '255.255.255.232', size: 24 },
  { base: '255.255.255.240', size: 16 },
  { base: '::', size: 24 },
  { base: '::fff4', size: 24 },
  { base: '::ffff:fff4', size: 24 },
  { base: '::fffe:ffff:fff4', size: 24 },
  { base: '::1:0:0', size: 24 },
  { base: '::7fff:ffff:ffff:fff4', size: 24 },
  { base: '::ffff:ffff:ffff:fff4', size: 24 },
  { base: '::ffff:ffff:ffff:ffff:ffff:fff4', size: 24 },
  { base: '7fff:ffff:ffff:ffff:ffff:ffff:ffff:fff4', size: 24 },
  { base: 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:fff0', size: 16 },
].map(({ base, size }) => ({ base: Address.parse(base), size }))

/** The addresses of a window that a set has, asked one by one. */
function members({ base, size }: { base: Address; size: number }, set: RangeSet): Set<number> {
  return new Set(offsets(size).filter((offset) => RangeSet.contains(set, at(base, offset))))
}

const offsets = (size: number) => Array.from({ length: size }, (_, offset) => offset)

/** What every set has to be: sorted, disjoint, and no two ranges that could be one; each family by itself. */
function expectWellFormed(set: RangeSet): void {
  const ranges = RangeSet.ranges(set)
  for (const [i, { first, last }] of ranges.entries()) {
    expect(first.family).toBe(last.family)
    expect(value(first)).toBeLessThanOrEqual(value(last))
    const next = ranges[i + 1]
    if (next === undefined) continue
    expect(next.first.family).toBeGreaterThanOrEqual(last.family)
    if (next.first.family === last.family) expect(value(next.first)).toBeGreaterThan(value(last) + 1n)
  }
}

describe.each(windows)('beside a plain Set of addresses, at $base', (window) => {
  const { base, size } = window
  const some = rangeSetIn(base, size)
  const interval = fc
    .tuple(fc.nat(size - 1), fc.nat(size - 1))
    .map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const)
  const toRange = ([first, last]: readonly [number, number]) => Range.of(at(base, first), at(base, last))

  property([fc.array(interval, { maxLength: 8 })])(
    'fromRanges has every address of every range, and no other',
    (list) => {
      const set = RangeSet.fromRanges(list.map(toRange))
      const model = new Set(
        offsets(size).filter((offset) => list.some(([first, last]) => first <= offset && offset <= last)),
      )
      expect(members(window, set)).toEqual(model)
      expect(RangeSet.size(set)).toBe(BigInt(model.size))
      expectWellFormed(set)
    },
  )

  property([some, some])('union, subtract and intersect', (a, b) => {
    const [inA, inB] = [members(window, a), members(window, b)]
    for (const [set, has] of [
      [RangeSet.union(a, b), (offset: number) => inA.has(offset) || inB.has(offset)],
      [RangeSet.subtract(a, b), (offset: number) => inA.has(offset) && !inB.has(offset)],
      [RangeSet.intersect(a, b), (offset: number) => inA.has(offset) && inB.has(offset)],
    ] as const) {
      const model = new Set(offsets(size).filter(has))
      expect(members(window, set)).toEqual(model)
      expect(RangeSet.size(set)).toBe(BigInt(model.size))
      expectWellFormed(set)
    }
  })

  property([some, interval])('containsRange, first, ranges, isEmpty', (a, [first, last]) => {
    const inA = members(window, a)
    const whole = offsets(size).every((offset) => offset < first || offset > last || inA.has(offset))
    expect(RangeSet.containsRange(a, toRange([first, last]))).toBe(whole)
    const lowest = offsets(size).find((offset) => inA.has(offset))
    expect(RangeSet.first(a)).toEqual(lowest === undefined ? undefined : at(base, lowest))
    expect(RangeSet.isEmpty(a)).toBe(inA.size === 0)
    const listed = RangeSet.ranges(a).flatMap((range) =>
      offsets(size).filter((o) => Range.contains(range, at(base, o))),
    )
    expect(listed).toEqual([...inA])
  })

  property([some, some])('equals', (a, b) => {
    const [inA, inB] = [members(window, a), members(window, b)]
    expect(RangeSet.equals(a, b)).toBe(inA.size === inB.size && [...inA].every((offset) => inB.has(offset)))
    expect(RangeSet.equals(a, RangeSet.fromAddresses([...inA].reverse().map((offset) => at(base, offset))))).toBe(true)
  })
})

/** Many ranges of both families: few over half a space, many close together, so that they meet in every way there is. */
const ranges = fc
  .record({
    wide: fc.array(range(), { maxLength: 2 }),
    bases: fc.array(address(), { minLength: 1, maxLength: 4 }),
    close: fc.array(fc.tuple(fc.nat(3), fc.nat(4000), fc.nat(60)), { maxLength: 150, size: 'max' }),
  })
  .map(({ wide, bases, close }) => [
    ...wide,
    ...close.map(([which, offset, length]) => {
      const base = bases[which % bases.length] as Address
      const top = (1n << BigInt(Address.bitsOf(base.family))) - 1n
      const least = (n: bigint) => Address.fromBigInt(base.family, n < top ? n : top)
      return Range.of(least(value(base) + BigInt(offset)), least(value(base) + BigInt(offset + length)))
    }),
  ])
const large = ranges.map((list) => RangeSet.fromRanges(list))

const { union, subtract, intersect, equals, size } = RangeSet

describe('the laws of sets', () => {
  property([large, large], 2)('one of two, counted', (a, b) => {
    expect(size(union(a, b)) + size(intersect(a, b))).toBe(size(a) + size(b))
    expect(size(subtract(a, b)) + size(intersect(a, b))).toBe(size(a))
  })

  property([large, large], 2)('what is taken away is gone, and what is left was there', (a, b) => {
    const rest = subtract(a, b)
    expect(RangeSet.isEmpty(intersect(rest, b))).toBe(true)
    expect(equals(union(rest, intersect(a, b)), a)).toBe(true)
    expect(equals(union(rest, b), union(a, b))).toBe(true)
    expect(equals(subtract(a, rest), intersect(a, b))).toBe(true)
  })

  property([large, large], 2)('union and intersection do not mind the order', (a, b) => {
    expect(equals(union(a, b), union(b, a))).toBe(true)
    expect(equals(intersect(a, b), intersect(b, a))).toBe(true)
  })

  property([large, large, large])('they distribute', (a, b, c) => {
    expect(equals(intersect(a, union(b, c)), union(intersect(a, b), intersect(a, c)))).toBe(true)
    expect(equals(subtract(a, union(b, c)), subtract(subtract(a, b), c))).toBe(true)
    expect(equals(subtract(a, intersect(b, c)), union(subtract(a, b), subtract(a, c)))).toBe(true)
  })

  property([large])('a set with itself and with the empty one', (a) => {
    expect(equals(union(a, a), a)).toBe(true)
    expect(equals(intersect(a, a), a)).toBe(true)
    expect(RangeSet.isEmpty(subtract(a, a))).toBe(true)
    expect(equals(union(a, RangeSet.empty), a)).toBe(true)
    expect(equals(subtract(a, RangeSet.empty), a)).toBe(true)
    expect(RangeSet.isEmpty(subtract(RangeSet.empty, a))).toBe(true)
    expect(RangeSet.isEmpty(intersect(a, RangeSet.empty))).toBe(true)
  })

  property([large, large], 2)('every result is sorted, disjoint and without neighbours', (a, b) => {
    for (const set of [a, b, union(a, b), subtract(a, b), intersect(a, b)]) expectWellFormed(set)
  })

  property([ranges, fc.infiniteStream(fc.nat())])('the order of the ranges does not matter', (list, random) => {
    const shuffled = list.map((range) => ({ range, rank: random.next().value as number }))
    shuffled.sort((a, b) => a.rank - b.rank)
    expect(equals(RangeSet.fromRanges(shuffled.map(({ range }) => range)), RangeSet.fromRanges(list))).toBe(true)
  })

  property([large])('parse reads what format writes', (a) => {
    expect(equals(RangeSet.parse(RangeSet.format(a)), a)).toBe(true)
    expect(equals(RangeSet.fromRanges(RangeSet.ranges(a)), a)).toBe(true)
  })

  property([large, address()], 2)('contains is what the ranges say', (a, other) => {
    const list = RangeSet.ranges(a)
    const probes = [
      other,
      ...list.flatMap(({ first, last }) => [first, last, Address.previous(first), Address.next(last)]),
    ]
    for (const probe of probes) {
      if (probe === undefined) continue
      expect(RangeSet.contains(a, probe)).toBe(list.some((range) => Range.contains(range, probe)))
    }
  })
})

property([large, large, ranges])('no function changes what it is given', (a, b, list) => {
  const before = structuredClone({ a, b, list, empty: RangeSet.empty })
  union(a, b)
  subtract(a, b)
  intersect(a, b)
  equals(a, b)
  RangeSet.fromRanges(list)
  for (const { first, last } of RangeSet.ranges(a)) RangeSet.containsRange(b, { first, last })
  expect({ a, b, list, empty: RangeSet.empty }).toEqual(before)
})
