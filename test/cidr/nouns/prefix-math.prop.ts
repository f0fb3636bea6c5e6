import fc from 'fast-check'
import { Address, Prefix, Range } from 'ipam-kit/cidr'
import { prefix, range } from 'ipam-kit/testing/arbitraries'
import { describe, expect, test } from 'vitest'
import { isDeep } from '../../setup/depth.js'
import { property } from '../property.js'

const value = Address.toBigInt
const ends = (of: Prefix) => [value(Prefix.first(of)), value(Prefix.last(of))] as const
const bits = (of: Prefix) => Address.bitsOf(of.address.family)

/** Prefixes that are often near to each other. */
const near = fc.tuple(prefix(), fc.nat(128), fc.boolean()).map(([one, length, up]): [Prefix, Prefix] => {
  const other = Prefix.of(one.address, length % (bits(one) + 1))
  return [one, up ? (Prefix.sibling(other) ?? other) : other]
})

property([fc.oneof(near, fc.tuple(prefix(), prefix()))], 10)(
  'overlaps and contains are those of intervals',
  ([a, b]) => {
    const sameFamily = a.address.family === b.address.family
    const [[a0, a1], [b0, b1]] = [ends(a), ends(b)]
    expect(Prefix.overlaps(a, b)).toBe(sameFamily && a0 <= b1 && b0 <= a1)
    expect(Prefix.contains(a, b)).toBe(sameFamily && a0 <= b0 && b1 <= a1)
    expect(Prefix.contains(a, b.address)).toBe(sameFamily && a0 <= value(b.address) && value(b.address) <= a1)
  },
)

property([fc.array(prefix(), { maxLength: 8 })], 5)(
  'compare is an order: networks, and shorter before longer',
  (list) => {
    const rank = (of: Prefix) =>
      [BigInt(of.address.family), value(Prefix.first(of)), BigInt(of.length), value(of.address)] as const
    const sorted = [...list].sort(Prefix.compare)
    for (const [i, one] of sorted.entries()) {
      const next = sorted[i + 1]
      if (next === undefined) break
      const [left, right] = [rank(one), rank(next)]
      const at = left.findIndex((part, k) => part !== right[k])
      expect(at < 0 || left[at]! < right[at]!).toBe(true)
      expect(Prefix.equals(one, next)).toBe(at < 0)
    }
  },
)

property([prefix(), fc.bigInt({ min: 0n, max: 2n ** 128n - 1n })], 10)('addressAt counts from the first', (any, n) => {
  const index = n % Prefix.size(any)
  expect(value(Prefix.addressAt(any, index))).toBe(ends(any)[0] + index)
  for (const beyond of [-1n, Prefix.size(any)]) {
    expect(() => Prefix.addressAt(any, beyond)).toThrow(expect.objectContaining({ code: 'INDEX_OUT_OF_RANGE' }))
  }
})

property([prefix(), fc.nat(), fc.bigInt({ min: 0n, max: 2n ** 128n - 1n })], 10)(
  'subnets tile the prefix',
  (any, more, n) => {
    const length = any.length + (more % (bits(any) - any.length + 1))
    const count = Prefix.subnetCount(any, length)
    expect(count).toBe(2n ** BigInt(length - any.length))
    const index = n % count
    const subnet = Prefix.subnetAt(any, length, index)
    const size = 2n ** BigInt(bits(any) - length)
    expect(ends(subnet)).toEqual([ends(any)[0] + index * size, ends(any)[0] + (index + 1n) * size - 1n])
    expect(subnet.length).toBe(length)
    expect(Prefix.equals(Prefix.supernet(subnet, any.length), Prefix.masked(any))).toBe(true)
    expect(() => Prefix.subnetAt(any, length, count)).toThrow(expect.objectContaining({ code: 'INDEX_OUT_OF_RANGE' }))
  },
)

property([prefix(), fc.nat(6)], 5)('split is every subnet in order', (any, more) => {
  const length = Math.min(bits(any), any.length + more)
  const expected = Array.from({ length: Number(Prefix.subnetCount(any, length)) }, (_, i) =>
    Prefix.subnetAt(any, length, i),
  )
  expect([...Prefix.split(any, length)]).toEqual(expected)
})

