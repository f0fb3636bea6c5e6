import { Address } from 'ipam-kit/cidr'
import { describe, expect, test } from 'vitest'

const LAST4 = '255.255.255.255'
const LAST6 = 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'

describe('next and previous are one apart, and stop at the ends of the space', () => {
  test.each([
    ['10.0.0.255', '10.0.1.0'],
    ['127.255.255.255', '128.0.0.0'],
    ['0.0.0.0', '0.0.0.1'],
    ['255.255.255.254', LAST4],
    ['::', '::1'],
    ['::ffff', '::1:0'],
    ['::ffff:ffff', '::1:0:0'],
    ['::ffff:255.255.255.255', '::1:0:0:0'],
    ['::fffe:ffff:ffff', '::ffff:0.0.0.0'],
    ['::ffff:ffff:ffff:ffff', '0:0:0:1::'],
    ['0:0:0:1:ffff:ffff:ffff:ffff', '0:0:0:2::'],
    ['::ffff:ffff:ffff:ffff:ffff:ffff', '0:1::'],
    ['7fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '8000::'],
    ['ffff:fffe:ffff:ffff:ffff:ffff:ffff:ffff', 'ffff:ffff::'],
    ['ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe', LAST6],
  ])('%s, %s', (before, after) => {
    expect(Address.next(Address.parse(before))).toEqual(Address.parse(after))
    expect(Address.previous(Address.parse(after))).toEqual(Address.parse(before))
  })

  test.each([LAST4, LAST6])('nothing comes after %s', (last) => {
    expect(Address.next(Address.parse(last))).toBeUndefined()
  })

  test.each(['0.0.0.0', '::'])('nothing comes before %s', (first) => {
    expect(Address.previous(Address.parse(first))).toBeUndefined()
  })
})

describe('add', () => {
  test.each([
    ['10.0.0.1', 5n, '10.0.0.6'],
    ['10.0.0.1', -2n, '9.255.255.255'],
    ['0.0.0.0', 0xffffffffn, LAST4],
    ['::', (1n << 128n) - 1n, LAST6],
    [LAST6, 1n - (1n << 128n), '::'],
    ['fd00::', 1n << 64n, 'fd00:0:0:1::'],
    ['::ffff:255.255.255.255', 1n, '::1:0:0:0'],
  ])('%s + %i = %s', (from, offset, to) => {
    expect(Address.format(Address.add(Address.parse(from), offset))).toBe(to)
  })

  test.each([
    [LAST4, 1n],
    ['0.0.0.0', -1n],
    ['0.0.0.0', 1n << 32n],
    [LAST6, 1n],
    ['::', -1n],
    ['::', 1n << 128n],
  ])('%s + %i leaves the space', (address, offset) => {
    expect(() => Address.add(Address.parse(address), offset)).toThrow(
      expect.objectContaining({ code: 'ADDRESS_OUT_OF_RANGE', context: { address, offset: String(offset) } }),
    )
  })
})

describe('add carries and borrows over the borders of words, for numbers as for bigints', () => {
  const borders = [32n, 64n, 96n].map((bits) => 1n << bits)
  const starts = [0n, ...borders, ...borders.map((border) => border * 0xffffffffn), 7n << 96n]
  const near = [-1, 0, 1, 2 ** 32 - 1]
  const cases = starts.flatMap((start) => near.map((more) => start + BigInt(more)).filter((value) => value >= 0n))
  const offsets = [1, 2, 0xffffffff, 2 ** 32, 2 ** 32 + 1, 2 ** 33 - 1, 2 ** 52 + 1, Number.MAX_SAFE_INTEGER]

  test.each(cases.map((value) => [Address.format(Address.fromBigInt(6, value)), value] as const))('%s', (_, value) => {
    const address = Address.fromBigInt(6, value)
    for (const offset of offsets.flatMap((offset) => [offset, -offset])) {
      const sum = value + BigInt(offset)
      if (sum < 0n) {
        expect(() => Address.add(address, offset)).toThrow(expect.objectContaining({ code: 'ADDRESS_OUT_OF_RANGE' }))
        continue
      }
      const expected = Address.fromBigInt(6, sum)
      expect(Address.add(address, offset)).toEqual(expected)
      expect(Address.add(address, BigInt(offset))).toEqual(expected)
      expect(Address.add(expected, -offset)).toEqual(address)
    }
  })

  test.each([
    ['0:0:0:1::', -1, '::ffff:ffff:ffff:ffff'],
    ['0:1::', -1, '::ffff:ffff:ffff:ffff:ffff:ffff'],
    ['0:1::', -(2 ** 32), '::ffff:ffff:ffff:ffff:0:0'],
    ['::ffff:ffff:ffff:ffff', 1, '0:0:0:1::'],
    ['::ffff:ffff:ffff:ffff:ffff:ffff', 2 ** 32, '0:1::ffff:ffff'],
    [LAST6, -1, `${LAST6.slice(0, -1)}e`],
  ])('%s + %i = %s', (from, offset, to) => {
    expect(Address.format(Address.add(Address.parse(from), offset))).toBe(to)
  })

  test.each([
    [LAST4, 1],
    ['0.0.0.0', -1],
    [LAST6, 1],
    [LAST6, 2 ** 52],
    ['::', -1],
    ['::1:0:0', -(2 ** 52)],
  ])('%s + %i leaves the space', (address, offset) => {
    expect(() => Address.add(Address.parse(address), offset)).toThrow(
      expect.objectContaining({ code: 'ADDRESS_OUT_OF_RANGE', context: { address, offset: String(offset) } }),
    )
  })
})

describe('distance', () => {
  test.each([
    ['10.0.0.1', '10.0.0.6', 5n],
    ['10.0.0.6', '10.0.0.1', -5n],
    ['0.0.0.0', LAST4, 0xffffffffn],
    ['::', LAST6, (1n << 128n) - 1n],
    ['::ffff:ffff', '::1:0:0', 1n],
  ])('from %s to %s is %i', (from, to, expected) => {
    expect(Address.distance(Address.parse(from), Address.parse(to))).toBe(expected)
  })

  test('has no meaning between families', () => {
    expect(() => Address.distance(Address.parse('1.2.3.4'), Address.parse('::1.2.3.4'))).toThrow(
      expect.objectContaining({ code: 'FAMILY_MISMATCH', context: { left: '1.2.3.4', right: '::102:304' } }),
    )
  })
})

describe('an address from a number', () => {
  test('takes the ends of each family', () => {
    expect(Address.from4(0)).toEqual({ family: 4, value: 0 })
    expect(Address.from4(0xffffffff)).toEqual({ family: 4, value: 0xffffffff })
    expect(Address.format(Address.fromBigInt(4, 0xffffffffn))).toBe(LAST4)
    expect(Address.format(Address.fromBigInt(6, 0xffffffffn))).toBe('::ffff:ffff')
    expect(Address.format(Address.fromBigInt(6, (1n << 128n) - 1n))).toBe(LAST6)
    expect(Address.fromBigInt(6, 0x0123456789abcdeffedcba9876543210n)).toEqual({
      family: 6,
      w0: 0x01234567,
      w1: 0x89abcdef,
      w2: 0xfedcba98,
      w3: 0x76543210,
    })
  })

  test.each([
    [-1, '-1'],
    [2 ** 32, '4294967296'],
    [0.5, '0.5'],
    [Number.NaN, 'NaN'],
    [Number.POSITIVE_INFINITY, 'Infinity'],
    ['1' as unknown as number, 'the text "1"'],
  ])('from4 refuses %j', (value, got) => {
    expect(() => Address.from4(value)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        context: {
          function: 'Address.from4',
          argument: 'value',
          expected: 'a whole number from 0 to 2^32 - 1',
          got,
        },
      }),
    )
  })

  test.each([
    [4, -1n, 32],
    [4, 1n << 32n, 32],
    [6, -1n, 128],
    [6, 1n << 128n, 128],
  ] as const)('fromBigInt(%i) refuses %i', (family, value, bits) => {
    expect(() => Address.fromBigInt(family, value)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        context: {
          function: 'Address.fromBigInt',
          argument: 'value',
          expected: `a bigint from 0 to 2^${bits} - 1`,
          got: String(value),
        },
      }),
    )
  })
})

