import fc from 'fast-check'
import { Address, Prefix, Range, RangeSet } from 'ipam-kit/cidr'
import { address, rangeSetIn } from 'ipam-kit/testing/arbitraries'
import { describe, expect } from 'vitest'
import { property } from '../property.js'
import { at, expectWellFormed, large, members, offsets, ranges, windows } from '../windows.js'

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
    expect(RangeSet.contains(a, toRange([first, last]))).toBe(whole)
    const lowest = offsets(size).find((offset) => inA.has(offset))
    expect(RangeSet.first(a)).toEqual(lowest === undefined ? undefined : at(base, lowest))
    expect(RangeSet.isEmpty(a)).toBe(inA.size === 0)
    const listed = RangeSet.ranges(a).flatMap((range) =>
      offsets(size).filter((o) => Range.contains(range, at(base, o))),
    )
    expect(listed).toEqual([...inA])
  })

  property([some, some, interval])('overlaps, complement, contains of a set, last', (a, b, ends) => {
    const [inA, inB] = [members(window, a), members(window, b)]
    const range = toRange(ends)
    const inRange = offsets(size).filter((offset) => ends[0] <= offset && offset <= ends[1])
    expect(RangeSet.overlaps(a, b)).toBe([...inA].some((offset) => inB.has(offset)))
    expect(RangeSet.overlaps(a, range)).toBe(inRange.some((offset) => inA.has(offset)))
    expect([...members(window, RangeSet.complement(a, range))]).toEqual(inRange.filter((offset) => !inA.has(offset)))
    expect(RangeSet.contains(a, b)).toBe([...inB].every((offset) => inA.has(offset)))
    const highest = offsets(size).findLast((offset) => inA.has(offset))
    expect(RangeSet.last(a)).toEqual(highest === undefined ? undefined : at(base, highest))
  })

  property([some])('prefixes are the blocks of the set, and no two of them are halves of one', (a) => {
    const list = RangeSet.prefixes(a)
    expect(RangeSet.equals(RangeSet.fromPrefixes(list), a)).toBe(true)
    expect(list.reduce((sum, prefix) => sum + Prefix.size(prefix), 0n)).toBe(RangeSet.size(a))
    expect(list).toEqual([...list].sort(Prefix.compare))
    for (const [i, prefix] of list.entries()) {
      expect(Prefix.masked(prefix)).toBe(prefix)
      const sibling = Prefix.sibling(prefix)
      const next = list[i + 1]
      expect(next !== undefined && sibling !== undefined && Prefix.equals(next, sibling)).toBe(false)
    }
    expect(RangeSet.formatPrefixes(a)).toEqual(list.map(Prefix.format))
    expect(RangeSet.ranges(a).flatMap(Range.prefixes)).toEqual(list)
  })

  property([some])('rank and at count the members', (a) => {
    const inA = members(window, a)
    const sorted = [...inA]
    for (const offset of offsets(size)) {
      expect(RangeSet.rank(a, at(base, offset))).toBe(BigInt(sorted.filter((member) => member < offset).length))
    }
    sorted.forEach((offset, index) => {
      expect(RangeSet.at(a, index)).toEqual(at(base, offset))
      expect(RangeSet.at(a, BigInt(index))).toEqual(at(base, offset))
    })
    for (const beyond of [-1, sorted.length]) {
      expect(() => RangeSet.at(a, beyond)).toThrow(expect.objectContaining({ code: 'INDEX_OUT_OF_RANGE' }))
    }
    expect([...RangeSet.addresses(a)]).toEqual(sorted.map((offset) => at(base, offset)))
  })

  property([some, some])('equals', (a, b) => {
    const [inA, inB] = [members(window, a), members(window, b)]
    expect(RangeSet.equals(a, b)).toBe(inA.size === inB.size && [...inA].every((offset) => inB.has(offset)))
    expect(RangeSet.equals(a, RangeSet.fromAddresses([...inA].reverse().map((offset) => at(base, offset))))).toBe(true)
  })
})

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

  property([large])('prefixes and texts of them make the same set', (a) => {
    expect(equals(RangeSet.fromPrefixes(RangeSet.prefixes(a)), a)).toBe(true)
    expect(equals(RangeSet.parse(RangeSet.formatPrefixes(a)), a)).toBe(true)
  })

  property([large, large], 2)('overlaps and contains are what intersect and subtract say', (a, b) => {
    expect(RangeSet.overlaps(a, b)).toBe(!RangeSet.isEmpty(intersect(a, b)))
    expect(RangeSet.contains(a, b)).toBe(RangeSet.isEmpty(subtract(b, a)))
    expect(RangeSet.contains(union(a, b), b)).toBe(true)
  })

  property([large, address(), fc.bigInt({ min: 0n, max: 2n ** 129n })], 2)(
    'rank and at are inverse',
    (a, other, any) => {
      expect(RangeSet.rank(a, other)).toBe(
        RangeSet.ranges(a).reduce((sum, range) => {
          if (Address.compare(other, range.first) <= 0) return sum
          return sum + (Range.contains(range, other) ? Address.distance(range.first, other) : Range.size(range))
        }, 0n),
      )
      if (RangeSet.isEmpty(a)) return
      const index = any % size(a)
      const member = RangeSet.at(a, index)
      expect(RangeSet.contains(a, member)).toBe(true)
      expect(RangeSet.rank(a, member)).toBe(index)
    },
  )

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
  for (const { first, last } of RangeSet.ranges(a)) RangeSet.contains(b, { first, last })
  expect({ a, b, list, empty: RangeSet.empty }).toEqual(before)
})
