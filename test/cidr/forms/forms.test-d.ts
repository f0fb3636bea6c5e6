import type { Address, Address4, Address6, Prefix } from 'ipam-kit/cidr'
import { Nat64, ReverseName, SixToFour, Teredo, UrlHost } from 'ipam-kit/cidr/forms'
import type { Result } from 'ipam-kit/errors'
import { expectTypeOf, test } from 'vitest'

test('values of ours go in and come out', () => {
  expectTypeOf(ReverseName.parse).returns.toEqualTypeOf<Prefix>()
  expectTypeOf(ReverseName.safeParse).returns.toEqualTypeOf<Result<Prefix, 'MALFORMED_REVERSE_NAME'>>()
  expectTypeOf(UrlHost.safeParse).returns.toEqualTypeOf<Result<UrlHost, 'MALFORMED_URL_HOST'>>()
  expectTypeOf(UrlHost.format).parameters.toEqualTypeOf<[UrlHost]>()
  expectTypeOf(Teredo.inspect).returns.toEqualTypeOf<Teredo | undefined>()
  expectTypeOf(SixToFour.inspect).returns.toEqualTypeOf<SixToFour | undefined>()
  expectTypeOf(SixToFour.sitePrefix).parameters.toEqualTypeOf<[Address4]>()
  expectTypeOf(Nat64.embed).returns.toEqualTypeOf<Address6>()
  expectTypeOf(Nat64.extract).returns.toEqualTypeOf<Address4 | undefined>()
})

test('a zoned address and a port make a host', () => {
  expectTypeOf<{ address: Address; zone: string; port: number }>().toExtend<UrlHost>()
  expectTypeOf<UrlHost>().toEqualTypeOf<{
    readonly address: Address
    readonly zone?: string | undefined
    readonly port?: number | undefined
  }>()
})
