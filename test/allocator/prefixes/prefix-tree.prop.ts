import fc from 'fast-check'
import { PrefixTree } from 'ipam-kit/allocator'
import { Address, Prefix, Range, RangeSet } from 'ipam-kit/cidr'
import { rangeSetIn } from 'ipam-kit/testing/arbitraries'
import { describe, expect, test } from 'vitest'
import { property } from '../../cidr/property.js'

/**
 * Windows of 64 addresses, small enough to try out every prefix; one of them lies across a border
 * of words, one at the end of the space.
 */
const WINDOWS = [
  '10.0.0.0',
  '255.255.255.192',
  'fd00::',
  'fd00::ffff:ffff:ffff:ffc0',
  'fd00:0:0:1::',
  'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffc0',
]
const SIZE = 64

/** All prefixes that a window has, by where they begin and how long they are. */
function prefixesIn(base: Address): Prefix[] {
  const bits = Address.bitsOf(base.family)
  return Array.from({ length: 7 }, (_, shorter) => bits - 6 + shorter).flatMap((length) => {
    const step = 2 ** (bits - length)
    return Array.from({ length: SIZE / step }, (_, i) => Prefix.of(Address.add(base, BigInt(i * step)), length))
  })
}

/** The space as a list of prefixes that are taken, and nothing else. */
class ModelTree {
  readonly #parents: RangeSet
  readonly #all: readonly Prefix[]
  #taken: Prefix[] = []

  constructor(parents: RangeSet, all: readonly Prefix[]) {
    this.#parents = parents
    this.#all = all
  }

