import { Address, Prefix } from 'ipam-kit/cidr'
import { ReverseName } from 'ipam-kit/cidr/forms'
import { describe, expect, test } from 'vitest'

const nibbles = '1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2'

describe('a name', () => {
  test.each([
    ['5.2.0.192.in-addr.arpa', '192.0.2.5/32'],
    ['5.2.0.192.IN-ADDR.ARPA.', '192.0.2.5/32'],
    ['2.0.192.in-Addr.aRPa', '192.0.2.0/24'],
    ['0.10.in-addr.arpa', '10.0.0.0/16'],
    ['255.in-addr.arpa', '255.0.0.0/8'],
    ['in-addr.arpa', '0.0.0.0/0'],
    ['0.0.0.0.in-addr.arpa', '0.0.0.0/32'],
    [`${nibbles}.ip6.arpa`, '2001:db8::1/128'],
    [`${nibbles.toUpperCase()}.IP6.ARPA.`, '2001:db8::1/128'],
    ['8.b.d.0.1.0.0.2.ip6.arpa', '2001:db8::/32'],
    ['a.ip6.arpa.', 'a000::/4'],
    ['ip6.arpa', '::/0'],
  ])('%s is %s', (name, prefix) => {
    expect(Prefix.format(ReverseName.parse(name))).toBe(prefix)
    expect(ReverseName.format(ReverseName.parse(name))).toBe(name.toLowerCase().replace(/\.$/, ''))
  })

  test.each([
    ['', 0, 'does not end in in-addr.arpa or ip6.arpa'],
    ['.', 0, 'does not end in in-addr.arpa or ip6.arpa'],
    ['1.2.3.4', 7, 'does not end in in-addr.arpa or ip6.arpa'],
    ['1.2.3.4.example.com.', 19, 'does not end in in-addr.arpa or ip6.arpa'],
    ['xin-addr.arpa', 13, 'does not end in in-addr.arpa or ip6.arpa'],
    ['1.in-addr.arpa..', 15, 'does not end in in-addr.arpa or ip6.arpa'],
    ['1.in-addr.arpa ', 15, 'does not end in in-addr.arpa or ip6.arpa'],
    ['1.in\raddr.arpa', 14, 'does not end in in-addr.arpa or ip6.arpa'],
    ['8.b.d.0.1.0.0.2.ip6.int', 23, 'does not end in in-addr.arpa or ip6.arpa'],
    [
      '0/25.2.0.192.in-addr.arpa',
      1,
      'a classless name (RFC 2317) is an alias that its zone defines: it names no prefix',
    ],
    [
      '1.0-127.2.0.192.in-addr.arpa',
      3,
      'a classless name (RFC 2317) is an alias that its zone defines: it names no prefix',
    ],
    ['8/1.2.3.4.in-addr.arpa', 1, 'a classless name (RFC 2317) is an alias that its zone defines: it names no prefix'],
    ['-1.in-addr.arpa', 0, 'unexpected character in an octet'],
    ['b._dns-sd._udp.0.0.10.in-addr.arpa', 0, 'unexpected character in an octet'],
    ['1.a.in-addr.arpa', 2, 'unexpected character in an octet'],
    ['1. 2.in-addr.arpa', 2, 'unexpected character in an octet'],
    ['١.in-addr.arpa', 0, 'unexpected character in an octet'],
    ['01.in-addr.arpa', 0, 'an octet with a leading zero'],
    ['1.00.in-addr.arpa', 2, 'an octet with a leading zero'],
    ['256.in-addr.arpa', 0, 'an octet above 255'],
    ['1.4294967297.in-addr.arpa', 2, 'an octet above 255'],
    ['1..in-addr.arpa', 2, 'an empty label'],
    ['.in-addr.arpa', 0, 'an empty label'],
    ['1.2.3.4.5.in-addr.arpa', 0, 'more than four octets'],
    ['g.ip6.arpa', 0, 'unexpected character in a nibble'],
    ['`.ip6.arpa', 0, 'unexpected character in a nibble'],
    ['1.10.ip6.arpa', 3, 'a nibble is one hexadecimal digit'],
    ['..ip6.arpa', 0, 'an empty label'],
    [`0.${nibbles}.ip6.arpa`, 73, 'longer than any reverse name of an address'],
  ])('%j is refused at %i: %s', (text, position, problem) => {
    expect(ReverseName.safeParse(text)).toEqual({
      ok: false,
      failure: { code: 'MALFORMED_REVERSE_NAME', context: { text, position, problem } },
    })
    expect(() => ReverseName.parse(text)).toThrow(expect.objectContaining({ code: 'MALFORMED_REVERSE_NAME' }))
  })

  test.each([undefined, null, 1, ['1.in-addr.arpa']])('%j is no text', (value) => {
    const text = value as unknown as string
    expect(ReverseName.safeParse(text)).toMatchObject({
      failure: { code: 'MALFORMED_REVERSE_NAME', context: { problem: expect.stringMatching(/^not a text, but /u) } },
    })
    expect(() => ReverseName.parse(text)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
  })
})

describe('of a prefix', () => {
  test.each([
    ['10.1.2.3/16', '1.10.in-addr.arpa'],
    ['0.0.0.0/0', 'in-addr.arpa'],
    ['fd00::1/12', '0.d.f.ip6.arpa'],
    ['::/0', 'ip6.arpa'],
  ])('%s the name is %s', (prefix, name) => {
    expect(ReverseName.format(Prefix.parse(prefix))).toBe(name)
    expect(ReverseName.zones(Prefix.parse(prefix))).toEqual([name])
  })

  test.each(['10.0.0.0/20', '10.0.0.0/1', '10.0.0.0/31', 'fd00::/33', '::/127'])('%s there is no name', (text) => {
    expect(() => ReverseName.format(Prefix.parse(text))).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', context: expect.objectContaining({ got: text }) }),
    )
  })

  test('the zones are those of the subnets on the next border', () => {
    expect(ReverseName.zones(Prefix.parse('10.0.17.3/20'))).toEqual(
      Array.from({ length: 16 }, (_, i) => `${16 + i}.0.10.in-addr.arpa`),
    )
    expect(ReverseName.zones(Prefix.parse('2001:db8::/31'))).toEqual([
      '8.b.d.0.1.0.0.2.ip6.arpa',
      '9.b.d.0.1.0.0.2.ip6.arpa',
    ])
    expect(ReverseName.zones(Prefix.parse('192.0.2.128/25'))).toHaveLength(128)
    expect(ReverseName.zones(Prefix.parse('255.255.255.254/31'))).toEqual([
      '254.255.255.255.in-addr.arpa',
      '255.255.255.255.in-addr.arpa',
    ])
  })

  test('the zones are never many', () => {
    const counts = (base: string) => {
      const address = Address.parse(base)
      return Array.from(
        { length: Address.bitsOf(address.family) + 1 },
        (_, length) => ReverseName.zones({ address, length }).length,
      )
    }
    expect(Math.max(...counts('255.255.255.255'))).toBe(128)
    expect(Math.max(...counts('ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'))).toBe(8)
  })
})
