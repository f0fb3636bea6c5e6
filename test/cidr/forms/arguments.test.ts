import { Address, type Address4, type Address6, type Prefix } from 'ipam-kit/cidr'
import { Nat64, ReverseName, SixToFour, Teredo, UrlHost } from 'ipam-kit/cidr/forms'
import { describe, expect, test } from 'vitest'

const refusal = (argument: string) =>
  expect.objectContaining({ code: 'INVALID_ARGUMENT', context: expect.objectContaining({ argument }) })

const noAddresses = [
  undefined,
  null,
  '192.0.2.1',
  '2001:0:4136:e378::1',
  {},
  { family: 5, value: 0 },
  { family: 4, value: '1' },
  { family: 4 },
  { family: 6, w0: 0x20010000, w1: 0, w2: 0 },
  { family: 6, w0: 0x20020000, w1: 0, w2: -1, w3: 0 },
] as unknown as Address[]

describe('what is no address is refused, not taken for one of another kind', () => {
  test.each(noAddresses.map((address) => [address]))('%j', (address) => {
    expect(() => Teredo.inspect(address)).toThrow(refusal('address'))
    expect(() => SixToFour.inspect(address)).toThrow(refusal('address'))
    expect(() => SixToFour.sitePrefix(address as Address4)).toThrow(refusal('router'))
    expect(() => Nat64.extract(address)).toThrow(refusal('address'))
    expect(() => Nat64.embed(address as Address4)).toThrow(refusal('address'))
    expect(() => UrlHost.format({ address })).toThrow(refusal('address'))
  })

  test('IPv6 in the place of IPv4', () => {
    const six = Address.parse('::1') as Address6 as unknown as Address4
    expect(() => SixToFour.sitePrefix(six)).toThrow(refusal('router'))
    expect(() => Nat64.embed(six)).toThrow(
      'Nat64.embed: argument address: expected an IPv4 address, got an IPv6 address',
    )
  })
})

describe('what is no prefix', () => {
  test.each([undefined, null, '64:ff9b::/96', {}, { address: '64:ff9b::', length: 96 }].map((prefix) => [prefix]))(
    '%j',
    (given) => {
      const prefix = given as unknown as Prefix
      const invalid = expect.objectContaining({ code: 'INVALID_ARGUMENT' })
      if (given !== undefined) {
        expect(() => Nat64.embed(Address.from4(1), prefix)).toThrow(invalid)
        expect(() => Nat64.extract(Address.parse('64:ff9b::1'), prefix)).toThrow(invalid)
      }
      expect(() => ReverseName.format(prefix)).toThrow(invalid)
      expect(() => ReverseName.zones(prefix)).toThrow(invalid)
    },
  )

  test.each([-8, 40, 8.5, Number.NaN])('a length of %d', (length) => {
    const prefix: Prefix = { address: Address.parse('10.0.0.0'), length }
    const invalid = expect.objectContaining({ code: 'INVALID_PREFIX_LENGTH' })
    expect(() => ReverseName.format(prefix)).toThrow(invalid)
    expect(() => ReverseName.zones(prefix)).toThrow(invalid)
  })
})

describe('what is no host', () => {
  test.each([undefined, null, 'fd00::1'])('%j', (host) => {
    expect(() => UrlHost.format(host as unknown as UrlHost)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    )
  })

  test.each([null, 5, {}])('a zone that is %j', (zone) => {
    const host = { address: Address.parse('fe80::1'), zone: zone as unknown as string }
    expect(() => UrlHost.format(host)).toThrow(refusal('zone'))
  })

  test.each([null, '6443', {}])('a port that is %j', (port) => {
    const host = { address: Address.parse('fe80::1'), port: port as unknown as number }
    expect(() => UrlHost.format(host)).toThrow(refusal('port'))
  })
})
