import { memoryUsage } from 'node:process'
import { PrefixTree } from 'ipam-kit/allocator'
import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
import { describe, expect, test } from 'vitest'

const treeOf = (...parents: string[]) => new PrefixTree(RangeSet.parse(parents))
const prefix = Prefix.parse
const LAST = 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'
const spaceOf = (tree: PrefixTree) => Array.from(tree.freePrefixes(), Prefix.format)

describe('a prefix that is held more than once', () => {
  test('is counted out once, and in again with its last release', () => {
    const tree = treeOf('10.0.0.0/24')
    for (let holds = 0; holds < 3; holds++) tree.occupy(prefix('10.0.0.0/26'))
    expect([tree.countFree(26), tree.countFree(32), tree.isFree(prefix('10.0.0.0/32'))]).toEqual([3n, 192n, false])
    for (let holds = 2; holds > 0; holds--) {
      expect(tree.release(prefix('10.0.0.0/26'))).toBe(true)
      expect([tree.countFree(26), tree.nextFree(32)]).toEqual([3n, prefix('10.0.0.64/32')])
    }
    expect(tree.release(prefix('10.0.0.0/26'))).toBe(true)
    expect([tree.countFree(24), tree.nextFree(32)]).toEqual([1n, prefix('10.0.0.0/32')])
    expect(tree.release(prefix('10.0.0.0/26'))).toBe(false)
  })

  test('inside one that is held too', () => {
    const tree = treeOf('10.0.0.0/24')
    const [outer, inner] = [prefix('10.0.0.0/25'), prefix('10.0.0.16/28')]
    for (const held of [inner, outer, inner, outer]) tree.occupy(held)
    expect(tree.countFree(28)).toBe(8n)
    for (const held of [outer, inner]) tree.release(held)
    expect([tree.countFree(28), tree.isFree(inner)]).toEqual([8n, false])
    tree.release(outer)
    expect([tree.countFree(28), tree.nextFree(28)]).toEqual([15n, prefix('10.0.0.0/28')])
    tree.release(inner)
    expect(tree.countFree(24)).toBe(1n)
  })
})

describe('prefixes across the words of an address', () => {
  test.each([
    ['2001:db8::/32', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff/128', '2001:db9::/128'],
    ['2001:db8::/33', '2001:db8:7fff:ffff:ffff:ffff:ffff:ffff/128', '2001:db8:8000::/128'],
    ['fd00::/64', 'fd00::ffff:ffff:ffff:ffff/128', 'fd00:0:0:1::/128'],
    ['fd00::/95', 'fd00::1:ffff:ffff/128', 'fd00::2:0:0/128'],
    ['fd00::/96', 'fd00::ffff:ffff/128', 'fd00::1:0:0/128'],
  ])('the next one behind %s, asked from its end', (taken, last, next) => {
    const tree = treeOf('2000::/3', 'fd00::/16')
    tree.occupy(prefix(taken))
    for (const from of [prefix(last).address, prefix(taken).address]) {
      expect(tree.nextFree(128, from)).toEqual(prefix(next))
    }
  })

  test.each([1, 31, 32, 33, 63, 64, 65, 95, 96, 97, 127, 128])('the space around the ends of a /%d', (length) => {
    for (const text of ['::', LAST]) {
      const tree = treeOf('::/0')
      const taken = Prefix.masked(Prefix.of(Address.parse(text), length))
      tree.take(taken)
      const rest = RangeSet.subtract(RangeSet.parse(['::/0']), RangeSet.fromPrefixes([taken]))
      expect(spaceOf(tree)).toEqual(RangeSet.prefixes(rest).map(Prefix.format))
      expect(tree.countFree(128)).toBe(2n ** 128n - 2n ** BigInt(128 - length))
    }
  })

  test('the space between prefixes of many lengths', () => {
    const tree = treeOf('fd00::/8')
    const taken = ['fd5a:5a5a:5a5a:5a5a:5a5a:5a5a:5a5a:5a5a', 'fda5:a5a5:a5a5:a5a5:a5a5:a5a5:a5a5:a5a5'].flatMap(
      (text) => [20, 31, 32, 33, 48, 63, 64, 65, 80, 95, 96, 97, 112, 127, 128].map((length) => beside(text, length)),
    )
    for (const one of taken) expect(tree.take(one)).toBe(true)
    const rest = RangeSet.subtract(RangeSet.parse(['fd00::/8']), RangeSet.fromPrefixes(taken))
    expect(spaceOf(tree)).toEqual(RangeSet.prefixes(rest).map(Prefix.format))
    for (const one of taken) expect(tree.release(one)).toBe(true)
    expect(spaceOf(tree)).toEqual(['fd00::/8'])
  })

  /** The other half of the prefix that is one bit shorter, so that none of them lies in another. */
  function beside(text: string, length: number): Prefix {
    const own = Prefix.masked(Prefix.of(Address.parse(text), length))
    const lower = Prefix.masked(Prefix.of(own.address, length - 1)).address
    return Prefix.of(Address.equals(own.address, lower) ? Address.next(Prefix.last(own))! : lower, length)
  }
})

describe('the end of the space', () => {
  test.each([
    ['0.0.0.0/0', '255.255.255.255'],
    ['::/0', LAST],
  ])('of %s has no next address', (parent, end) => {
    const tree = treeOf(parent)
    const last = Address.parse(end)
    expect(tree.nextFree(tree.bits, last)).toEqual(Prefix.of(last, tree.bits))
    expect(tree.nextFree(tree.bits - 1, last)).toBeUndefined()
    expect(tree.nextFree(0, last)).toBeUndefined()
    tree.take(Prefix.of(last, tree.bits))
    expect(tree.nextFree(tree.bits, last)).toBeUndefined()
    expect(tree.nextFreeAround(tree.bits, last)?.length).toBe(tree.bits)
  })
})

test('a prefix may be written with any of its addresses', () => {
  const tree = treeOf('10.0.0.0/8')
  expect(tree.take(Prefix.of(Address.parse('10.1.2.3'), 16))).toBe(true)
  expect([tree.isFree(prefix('10.1.0.0/16')), spaceOf(tree).includes('10.0.0.0/16')]).toEqual([false, true])
  expect(tree.release(Prefix.of(Address.parse('10.1.255.255'), 16))).toBe(true)
  expect(spaceOf(tree)).toEqual(['10.0.0.0/8'])
})

test.each([-1, 33, 0.5, Number.NaN])('refuses a prefix of length %d, and nothing changes', (length) => {
  const tree = treeOf('10.0.0.0/8')
  const wrong = { address: Address.parse('10.0.0.0'), length }
  const refusal = expect.objectContaining({ code: 'INVALID_PREFIX_LENGTH' })
  for (const method of ['isFree', 'take', 'occupy', 'release'] as const) {
    expect(() => tree[method](wrong)).toThrow(refusal)
  }
  expect(spaceOf(tree)).toEqual(['10.0.0.0/8'])
})

test('taking and freeing over and over needs no more room', () => {
  const tree = treeOf('::/0')
  const bytesBefore = memoryUsage().arrayBuffers
  for (let i = 0; i < 20_000; i++) {
    const one = { address: { family: 6, w0: i, w1: 0, w2: 0, w3: i } as const, length: 128 }
    tree.take(one)
    tree.release(one)
  }
  // without the nodes that are used again these are more than two million, of 13 bytes
  expect(memoryUsage().arrayBuffers - bytesBefore).toBeLessThan(8_000_000)
  expect(tree.countFree(128)).toBe(2n ** 128n)
})
