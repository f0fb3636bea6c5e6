import fc from 'fast-check'
import { Address, Range, RangeSet } from 'ipam-kit/cidr'
import { address, range } from 'ipam-kit/testing/arbitraries'
import { expect } from 'vitest'

const value = Address.toBigInt
export const at = (base: Address, offset: number) => Address.fromBigInt(base.family, value(base) + BigInt(offset))

/** Where arithmetic breaks: the ends of the spaces, the sign bit, each border between two words. */
export const windows = [
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
export function members({ base, size }: { base: Address; size: number }, set: RangeSet): Set<number> {
  return new Set(offsets(size).filter((offset) => RangeSet.contains(set, at(base, offset))))
}

export const offsets = (size: number) => Array.from({ length: size }, (_, offset) => offset)

/**
 * What every set has to be: sorted, disjoint, and no two ranges that could be one; each family by
 * itself.
 */
export function expectWellFormed(set: RangeSet): void {
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

/**
 * Where ranges stand close together, and which bit of an address is the last in which they differ
 * much: 0 is the last of all.
 */
const cluster = fc.record({ base: address(), place: fc.oneof(fc.constant(0), fc.nat(120)) })

/**
 * Many ranges of both families: few over half a space, many close together, so that they meet in
 * every way there is. They are close at any place of an address, so that they first differ in any
 * of its bits.
 */
export const ranges = fc
  .record({
    wide: fc.array(range(), { maxLength: 2 }),
    clusters: fc.array(cluster, { minLength: 1, maxLength: 4 }),
    close: fc.array(fc.tuple(fc.nat(3), fc.nat(4000), fc.nat(60), fc.nat(3), fc.boolean()), {
      maxLength: 150,
      size: 'max',
    }),
  })
  .map(({ wide, clusters, close }) => [
    ...wide,
    ...close.map(([which, offset, length, low, isFull]) => {
      const { base, place } = clusters[which % clusters.length] as { base: Address; place: number }
      const bits = Address.bitsOf(base.family)
      const top = (1n << BigInt(bits)) - 1n
      const unit = 1n << BigInt(place % (bits - 7))
      const least = (n: bigint) => Address.fromBigInt(base.family, n < top ? n : top)
      const start = value(base) + BigInt(offset) * unit
      const end = start + BigInt(length) * unit
      // up to the next unit, where another may begin; or from a little behind the beginning of one
      return isFull
        ? Range.of(least(start), least(end + unit - 1n))
        : Range.of(least(start + BigInt(low)), least(end + BigInt(low)))
    }),
  ])
export const large = ranges.map((list) => RangeSet.fromRanges(list))
