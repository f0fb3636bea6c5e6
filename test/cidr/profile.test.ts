import { Address, Prefix, Range, type TextProfile } from 'ipam-kit/cidr'
import { describe, expect, test } from 'vitest'

const K8S: readonly TextProfile[] = ['k8s-field', 'k8s-field-canonical']
const all: readonly TextProfile[] = ['strict', ...K8S, 'k8s-legacy-read']

/** What each profile makes of a text: the canonical address, or the problem. */
function readings(text: string): Record<string, string> {
  return Object.fromEntries(
    all.map((profile) => {
      const read = Address.safeParse(text, { profile })
      return [
        profile,
        read.ok ? Address.format(read.value) : `${read.failure.context.position}: ${read.failure.context.problem}`,
      ]
    }),
  )
}

describe('an address by profile', () => {
  test.each(['10.0.0.1', 'fd00::1', '::', '255.255.255.255'])('%s is canonical everywhere', (text) => {
    expect(readings(text)).toEqual(Object.fromEntries(all.map((profile) => [profile, text])))
  })

  test('not canonical', () => {
    expect(readings('FC99:0:0::0123')).toEqual({
      strict: 'fc99::123',
      'k8s-field': 'fc99::123',
      'k8s-field-canonical': '0: must be in canonical form',
      'k8s-legacy-read': 'fc99::123',
    })
    expect(readings('fc99::0123')['k8s-field-canonical']).toBe('6: must be in canonical form')
  })

  test('IPv4-mapped', () => {
    expect(readings('::ffff:1.2.3.4')).toEqual({
      strict: '::ffff:1.2.3.4',
      'k8s-field': '0: must not be an IPv4-mapped IPv6 address',
      'k8s-field-canonical': '0: must not be an IPv4-mapped IPv6 address',
      'k8s-legacy-read': '::ffff:1.2.3.4',
    })
  })

  test.each([
    ['012.000.001.002', '12.0.1.2'],
    ['0000000010.0.0.00', '10.0.0.0'],
    ['::ffff:010.000.0.1', '::ffff:10.0.0.1'],
    ['00001::00000', '1::'],
  ])('leading zeros of %s are decimal for reading old objects only', (text, canonical) => {
    const { 'k8s-legacy-read': legacy, ...others } = readings(text)
    expect(legacy).toBe(canonical)
    for (const reading of Object.values(others)) expect(reading).toMatch(/^\d+: /)
  })

  test.each([
    ['0256.0.0.1', 1, 'IPv4 field has value >255'],
    ['010.0.0', 7, 'IPv4 address too short'],
    ['0x7f.0.0.1', 1, 'unexpected character'],
    ['010.0.0.1 ', 9, 'unexpected character'],
    ['000fffff::', 3, 'each group must have 4 or less digits'],
    ['', 0, 'unable to parse IP'],
  ])('%j is refused for old objects as well, at its own position', (text, position, problem) => {
    const read = Address.safeParse(text, { profile: 'k8s-legacy-read' })
    expect(read).toMatchObject({ ok: false, failure: { context: { text, position, problem } } })
  })

  test('what to write instead is in the failure and in its message', () => {
    expect(() => Address.parse('FC99::0123', { profile: 'k8s-field-canonical' })).toThrow(
      'not an IP address: "FC99::0123": must be in canonical form (at position 0): write "fc99::123"',
    )
    expect(() => Address.parse('::ffff:10.0.0.1', { profile: 'k8s-field' })).toThrow('write "10.0.0.1"')
  })
})

