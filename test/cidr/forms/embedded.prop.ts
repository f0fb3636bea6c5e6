import fc from 'fast-check'
import { Address, type Address4, type Address6, Prefix } from 'ipam-kit/cidr'
import { Nat64, SixToFour, Teredo } from 'ipam-kit/cidr/forms'
import { address, prefix } from 'ipam-kit/testing/arbitraries'
import { describe, expect, test } from 'vitest'
import { property } from '../property.js'

const parse6 = (text: string) => Address.parse(text) as Address6
const parse4 = (text: string) => Address.parse(text) as Address4

/** `count` bits of an address from bit `from` on, bit 0 the highest, by BigInt. */
function bits(address: Address6, from: number, count: number): bigint {
  return (Address.toBigInt(address) >> BigInt(128 - from - count)) & ((1n << BigInt(count)) - 1n)
}

const four = (value: bigint) => ({ family: 4, value: Number(value) })

describe('Teredo', () => {
  property([address(6)], 10)('an address holds what the model says', (any) => {
    const inside: Address6 = { ...any, w0: 0x20010000 }
    expect(Teredo.inspect(inside)).toStrictEqual({
      server: four(bits(inside, 32, 32)),
      flags: Number(bits(inside, 64, 16)),
      cone: bits(inside, 64, 1) === 1n,
      port: 65535 - Number(bits(inside, 80, 16)),
      client: four(0xffffffffn - bits(inside, 96, 32)),
    })
  })

  property([address()], 10)('no other address is one', (any) => {
    const isInside = Prefix.contains(Prefix.parse('2001::/32'), any)
    expect(Teredo.inspect(any) !== undefined).toBe(isInside)
  })

  test.each(['2001:1::', '2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '2001:db8::1', '::', '32.1.0.0'])(
    '%s is none',
    (text) => {
      expect(Teredo.inspect(Address.parse(text))).toBeUndefined()
    },
  )

  test('all bits zero behind the prefix', () => {
    expect(Teredo.inspect(Address.parse('2001::'))).toStrictEqual({
      server: parse4('0.0.0.0'),
      flags: 0,
      cone: false,
      port: 65535,
      client: parse4('255.255.255.255'),
    })
  })
})

describe('6to4', () => {
  property([address(6)], 10)('an address holds what the model says', (any) => {
    const inside: Address6 = { ...any, w0: 0x20020000 + (any.w0 & 0xffff) }
    const site = SixToFour.inspect(inside)
    expect(site).toStrictEqual({
      router: four(bits(inside, 16, 32)),
      slaId: Number(bits(inside, 48, 16)),
      interfaceId: bits(inside, 64, 64),
    })
    expect(Prefix.contains(SixToFour.sitePrefix(site?.router as Address4), inside)).toBe(true)
    expect(Address.embeddedIPv4(inside)).toEqual(site?.router)
  })

  property([address()], 10)('no other address is one', (any) => {
    const isInside = Prefix.contains(Prefix.parse('2002::/16'), any)
    expect(SixToFour.inspect(any) !== undefined).toBe(isInside)
  })

  property([address(4)], 10)('the prefix of a site is that of its router', (router) => {
    const site = SixToFour.sitePrefix(router)
    expect(site.length).toBe(48)
    expect(Address.toBigInt(site.address)).toBe((0x2002n << 112n) | (BigInt(router.value) << 80n))
    expect(Prefix.masked(site)).toBe(site)
  })

  test('a site needs an IPv4 router', () => {
    expect(() => SixToFour.sitePrefix(Address.parse('::1') as unknown as Address4)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    )
  })
})

describe('NAT64', () => {
  const lengths = [32, 40, 48, 56, 64, 96]

  /** Prefixes as RFC 6052 wants them, with host bits. */
  const natPrefix = fc
    .tuple(address(6), fc.constantFrom(...lengths))
    .map(([base, length]) =>
      Prefix.of(length === 96 ? ({ ...base, w2: base.w2 & 0xffffff } as Address6) : base, length),
    )

  /** Octet by octet: those of the prefix, then those of the address around octet 8, then zeros. */
  function model(address: Address4, { address: base, length }: Prefix): Address {
    const octets = [...Address.toBytes(base).slice(0, length / 8)]
    for (const octet of Address.toBytes(address)) {
      if (octets.length === 8) octets.push(0)
      octets.push(octet)
    }
    return Address.fromBytes(Uint8Array.from([...octets, ...Array(16 - octets.length).fill(0)]))
  }

  property([address(4), natPrefix], 20)('an address goes where the model says, and comes back', (any, behind) => {
    const embedded = Nat64.embed(any, behind)
    expect(embedded).toEqual(model(any, behind))
    expect(Nat64.extract(embedded, behind)).toEqual(any)
    expect(Prefix.contains(behind, embedded)).toBe(true)
    expect(bits(embedded, 64, 8)).toBe(0n)
  })

  property([address(6), natPrefix], 20)('what is taken out was put in, whatever stands behind it', (any, behind) => {
    const shared = BigInt(128 - behind.length)
    const mixed = Address.fromBigInt(
      6,
      ((Address.toBigInt(behind.address) >> shared) << shared) | (Address.toBigInt(any) & ((1n << shared) - 1n)),
    ) as Address6
    const extracted = Nat64.extract(mixed, behind)
    expect(extracted === undefined).toBe(bits(mixed, 64, 8) !== 0n)
    if (extracted === undefined) return
    // the same up to the end of the IPv4 address
    const end = BigInt(behind.length === 96 ? 0 : 128 - behind.length - 40)
    expect(Address.toBigInt(Nat64.embed(extracted, behind)) >> end).toBe(Address.toBigInt(mixed) >> end)
  })

  property([address(), natPrefix], 5)('outside of the prefix there is nothing to take out', (any, behind) => {
    if (!Prefix.contains(behind, any)) expect(Nat64.extract(any, behind)).toBeUndefined()
  })

  property([prefix()], 10)('other prefixes are refused', (any) => {
    const isGood =
      any.address.family === 6 && lengths.includes(any.length) && (any.length !== 96 || bits(any.address, 64, 8) === 0n)
    const attempts = [() => Nat64.embed(parse4('192.0.2.33'), any), () => Nat64.extract(Address.parse('::1'), any)]
    for (const attempt of attempts) {
      if (isGood) expect(attempt).not.toThrow()
      else {
        expect(attempt).toThrow(
          expect.objectContaining({
            code: 'INVALID_ARGUMENT',
            context: expect.objectContaining({ argument: 'prefix' }),
          }),
        )
      }
    }
  })

  // RFC 6052 section 2.4
  test.each([
    ['2001:db8::/32', '2001:db8:c000:221::'],
    ['2001:db8:100::/40', '2001:db8:1c0:2:21::'],
    ['2001:db8:122::/48', '2001:db8:122:c000:2:2100::'],
    ['2001:db8:122:300::/56', '2001:db8:122:3c0:0:221::'],
    ['2001:db8:122:344::/64', '2001:db8:122:344:c0:2:2100:0'],
    ['2001:db8:122:344::/96', '2001:db8:122:344::c000:221'],
    ['64:ff9b::/96', '64:ff9b::c000:221'],
  ])('192.0.2.33 behind %s is %s', (behind, text) => {
    expect(Address.format(Nat64.embed(parse4('192.0.2.33'), Prefix.parse(behind)))).toBe(text)
    expect(Nat64.extract(parse6(text), Prefix.parse(behind))).toEqual(parse4('192.0.2.33'))
  })

  test('by default behind the well-known prefix', () => {
    expect(Prefix.format(Nat64.wellKnownPrefix)).toBe('64:ff9b::/96')
    expect(Nat64.embed(parse4('10.0.0.1'))).toEqual(parse6('64:ff9b::a00:1'))
    expect(Nat64.extract(parse6('64:ff9b::a00:1'))).toEqual(parse4('10.0.0.1'))
    expect(Nat64.extract(parse6('64:ff9b::1:a00:1'))).toBeUndefined()
    expect(Nat64.extract(Address.parse('10.0.0.1'))).toBeUndefined()
  })

  test('bits 64 to 71 are zero', () => {
    expect(
      Nat64.extract(parse6('2001:db8:122:344:ffc0:2:2100:0'), Prefix.parse('2001:db8:122:344::/64')),
    ).toBeUndefined()
    expect(() => Nat64.embed(parse4('192.0.2.33'), Prefix.parse('2001:db8:0:0:100::/96'))).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    )
  })

  test('only IPv4 is put in', () => {
    expect(() => Nat64.embed(Address.parse('::1') as unknown as Address4)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        context: { function: 'Nat64.embed', argument: 'address', expected: 'an IPv4 address', got: 'an IPv6 address' },
      }),
    )
  })
})
