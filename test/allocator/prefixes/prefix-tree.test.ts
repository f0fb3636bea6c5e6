import { PrefixTree } from 'ipam-kit/allocator'
import { Address, Prefix, RangeSet } from 'ipam-kit/cidr'
import { describe, expect, test } from 'vitest'

const treeOf = (...parents: string[]) => new PrefixTree(RangeSet.parse(parents))
const prefix = Prefix.parse
const FIRST = Address.parse('::')
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

  const AROUND = [1, 2, 5, 6, 31, 32, 33, 63, 64, 65, 95, 96, 97, 124, 127, 128]
  test.each(AROUND)('the space around the ends of a /%d, with nodes that begin anywhere', (length) => {
    for (const childLength of [128, 127, 126, 125, 124]) {
      for (const text of ['::', LAST]) {
        const tree = new PrefixTree(RangeSet.parse(['::/0']), { childLength })
        const taken = Prefix.masked(Prefix.of(Address.parse(text), length))
        tree.take(taken)
        const rest = RangeSet.subtract(RangeSet.parse(['::/0']), RangeSet.fromPrefixes([taken]))
        expect(spaceOf(tree)).toEqual(RangeSet.prefixes(rest).map(Prefix.format))
        expect(tree.countFree(128)).toBe(2n ** 128n - 2n ** BigInt(128 - length))
        expect(tree.nextFree(length)).toEqual(
          Prefix.of(text === '::' ? Address.next(Prefix.last(taken))! : FIRST, length),
        )
        expect([tree.isFree(taken), tree.release(taken), tree.isFree(taken), spaceOf(tree)]).toEqual([
          false,
          true,
          true,
          ['::/0'],
        ])
      }
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

describe('prefixes in and around what a node stands for', () => {
  const CHILD_LENGTHS = [20, 21, 22, 23, 24]

  test.each(CHILD_LENGTHS)('wide over narrow and narrow over wide, children of /%d', (childLength) => {
    const lengths = [16, 18, 19, 20, 21, 23, 24, 25, 26, 30, 32]
    const prefixes = lengths.map((length) => Prefix.masked(Prefix.of(Address.parse('10.1.170.170'), length)))
    for (const order of [prefixes, [...prefixes].reverse()]) {
      const tree = new PrefixTree(RangeSet.parse(['10.0.0.0/15']), { childLength })
      for (const one of order) {
        tree.occupy(one)
        tree.occupy(one)
      }
      expect([spaceOf(tree), tree.countFree(32)]).toEqual([['10.0.0.0/16'], 65_536n])
      for (const one of order) tree.release(one)
      expect([spaceOf(tree), tree.countFree(32)]).toEqual([['10.0.0.0/16'], 65_536n])
      for (const [index, one] of order.entries()) {
        expect([tree.release(one), tree.release(one)]).toEqual([true, false])
        const rest = RangeSet.fromPrefixes(order.slice(index + 1))
        const free = RangeSet.prefixes(RangeSet.subtract(RangeSet.parse(['10.0.0.0/15']), rest))
        expect(spaceOf(tree)).toEqual(free.map(Prefix.format))
        expect(tree.countFree(32)).toBe(131_072n - RangeSet.size(rest))
        for (const length of lengths) {
          expect(tree.nextFree(length, one.address)).toEqual(nextOf(free, length, one.address))
        }
      }
    }
  })

  /**
   * Of prefixes in order, none of which lies between an address and where a prefix of the length
   * may begin behind it.
   */
  function nextOf(free: readonly Prefix[], length: number, from: Address): Prefix | undefined {
    const own = Prefix.masked(Prefix.of(from, length))
    const start = Address.equals(own.address, from) ? own : Prefix.of(Address.next(Prefix.last(own))!, length)
    if (free.some((one) => Prefix.contains(one, start))) return start
    const behind = free.find((one) => one.length <= length && Address.compare(one.address, start.address) > 0)
    return behind && Prefix.of(behind.address, length)
  }

  test.each(CHILD_LENGTHS)('parts of a space that are taken side by side, children of /%d', (childLength) => {
    const tree = new PrefixTree(RangeSet.parse(['10.0.0.0/18']), { childLength })
    for (let length = 19; length <= 32; length++) {
      const all = [...Prefix.split(Prefix.of(Address.parse('10.0.0.0'), Math.max(18, length - 6)), length)]
      for (const [index, one] of all.entries()) {
        expect(tree.nextFree(length)).toEqual(one)
        tree.take(one)
        expect(tree.countFree(length)).toBe(2n ** BigInt(length - 18) - BigInt(index + 1))
      }
      expect(tree.isFree(Prefix.of(Address.parse('10.0.0.0'), length - 1))).toBe(false)
      // from both ends to the middle: the last one makes a whole of all
      for (let low = 0, high = all.length - 1; low <= high; low++, high--) {
        expect(tree.release(all[low]!)).toBe(true)
        if (low < high) expect(tree.release(all[high]!)).toBe(true)
        expect(tree.countFree(length)).toBe(BigInt(2 ** (length - 18) - Math.max(0, high - low - 1)))
      }
      expect([spaceOf(tree), tree.countFree(18)]).toEqual([['10.0.0.0/18'], 1n])
    }
  })

  test('a space that is not whole keeps its shape', () => {
    const parents = RangeSet.parse(['10.0.0.3-10.0.2.17', '10.0.9.0-10.1.0.130'])
    for (const childLength of CHILD_LENGTHS) {
      const tree = new PrefixTree(parents, { childLength })
      const space = spaceOf(tree)
      expect(space).toEqual(RangeSet.prefixes(parents).map(Prefix.format))
      for (const text of ['10.0.0.0/16', '10.0.0.0/8', '10.0.0.0/30', '10.0.3.0/24', '10.0.2.16/32', '10.1.0.130/32']) {
        tree.occupy(prefix(text))
        const rest = RangeSet.subtract(parents, RangeSet.parse([text]))
        expect(spaceOf(tree)).toEqual(RangeSet.prefixes(rest).map(Prefix.format))
        expect(tree.countFree(32)).toBe(RangeSet.size(rest))
        expect([tree.release(prefix(text)), spaceOf(tree)]).toEqual([true, space])
      }
    }
  })

  test.each([24, 32])('the one that is left of 65,536, children of /%d', (childLength) => {
    const tree = new PrefixTree(RangeSet.parse(['10.0.0.0/8']), { childLength })
    const children = [...Prefix.split(prefix('10.0.0.0/8'), 24)]
    for (const one of children) tree.take(one)
    expect([tree.nextFree(24), tree.nextFree(32), tree.countFree(32)]).toEqual([undefined, undefined, 0n])
    for (const index of [0, 1, 31, 32, 1023, 1024, 32_767, 32_768, 65_535]) {
      const one = children[index]!
      tree.release(one)
      expect([tree.nextFree(24), tree.nextFree(24, one.address), tree.nextFree(25)]).toEqual([
        one,
        one,
        Prefix.of(one.address, 25),
      ])
      expect([tree.nextFree(23), tree.nextFree(24, Prefix.last(one)), tree.countFree(24)]).toEqual([
        undefined,
        undefined,
        1n,
      ])
      expect([tree.take(one), tree.nextFree(32)]).toEqual([true, undefined])
    }
  })
})

describe('what is taken around all parents', () => {
  const AROUND = ['10.32.0.0/11', '10.0.0.0/8', '8.0.0.0/6', '0.0.0.0/1', '0.0.0.0/0']

  test.each(AROUND)('%s, as often as it is held', (text) => {
    for (const childLength of [24, 25, 26, 27, 28]) {
      const tree = new PrefixTree(RangeSet.parse(['10.32.0.0/12']), { childLength })
      const inside = prefix('10.40.0.0/24')
      tree.take(inside)
      const space = spaceOf(tree)
      tree.occupy(prefix(text))
      tree.occupy(prefix(text))
      for (let holds = 2; holds > 0; holds--) {
        expect([tree.countFree(32), tree.nextFree(32), tree.nextFree(24, inside.address), spaceOf(tree)]).toEqual([
          0n,
          undefined,
          undefined,
          [],
        ])
        expect([tree.isFree(prefix('10.32.0.0/24')), tree.take(prefix('10.32.0.0/24'))]).toEqual([false, false])
        expect(tree.release(prefix(text))).toBe(true)
      }
      expect([spaceOf(tree), tree.release(prefix(text)), tree.countFree(12)]).toEqual([space, false, 0n])
      expect([tree.release(inside), tree.countFree(12)]).toEqual([true, 1n])
    }
  })

  test('what is narrower may come and go below it', () => {
    const tree = treeOf('10.32.0.0/12')
    const [around, inside] = [prefix('0.0.0.0/0'), prefix('10.40.0.0/24')]
    tree.occupy(around)
    tree.occupy(inside)
    expect([tree.release(around), tree.countFree(24), tree.isFree(inside)]).toEqual([true, 4095n, false])
    tree.occupy(around)
    expect([tree.release(inside), tree.countFree(24), tree.isFree(inside)]).toEqual([true, 0n, false])
    expect([tree.release(around), spaceOf(tree)]).toEqual([true, ['10.32.0.0/12']])
  })

  test('what is wide and beside takes nothing away', () => {
    const tree = treeOf('10.32.0.0/12')
    for (const text of ['11.0.0.0/8', '10.48.0.0/12', '10.64.0.0/10', '128.0.0.0/1', '10.32.0.0/32']) {
      tree.occupy(prefix(text))
    }
    expect([tree.countFree(32), tree.nextFree(32)]).toEqual([2n ** 20n - 1n, prefix('10.32.0.1/32')])
    expect(tree.nextFree(24, Address.parse('10.48.0.0'))).toBeUndefined()
    expect(tree.nextFree(24, Address.parse('9.255.255.255'))).toEqual(prefix('10.32.1.0/24'))
    expect(tree.nextFree(24, Address.parse('255.255.255.255'))).toBeUndefined()
  })
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

test('a way that was found is not taken for another', () => {
  const tree = new PrefixTree(RangeSet.parse(['10.0.0.0/16', '192.0.2.0/24']), { childLength: 24 })
  const found = tree.nextFree(24)!
  expect([tree.take(found), tree.take(found), tree.isFree(found)]).toEqual([true, false, false])
  const next = tree.nextFree(24)!
  tree.occupy(next)
  tree.occupy(next)
  expect([tree.release(next), tree.isFree(next), tree.release(next), tree.isFree(next)]).toEqual([
    true,
    false,
    true,
    true,
  ])
  // what is found behind is not the lowest
  expect(tree.nextFree(24, Address.parse('10.0.200.0'))).toEqual(prefix('10.0.200.0/24'))
  expect(tree.nextFree(24)).toEqual(next)
  expect([tree.freePrefixes().length, tree.take(next), tree.nextFree(24)]).toEqual([9, true, prefix('10.0.2.0/24')])
  const v6 = new PrefixTree(RangeSet.parse(['::/0']), { childLength: 64 })
  expect(v6.nextFree(32)).toEqual(prefix('::/32'))
  expect(() => v6.take(prefix('0.0.0.0/32'))).toThrow(expect.objectContaining({ code: 'FAMILY_MISMATCH' }))
  for (const text of ['0:1::/32', '0:0:0:1::/32', '0:0:0:0:0:1::/32', '::1/32'])
    expect(v6.isFree(prefix(text))).toBe(true)
  expect(v6.take(prefix('1::/32'))).toBe(true)
  expect([v6.nextFree(32), v6.countFree(32)]).toEqual([prefix('::/32'), 2n ** 32n - 1n])
})

test('a list of what is free is no search', () => {
  const tree = new PrefixTree(RangeSet.parse(['10.0.0.0/16', '192.0.2.0/24']), { childLength: 24 })
  const [first, last] = [prefix('10.0.0.0/24'), prefix('192.0.2.0/24')]
  expect([tree.nextFree(24), spaceOf(tree), tree.nextFree(24)]).toEqual([first, ['10.0.0.0/16', '192.0.2.0/24'], first])
  expect([spaceOf(tree).length, tree.take(last), tree.isFree(last), tree.countFree(24)]).toEqual([2, true, false, 256n])
  expect([tree.nextFree(24), spaceOf(tree), tree.isFree(first)]).toEqual([first, ['10.0.0.0/16'], true])
})

test('a tree of one family can be without parents, and is told of which', () => {
  const tree = new PrefixTree(RangeSet.empty, { family: 4, childLength: 24 })
  tree.occupy(prefix('10.0.0.0/24'))
  expect([tree.family, tree.bits, tree.countFree(32), tree.nextFree(32), spaceOf(tree)]).toEqual([
    4,
    32,
    0n,
    undefined,
    [],
  ])
  expect([tree.release(prefix('10.0.0.0/24')), tree.release(prefix('10.0.0.0/24'))]).toEqual([true, false])
  for (const childLength of [-1, 33, 0.5, Number.NaN]) {
    expect(() => new PrefixTree(RangeSet.parse(['10.0.0.0/8']), { childLength })).toThrow(
      expect.objectContaining({ code: 'INVALID_PREFIX_LENGTH' }),
    )
  }
})
