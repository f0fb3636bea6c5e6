/**
 * Arbitraries for fast-check: addresses, prefixes, ranges and sets of addresses. It needs the peer
 * dependency fast-check.
 *
 * @module ipam-kit/testing/arbitraries
 */

import fc from 'fast-check'
import { Address, type Address4, type Address6, type Family, Prefix, Range, RangeSet } from '../../cidr/index.js'
import { assertAddress } from '../../cidr/internal.js'
import { check } from '../../errors/check.js'

export type { Address4, Address6, AddressValue, PrefixValue, RangeSetValue, RangeValue } from '../../cidr/index.js'

/**
 * Any address of a family, by default of either: the ends of the space and words of zeros and ones
 * more often than chance has it.
 */
export function address(family: 4): fc.Arbitrary<Address4>
export function address(family: 6): fc.Arbitrary<Address6>
export function address(family?: Family): fc.Arbitrary<Address>
export function address(family?: Family): fc.Arbitrary<Address> {
  if (family === 4) return edgyWord().map((value) => ({ family: 4, value }))
  if (family === undefined) return fc.oneof(address(4), address(6))
  return fc
    .tuple(edgyWord(), edgyWord(), edgyWord(), edgyWord())
    .map(([w0, w1, w2, w3]) => ({ family: 6, w0, w1, w2, w3 }))
}

/** Any prefix of either family, with or without host bits. */
export function prefix(): fc.Arbitrary<Prefix> {
  return address().chain((base) => fc.nat(Address.bitsOf(base.family)).map((length) => Prefix.of(base, length)))
}

/** Any range of one family. */
export function range(): fc.Arbitrary<Range> {
  const ordered = <A extends Address>([a, b]: [A, A]) => (Address.compare(a, b) <= 0 ? Range.of(a, b) : Range.of(b, a))
  return fc.oneof(fc.tuple(address(4), address(4)).map(ordered), fc.tuple(address(6), address(6)).map(ordered))
}

/**
 * A set inside a window of `size` addresses that begins at `base`: small enough for a model that
 * writes its addresses out, and placed so that ranges touch, overlap and cross the borders that
 * `base` is near to.
 */
export function rangeSetIn(base: Address, size: number): fc.Arbitrary<RangeSet> {
  assertAddress('rangeSetIn', 'base', base)
  check('rangeSetIn', 'size', size, 'number')

  const at = (offset: number) => Address.add(base, BigInt(offset))
  const inside = fc
    .tuple(fc.nat(size - 1), fc.nat(Math.min(size - 1, 12)))
    .map(([first, length]) => Range.of(at(first), at(Math.min(size - 1, first + length))))
  return fc.array(inside, { maxLength: 8 }).map((ranges) => RangeSet.fromRanges(ranges))
}

function edgyWord(): fc.Arbitrary<number> {
  return fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min: 0, max: 0xffffffff }) },
    { weight: 2, arbitrary: fc.constantFrom(0, 1, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff) },
  )
}
