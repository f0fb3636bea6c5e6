import { Address } from 'ipam-kit/cidr'
import { describe, expect, test } from 'vitest'

describe('text that is an address, and its canonical form', () => {
  test.each([
    // RFC 4291 section 2.2
    ['ABCD:EF01:2345:6789:ABCD:EF01:2345:6789', 'abcd:ef01:2345:6789:abcd:ef01:2345:6789'],
    ['2001:DB8:0:0:8:800:200C:417A', '2001:db8::8:800:200c:417a'],
    ['FF01:0:0:0:0:0:0:101', 'ff01::101'],
    ['0:0:0:0:0:0:0:1', '::1'],
    ['0:0:0:0:0:0:0:0', '::'],
    ['::', '::'],
    ['0:0:0:0:0:0:13.1.68.3', '::d01:4403'],
    ['::13.1.68.3', '::d01:4403'],
    ['0:0:0:0:0:FFFF:129.144.52.38', '::ffff:129.144.52.38'],
    // RFC 5952: leading zeros (2.1, 4.1), :: (4.2), case (4.3), embedded IPv4 (5)
    ['2001:db8:aaaa:bbbb:cccc:dddd:eeee:0001', '2001:db8:aaaa:bbbb:cccc:dddd:eeee:1'],
    ['2001:0db8::0001', '2001:db8::1'],
    ['2001:db8:0:0:0:0:2:1', '2001:db8::2:1'],
    ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['2001:db8::1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['2001:0:0:1:0:0:0:1', '2001:0:0:1::1'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['2001:DB8::AAAA:BBBB', '2001:db8::aaaa:bbbb'],
    ['::ffff:c000:0201', '::ffff:192.0.2.1'],
    // which run of zeros is elided
    ['0:0:1:0:0:1:0:0', '::1:0:0:1:0:0'],
    ['1:0:0:2:0:0:0:3', '1:0:0:2::3'],
    ['1:0:0:0:2:0:0:0', '1::2:0:0:0'],
    ['1:2:3:4:5:6:0:0', '1:2:3:4:5:6::'],
    ['0:0:3:4:5:6:7:8', '::3:4:5:6:7:8'],
    ['0:2:0:4:0:6:0:8', '0:2:0:4:0:6:0:8'],
    // `::` for a single group is legal to read, and not to write
    ['::2:3:4:5:6:7:8', '0:2:3:4:5:6:7:8'],
    ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
    ['1:2:3::5:6:7:8', '1:2:3:0:5:6:7:8'],
    ['1:2:3:4:5::1.2.3.4', '1:2:3:4:5:0:102:304'],
    // only ::ffff:0:0/96 ends in dots
    ['::fffe:ffff:1.2.3.4', '::fffe:ffff:102:304'],
    ['::1:ffff:1.2.3.4', '::1:ffff:102:304'],
    ['1::ffff:1.2.3.4', '1::ffff:102:304'],
    ['0:1::ffff:1.2.3.4', '0:1::ffff:102:304'],
    ['::ffff:0:0', '::ffff:0.0.0.0'],
    ['ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
    ['0.0.0.0', '0.0.0.0'],
    ['127.255.255.255', '127.255.255.255'],
    ['128.0.0.0', '128.0.0.0'],
    ['255.255.255.255', '255.255.255.255'],
  ])('%s is %s', (text, canonical) => {
    expect(Address.format(Address.parse(text))).toBe(canonical)
  })

  test('every octet and every group comes to its place', () => {
    expect(Address.parse('1.2.3.4')).toEqual({ family: 4, value: 0x01020304 })
    expect(Address.parse('255.0.0.128')).toEqual({ family: 4, value: 0xff000080 })
    expect(Address.parse('0123:4567:89ab:cdef:fedc:ba98:7654:3210')).toEqual({
      family: 6,
      w0: 0x01234567,
      w1: 0x89abcdef,
      w2: 0xfedcba98,
      w3: 0x76543210,
    })
  })

  test.each([1, 2, 3, 4, 5, 6, 7])('`::` in front, behind and between, for %i groups', (elided) => {
    const written = ['a', 'b', 'c', 'd', 'e', 'f', '9'].slice(0, 8 - elided)
    const zeros = Array<string>(elided).fill('0')
    for (let split = 0; split <= written.length; split++) {
      const head = written.slice(0, split)
      const tail = written.slice(split)
      expect(Address.parse(`${head.join(':')}::${tail.join(':')}`)).toEqual(
        Address.parse([...head, ...zeros, ...tail].join(':')),
      )
    }
  })
})

describe('text that is not an address: why, and where', () => {
  test.each<[text: string, position: number, problem: string]>([
    ['', 0, 'unable to parse IP'],
    ['12345', 0, 'unable to parse IP'],
    ['0', 0, 'unable to parse IP'],
    ['NaN', 0, 'unable to parse IP'],
    ['[', 0, 'unable to parse IP'],
    ['1.2.3.04', 6, 'IPv4 field has octet with leading zero'],
    ['010.8.8.8', 0, 'IPv4 field has octet with leading zero'],
    ['127.000.0.1', 4, 'IPv4 field has octet with leading zero'],
    ['::ffff:0177.0.0.1', 7, 'IPv4 field has octet with leading zero'],
    ['1.256.3.4', 2, 'IPv4 field has value >255'],
    ['4294967297.0.0.1', 0, 'IPv4 field has value >255'],
    ['::ffff:1.2.3.256', 13, 'IPv4 field has value >255'],
    ['.1.2.3', 0, 'IPv4 field must have at least one digit'],
    ['1..2.3', 2, 'IPv4 field must have at least one digit'],
    ['1.2.3.', 5, 'IPv4 field must have at least one digit'],
    ['1.2.3.4.', 7, 'IPv4 field must have at least one digit'],
    ['1.2.3.4.5', 7, 'IPv4 address too long'],
    ['0x7f.0.0.1', 1, 'unexpected character'],
    ['1e1.0.0.0', 1, 'unexpected character'],
    ['1_0.0.0.1', 1, 'unexpected character'],
    ['+1.2.3.4', 0, 'unexpected character'],
    [' 1.2.3.4', 0, 'unexpected character'],
    ['1.2.3.4 ', 7, 'unexpected character'],
    ['1.2.3.4\n', 7, 'unexpected character'],
    ['1.2.3.4\0', 7, 'unexpected character'],
    ['1.2.3.4/32', 7, 'unexpected character'],
    ['1.2.3.4%eth0', 7, 'unexpected character'],
    ['1.2.3.٣', 6, 'unexpected character'],
    ['1.2.3./', 6, 'unexpected character'],
    ['1.2.3.:', 6, 'unexpected character'],
    ['::1.2.3.4:5', 9, 'unexpected character'],
    ['127.1', 5, 'IPv4 address too short'],
    ['1.2.3', 5, 'IPv4 address too short'],
    ['::ffff:1.2.3', 12, 'IPv4 address too short'],
    ['12345::', 0, 'each group must have 4 or less digits'],
    ['1:2:00000::', 4, 'each group must have 4 or less digits'],
    [':', 0, 'each colon-separated field must have at least one digit'],
    [':::', 2, 'each colon-separated field must have at least one digit'],
    [':1:2:3:4:5:6:7:8', 0, 'each colon-separated field must have at least one digit'],
    ['1:::2', 3, 'each colon-separated field must have at least one digit'],
    ['::g', 2, 'each colon-separated field must have at least one digit'],
    ['::G', 2, 'each colon-separated field must have at least one digit'],
    ['::`', 2, 'each colon-separated field must have at least one digit'],
    ['::@', 2, 'each colon-separated field must have at least one digit'],
    ['::/', 2, 'each colon-separated field must have at least one digit'],
    ['::-1', 2, 'each colon-separated field must have at least one digit'],
    ['1:2:3:4:5:1.2.3.4', 10, 'embedded IPv4 address must replace the final 2 fields of the address'],
    ['1:2:3:4:5:6:7:1.2.3.4', 14, 'embedded IPv4 address must replace the final 2 fields of the address'],
    ['::1:2:3:4:5:6:7:1.2.3.4', 16, 'too many hex fields to fit an embedded IPv4 at the end of the address'],
    ['::0x1', 3, 'unexpected character, want colon'],
    ['fe80::1 ', 7, 'unexpected character, want colon'],
    ['1:2/64', 3, 'unexpected character, want colon'],
    ['1:2:3:4:5:6:7:', 13, 'colon must be followed by more characters'],
    ['1::2:', 4, 'colon must be followed by more characters'],
    ['1::2::3', 5, 'multiple :: in address'],
    ['1:2:3:4:5:6:7:8:9', 16, 'trailing garbage after address'],
    ['1:2:3:4:5:6:7:8:1.2.3.4', 16, 'trailing garbage after address'],
    ['1:2:3:4:5:6:7', 13, 'address string too short'],
    ['1:2:3:4:5:1', 11, 'address string too short'],
    ['::1:2:3:4:5:6:7:8', 17, 'the :: must expand to at least one field of zeros'],
    ['1:2:3:4:5:6:7:8::', 17, 'the :: must expand to at least one field of zeros'],
    ['1:2:3:4::5:6:7:8', 16, 'the :: must expand to at least one field of zeros'],
    ['1:2:3:4:5:6::1.2.3.4', 20, 'the :: must expand to at least one field of zeros'],
    ['fe80::1%eth0', 7, 'an IPv6 zone is not allowed here'],
    ['fe80::1%', 7, 'an IPv6 zone is not allowed here'],
    ['%eth0', 0, 'missing IPv6 address'],
    ['fe80%eth0', 4, 'missing IPv6 address'],
  ])('%j', (text, position, problem) => {
    expect(Address.safeParse(text)).toEqual({
      ok: false,
      failure: { code: 'MALFORMED_ADDRESS', context: { text, position, problem } },
    })
  })

  test('parse throws the same failure', () => {
    expect(() => Address.parse('10.0.0.256')).toThrow(
      expect.objectContaining({
        name: 'IpamError',
        code: 'MALFORMED_ADDRESS',
        context: { text: '10.0.0.256', position: 7, problem: 'IPv4 field has value >255' },
        message: 'not an IP address: "10.0.0.256": IPv4 field has value >255 (at position 7)',
      }),
    )
  })

  test.each<[value: unknown, got: string]>([
    [undefined, 'undefined'],
    [null, 'null'],
    [167772161, '167772161'],
    [['10.0.0.1'], 'array'],
  ])('%j is no text', (value, got) => {
    const context = { function: 'Address.parse', argument: 'text', expected: 'a string', got }
    expect(() => Address.parse(value as string)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT', context }))
    expect(Address.safeParse(value as string)).toMatchObject({
      failure: { context: { problem: expect.stringMatching(/^not a text, but /u) } },
    })
  })
})

describe('a zone', () => {
  const drop = { zone: 'drop' } as const

  test.each([
    ['fe80::1%eth0', 'fe80::1'],
    ['fe80::1%1', 'fe80::1'],
    ['::%a', '::'],
    ['fe80::1%a%b', 'fe80::1'],
    ['fe80::1%a.b:c/d-e', 'fe80::1'],
    ['::ffff:1.2.3.4%eth0', '::ffff:1.2.3.4'],
    ['ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255%eth0', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ])('is dropped on demand: %s is %s', (text, canonical) => {
    expect(Address.format(Address.parse(text, drop))).toBe(canonical)
    expect(Address.safeParse(text).ok).toBe(false)
    expect(Address.safeParse(text, { zone: 'refuse' }).ok).toBe(false)
  })

  test.each<[text: string, position: number, problem: string]>([
    ['fe80::1%', 7, 'zone must be a non-empty string'],
    ['%eth0', 0, 'missing IPv6 address'],
    ['1.2.3.4%eth0', 7, 'unexpected character'],
    ['1:2%eth0', 3, 'address string too short'],
  ])('does not make an address of %s', (text, position, problem) => {
    expect(Address.safeParse(text, drop)).toMatchObject({ ok: false, failure: { context: { position, problem } } })
  })
})

describe("a refusal in the words of Go's netip.ParseAddr", () => {
  // what go1.26 says, one line for each way to fail and for each way to cut the rest of the text
  test.each([
    ['12345', 'ParseAddr("12345"): unable to parse IP'],
    ['', 'ParseAddr(""): unable to parse IP'],
    ['%eth0', 'ParseAddr("%eth0"): missing IPv6 address'],
    ['1.2.3.04', 'ParseAddr("1.2.3.04"): IPv4 field has octet with leading zero'],
    ['::ffff:01.2.3.4', 'ParseAddr("::ffff:01.2.3.4"): IPv4 field has octet with leading zero'],
    ['256.1.1.1', 'ParseAddr("256.1.1.1"): IPv4 field has value >255'],
    ['.1.2.3', 'ParseAddr(".1.2.3"): IPv4 field must have at least one digit (at ".1.2.3")'],
    ['1..2.3', 'ParseAddr("1..2.3"): IPv4 field must have at least one digit (at ".2.3")'],
    ['1.2.3.', 'ParseAddr("1.2.3."): IPv4 field must have at least one digit (at ".")'],
    ['::1.2..3%eth0', 'ParseAddr("::1.2..3%eth0"): IPv4 field must have at least one digit (at ".3")'],
    ['1.2.3.4.5', 'ParseAddr("1.2.3.4.5"): IPv4 address too long'],
    ['1.2.3.4x', 'ParseAddr("1.2.3.4x"): unexpected character (at "x")'],
    ['1.2.3.4%eth0', 'ParseAddr("1.2.3.4%eth0"): unexpected character (at "%eth0")'],
    ['1.2.3.4::%eth0', 'ParseAddr("1.2.3.4::%eth0"): unexpected character (at "::%eth0")'],
    ['1.2.3.4\n', 'ParseAddr("1.2.3.4\\n"): unexpected character (at "\\n")'],
    ['1.2.3.4 "q"', 'ParseAddr("1.2.3.4 \\"q\\""): unexpected character (at " \\"q\\"")'],
    ['::1.2.3.x%eth0', 'ParseAddr("::1.2.3.x%eth0"): unexpected character (at "x")'],
    ['1.2.3', 'ParseAddr("1.2.3"): IPv4 address too short'],
    ['::1%', 'ParseAddr("::1%"): zone must be a non-empty string'],
    ['12345::%', 'ParseAddr("12345::%"): zone must be a non-empty string'],
    ['12345::', 'ParseAddr("12345::"): each group must have 4 or less digits (at "12345::")'],
    ['::00001%eth0', 'ParseAddr("::00001%eth0"): each group must have 4 or less digits (at "00001")'],
    [':::', 'ParseAddr(":::"): each colon-separated field must have at least one digit (at ":")'],
    ['1::é', 'ParseAddr("1::é"): each colon-separated field must have at least one digit (at "é")'],
    [
      '1:2:3:4:5:1.2.3.4',
      'ParseAddr("1:2:3:4:5:1.2.3.4"): embedded IPv4 address must replace the final 2 fields of the address (at "1.2.3.4")',
    ],
    [
      '1:2:3::4:5:6:7:1.2.3.4',
      'ParseAddr("1:2:3::4:5:6:7:1.2.3.4"): too many hex fields to fit an embedded IPv4 at the end of the address (at "1.2.3.4")',
    ],
    ['1:2x:3', 'ParseAddr("1:2x:3"): unexpected character, want colon (at "x:3")'],
    ['1:2:3:4:5:6:7:', 'ParseAddr("1:2:3:4:5:6:7:"): colon must be followed by more characters (at ":")'],
    ['1::2::3', 'ParseAddr("1::2::3"): multiple :: in address (at ":3")'],
    ['1:2:3:4:5:6:7:8:9', 'ParseAddr("1:2:3:4:5:6:7:8:9"): trailing garbage after address (at "9")'],
    ['1:2:3:4:5:6:7', 'ParseAddr("1:2:3:4:5:6:7"): address string too short'],
    ['1:2:3:4::5:6:7:8', 'ParseAddr("1:2:3:4::5:6:7:8"): the :: must expand to at least one field of zeros'],
    [
      'e083:cba4:41dc:2767:9376:4f82::131.105.186.207%/24 ',
      'ParseAddr("e083:cba4:41dc:2767:9376:4f82::131.105.186.207%/24 "): the :: must expand to at least one field of zeros',
    ],
    [
      'e083:cba4:41dc:2767:9376:4f82::131.105.186.207%',
      'ParseAddr("e083:cba4:41dc:2767:9376:4f82::131.105.186.207%"): zone must be a non-empty string',
    ],
    [
      '1:2:3:4:5:6:7:8:9:a:b:c:d:e:f:10:11:12:13:14:15%',
      'ParseAddr("1:2:3:4:5:6:7:8:9:a:b:c:d:e:f:10:11:12:13:14:15%"): zone must be a non-empty string',
    ],
    [
      '1:2:3:4:5:6:7:8:9:a:b:c:d:e:f:10:11:12:13:14:15%x',
      'ParseAddr("1:2:3:4:5:6:7:8:9:a:b:c:d:e:f:10:11:12:13:14:15%x"): trailing garbage after address (at "9:a:b:c:d:e:f:10:11:12:13:14:15")',
    ],
  ])('%j', (text, sentence) => {
    const parsed = Address.safeParse(text, { zone: 'drop' })
    expect(parsed.ok || Address.goMessage(parsed.failure)).toBe(sentence)
  })

  test('quotes as it is told to', () => {
    const parsed = Address.safeParse('1.2.3.4\x07')
    expect(parsed.ok || Address.goMessage(parsed.failure, (text) => `<${text.length}>`)).toBe(
      'ParseAddr(<8>): unexpected character (at <1>)',
    )
  })
})