describe('a CIDR by profile', () => {
  const read = (text: string, profile: TextProfile) => {
    const prefix = Prefix.safeParse(text, { profile })
    return prefix.ok ? Prefix.format(prefix.value) : prefix.failure.context
  }

  test.each([
    ['192.168.1.5/24', 'must not have bits set beyond the prefix length', '192.168.1.0/24'],
    ['fd00::1/64', 'must not have bits set beyond the prefix length', 'fd00::/64'],
  ])('host bits of %s', (text, problem, suggestion) => {
    expect(read(text, 'strict')).toBe(text)
    expect(read(text, 'k8s-legacy-read')).toBe(text)
    for (const profile of K8S) expect(read(text, profile)).toEqual({ text, position: 0, problem, suggestion })
  })

  test('IPv4-mapped', () => {
    for (const profile of K8S) {
      expect(read('::ffff:1.2.3.0/120', profile)).toMatchObject({
        problem: 'must not have an IPv4-mapped IPv6 address',
      })
    }
    expect(read('::ffff:1.2.3.0/120', 'k8s-legacy-read')).toBe('::ffff:1.2.3.0/120')
  })

  test('canonical form', () => {
    expect(read('FD00::/64', 'k8s-field')).toBe('fd00::/64')
    expect(read('FD00::/64', 'k8s-field-canonical')).toMatchObject({ position: 0, suggestion: 'fd00::/64' })
  })

  test('leading zeros, in the length too', () => {
    expect(read('010.0.0.0/08', 'k8s-legacy-read')).toBe('10.0.0.0/8')
    expect(read('10.0.0.0/08', 'strict')).toMatchObject({ position: 9, problem: 'bad bits after slash' })
    expect(read('010.0.0.0/033', 'k8s-legacy-read')).toMatchObject({
      position: 11,
      problem: 'prefix length out of range',
    })
  })
})

// the sentences of k8s.io/apimachinery/pkg/util/validation v0.36, without the path of the field
describe('warnings of the API server', () => {
  test.each([
    ['10.0.0.1', []],
    ['fd00::1', []],
    ['010.0.0.1', ['non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1"']],
    ['::ffff:1.2.3.4', ['non-standard IP address "::ffff:1.2.3.4" is invalid: use "1.2.3.4"']],
    ['FD00::1', ['IPv6 address "FD00::1" should be in RFC 5952 canonical format ("fd00::1")']],
  ])('about the address %s', (text, messages) => {
    expect(Address.warningsFor(text).map(({ message }) => message)).toEqual(messages)
  })

  test.each([
    ['10.0.0.0/8', []],
    [
      '10.0.0.5/24',
      ['CIDR value "10.0.0.5/24" is ambiguous in this context (should be "10.0.0.0/24" or "10.0.0.5/32"?)'],
    ],
    ['fd00::5/64', ['CIDR value "fd00::5/64" is ambiguous in this context (should be "fd00::/64" or "fd00::5/128"?)']],
    ['10.0.0.0/08', ['non-standard CIDR value "10.0.0.0/08" is invalid: use "10.0.0.0/8"']],
    [
      '::ffff:1.2.3.4/120',
      [
        'CIDR value "::ffff:1.2.3.4/120" is ambiguous in this context (should be "1.2.3.0/24" or "1.2.3.4/32"?)',
        'non-standard CIDR value "::ffff:1.2.3.4/120" is invalid: use "1.2.3.0/24"',
      ],
    ],
    ['FD00::/64', ['IPv6 CIDR value "FD00::/64" should be in RFC 5952 canonical format ("fd00::/64")']],
  ])('about the CIDR %s', (text, messages) => {
    expect(Prefix.warningsFor(text).map(({ message }) => message)).toEqual(messages)
  })

  test('there are none for what is no address at all', () => {
    expect(() => Address.warningsFor('x')).toThrow(expect.objectContaining({ code: 'MALFORMED_ADDRESS' }))
    expect(() => Prefix.warningsFor('10.0.0.0')).toThrow(expect.objectContaining({ code: 'MALFORMED_PREFIX' }))
  })
})

