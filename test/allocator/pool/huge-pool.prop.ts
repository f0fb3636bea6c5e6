import fc from 'fast-check'
import { AddressPool } from 'ipam-kit/allocator'
import { Address, type Range, RangeSet } from 'ipam-kit/cidr'
import { describe, expect, test } from 'vitest'
import { property } from '../../cidr/property.js'

/** Nothing here cools down or is kept for a key. */
const idle = { cooldown: 0n, preallocated: 0n, reserved: expect.any(BigInt) }

const SLOTS = 1n << 52n
const TOP = (1n << 128n) - 1n
const value = Address.toBigInt
const text = (number: bigint) => Address.format(Address.fromBigInt(6, number))

/** `size` addresses from `first` on, as a range. */
const from = (first: string, size: bigint) => `${first}-${text(value(Address.parse(first)) + size - 1n)}`

/**
 * Pools that nobody can write out: around 2^24 addresses (the last dense one), 2^52 (the last
 * numbered one), and beyond.
 */
const pools: [about: string, ranges: string[]][] = [
  ['all of IPv6', ['::/0']],
  ['a /64', ['fd00::/64']],
  ['2^64 addresses over a word border', [from('fd00::ffff:fff0:ffff:fff0', 1n << 64n)]],
  ['2^64 addresses over two word borders', [from('fd00:0:ffff:ffff:ffff:ffff:ffff:fff0', 1n << 64n)]],
  ['three /64', ['fd00::/64', 'fd00:0:0:2::/64', 'fd00:0:0:4::/64']],
  ['2^24 addresses', [from('fd00::ff00:fff0', 1n << 24n)]],
  ['2^24 + 1 addresses', [from('fd00::ff00:fff0', (1n << 24n) + 1n)]],
  ['2^52 - 1 addresses', [from('::ffff:fff0', SLOTS - 1n)]],
  ['2^52 addresses', [from('::ffff:fff0', SLOTS)]],
  ['2^52 addresses, aligned', ['fd00::/76']],
  ['2^52 + 1 addresses', [from('::ffff:fff0', SLOTS + 1n)]],
  ['2^52 addresses in two ranges', ['fd00::/77', 'fd01::/77']],
  ['2^52 addresses and one more behind', ['fd00::/76', 'fd01::']],
  ['2^52 addresses and 2^52 more behind', ['fd00::/76', 'fd01::/76', 'fd02::']],
  ['2^52 - 1 addresses, then a range over the end', [from('fd00::', SLOTS - 1n), 'fd01::/64']],
  ['one address, then a range over the end', ['fd00::7', 'fd01::/64']],
  ['a range over the end, then single addresses', [from('fd00::', SLOTS + 3n), 'fd01::', 'fd01::2', 'ffff::']],
  ['both ends of the space', ['::/126', from(text(TOP - SLOTS - 7n), SLOTS + 8n)]],
]

/** What a pool has to do, with ranges of BigInt and a Set of what is taken. */
class ModelSpace {
  readonly ranges: { first: bigint; last: bigint }[]
  readonly taken = new Set<bigint>()

  constructor(ranges: readonly Range[]) {
    this.ranges = ranges.map(({ first, last }) => ({ first: value(first), last: value(last) }))
  }

  get total() {
    return this.ranges.reduce((sum, { first, last }) => sum + last - first + 1n, 0n)
  }

  has(address: bigint) {
    return this.ranges.some(({ first, last }) => first <= address && address <= last)
  }

  lowestFree(start: bigint) {
    for (const { first, last } of this.ranges) {
      for (let at = start > first ? start : first; at <= last; at++) if (!this.taken.has(at)) return at
    }
    return undefined
  }

  /** The address with `number` addresses of the pool below it. */
  at(number: bigint) {
    let left = number
    for (const { first, last } of this.ranges) {
      if (left <= last - first) return first + left
      left -= last - first + 1n
    }
    return undefined
  }

  /**
   * Where something could go wrong: at both ends of each range, and at the ends of what is dense
   * and of what is numbered.
   */
  borders(): bigint[] {
    const numbered = [1n << 24n, 1n << 32n, SLOTS].flatMap((border) =>
      [-3n, -2n, -1n, 0n, 1n, 2n].map((step) => this.at(border + step)),
    )
    const ends = this.ranges.flatMap(({ first, last }) => [
      first - 1n,
      first,
      first + 1n,
      first + 2n,
      last - 1n,
      last,
      last + 1n,
    ])
    const words = this.ranges.flatMap(({ first }) => [32n, 64n].map((bits) => ((first >> bits) + 1n) << bits))
    const near = words.flatMap((border) => [border - 1n, border, border + 1n])
    return [...new Set([0n, TOP, ...numbered, ...ends, ...near])].filter(
      (at): at is bigint => at !== undefined && at >= 0n && at <= TOP,
    )
  }
}

