import { Address, Prefix } from 'ipam-kit/cidr'
import { describe, expect, test } from 'vitest'

describe('text that is a CIDR', () => {
  test.each([
    // text, with host bits, masked, first, last, size
    ['0.0.0.0/0', '0.0.0.0/0', '0.0.0.0/0', '0.0.0.0', '255.255.255.255', 1n << 32n],
    ['255.255.255.255/0', '255.255.255.255/0', '0.0.0.0/0', '0.0.0.0', '255.255.255.255', 1n << 32n],
    ['200.0.0.1/1', '200.0.0.1/1', '128.0.0.0/1', '128.0.0.0', '255.255.255.255', 1n << 31n],
    ['10.0.0.77/26', '10.0.0.77/26', '10.0.0.64/26', '10.0.0.64', '10.0.0.127', 64n],
    ['10.0.0.5/31', '10.0.0.5/31', '10.0.0.4/31', '10.0.0.4', '10.0.0.5', 2n],
    ['10.0.0.5/32', '10.0.0.5/32', '10.0.0.5/32', '10.0.0.5', '10.0.0.5', 1n],
    ['::/0', '::/0', '::/0', '::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 1n << 128n],
    ['ffff::/1', 'ffff::/1', '8000::/1', '8000::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 1n << 127n],
    [
      '2001:0DB8:0:CD30::/60',
      '2001:db8:0:cd30::/60',
      '2001:db8:0:cd30::/60',
      '2001:db8:0:cd30::',
      '2001:db8:0:cd3f:ffff:ffff:ffff:ffff',
      1n << 68n,
    ],
    [
      '2001:db8:ffff::1/32',
      '2001:db8:ffff::1/32',
      '2001:db8::/32',
      '2001:db8::',
      '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff',
      1n << 96n,
    ],
    [
      'fd00:1:2:3:4:5:6:7/64',
      'fd00:1:2:3:4:5:6:7/64',
      'fd00:1:2:3::/64',
      'fd00:1:2:3::',
      'fd00:1:2:3:ffff:ffff:ffff:ffff',
      1n << 64n,
    ],
    [
      'fd00:1:2:3:4:5:6:7/96',
      'fd00:1:2:3:4:5:6:7/96',
      'fd00:1:2:3:4:5::/96',
      'fd00:1:2:3:4:5::',
      'fd00:1:2:3:4:5:ffff:ffff',
      1n << 32n,
    ],
    ['fd00::ffff/120', 'fd00::ffff/120', 'fd00::ff00/120', 'fd00::ff00', 'fd00::ffff', 256n],
    ['fd00::7/127', 'fd00::7/127', 'fd00::6/127', 'fd00::6', 'fd00::7', 2n],
    ['fd00::7/128', 'fd00::7/128', 'fd00::7/128', 'fd00::7', 'fd00::7', 1n],
    [
      '::ffff:1.2.3.4/96',
      '::ffff:1.2.3.4/96',
      '::ffff:0.0.0.0/96',
      '::ffff:0.0.0.0',
      '::ffff:255.255.255.255',
      1n << 32n,
    ],
  ])('%s', (text, formatted, masked, first, last, size) => {
    const prefix = Prefix.parse(text)
    expect(Prefix.format(prefix)).toBe(formatted)
    expect(Prefix.format(Prefix.masked(prefix))).toBe(masked)
    expect(Address.format(Prefix.first(prefix))).toBe(first)
    expect(Address.format(Prefix.last(prefix))).toBe(last)
    expect(Prefix.size(prefix)).toBe(size)
  })
})

describe('text that is not a CIDR: why, and where', () => {
  test.each<[text: string, position: number, problem: string]>([
    ['', 0, "no '/'"],
    ['10.0.0.0', 8, "no '/'"],
    ['10.0.0.0\\24', 11, "no '/'"],
    ['/24', 0, 'unable to parse IP'],
    ['10/8', 0, 'unable to parse IP'],
    ['10.0.0/24', 6, 'IPv4 address too short'],
    ['10.0.0.0.0/24', 8, 'IPv4 address too long'],
    ['010.0.0.0/8', 0, 'IPv4 field has octet with leading zero'],
    [' 10.0.0.0/8', 0, 'unexpected character'],
    ['10.0.0.0 /8', 8, 'unexpected character'],
    ['2001:db8:0:cd3/60', 14, 'address string too short'],
    ['fe80::1%eth0/64', 7, 'an IPv6 zone is not allowed here'],
    ['10.0.0.0/', 9, 'bad bits after slash'],
    ['10.0.0.0/08', 9, 'bad bits after slash'],
    ['10.0.0.0/00', 9, 'bad bits after slash'],
    ['10.0.0.0/+8', 9, 'bad bits after slash'],
    ['10.0.0.0/-8', 9, 'bad bits after slash'],
    ['10.0.0.0/ 8', 9, 'bad bits after slash'],
    ['10.0.0.0/8 ', 9, 'bad bits after slash'],
    ['10.0.0.0/8\n', 9, 'bad bits after slash'],
    ['10.0.0.0/1e1', 9, 'bad bits after slash'],
    ['10.0.0.0/0x8', 9, 'bad bits after slash'],
    ['10.0.0.0/8.0', 9, 'bad bits after slash'],
    ['10.0.0.0/8/8', 9, 'bad bits after slash'],
    ['10.0.0.0/:', 9, 'bad bits after slash'],
    ['10.0.0.0//', 9, 'bad bits after slash'],
    ['10.0.0.0/1000', 9, 'bad bits after slash'],
    ['10.0.0.0/4294967304', 9, 'bad bits after slash'],
    ['10.0.0.0/255.0.0.0', 9, 'bad bits after slash'],
    ['10.0.0.0/33', 9, 'prefix length out of range'],
    ['10.0.0.0/128', 9, 'prefix length out of range'],
    ['10.0.0.0/999', 9, 'prefix length out of range'],
    ['::/129', 3, 'prefix length out of range'],
    ['::/256', 3, 'prefix length out of range'],
  ])('%j', (text, position, problem) => {
    expect(Prefix.safeParse(text)).toEqual({
      ok: false,
      failure: { code: 'MALFORMED_PREFIX', context: { text, position, problem } },
    })
    expect(() => Prefix.parse(text)).toThrow(expect.objectContaining({ code: 'MALFORMED_PREFIX' }))
  })

  test('a value that is not text', () => {
    const text = undefined as unknown as string
    expect(() => Prefix.parse(text)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
    expect(Prefix.safeParse(text)).toMatchObject({
      ok: false,
      failure: { context: { problem: expect.stringMatching(/^not a text, but /u) } },
    })
  })
})

describe('a prefix from its parts', () => {
  test('keeps the host bits', () => {
    expect(Prefix.of(Address.parse('10.0.0.5'), 24)).toEqual({ address: Address.parse('10.0.0.5'), length: 24 })
    expect(Prefix.of(Address.parse('10.0.0.5'), 0).length).toBe(0)
    expect(Prefix.of(Address.parse('10.0.0.5'), 32).length).toBe(32)
    expect(Prefix.of(Address.parse('::'), 128).length).toBe(128)
  })

  test.each([
    ['10.0.0.5', -1, 32],
    ['10.0.0.5', 33, 32],
    ['10.0.0.5', 8.5, 32],
    ['10.0.0.5', Number.NaN, 32],
    ['::', 129, 128],
  ])('refuses %s with length %s', (address, length, max) => {
    expect(() => Prefix.of(Address.parse(address), length)).toThrow(
      expect.objectContaining({ code: 'INVALID_PREFIX_LENGTH', context: { length, max } }),
    )
  })

  test('masked is the argument itself if there is nothing to clear', () => {
    const clean = Prefix.parse('10.0.0.0/8')
    expect(Prefix.masked(clean)).toBe(clean)
  })
})

describe('contains', () => {
  test.each([
    ['10.0.0.0/8', '10.255.255.255', true],
    ['10.0.0.0/8', '11.0.0.0', false],
    ['10.0.0.0/8', '9.255.255.255', false],
    ['10.1.2.3/8', '10.0.0.0', true],
    ['0.0.0.0/0', '255.255.255.255', true],
    ['0.0.0.0/0', '::', false],
    ['0.0.0.0/0', '::ffff:1.2.3.4', false],
    ['::/0', '1.2.3.4', false],
    ['::ffff:0:0/96', '1.2.3.4', false],
    ['fd00::/64', 'fd00::ffff:ffff:ffff:ffff', true],
    ['fd00::/64', 'fd00:0:0:1::', false],
    ['fd00::1/128', 'fd00::1', true],
    ['fd00::1/128', 'fd00::', false],
  ])('%s, address %s: %s', (outer, inner, expected) => {
    expect(Prefix.contains(Prefix.parse(outer), Address.parse(inner))).toBe(expected)
  })

  test.each([
    ['10.0.0.0/16', '10.0.0.0/16', true],
    ['10.0.0.0/16', '10.0.0.0/17', true],
    ['10.0.0.0/16', '10.0.0.0/15', false],
    ['10.0.0.0/16', '10.0.0.0/8', false],
    ['10.0.0.0/16', '10.1.0.0/17', false],
    ['10.0.0.0/16', '10.0.255.255/32', true],
    ['0.0.0.0/0', '0.0.0.0/0', true],
    ['0.0.0.0/0', '::/0', false],
    ['::/0', '::/1', true],
  ])('%s, prefix %s: %s', (outer, inner, expected) => {
    expect(Prefix.contains(Prefix.parse(outer), Prefix.parse(inner))).toBe(expected)
  })
})

describe('what is no prefix is refused', () => {
  const four = Address.parse('10.0.0.1')
  const six = Address.parse('fd00::1')
  const functions: [name: string, ask: (prefix: Prefix) => unknown][] = [
    ['format', Prefix.format],
    ['masked', Prefix.masked],
    ['first', Prefix.first],
    ['last', Prefix.last],
    ['size', Prefix.size],
    ['contains, outside', (prefix) => Prefix.contains(prefix, four)],
    ['contains, inside', (prefix) => Prefix.contains(Prefix.parse('0.0.0.0/0'), prefix)],
  ]

  test.each(functions)('%s: a length that the family does not have', (_, ask) => {
    const refusal = expect.objectContaining({ code: 'INVALID_PREFIX_LENGTH' })
    for (const length of [-1, 33, 0.5, 8.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 32 + 8]) {
      expect(() => ask({ address: four, length })).toThrow(refusal)
    }
    for (const length of [-1, 129, 64.5]) expect(() => ask({ address: six, length })).toThrow(refusal)
  })

  test.each(functions)('%s: something else', (_, ask) => {
    const refusal = expect.objectContaining({ code: 'INVALID_ARGUMENT' })
    const others = [
      undefined,
      null,
      '10.0.0.0/8',
      {},
      { address: undefined, length: 8 },
      { address: '10.0.0.0', length: 8 },
      { address: { family: 5, value: 0 }, length: 8 },
      { address: { family: '4', value: 0 }, length: 8 },
      { address: four, length: '8' },
      { address: six, length: undefined },
    ]
    for (const other of others) expect(() => ask(other as unknown as Prefix)).toThrow(refusal)
  })

  test.each([
    { family: 4, value: -1 },
    { family: 4, value: undefined },
    { family: 4, value: '1' },
    { family: 6, w0: 0, w1: 0, w2: 0 },
    { family: 6, w0: 0, w1: 2 ** 32, w2: 0, w3: 0 },
  ])('format, of: the address %j', (given) => {
    const address = given as unknown as Address
    const refusal = expect.objectContaining({ code: 'INVALID_ARGUMENT' })
    expect(() => Prefix.format({ address, length: 8 })).toThrow(refusal)
    expect(() => Prefix.of(address, 8)).toThrow(refusal)
  })

  test.each([undefined, null, '10.0.0.1', 5, {}, { family: 5 }, { family: '4' }])('a member that is %j', (member) => {
    expect(() => Prefix.contains(Prefix.parse('10.0.0.0/8'), member as unknown as Address)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', context: expect.objectContaining({ argument: 'inner' }) }),
    )
  })

  test.each([undefined, null, '10.0.0.1', {}, { family: 5 }])('of, the address %j', (address) => {
    expect(() => Prefix.of(address as unknown as Address, 8)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', context: expect.objectContaining({ argument: 'address' }) }),
    )
  })
})