property([prefix()], 10)('parent, sibling and interior', (any) => {
  const [first, last] = ends(any)
  const parent = Prefix.parent(any)
  const sibling = Prefix.sibling(any)
  if (any.length === 0) {
    expect([parent, sibling]).toEqual([undefined, undefined])
  } else {
    const [above, beside] = [ends(parent as Prefix), ends(sibling as Prefix)]
    expect([first, beside[0]].sort((a, b) => (a < b ? -1 : 1))[0]).toBe(above[0])
    expect(Prefix.size(sibling as Prefix) * 2n).toBe(Prefix.size(parent as Prefix))
    expect(beside[1] + 1n === first || last + 1n === beside[0]).toBe(true)
    expect(Prefix.contains(parent as Prefix, sibling as Prefix)).toBe(true)
  }
  const interior = Prefix.interior(any)
  if (last - first < 3n) expect(interior).toBeUndefined()
  else expect([value(interior!.first), value(interior!.last)]).toEqual([first + 1n, last - 1n])
})

describe('ranges', () => {
  property([range(), range()], 10)('intersect, subtract, overlaps, contains are those of intervals', (a, b) => {
    const [a0, a1, b0, b1] = [a.first, a.last, b.first, b.last].map(value) as [bigint, bigint, bigint, bigint]
    const meet = a.first.family === b.first.family && a0 <= b1 && b0 <= a1
    expect(Range.overlaps(a, b)).toBe(meet)
    expect(Range.contains(a, b)).toBe(a.first.family === b.first.family && a0 <= b0 && b1 <= a1)
    const both = Range.intersect(a, b)
    const rest = Range.subtract(a, b)
    const total = rest.reduce((sum, part) => sum + Range.size(part), 0n) + (both === undefined ? 0n : Range.size(both))
    expect(total).toBe(Range.size(a))
    expect(both !== undefined).toBe(meet)
    if (both === undefined) return
    expect([value(both.first), value(both.last)]).toEqual([a0 > b0 ? a0 : b0, a1 < b1 ? a1 : b1])
    for (const part of rest) expect(Range.contains(a, part) && !Range.overlaps(part, b)).toBe(true)
    expect(rest).toEqual([...rest].sort(Range.compare))
  })

  property([range()], isDeep ? 20 : 8)('prefixes is exact, in order, aligned, and cannot be shorter', (any) => {
    const list = Range.prefixes(any)
    let next = value(any.first)
    for (const [i, block] of list.entries()) {
      expect(ends(block)[0]).toBe(next)
      next = ends(block)[1] + 1n
      expect(Prefix.masked(block)).toBe(block)
      // fewest: no block and its follower are halves of a prefix inside the range
      const parent = Prefix.parent(block)
      const fits = parent !== undefined && ends(parent)[0] >= value(any.first) && ends(parent)[1] <= value(any.last)
      expect(fits, `${i} of ${list.length}`).toBe(false)
    }
    expect(next).toBe(value(any.last) + 1n)
    expect(list.length).toBeLessThanOrEqual(any.first.family === 4 ? 62 : 254)
  })

  test('the worst ranges need 62 and 254 prefixes', () => {
    expect(Range.prefixes(Range.parse('0.0.0.1-255.255.255.254'))).toHaveLength(62)
    expect(Range.prefixes(Range.parse('::1-ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe'))).toHaveLength(254)
    expect(Range.prefixes(Range.parse('::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'))).toHaveLength(1)
    expect(Range.prefixes(Range.parse('0.0.0.0-255.255.255.255'))).toHaveLength(1)
  })
})

test.each([
  ['subnetCount', () => Prefix.subnetCount(Prefix.parse('10.0.0.0/8'), 7), { length: 7, min: 8, max: 32 }],
  ['subnetAt', () => Prefix.subnetAt(Prefix.parse('10.0.0.0/8'), 33, 0), { length: 33, min: 8, max: 32 }],
  [
    'split, before the first step',
    () => Prefix.split(Prefix.parse('fd00::/64'), 8.5),
    { length: 8.5, min: 64, max: 128 },
  ],
  ['supernet', () => Prefix.supernet(Prefix.parse('10.0.0.0/8'), 9), { length: 9, max: 8 }],
])('%s refuses a length', (_, act, context) => {
  expect(act).toThrow(expect.objectContaining({ code: 'INVALID_PREFIX_LENGTH', context }))
})

test.each([1.5, Number.NaN, 2 ** 53])('an index of %d is no index', (index) => {
  expect(() => Prefix.addressAt(Prefix.parse('::/0'), index)).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
  )
})