describe('zones where they are asked for', () => {
  test.each([
    ['fe80::1%eth0', 'fe80::1', 'eth0'],
    ['FE80::1%2', 'fe80::1', '2'],
    ['::ffff:c0a8:101%z', '::ffff:192.168.1.1', 'z'],
    ['fe80::1%a%b', 'fe80::1', 'a%b'],
    ['fe80::1', 'fe80::1', ''],
    ['10.0.0.1', '10.0.0.1', ''],
  ])('%s', (text, address, zone) => {
    const zoned = Address.parseZoned(text)
    expect([Address.format(zoned.address), zoned.zone]).toEqual([address, zone])
    expect(Address.formatZoned(zoned)).toBe(zone === '' ? address : `${address}%${zone}`)
  })

  test.each(['fe80::1%', '10.0.0.1%eth0', '%eth0', 'x%y', ''])('%j is refused', (text) => {
    expect(Address.safeParseZoned(text)).toMatchObject({ ok: false, failure: { code: 'MALFORMED_ADDRESS' } })
  })
})

describe('ranges', () => {
  test.each([
    ['40.0.0.210 - 40.0.0.240', '40.0.0.210-40.0.0.240'],
    ['fd00::1 -fd00::2', 'fd00::1-fd00::2'],
    ['10.0.0.1-   10.0.0.2', '10.0.0.1-10.0.0.2'],
  ])('blanks in %j where they are asked for', (text, expected) => {
    expect(Range.format(Range.parse(text, { blanks: 'around-hyphen' }))).toBe(expected)
    expect(Range.safeParse(text).ok).toBe(false)
  })

  test.each([' 10.0.0.1-10.0.0.2', '10.0.0.1-10.0.0.2 ', '10.0.0.1-10.0.0 .2', '10.0.0.1\t-10.0.0.2', ' - ', '-'])(
    '%j is refused all the same',
    (text) => {
      expect(Range.safeParse(text, { blanks: 'around-hyphen' }).ok).toBe(false)
    },
  )

  test.each([
    ['192.168.2.225-192.168.2.230/28', '192.168.2.225-192.168.2.230', '192.168.2.224/28'],
    ['2001:db8::1-2001:db8::ff/64', '2001:db8::1-2001:db8::ff', '2001:db8::/64'],
    ['10.0.0.5-10.0.0.5/32', '10.0.0.5-10.0.0.5', '10.0.0.5/32'],
  ])('in a subnet: %s', (text, range, subnet) => {
    const read = Range.parseInSubnet(text)
    expect([Range.format(read), Prefix.format(read.subnet)]).toEqual([range, subnet])
    expect(Range.safeParse(text).ok).toBe(false)
  })

  test.each([
    ['192.168.1.5-192.168.2.230/28', 0, 'the range begins outside of 192.168.2.224/28, the subnet of its end'],
    ['10.0.0.1-10.0.0.8', 17, "no '/'"],
    ['10.0.0.0/8', 10, "no '-'"],
    ['10.0.0.9-10.0.0.8/24', 9, 'the range ends before it begins'],
    ['10.0.0.1-10.0.0.8/33', 18, 'prefix length out of range'],
    ['10.0.0.1-10.0.0.8/024', 18, 'bad bits after slash'],
    ['10.0.0.x-10.0.0.8/24', 7, 'unexpected character'],
    ['10.0.0.1-fd00::/24', 9, 'the ends are of different IP families'],
    ['10.0.0.1-10.0.0.8/24/24', 18, 'bad bits after slash'],
  ])('%s is refused at %i: %s', (text, position, problem) => {
    expect(Range.safeParseInSubnet(text)).toMatchObject({
      ok: false,
      failure: { context: { text, position, problem } },
    })
  })

  test('in a subnet, with leading zeros where they are read', () => {
    const read = Range.parseInSubnet('00192.00168.1.0-00192.00168.1.9/024', { profile: 'k8s-legacy-read' })
    expect([Range.format(read), Prefix.format(read.subnet)]).toEqual(['192.168.1.0-192.168.1.9', '192.168.1.0/24'])
  })
})
