import { Address, Prefix, Range, RangeSet } from 'ipam-kit/cidr'
import { describe, expect, test } from 'vitest'

describe('text that is a range', () => {
  test.each([
    ['10.0.0.1-10.0.0.1', '10.0.0.1-10.0.0.1', 1n],
    ['10.0.0.5-10.0.0.9', '10.0.0.5-10.0.0.9', 5n],
    ['0.0.0.0-255.255.255.255', '0.0.0.0-255.255.255.255', 1n << 32n],
    ['::-FFFF:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 1n << 128n],
    ['::ffff:ffff-::1:0:0', '::ffff:ffff-::1:0:0', 2n],
    ['::ffff:10.0.0.1-::ffff:10.0.0.5', '::ffff:10.0.0.1-::ffff:10.0.0.5', 5n],
  ])('%s', (text, formatted, size) => {
    const range = Range.parse(text)
    expect(Range.format(range)).toBe(formatted)
    expect(Range.size(range)).toBe(size)
  })
})

describe('text that is not a range: why, and where', () => {
  test.each<[text: string, position: number, problem: string]>([
    ['', 0, "no '-'"],
    ['10.0.0.1', 8, "no '-'"],
    ['10.0.0.1\u201310.0.0.5', 17, "no '-'"],
    ['-10.0.0.5', 0, 'unable to parse IP'],
    ['10.0.0.1-', 9, 'unable to parse IP'],
    ['10.0.0.1-5', 9, 'unable to parse IP'],
    ['10.0.0.1--10.0.0.5', 9, 'unexpected character'],
    ['10.0.0.1-10.0.0.5-10.0.0.9', 17, 'unexpected character'],
    ['10.0.0.1 - 10.0.0.5', 8, 'unexpected character'],
    ['10.0.0.1- 10.0.0.5', 9, 'unexpected character'],
    ['10.0.0.1-10.0.0.8/29', 17, 'unexpected character'],
    ['10.0.0.1-10.0.0.05', 16, 'IPv4 field has octet with leading zero'],
    ['10.0.0-10.0.0.5', 6, 'IPv4 address too short'],
    ['::1-::2::', 8, 'multiple :: in address'],
    ['fe80::1%eth0-fe80::5', 7, 'an IPv6 zone is not allowed here'],
    ['fe80::1-fe80::5%eth0', 15, 'an IPv6 zone is not allowed here'],
    ['10.0.0.1-::5', 9, 'the ends are of different IP families'],
    ['::ffff:10.0.0.1-10.0.0.5', 16, 'the ends are of different IP families'],
    ['10.0.0.5-10.0.0.1', 9, 'the range ends before it begins'],
    ['::1:0:0-::ffff:ffff', 8, 'the range ends before it begins'],
  ])('%j', (text, position, problem) => {
    expect(Range.safeParse(text)).toEqual({
      ok: false,
      failure: { code: 'MALFORMED_RANGE', context: { text, position, problem } },
    })
    expect(() => Range.parse(text)).toThrow(expect.objectContaining({ code: 'MALFORMED_RANGE' }))
  })

  test('a value that is not text', () => {
    const text = null as unknown as string
    expect(() => Range.parse(text)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
    expect(Range.safeParse(text)).toMatchObject({
      ok: false,
      failure: { context: { problem: expect.stringMatching(/^not a text, but /u) } },
    })
  })

  test('zones are dropped on demand, at both ends', () => {
    const zoned = 'fe80::1%eth0-fe80::5%eth1'
    expect(Range.format(Range.parse(zoned, { zone: 'drop' }))).toBe('fe80::1-fe80::5')
    expect(() => Range.parse(zoned)).toThrow(expect.objectContaining({ code: 'MALFORMED_RANGE' }))
  })

  test('zones may be long: a hyphen is looked for within 128 characters', () => {
    const address = 'ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255'
    const zoned = `${address}%${'z'.repeat(127 - address.length - 1)}`
    const range = `${address.slice(0, 30)}0.0.0.0-${address}`
    expect(Range.safeParse(`${address}-${address}`).ok).toBe(true)
    expect(Range.size(Range.parse(`${zoned}-${zoned}`, { zone: 'drop' }))).toBe(1n)
    expect(Range.parseInSubnet(`${range}/96`).subnet.length).toBe(96)
    expect(Range.safeParse(`${zoned}z-${address}`, { zone: 'drop' })).toMatchObject({
      ok: false,
      failure: { context: { position: 128, problem: "no '-'" } },
    })
  })

  test.each(['10.0.0.1   -10.0.0.5', '10.0.0.1-   10.0.0.5', '10.0.0.1  -  10.0.0.5', '10.0.0.1 - 10.0.0.5'])(
    'blanks around the hyphen on demand, any number of them: %j',
    (text) => {
      expect(Range.format(Range.parse(text, { blanks: 'around-hyphen' }))).toBe('10.0.0.1-10.0.0.5')
      expect(Range.safeParse(text, { blanks: 'refuse' }).ok).toBe(false)
      const inSubnet = Range.parseInSubnet(`${text}/24`, { blanks: 'around-hyphen' })
      expect([Range.format(inSubnet), inSubnet.subnet.length]).toEqual(['10.0.0.1-10.0.0.5', 24])
    },
  )

  test('a hyphen of a zone does not divide, and there has to be one that does', () => {
    expect(Range.safeParse('fe80::1%a-b', { zone: 'drop' }).ok).toBe(false)
    expect(Range.safeParse('fe80::1%a-b-fe80::5%', { zone: 'drop' }).ok).toBe(false)
    expect(Range.safeParse('fe80::1%a-fe80::5%b-c', { zone: 'refuse' }).ok).toBe(false)
  })
})

describe('a range from its ends', () => {
  const [one, five, six] = ['10.0.0.1', '10.0.0.5', '::6'].map((text) => Address.parse(text)) as [
    Address,
    Address,
    Address,
  ]

  test('keeps them', () => {
    expect(Range.of(one, five)).toEqual({ first: one, last: five })
    expect(Range.of(one, one)).toEqual({ first: one, last: one })
  })

  test('refuses ends of two families', () => {
    expect(() => Range.of(one, six)).toThrow(
      expect.objectContaining({ code: 'FAMILY_MISMATCH', context: { left: '10.0.0.1', right: '::6' } }),
    )
    expect(() => Range.of(six, one)).toThrow(
      expect.objectContaining({ code: 'FAMILY_MISMATCH', context: { left: '::6', right: '10.0.0.1' } }),
    )
  })

  test('refuses an end before the beginning', () => {
    expect(() => Range.of(five, one)).toThrow(
      expect.objectContaining({ code: 'INVALID_RANGE', context: { first: '10.0.0.5', last: '10.0.0.1' } }),
    )
  })

  test('or from a prefix, host bits or not', () => {
    expect(Range.format(Range.fromPrefix(Prefix.parse('10.0.0.5/30')))).toBe('10.0.0.4-10.0.0.7')
    expect(Range.format(Range.fromPrefix(Prefix.parse('fd00::1/126')))).toBe('fd00::-fd00::3')
  })
})

test.each([
  ['fe80::1%br-lan-fe80::9%br-lan', 'fe80::1-fe80::9'],
  ['fe80::1%br-lan-fe80::9', 'fe80::1-fe80::9'],
  ['fe80::1-fe80::9%a-b-c', 'fe80::1-fe80::9'],
  ['fe80::1%a-b-c-fe80::9', 'fe80::1-fe80::9'],
])('a zone that is dropped may have hyphens: %s', (text, range) => {
  expect(Range.format(Range.parse(text, { zone: 'drop' }))).toBe(range)
  expect(RangeSet.format(RangeSet.parse([text], { zone: 'drop' }))).toEqual([range])
  expect(RangeSet.format(RangeSet.parse(['fe80::1%br-lan'], { zone: 'drop' }))).toEqual(['fe80::1-fe80::1'])
})