describe.each(pools)('%s', (_, entries) => {
  const ranges = RangeSet.parse(entries)
  const borders = new ModelSpace(RangeSet.ranges(ranges)).borders()
  const command = fc.tuple(
    fc.constantFrom('occupy', 'occupy', 'occupy', 'allocate', 'release'),
    fc.constantFrom(...borders),
  )

  property([fc.array(command, { maxLength: 40, size: 'max' })], 0.5)('beside the model, at its borders', (commands) => {
    const pool = new AddressPool({ ranges })
    const model = new ModelSpace(RangeSet.ranges(ranges))
    let outOfRange = 0n
    const outside = new Set<bigint>()
    for (const [name, at] of commands) {
      const address = Address.fromBigInt(6, at)
      const owner = { uid: String(at) }
      const held = model.taken.has(at) || outside.has(at)
      if (name === 'release') {
        expect(pool.release(address, owner).kind === 'released').toBe(held)
        model.taken.delete(at)
        outside.delete(at)
      } else if (name === 'occupy') {
        expect(pool.occupy(address, owner).kind).toBe(!model.has(at) ? 'outOfPool' : held ? 'already' : 'occupied')
        ;(model.has(at) ? model.taken : outside).add(at)
      } else {
        const outcome = pool.allocate({ owner, want: { kind: 'address', address } })
        expect(outcome.kind).toBe(held ? 'already' : model.has(at) ? 'allocated' : 'outOfPool')
        if (model.has(at)) model.taken.add(at)
      }
      outOfRange = BigInt(outside.size)
      const used = BigInt(model.taken.size)
      expect(pool.counts()).toEqual({ ...idle, total: model.total, used, free: model.total - used, outOfRange })
    }
    for (const border of [model.ranges[0]?.first as bigint, ...borders]) {
      const lowest = pool.lowestFree({ from: Address.fromBigInt(6, border) })
      expect(lowest && text(value(lowest)), `from ${text(border)}`).toBe(textOf(model.lowestFree(border)))
    }
    const lowest = pool.lowestFree()
    expect(lowest && text(value(lowest))).toBe(textOf(model.lowestFree(0n)))
    expect(pool.entries().map(({ address }) => value(address))).toEqual(
      [...model.taken, ...outside].sort((a, b) => (a < b ? -1 : 1)),
    )
  })

  test('gives its first addresses in order', () => {
    const pool = new AddressPool({ ranges })
    const model = new ModelSpace(RangeSet.ranges(ranges))
    for (let number = 0n; number < 40n && number < model.total; number++) {
      const outcome = pool.allocate({ owner: { uid: String(number) } })
      expect(outcome.kind === 'allocated' && value(outcome.address)).toBe(model.at(number))
    }
  })
})

function textOf(address: bigint | undefined): string | undefined {
  return address === undefined ? undefined : text(address)
}

test('a search continues after the last numbered address, and ends when that is taken too', () => {
  const pool = new AddressPool({ ranges: RangeSet.parse(['fd00::/76', 'fd01::', 'fd01::2']) })
  const [last, ...behind] = ['fd00::f:ffff:ffff:ffff', 'fd01::', 'fd01::2'].map((entry) => Address.parse(entry))
  const owner = { uid: 'a' }
  for (const from of [last, ...behind]) {
    expect(pool.lowestFree({ from: last })).toEqual(from)
    pool.occupy(from as Address, owner)
  }
  expect(pool.lowestFree({ from: last })).toBeUndefined()
  expect(pool.release(behind[1] as Address, owner).kind).toBe('released')
  expect(pool.lowestFree({ from: last })).toEqual(behind[1])
})

test('IPv4 pools reach over the whole space', () => {
  const pool = new AddressPool({ ranges: RangeSet.parse(['0.0.0.0/0']) })
  const at = (address: string) => Address.parse(address)
  for (const taken of ['0.0.0.0', '0.0.0.1', '128.0.0.0', '255.255.255.255']) pool.occupy(at(taken), { uid: 'a' })
  expect(pool.counts()).toEqual({ ...idle, total: 1n << 32n, used: 4n, free: (1n << 32n) - 4n, outOfRange: 0n })
  expect(pool.lowestFree()).toEqual(at('0.0.0.2'))
  expect(pool.lowestFree({ from: at('127.255.255.255') })).toEqual(at('127.255.255.255'))
  expect(pool.lowestFree({ from: at('128.0.0.0') })).toEqual(at('128.0.0.1'))
  expect(pool.lowestFree({ from: at('255.255.255.255') })).toBeUndefined()
})
