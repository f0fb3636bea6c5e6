import fc from 'fast-check'
import { Address, type Family } from 'ipam-kit/cidr'
import * as arbitrary from 'ipam-kit/testing/arbitraries'
import { describe, expect } from 'vitest'
import { property } from '../property.js'

/** Words of zeros and ones only: where carries and borrows run through. */
const border6: fc.Arbitrary<Address> = fc
  .tuple(...([0, 1, 2, 3] as const).map(() => fc.constantFrom(0, 1, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff)))
  .map(([w0, w1, w2, w3]) => ({ family: 6, w0, w1, w2, w3 }) as Address)
const address = fc.oneof(arbitrary.address(), border6)

const value = Address.toBigInt
const top = (family: Family) => (1n << BigInt(Address.bitsOf(family))) - 1n
const sign = (number: number | bigint) => (number > 0 ? 1 : number < 0 ? -1 : 0)

/** Pairs of one family, equal and close ones among them. */
const pair: fc.Arbitrary<[Address, Address]> = fc.oneof(
  fc.tuple(arbitrary.address(4), arbitrary.address(4)),
  fc.tuple(arbitrary.address(6), arbitrary.address(6)),
  fc.tuple(border6, border6),
  address.map((one): [Address, Address] => [one, { ...one }]),
  address.map((one): [Address, Address] => [one, Address.next(one) ?? one]),
)

describe('addresses are numbers', () => {
  property([address], 10)('toBigInt and fromBigInt are inverse', (a) => {
    expect(Address.fromBigInt(a.family, value(a))).toEqual(a)
  })

  property([fc.bigInt({ min: 0n, max: (1n << 128n) - 1n })], 10)('and so they are the other way round', (n) => {
    expect(value(Address.fromBigInt(6, n))).toBe(n)
  })

  property([address], 10)('next adds one, or there is none', (a) => {
    const next = Address.next(a)
    expect(next && value(next)).toBe(value(a) === top(a.family) ? undefined : value(a) + 1n)
    expect(next?.family ?? a.family).toBe(a.family)
  })

  property([address], 10)('previous takes one away, or there is none', (a) => {
    const previous = Address.previous(a)
    expect(previous && value(previous)).toBe(value(a) === 0n ? undefined : value(a) - 1n)
    expect(previous?.family ?? a.family).toBe(a.family)
  })

  property([pair], 10)('distance is the difference, and add goes back over it', ([a, b]) => {
    expect(Address.distance(a, b)).toBe(value(b) - value(a))
    expect(Address.add(a, Address.distance(a, b))).toEqual(b)
  })

  property([address, fc.bigInt({ min: -(1n << 129n), max: 1n << 129n })], 10)(
    'add is addition as long as the sum is an address',
    (a, offset) => {
      const sum = value(a) + offset
      if (sum >= 0n && sum <= top(a.family)) expect(value(Address.add(a, offset))).toBe(sum)
      else expect(() => Address.add(a, offset)).toThrow(expect.objectContaining({ code: 'ADDRESS_OUT_OF_RANGE' }))
    },
  )

  const offset = fc.oneof(fc.maxSafeInteger(), fc.integer(), fc.constantFrom(1, -1, 2 ** 32, -(2 ** 32)))
  property([address, offset], 10)('add of a number is add of a bigint', (a, offset) => {
    const sum = value(a) + BigInt(offset)
    if (sum >= 0n && sum <= top(a.family)) expect(value(Address.add(a, offset))).toBe(sum)
    else expect(() => Address.add(a, offset)).toThrow(expect.objectContaining({ code: 'ADDRESS_OUT_OF_RANGE' }))
  })

  property([pair], 10)('compare goes by value, equals and key tell the same', ([a, b]) => {
    const difference = sign(value(a) - value(b))
    expect(sign(Address.compare(a, b))).toBe(difference)
    expect(Address.equals(a, b)).toBe(difference === 0)
    expect(Address.key(a) === Address.key(b)).toBe(difference === 0)
  })

  property([arbitrary.address(4), address])('all IPv4 stands before all IPv6, whatever the value', (a4, other) => {
    fc.pre(other.family === 6)
    expect(sign(Address.compare(a4, other))).toBe(-1)
    expect(sign(Address.compare(other, a4))).toBe(1)
    expect(Address.equals(a4, other)).toBe(false)
    expect(Address.key(a4)).not.toBe(Address.key(other))
  })
})

describe('text', () => {
  property([address], 20)('parse reads what format writes', (a) => {
    expect(Address.parse(Address.format(a))).toEqual(a)
  })

  property([address], 20)('format writes RFC 5952: no shorter text, no leading zero, no upper case', (a) => {
    fc.pre(a.family === 6)
    const text = Address.format(a)
    expect(text).toBe(shortest(value(a)))
  })

  // runs of zeros of every length and place
  property([fc.array(fc.constantFrom(0, 0, 0, 1, 0xffff), { minLength: 8, maxLength: 8 })], 20)(
    'the first of the longest runs of zeros is elided',
    (groups) => {
      const number = groups.reduce((sum, group) => sum * 0x10000n + BigInt(group), 0n)
      expect(Address.format(Address.fromBigInt(6, number))).toBe(shortest(number))
    },
  )
})

/**
 * RFC 5952 word for word: of all the ways to elide a run of at least two zero groups, the shortest
 * text, the first of equals.
 */
function shortest(number: bigint): string {
  if (number >> 32n === 0xffffn) {
    return `::ffff:${[24n, 16n, 8n, 0n].map((shift) => (number >> shift) & 0xffn).join('.')}`
  }
  const groups = Array.from({ length: 8 }, (_, i) => ((number >> BigInt(112 - 16 * i)) & 0xffffn).toString(16))
  let best = { text: groups.join(':'), elided: 0 }
  for (let from = 0; from < 8; from++) {
    for (let to = from + 2; to <= 8; to++) {
      if (groups.slice(from, to).some((group) => group !== '0') || to - from <= best.elided) continue
      best = { text: `${groups.slice(0, from).join(':')}::${groups.slice(to).join(':')}`, elided: to - from }
    }
  }
  return best.text
}
