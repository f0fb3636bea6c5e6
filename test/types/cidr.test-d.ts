import { Address, type Address4, type Address6, type Family, Prefix, Range } from 'ipam-kit/cidr'
import { expectTypeOf, test } from 'vitest'

test('values are plain readonly data', () => {
  expectTypeOf<Address4>().toEqualTypeOf<{ readonly family: 4; readonly value: number }>()
  expectTypeOf<Address6>().toEqualTypeOf<{
    readonly family: 6
    readonly w0: number
    readonly w1: number
    readonly w2: number
    readonly w3: number
  }>()
  expectTypeOf<Address>().toEqualTypeOf<Address4 | Address6>()
  expectTypeOf<Prefix>().toEqualTypeOf<{ readonly address: Address; readonly length: number }>()
  expectTypeOf<Range>().toEqualTypeOf<{ readonly first: Address; readonly last: Address }>()
  expectTypeOf<Family>().toEqualTypeOf<4 | 6>()
})

test('the family narrows an address', () => {
  const top = (address: Address) => (address.family === 4 ? address.value : address.w0)
  expectTypeOf(top).returns.toEqualTypeOf<number>()
})

test('parse gives the value, safeParse a result', () => {
  expectTypeOf(Address.parse).returns.toEqualTypeOf<Address>()
  expectTypeOf(Prefix.parse).returns.toEqualTypeOf<Prefix>()
  expectTypeOf(Range.parse).returns.toEqualTypeOf<Range>()
  const parsed = Address.safeParse('10.0.0.1')
  if (parsed.ok) expectTypeOf(parsed.value).toEqualTypeOf<Address>()
  else expectTypeOf(parsed.failure.code).toEqualTypeOf<'MALFORMED_ADDRESS'>()
})

test('big counts are bigint', () => {
  expectTypeOf(Address.toBigInt).returns.toEqualTypeOf<bigint>()
  expectTypeOf(Prefix.size).returns.toEqualTypeOf<bigint>()
})
