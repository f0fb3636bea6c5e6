import { Address } from 'ipam-kit/cidr'
import { UrlHost } from 'ipam-kit/cidr/forms'
import { describe, expect, test } from 'vitest'

const longest = 'ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255'
const longName = `${'a.'.repeat(126)}a`

describe('a host', () => {
  test.each([
    ['10.0.0.1', { address: '10.0.0.1' }],
    ['10.0.0.1:6443', { address: '10.0.0.1', port: 6443 }],
    ['10.0.0.1:0', { address: '10.0.0.1', port: 0 }],
    ['10.0.0.1:65535', { address: '10.0.0.1', port: 65535 }],
    ['[fd00::1]', { address: 'fd00::1' }],
    ['[FD00::0:1]:6443', { address: 'fd00::1', port: 6443 }],
    ['[::ffff:1.2.3.4]:80', { address: '::ffff:1.2.3.4', port: 80 }],
    ['[fe80::1%25eth0]', { address: 'fe80::1', zone: 'eth0' }],
    ['[fe80::1%25eth0]:443', { address: 'fe80::1', zone: 'eth0', port: 443 }],
    ['[fe80::1%25br%2d1%20%28a%29%25]', { address: 'fe80::1', zone: 'br-1 (a)%' }],
    [`[${longest}]:1`, { address: longest, port: 1 }],
    [`[${longest}%25eth0]`, { address: longest, zone: 'eth0' }],
    ['https://10.0.0.1', { address: '10.0.0.1' }],
    ['https://[fd00::1]:6443/path?q=1#f', { address: 'fd00::1', port: 6443 }],
    ['HTTPS://[fd00::1]?q', { address: 'fd00::1' }],
    ['git+ssh.1-x://10.0.0.1:22#', { address: '10.0.0.1', port: 22 }],
    ['https://10.0.0.1/a b\n@[::]:99999', { address: '10.0.0.1' }],
  ])('%j is read', (text, { address, ...rest }) => {
    expect(UrlHost.parse(text)).toStrictEqual({ address: Address.parse(address), ...rest })
  })

  test.each([
    ['', 0, 'no host'],
    [':80', 0, 'no host'],
    ['http://', 7, 'no host'],
    ['://10.0.0.1', 0, 'no host'],
    ['.', 0, 'IPv4 field must have at least one digit'],
    [`[${longest}0]`, 43, 'IPv4 field has value >255'],
    ['http:///10.0.0.1', 7, 'no host'],
    ['//10.0.0.1/', 0, 'no host'],
    [' 10.0.0.1', 0, 'unexpected character'],
    ['10.0.0.1\n', 8, 'unexpected character'],
    ['10.0.0.1/24', 8, 'unexpected character'],
    ['10.0.0.1:80/', 11, 'unexpected character'],
    ['http://10.0.0.1\\/', 15, 'unexpected character'],
    ['http://10.0.0.1%2f/', 15, 'unexpected character'],
    ['10.0.0.256', 7, 'IPv4 field has value >255'],
    ['http://010.0.0.1/', 7, 'IPv4 field has octet with leading zero'],
    ['127.1', 5, 'IPv4 address too short'],
    ['0x7f.0.0.1', 1, 'unexpected character'],
    ['2130706433', 0, 'unable to parse IP'],
    ['0x7f000001:80', 0, 'unable to parse IP'],
    ['1.2.3.4.', 7, 'IPv4 field must have at least one digit'],
    ['fd00::1', 0, 'more than one colon: an IPv6 address stands in brackets'],
    ['http://::1/', 7, 'more than one colon: an IPv6 address stands in brackets'],
    ['fd00::1:6443', 0, 'more than one colon: an IPv6 address stands in brackets'],
    ['10.0.0.1:80:90', 0, 'more than one colon: an IPv6 address stands in brackets'],
    ['http://user@10.0.0.1/', 11, 'user information is not allowed'],
    ['http://user:word@10.0.0.1/', 16, 'user information is not allowed'],
    ['http://10.0.0.1@example.com/', 15, 'user information is not allowed'],
    ['http://10.0.0.1\\@example.com/', 16, 'user information is not allowed'],
    ['http://[::1]@example.com/', 12, 'user information is not allowed'],
    ['http://[::1]:80@example.com/', 15, 'user information is not allowed'],
    ['[10.0.0.1]:80', 0, 'only an IPv6 address stands in brackets'],
    ['[]', 1, 'unable to parse IP'],
    ['[v1.a]', 1, 'unexpected character'],
    ['[::1', 4, "no ']' behind the address"],
    ['[::1]x', 5, 'unexpected character'],
    ['[::1]]', 5, 'unexpected character'],
    ['[::1/64]', 4, 'unexpected character, want colon'],
    ['[1:2:3:4:5:6:7:8:9]', 17, 'trailing garbage after address'],
    ['[fe80::1%eth0]:443', 8, "the '%' before a zone is written '%25'"],
    ['[fe80::1%2', 8, "the '%' before a zone is written '%25'"],
    ['[fe80::1%25]', 11, 'zone must be a non-empty string'],
    ['[fe80::1%25eth0', 15, "no ']' behind the zone"],
    ['[fe80::1%25a b]', 12, 'unexpected character in a zone'],
    ['[fe80::1%25a[]', 12, 'unexpected character in a zone'],
    ['[fe80::1%25é]', 11, 'unexpected character in a zone'],
    ['[fe80::1%25\u212a]', 11, 'unexpected character in a zone'],
    ['[fe80::1%25a%2fb]', 12, 'an escape that stands for nothing a zone has'],
    ['[fe80::1%25a%00]', 12, 'an escape that stands for nothing a zone has'],
    ['[fe80::1%25%C3%A9]', 11, 'an escape that stands for nothing a zone has'],
    ['[fe80::1%25a%4]', 12, 'an escape that stands for nothing a zone has'],
    ['10.0.0.1:', 9, 'no port behind the colon'],
    ['http://10.0.0.1:/', 16, 'no port behind the colon'],
    ['10.0.0.1:x', 9, 'unexpected character in a port'],
    ['10.0.0.1:+80', 9, 'unexpected character in a port'],
    ['10.0.0.1:８０', 9, 'unexpected character in a port'],
    ['10.0.0.1:8x', 10, 'unexpected character'],
    ['10.0.0.1:00', 9, 'a port with a leading zero'],
    ['10.0.0.1:080', 9, 'a port with a leading zero'],
    ['10.0.0.1:65536', 9, 'a port above 65535'],
    ['[::1]:100000', 6, 'a port above 65535'],
    ['10.0.0.1:4294967376', 9, 'a port above 65535'],
    ['example.com:65536', 12, 'a port above 65535'],
    ['example.com/', 11, 'unexpected character'],
    ['a_b.example', 1, 'unexpected character'],
    [`${longName}.a`, 255, 'longer than any host'],
  ])('%j is refused at %i: %s', (text, position, problem) => {
    expect(UrlHost.safeParse(text)).toEqual({
      ok: false,
      failure: { code: 'MALFORMED_URL_HOST', context: { text, position, problem } },
    })
    expect(() => UrlHost.parse(text)).toThrow(expect.objectContaining({ code: 'MALFORMED_URL_HOST' }))
  })

  test.each([
    ['localhost', 'localhost', 0],
    ['api.example.com:6443', 'api.example.com', 0],
    ['https://API.Example.com.:6443/x', 'API.Example.com.', 8],
    ['1.2.3.4.example', '1.2.3.4.example', 0],
    ['node-1', 'node-1', 0],
    ['Zz.1z', 'Zz.1z', 0],
    ['0x.0xg', '0x.0xg', 0],
    [`http://${longName}`, longName, 7],
    ['3com.0', undefined, 0],
    ['-a.example', undefined, 0],
    ['a-.example', undefined, 0],
    ['a..example', undefined, 0],
    [`${'a'.repeat(63)}.b`, `${'a'.repeat(63)}.b`, 0],
    [`${'a'.repeat(64)}.b`, undefined, 0],
    [longName, longName, 0],
    [`${longName}.`, `${longName}.`, 0],
    [`${longName}b`, undefined, 0],
  ])('%j: its name is %j', (text, name, position) => {
    const parsed = UrlHost.safeParse(text)
    if (parsed.ok) throw new Error('accepted')
    expect(parsed.failure.context.name).toBe(name)
    if (name === undefined) return
    expect(parsed.failure.context).toStrictEqual({ text, position, problem: 'a DNS name, not an IP address', name })
  })

  test('a zone has at most 64 characters, escapes counted as what they stand for', () => {
    const zone = `${'a'.repeat(32)}${' '.repeat(32)}`
    const text = UrlHost.format({ address: Address.parse('fe80::1'), zone })
    expect(text).toBe(`[fe80::1%25${'a'.repeat(32)}${'%20'.repeat(32)}]`)
    expect(UrlHost.parse(text).zone).toBe(zone)
    const longer = UrlHost.safeParse(text.replace(']', 'x]'))
    expect(longer.ok || longer.failure.context.problem).toBe('a zone of more than 64 characters')
  })

  test('a scheme of 64 characters is one', () => {
    expect(UrlHost.safeParse(`${'a'.repeat(64)}://10.0.0.1/`).ok).toBe(true)
    expect(UrlHost.safeParse(`${'a'.repeat(65)}://10.0.0.1/`).ok).toBe(false)
    expect(UrlHost.safeParse('1a://10.0.0.1/').ok).toBe(false)
  })

  test.each([undefined, null, 1, ['10.0.0.1']])('%j is no text', (value) => {
    const text = value as unknown as string
    expect(UrlHost.safeParse(text)).toMatchObject({
      failure: { code: 'MALFORMED_URL_HOST', context: { problem: expect.stringMatching(/^not a text, but /u) } },
    })
    expect(() => UrlHost.parse(text)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
  })
})

describe('format', () => {
  const four = Address.parse('10.0.0.1')
  const six = Address.parse('fe80::1')

  test.each([
    [{ address: four }, '10.0.0.1'],
    [{ address: four, port: 0 }, '10.0.0.1:0'],
    [{ address: four, zone: undefined, port: undefined }, '10.0.0.1'],
    [{ address: six }, '[fe80::1]'],
    [{ address: six, port: 65535 }, '[fe80::1]:65535'],
    [{ address: six, zone: 'eth0.1_~-', port: 1 }, '[fe80::1%25eth0.1_~-]:1'],
    [{ address: six, zone: '%25' }, '[fe80::1%25%2525]'],
    [{ address: six, zone: "!$&'()*+,;=: %" }, '[fe80::1%25%21%24%26%27%28%29%2A%2B%2C%3B%3D%3A%20%25]'],
  ])('%j is %s', (host, text) => {
    expect(UrlHost.format(host)).toBe(text)
  })

  test.each([
    ['port', { address: four, port: -1 }],
    ['port', { address: four, port: 65536 }],
    ['port', { address: four, port: 80.5 }],
    ['port', { address: four, port: Number.NaN }],
    ['zone', { address: four, zone: 'eth0' }],
    ['zone', { address: four, zone: '' }],
    ['zone', { address: six, zone: '' }],
    ['zone', { address: six, zone: 'a/b' }],
    ['zone', { address: six, zone: 'a]' }],
    ['zone', { address: six, zone: 'é' }],
    ['zone', { address: six, zone: 'a\n' }],
    ['zone', { address: six, zone: 'a'.repeat(65) }],
  ])('refuses the %s of %j', (argument, host) => {
    expect(() => UrlHost.format(host)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', context: expect.objectContaining({ argument }) }),
    )
  })
})
