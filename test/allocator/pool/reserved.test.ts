import fc from 'fast-check'
import { confusableAddresses, reservedAddresses } from 'ipam-kit/allocator'
import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
import { describe, expect, test } from 'vitest'
import type { ReserveRuleName } from '../../../src/allocator/pool/reserved.js'
import { property } from '../../cidr/property.js'

const left = (prefix: string, rule: ReserveRuleName) =>
  RangeSet.format(RangeSet.subtract(RangeSet.parse([prefix]), reservedAddresses([Prefix.parse(prefix)], rule)))

describe('what is left of a subnet', () => {
  test.each<[prefix: string, rule: ReserveRuleName, ranges: string[]]>([
    ['192.0.2.0/24', 'none', ['192.0.2.0-192.0.2.255']],
    ['192.0.2.0/24', 'subnet-edges', ['192.0.2.1-192.0.2.254']],
    ['192.0.2.0/30', 'subnet-edges', ['192.0.2.1-192.0.2.2']],
    ['192.0.2.0/31', 'subnet-edges', ['192.0.2.0-192.0.2.1']],
    ['192.0.2.7/32', 'subnet-edges', ['192.0.2.7-192.0.2.7']],
    ['192.0.2.0/31', 'service', []],
    ['192.0.2.7/32', 'service', []],
    ['192.0.2.0/30', 'service', ['192.0.2.1-192.0.2.2']],
    ['192.0.2.0/24', 'windows', ['192.0.2.3-192.0.2.254']],
    ['192.0.2.0/30', 'windows', []],
    ['192.0.2.0/29', 'windows', ['192.0.2.3-192.0.2.6']],
    ['fd00::/64', 'subnet-edges', ['fd00::1-fd00::ffff:ffff:ffff:ffff']],
    ['fd00::/126', 'first-and-last', ['fd00::1-fd00::2']],
    ['fd00::/127', 'first-and-last', ['fd00::-fd00::1']],
    ['fd00::/127', 'service', ['fd00::1-fd00::1']],
    ['fd00::5/128', 'service', []],
    ['fd00::5/128', 'subnet-edges', ['fd00::5-fd00::5']],
    ['0.0.0.0/0', 'subnet-edges', ['0.0.0.1-255.255.255.254']],
    ['::/0', 'first-and-last', ['::1-ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe']],
  ])('%s by %s', (prefix, rule, ranges) => expect(left(prefix, rule)).toEqual(ranges))
})

test('several subnets of both families, with host bits', () => {
  const prefixes = ['10.0.0.77/24', '10.0.1.0/24', 'fd00::5/64'].map((text) => Prefix.parse(text))
  expect(RangeSet.format(reservedAddresses(prefixes, 'subnet-edges'))).toEqual([
    '10.0.0.0-10.0.0.0',
    '10.0.0.255-10.0.1.0',
    '10.0.1.255-10.0.1.255',
    'fd00::-fd00::',
  ])
})

test('a rule of one`s own', () => {
  const rule = { v4: { first: 10, last: 0 }, v6: { first: 0, last: 2 ** 32 }, pointToPoint: 'reserved' } as const
  const prefixes = ['10.0.0.0/24', '10.1.0.0/29', 'fd00::/64'].map((text) => Prefix.parse(text))
  expect(RangeSet.format(reservedAddresses(prefixes, rule))).toEqual([
    '10.0.0.0-10.0.0.9',
    '10.1.0.0-10.1.0.7',
    'fd00::ffff:ffff:0:0-fd00::ffff:ffff:ffff:ffff',
  ])
})

test.each<[rule: unknown, argument: string]>([
  ['subnet_edges', 'rule'],
  ['toString', 'rule'],
  [undefined, 'rule'],
  [{}, 'rule.v4.first'],
  [{ v4: { first: 1, last: -1 }, v6: { first: 0, last: 0 } }, 'rule.v4.last'],
  [{ v4: { first: 1, last: 1 }, v6: { first: 0.5, last: 0 } }, 'rule.v6.first'],
])('the rule %j is none', (rule, argument) => {
  expect(() => reservedAddresses([], rule as 'none')).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT', context: expect.objectContaining({ argument }) }),
  )
})

describe('addresses that end in .0 or .255', () => {
  property([fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.nat(3000), fc.nat(400)])('are those', (first, size, gap) => {
    const end = Math.min(2 ** 32 - 1, first + size)
    const range = (from: number, to: number) => ({ first: Address.from4(from), last: Address.from4(to) })
    const set = RangeSet.fromRanges([
      range(first, Math.min(end, first + gap)),
      range(Math.min(end, first + 2 * gap), end),
    ])
    const found = confusableAddresses(set)
    for (let value = first; value <= end; value++) {
      const address = Address.from4(value)
      const isConfusable = value % 256 === 0 || value % 256 === 255
      expect(RangeSet.contains(found, address)).toBe(isConfusable && RangeSet.contains(set, address))
    }
  })

  test('of IPv6 there are none', () => {
    expect(confusableAddresses(RangeSet.parse(['fd00::/120']))).toEqual(RangeSet.empty)
    expect(RangeSet.format(confusableAddresses(RangeSet.parse(['10.0.0.0/24', 'fd00::/120'])))).toEqual([
      '10.0.0.0-10.0.0.0',
      '10.0.0.255-10.0.0.255',
    ])
  })
})
