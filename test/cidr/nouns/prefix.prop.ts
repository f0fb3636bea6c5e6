import fc from 'fast-check'
import { Address, type Family, Prefix, Range } from 'ipam-kit/cidr'
import { address, prefix } from 'ipam-kit/testing/arbitraries'
import { describe, expect } from 'vitest'
import { property } from '../property.js'

const value = Address.toBigInt

/** First and last address of a prefix, by integer division. */
function bounds({ address, length }: Prefix): [first: bigint, last: bigint] {
  const size = 2n ** BigInt(Address.bitsOf(address.family) - length)
  const first = (value(address) / size) * size
  return [first, first + size - 1n]
}

const lengths = (family: Family) => Array.from({ length: Address.bitsOf(family) + 1 }, (_, length) => length)

describe('a prefix is an aligned block of numbers', () => {
  property([fc.oneof(address(4), address(6))])('first, last, size and masked, at every length', (base) => {
    for (const length of lengths(base.family)) {
      const prefix = Prefix.of(base, length)
      const [first, last] = bounds(prefix)
      expect(Prefix.first(prefix)).toEqual(Address.fromBigInt(base.family, first))
      expect(Prefix.last(prefix)).toEqual(Address.fromBigInt(base.family, last))
      expect(Prefix.size(prefix)).toBe(last - first + 1n)
      expect(Prefix.masked(prefix)).toEqual({ address: Address.fromBigInt(base.family, first), length })
    }
  })

  property([prefix(), address()], 10)('it contains what lies between its ends', (outer, inner) => {
    const [first, last] = bounds(outer)
    const inside = inner.family === outer.address.family && value(inner) >= first && value(inner) <= last
    expect(Prefix.contains(outer, inner)).toBe(inside)
  })

  property([prefix()], 10)('its borders are sharp', (outer) => {
    const { family } = outer.address
    const [first, last] = bounds(outer)
    for (const at of [first - 1n, first, last, last + 1n]) {
      if (at < 0n || at >= 1n << BigInt(Address.bitsOf(family))) continue
      expect(Prefix.contains(outer, Address.fromBigInt(family, at))).toBe(first <= at && at <= last)
    }
  })

  property([prefix(), fc.nat(128), fc.bigInt({ min: 0n, max: (1n << 128n) - 1n })], 20)(
    'it contains the prefixes that lie in it as a whole',
    (outer, length, offset) => {
      const { family } = outer.address
      // as often as not inside of it or around it
      const near = Address.fromBigInt(family, bounds(outer)[0] + (offset % Prefix.size(outer)))
      const inner = Prefix.of(near, length % (Address.bitsOf(family) + 1))
      const [first, last] = bounds(outer)
      const [innerFirst, innerLast] = bounds(inner)
      expect(Prefix.contains(outer, inner)).toBe(first <= innerFirst && innerLast <= last)
    },
  )

  property([prefix(), prefix()], 10)('two prefixes are nested or apart', (a, b) => {
    const overlap =
      a.address.family === b.address.family && bounds(a)[0] <= bounds(b)[1] && bounds(b)[0] <= bounds(a)[1]
    expect(Prefix.contains(a, b) || Prefix.contains(b, a)).toBe(overlap)
  })

  property([prefix()], 10)('parse reads what format writes', (any) => {
    expect(Prefix.parse(Prefix.format(any))).toEqual(any)
  })

  property([prefix()], 10)('masking twice changes nothing more', (any) => {
    const masked = Prefix.masked(any)
    expect(Prefix.masked(masked)).toBe(masked)
  })

  property([prefix()], 5)('its range has the same ends and the same size', (any) => {
    const range = Range.fromPrefix(any)
    expect(range).toEqual({ first: Prefix.first(any), last: Prefix.last(any) })
    expect(Range.size(range)).toBe(Prefix.size(any))
  })
})
