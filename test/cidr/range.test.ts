import { Address, Prefix, Range } from 'ipam-kit/cidr'
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

  test('a value that is not text is a mistake of the caller', () => {
    expect(() => Range.safeParse(null as unknown as string)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    )
  })

  test('zones are dropped on demand, at both ends', () => {
    const zoned = 'fe80::1%eth0-fe80::5%eth1'
    expect(Range.format(Range.parse(zoned, { zone: 'drop' }))).toBe('fe80::1-fe80::5')
    expect(() => Range.parse(zoned)).toThrow(expect.objectContaining({ code: 'MALFORMED_RANGE' }))
  })

  test('the first hyphen divides, even one in a zone', () => {
    expect(Range.safeParse('fe80::1%a-b-fe80::5', { zone: 'drop' }).ok).toBe(false)
    expect(Range.safeParse('fe80::1%a-fe80::5%b-c', { zone: 'drop' }).ok).toBe(true)
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
