import fc from 'fast-check'
import { Address4 as Oracle4, Address6 as Oracle6 } from 'ip-address'
import { Address, Prefix, Range } from 'ipam-kit/cidr'
import { address, prefix, range } from 'ipam-kit/testing/arbitraries'
import { describe, expect, test } from 'vitest'
import { property } from '../property.js'

property([address()], 10)('bytes are those of ip-address, and read back', (any) => {
  const bytes = Address.toBytes(any)
  const text = Address.format(any)
  const oracle = any.family === 4 ? new Oracle4(text).toArray() : new Oracle6(text).toUnsignedByteArray()
  // ip-address leaves out the leading zeros of IPv6
  expect([...bytes]).toEqual([...Array(bytes.length - oracle.length).fill(0), ...oracle])
  expect(Address.fromBytes(bytes)).toEqual(any)
})

property([address()], 5)('the reverse name is that of ip-address', (any) => {
  const text = Address.format(any)
  const oracle = any.family === 4 ? new Oracle4(text).reverseForm() : new Oracle6(text).reverseForm()
  expect(`${Address.reverseName(any)}.`).toBe(oracle)
})

property([address(4), address(6)], 5)('mapped and back', (four, six) => {
  expect(Address.format(Address.toMapped(four))).toBe(`::ffff:${Address.format(four)}`)
  expect(Address.unmap(Address.toMapped(four))).toEqual(four)
  expect(Address.unmap(four)).toBe(four)
  const isMapped = Address.toBigInt(six) >> 32n === 0xffffn
  expect(Address.unmap(six)).toEqual(isMapped ? { family: 4, value: six.w3 } : six)
})

property([prefix(), range()], 10)('prefixes and ranges as bytes', (somePrefix, someRange) => {
  expect(Prefix.fromBytes(Prefix.toBytes(somePrefix))).toEqual(somePrefix)
  expect(Range.fromBytes(Range.toBytes(someRange))).toEqual(someRange)
})

property([fc.uint8Array({ maxLength: 40 })], 10)('bytes are read, or refused with their number', (bytes) => {
  for (const [read, write] of [
    [Address.fromBytes, Address.toBytes],
    [Prefix.fromBytes, Prefix.toBytes],
    [Range.fromBytes, Range.toBytes],
  ] as const) {
    let value: unknown
    try {
      value = read(bytes)
    } catch (error) {
      expect(error).toMatchObject({ name: 'IpamError', code: 'MALFORMED_BYTES' })
      continue
    }
    expect((write as (value: unknown) => Uint8Array)(value)).toEqual(bytes)
  }
})

describe('add by a number', () => {
  const offset = fc.oneof(
    fc.integer({ min: -10, max: 10 }),
    fc.maxSafeInteger(),
    fc.constantFrom(2 ** 32, -(2 ** 32), 2 ** 32 - 1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER),
  )
  property([address(), offset], 20)('is add by the same bigint', (any, by) => {
    const result = (by: number | bigint) => {
      try {
        return Address.add(any, by)
      } catch (error) {
        return error
      }
    }
    expect(result(by)).toEqual(result(BigInt(by)))
  })

  test.each([0.5, Number.NaN, 2 ** 53, Number.POSITIVE_INFINITY])('refuses %d', (by) => {
    expect(() => Address.add(Address.parse('10.0.0.1'), by)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    )
  })
})
