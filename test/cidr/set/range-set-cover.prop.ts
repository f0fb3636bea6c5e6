import fc from 'fast-check'
import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
import { rangeSetIn } from 'ipam-kit/testing/arbitraries'
import { describe, expect, test } from 'vitest'
import { property } from '../property.js'
import { large } from '../windows.js'

/**
 * The least that `count` prefixes can add to a set inside a block of 16 addresses: by trying all
 * there are.
 */
function leastAdded(set: RangeSet, block: Prefix, count: number): bigint {
  const candidates: Prefix[] = []
  for (let length = block.length; length <= Address.bitsOf(block.address.family); length++) {
    candidates.push(...Prefix.split(block, length))
  }
  let best = Prefix.size(block)
  const search = (rest: RangeSet, left: number, added: bigint): void => {
    if (added >= best) return
    const lowest = RangeSet.first(rest)
    if (lowest === undefined) {
      best = added
      return
    }
    if (left === 0) return
    for (const candidate of candidates.filter((prefix) => Prefix.contains(prefix, lowest))) {
      const more = RangeSet.size(RangeSet.complement(set, candidate))
      search(RangeSet.subtract(rest, RangeSet.fromPrefixes([candidate])), left - 1, added + more)
    }
  }
  search(set, count, 0n)
  return best
}

describe.each(['10.0.0.16/28', '255.255.255.240/28', 'fd00::/124', '::ffff:ffff:fff0/124'])('in %s', (text) => {
  const block = Prefix.parse(text)
  property([rangeSetIn(Prefix.first(block), 16), fc.integer({ min: 1, max: 5 })], 2)(
    'nothing that is as short adds less',
    (set, maxPrefixes) => {
      const cover = RangeSet.cover(set, { maxPrefixes })
      expect(cover.prefixes.length).toBeLessThanOrEqual(maxPrefixes)
      expect(RangeSet.contains(RangeSet.fromPrefixes(cover.prefixes), set)).toBe(true)
      expect(cover.added).toBe(leastAdded(set, block, maxPrefixes))
    },
  )
})

property([large, fc.integer({ min: 2, max: 40 })])(
  'covers all, in order and disjoint, and says what it adds',
  (set, maxPrefixes) => {
    const { prefixes, added } = RangeSet.cover(set, { maxPrefixes })
    const covered = RangeSet.fromPrefixes(prefixes)
    expect(prefixes.length).toBeLessThanOrEqual(maxPrefixes)
    expect(RangeSet.contains(covered, set)).toBe(true)
    expect(added).toBe(RangeSet.size(covered) - RangeSet.size(set))
    expect(prefixes.reduce((sum, prefix) => sum + Prefix.size(prefix), 0n)).toBe(RangeSet.size(covered))
    expect(prefixes).toEqual([...prefixes].sort(Prefix.compare))
  },
)

property([large, fc.integer({ min: 2, max: 20 })])('one more prefix never adds more', (set, maxPrefixes) => {
  const fewer = RangeSet.cover(set, { maxPrefixes })
  const more = RangeSet.cover(set, { maxPrefixes: maxPrefixes + 1 })
  // floating-point numbers choose between IPv6 prefixes: one part in 10^12
  expect(more.added).toBeLessThanOrEqual(fewer.added + (fewer.added >> 40n))
})

test('one more prefix helps in a set that is nearly all of a large prefix, too', () => {
  // found by the property above: what is added had been lost in the digits of what is covered
  const set = RangeSet.parse(['0.0.0.0', '7fff:ffff:ffff:fffe:100::-ffff:ffff:0:1:5555:5800::'])
  const added = Array.from({ length: 130 }, (_, at) => RangeSet.cover(set, { maxPrefixes: at + 2 }).added)
  expect(added).toEqual([...added].sort((left, right) => (left > right ? -1 : left < right ? 1 : 0)))
  expect(new Set(added).size).toBeGreaterThan(20)
})

test('enough prefixes give the set itself', () => {
  const set = RangeSet.parse(['10.0.0.1-10.0.0.6', 'fd00::1'])
  expect(RangeSet.cover(set, { maxPrefixes: 5 })).toEqual({ prefixes: RangeSet.prefixes(set), added: 0n })
  expect(RangeSet.cover(RangeSet.empty, { maxPrefixes: 0 })).toEqual({ prefixes: [], added: 0n })
})

test.each([0, 1, 1.5, Number.NaN, -3])('%d prefixes for both families are refused', (maxPrefixes) => {
  const set = RangeSet.parse(['10.0.0.1', 'fd00::1'])
  expect(() => RangeSet.cover(set, { maxPrefixes })).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT', message: expect.stringContaining('a whole number from 2') }),
  )
})
