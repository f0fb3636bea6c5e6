import { Address, RangeSet } from 'ipam-kit/cidr'
import { describe, expect, test } from 'vitest'

const SEEDS = 10_000

const seeds: [about: string, seed: (i: number) => number][] = [
  ['0 to 9,999', (i) => i],
  ['below 0', (i) => -i - 1],
  ['that differ beyond 32 bits only', (i) => (i + 1) * 2 ** 32 + 1],
  ['that differ beyond 32 bits only, below 0', (i) => (i + 1) * -(2 ** 32) + 1],
  ['at the end of what is exact', (i) => Number.MAX_SAFE_INTEGER - i],
]

/**
 * Pearson's sum of how far counts are from what they should be: about as many as there are counts
 * less one.
 */
function chiSquare(picks: readonly number[], bins: number): number {
  const counts = new Array<number>(bins).fill(0)
  for (const pick of picks) counts[pick] = counts[pick]! + 1
  const expected = picks.length / bins
  return counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0)
}

// seeds are fixed, and so is all that comes of them: a test here passes always or never
describe.each(seeds)('a random member, by seeds %s', (_, seed) => {
  const all = Array.from({ length: SEEDS }, (_, i) => seed(i))
  const pick = (set: RangeSet, from: number) => RangeSet.random(set, from)!

  test.each([
    ['3 members', ['10.0.0.0-10.0.0.1', 'fd00::1'], 13.8],
    ['12 members, where a remainder would favour four', ['10.0.0.0/29', '10.0.1.1', 'fd00::-fd00::2'], 31.3],
    ['33 members, where it would favour 31', ['10.0.0.0/27', 'fd00::1'], 62.5],
  ])('of %s is each as often', (_, entries, limit) => {
    const set = RangeSet.parse(entries)
    const members = Number(RangeSet.size(set))
    const picks = all.map((from) => Number(RangeSet.rank(set, pick(set, from))))
    // one in a thousand is above
    expect(chiSquare(picks, members)).toBeLessThan(limit)
  })

  test('of all IPv6 has each bit set as often as not, and no address comes twice', () => {
    const everything = RangeSet.parse(['::/0'])
    const picks = all.map((from) => Address.toBigInt(pick(everything, from)))
    for (let nibble = 0n; nibble < 32n; nibble++) {
      const values = picks.map((value) => Number((value >> (4n * nibble)) & 15n))
      // one in a hundred thousand is above
      expect(chiSquare(values, 16)).toBeLessThan(50.5)
    }
    expect(new Set(picks).size).toBe(SEEDS)
  })
})

test('all 53 bits of a seed count', () => {
  const everything = RangeSet.parse(['::/0'])
  const powers = Array.from({ length: 53 }, (_, bit) => 2 ** bit)
  const seeds = [0, ...powers, ...powers.map((power) => -power)]
  const members = seeds.map((seed) => Address.format(RangeSet.random(everything, seed)!))
  expect(new Set(members).size).toBe(seeds.length)
})