  isFree(prefix: Prefix): boolean {
    return RangeSet.contains(this.#parents, prefix) && !this.#taken.some((taken) => Prefix.overlaps(taken, prefix))
  }

  occupy(prefix: Prefix): void {
    this.#taken.push(prefix)
  }

  release(prefix: Prefix): boolean {
    const at = this.#taken.findIndex((taken) => Prefix.equals(taken, prefix))
    if (at >= 0) this.#taken.splice(at, 1)
    return at >= 0
  }

  free(length: number): Prefix[] {
    return this.#all.filter((prefix) => prefix.length === length && this.isFree(prefix))
  }

  freeSpace(): Prefix[] {
    const taken = RangeSet.fromPrefixes(this.#taken)
    return RangeSet.prefixes(RangeSet.subtract(this.#parents, taken))
  }
}

type Command = { readonly do: 'take' | 'occupy' | 'release'; readonly which: number }

const command: fc.Arbitrary<Command> = fc.record({
  do: fc.constantFrom('take', 'take', 'occupy', 'release', 'release'),
  which: fc.nat(),
})

describe.each(WINDOWS)('a tree of prefixes does what a list does, at %s', (text) => {
  const base = Address.parse(text)
  const all = prefixesIn(base)
  const bits = Address.bitsOf(base.family)
  const state = (tree: PrefixTree) => ({
    free: all.map((prefix) => tree.isFree(prefix)),
    counts: Array.from({ length: 7 }, (_, i) => tree.countFree(bits - 6 + i)),
    space: Array.from(tree.freePrefixes(), Prefix.format),
    lowest: Array.from({ length: 7 }, (_, i) => tree.nextFree(bits - 6 + i)),
  })
  const expected = (model: ModelTree) => ({
    free: all.map((prefix) => model.isFree(prefix)),
    counts: Array.from({ length: 7 }, (_, i) => BigInt(model.free(bits - 6 + i).length)),
    space: model.freeSpace().map(Prefix.format),
    lowest: Array.from({ length: 7 }, (_, i) => model.free(bits - 6 + i)[0]),
  })

  property([rangeSetIn(base, SIZE), fc.array(command, { maxLength: 25, size: 'max' }), fc.nat(SIZE - 1)])(
    'whatever is taken',
    (parents, commands, offset) => {
      if (parents.v4.firsts.length + parents.v6.firsts.length === 0) return
      const tree = new PrefixTree(parents)
      const model = new ModelTree(parents, all)
      expect(state(tree)).toEqual(expected(model))
      const taken: Prefix[] = []
      for (const { do: what, which } of commands) {
        // what is released has mostly been taken
        const from = what === 'release' && taken.length > 0 && which % 4 > 0 ? taken : all
        const prefix = from[which % from.length]!
        if (what === 'release') expect(tree.release(prefix)).toBe(model.release(prefix))
        else if (what === 'take') {
          const isFree = model.isFree(prefix)
          expect(tree.take(prefix)).toBe(isFree)
          if (isFree) model.occupy(prefix)
          if (isFree) taken.push(prefix)
        } else {
          tree.occupy(prefix)
          model.occupy(prefix)
          taken.push(prefix)
        }
        expect(state(tree)).toEqual(expected(model))
      }
      const from = Address.add(base, BigInt(offset))
      for (let length = bits - 6; length <= bits; length++) {
        const free = model.free(length)
        const next = free.find((prefix) => Address.compare(prefix.address, from) >= 0)
        expect(tree.nextFree(length, from)).toEqual(next)
        expect(tree.nextFreeAround(length, from)).toEqual(next ?? free[0])
      }
      for (const prefix of taken) while (tree.release(prefix)) model.release(prefix)
      expect(state(tree)).toEqual(expected(new ModelTree(parents, all)))
    },
  )
})

describe('a tree of IPv4 does what one of IPv6 does', () => {
  const mapped = (prefix: Prefix): Prefix => Prefix.of(Address.toMapped(prefix.address as never), prefix.length + 96)
  const prefix = fc
    .tuple(fc.nat(2 ** 20), fc.integer({ min: 10, max: 32 }))
    .map(([value, length]) => Prefix.masked(Prefix.of(Address.from4(0x0a000000 + value * 16), length)))

  property([fc.array(fc.tuple(fc.constantFrom('take', 'occupy', 'release', 'next'), prefix), { maxLength: 60 })])(
    'with the same commands on mapped addresses',
    (commands) => {
      const parents = [Prefix.parse('10.0.0.0/9'), Prefix.parse('10.192.0.0/12')]
      const v4 = new PrefixTree(RangeSet.fromPrefixes(parents))
      const v6 = new PrefixTree(RangeSet.fromPrefixes(parents.map(mapped)))
      for (const [what, prefix] of commands) {
        if (what === 'next') {
          const next = v4.nextFree(prefix.length, prefix.address)
          expect(v6.nextFree(prefix.length + 96, mapped(prefix).address)).toEqual(next && mapped(next))
        } else expect(v6[what as 'take'](mapped(prefix))).toEqual(v4[what as 'take'](prefix))
        for (const length of [10, 16, 24, 32]) expect(v6.countFree(length + 96)).toBe(v4.countFree(length))
      }
      expect(Array.from(v6.freePrefixes())).toEqual(Array.from(v4.freePrefixes(), mapped))
    },
  )
})

/** The free space as a set: a prefix is free where one of the set has room for it. */
class ModelSpace {
  readonly #parents: RangeSet
  readonly #bits: number
  readonly #taken: Prefix[] = []
  /** The fewest prefixes, in order. */
  free: Prefix[] = []

  constructor(parents: RangeSet, bits: number) {
    this.#parents = parents
    this.#bits = bits
    this.#subtract()
  }

  occupy(prefix: Prefix): void {
    this.#taken.push(prefix)
    this.#subtract()
  }

  release(prefix: Prefix): boolean {
    const at = this.#taken.findIndex((taken) => Prefix.equals(taken, prefix))
    if (at < 0) return false
    this.#taken.splice(at, 1)
    this.#subtract()
    return true
  }

  isFree(prefix: Prefix): boolean {
    return this.free.some((free) => Prefix.contains(free, prefix))
  }

  countFree(length: number): bigint {
    const counts = this.free.map((free) => (free.length > length ? 0n : 1n << BigInt(length - free.length)))
    return counts.reduce((sum, count) => sum + count, 0n)
  }

  nextFree(length: number, from: Address): Prefix | undefined {
    const size = 1n << BigInt(this.#bits - length)
    const start = ((Address.toBigInt(from) + size - 1n) / size) * size
    const free = this.free.find(
      (free) => free.length <= length && Address.toBigInt(Prefix.last(free)) >= start + size - 1n,
    )
    if (free === undefined) return undefined
    const first = Address.toBigInt(free.address)
    return Prefix.of(Address.fromBigInt(free.address.family, first > start ? first : start), length)
  }

  #subtract(): void {
    this.free = RangeSet.prefixes(RangeSet.subtract(this.#parents, RangeSet.fromPrefixes(this.#taken)))
  }
}

describe.each([4, 6] as const)('a tree of IPv%d does what a set of addresses does', (family) => {
  const bits = Address.bitsOf(family)
  /**
   * Numbers that have many bits in common, at any depth: some of their prefixes are in each other,
   * or side by side.
   */
  const address = fc
    .tuple(fc.constantFrom(0n, 1n), fc.nat(), fc.nat({ max: bits - 1 }), fc.nat({ max: bits - 1 }))
    .map(([ends, pattern, from, to]) => {
      const base = ends === 0n ? BigInt(pattern) * 0x1_0000_0001_0000_0001_0000_0001n : 0n
      const mask = (1n << BigInt(bits)) - 1n
      return Address.fromBigInt(family, (base ^ (1n << BigInt(from)) ^ (1n << BigInt(to))) & mask)
    })
  const steps: fc.Arbitrary<[what: string, which: number][]> = fc.array(
    fc.tuple(fc.constantFrom('take', 'take', 'occupy', 'release', 'release', 'first', 'behind'), fc.nat({ max: 11 })),
    { maxLength: 30, size: 'max' },
  )
  /** A few prefixes around and in one another, and beside. */
  const prefixes = fc
    .tuple(
      address,
      fc.array(fc.tuple(address, fc.nat({ max: bits })), { minLength: 4, maxLength: 12 }),
      fc.nat({ max: bits }),
    )
    .map(([anchor, others, shared]) =>
      others.map(([other, length]) => {
        // what lies before `shared` is that of the anchor
        const low = (1n << BigInt(bits - shared)) - 1n
        const value = (Address.toBigInt(anchor) & ~low) | (Address.toBigInt(other) & low)
        return Prefix.masked(Prefix.of(Address.fromBigInt(family, value), length))
      }),
    )

  const start = Address.fromBigInt(family, 0n)

  property([prefixes, fc.array(fc.nat({ max: 11 }), { minLength: 1, maxLength: 3 }), fc.nat({ max: bits }), steps], 2)(
    'with nodes that begin anywhere',
    (some, parts, childLength, steps) => {
      const prefixes = [...some]
      const at = (index: number) => prefixes[index % prefixes.length]!
      // some of the prefixes, or what is a good deal around them
      const parents = RangeSet.fromPrefixes(
        parts.map((part) => Prefix.supernet(at(part), at(part).length >> (part % 3))),
      )
      const tree = new PrefixTree(parents, { childLength })
      const model = new ModelSpace(parents, bits)
      const lengths = [...new Set([0, 1, childLength, bits - 1, bits, ...prefixes.map(({ length }) => length)])]
      for (const [what, index] of steps) {
        const prefix = at(index)
        const isFree = model.isFree(prefix)
        expect(tree.isFree(prefix)).toBe(isFree)
        if (what === 'release') expect(tree.release(prefix)).toBe(model.release(prefix))
        else if (what === 'take') {
          expect(tree.take(prefix)).toBe(isFree)
          if (isFree) model.occupy(prefix)
        } else if (what === 'occupy') {
          tree.occupy(prefix)
          model.occupy(prefix)
        } else {
          const from = what === 'first' ? undefined : prefix.address
          const found = tree.nextFree(prefix.length, from)
          expect(found).toEqual(model.nextFree(prefix.length, from ?? start))
          if (found === undefined) continue
          if (index % 2 === 0) expect(tree.take(found)).toBe(true)
          else tree.occupy(found)
          model.occupy(found)
          prefixes.push(found)
          expect(tree.nextFree(prefix.length)).toEqual(model.nextFree(prefix.length, start))
        }
        expect(tree.freePrefixes()).toEqual(model.free)
        for (const length of lengths) {
          expect(tree.countFree(length)).toBe(model.countFree(length))
          expect(tree.nextFree(length)).toEqual(model.nextFree(length, start))
          expect(tree.nextFree(length, prefix.address)).toEqual(model.nextFree(length, prefix.address))
        }
      }
    },
  )
})

test('a tree holds all of IPv6, and carves it from end to end', () => {
  const tree = new PrefixTree(RangeSet.parse(['::/0']))
  expect(tree.countFree(128)).toBe(2n ** 128n)
  expect(tree.take(Prefix.parse('::/128'))).toBe(true)
  expect(tree.countFree(128)).toBe(2n ** 128n - 1n)
  expect(tree.countFree(1)).toBe(1n)
  expect(tree.nextFree(1)).toEqual(Prefix.parse('8000::/1'))
  expect(tree.nextFree(0)).toBeUndefined()
  expect(tree.nextFree(128, Address.parse('ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'))).toEqual(
    Prefix.parse('ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128'),
  )
  expect(Array.from(tree.freePrefixes())).toHaveLength(128)
  expect(tree.release(Prefix.parse('::/128'))).toBe(true)
  expect(tree.take(Prefix.parse('::/0'))).toBe(true)
  expect(tree.countFree(128)).toBe(0n)
})

test('what is taken beside the space is remembered and never free', () => {
  const tree = new PrefixTree(RangeSet.parse(['10.0.0.0/24']))
  tree.occupy(Prefix.parse('10.0.0.0/16'))
  tree.occupy(Prefix.parse('192.0.2.0/24'))
  expect(tree.nextFree(32)).toBeUndefined()
  expect(tree.countFree(24)).toBe(0n)
  expect([tree.release(Prefix.parse('10.0.0.0/16')), tree.release(Prefix.parse('10.0.0.0/16'))]).toEqual([true, false])
  expect(tree.countFree(24)).toBe(1n)
  expect(tree.isFree(Prefix.parse('192.0.2.0/24'))).toBe(false)
  expect(tree.release(Prefix.parse('192.0.2.0/24'))).toBe(true)
  expect(tree.isFree(Prefix.parse('192.0.2.0/24'))).toBe(false)
})

test('a tree without parents has nothing to give', () => {
  const tree = new PrefixTree(RangeSet.empty)
  expect([tree.family, tree.nextFree(64), tree.countFree(128), [...tree.freePrefixes()]]).toEqual([
    6,
    undefined,
    0n,
    [],
  ])
})

test('mistakes of the caller', () => {
  const tree = new PrefixTree(RangeSet.fromRanges([Range.parse('10.0.0.0-10.0.0.255')]))
  const code = (code: string) => expect.objectContaining({ code })
  expect(() => new PrefixTree(RangeSet.parse(['10.0.0.0/8', 'fd00::/8']))).toThrow(code('FAMILY_MISMATCH'))
  expect(() => tree.isFree(Prefix.parse('fd00::/64'))).toThrow(code('FAMILY_MISMATCH'))
  expect(() => tree.nextFree(24, Address.parse('fd00::'))).toThrow(code('FAMILY_MISMATCH'))
  for (const length of [-1, 33, 0.5, Number.NaN]) {
    expect(() => tree.nextFree(length)).toThrow(code('INVALID_PREFIX_LENGTH'))
    expect(() => tree.countFree(length)).toThrow(code('INVALID_PREFIX_LENGTH'))
  }
})