describe('order and identity', () => {
  test('IPv4 comes before IPv6, and each goes by number and not by text', () => {
    const ordered = ['2.0.0.0', '10.0.0.9', '10.0.0.10', '127.0.0.1', '128.0.0.0', LAST4]
    ordered.push('::', '::2', '::10', '::ffff:1.2.3.4', '::1:0:0:0', '0:1::', '8000::', LAST6)
    const shuffled = [3, 13, 7, 0, 9, 11, 5, 2, 8, 12, 1, 10, 6, 4].map((i) => Address.parse(ordered[i] as string))
    expect(shuffled.sort(Address.compare).map(Address.format)).toEqual(ordered)
  })

  test('an IPv4 address, its mapped form and its compatible form are three addresses', () => {
    const three = ['1.2.3.4', '::ffff:1.2.3.4', '::1.2.3.4'].map((text) => Address.parse(text))
    expect(new Set(three.map(Address.key)).size).toBe(3)
    expect(new Set(three.map(Address.format)).size).toBe(3)
    expect(three.filter((address) => Address.equals(address, three[0]!))).toEqual([three[0]])
  })

  test('an address has as many bits as its longest prefix length', () => {
    expect([Address.bitsOf(4), Address.bitsOf(6)]).toEqual([32, 128])
  })
})
