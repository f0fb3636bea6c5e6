import { Address, Prefix, Range, RangeSet, type TextOptions } from 'ipam-kit/cidr'
import { describe, expect, test } from 'vitest'
import type { PrefixTextOptions } from '../../../src/cidr/nouns/prefix-core.js'
import type { TextProfile } from '../../../src/cidr/text/profile.js'

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
      'k8s-legacy-read': '1.2.3.4',
    })
  })

  test.each([
    ['012.000.001.002', '12.0.1.2'],
    ['0000000010.0.0.00', '10.0.0.0'],
    ['::ffff:010.000.0.1', '10.0.0.1'],
    ['00001::00000', '1::'],
    ['0001:00002:000003:0004:0005:0006:0007:00000008', '1:2:3:4:5:6:7:8'],
    ['00001:00002:00003:00004:00005:00006:0255.0255.0255.0255', '1:2:3:4:5:6:ffff:ffff'],
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

  test.each(K8S)('%s: what to write instead of leading zeros, which are decimal', (profile) => {
    const suggestionOf = (text: string) => {
      const read = Address.safeParse(text, { profile })
      return read.ok ? 'accepted' : read.failure.context.suggestion
    }
    expect(suggestionOf('010.0.0.1')).toBe('10.0.0.1')
    expect(suggestionOf('::ffff:010.0.0.1')).toBe('10.0.0.1')
    expect(suggestionOf('00001::00000')).toBe('1::')
    expect(suggestionOf('0256.0.0.1')).toBeUndefined()
    expect(suggestionOf('010.0.0')).toBeUndefined()
    expect(suggestionOf('x')).toBeUndefined()
    expect(Address.safeParse('010.0.0.1')).not.toHaveProperty('failure.context.suggestion')
  })

  test('leading zeros are read in texts up to 128 characters', () => {
    const zeros = (length: number) => '10.0.0.1'.padStart(length, '0')
    expect(readings(zeros(128))['k8s-legacy-read']).toBe('10.0.0.1')
    expect(readings(zeros(129))['k8s-legacy-read']).toBe('0: unable to parse IP')
  })

  test('what to write instead is in the failure and in its message', () => {
    expect(() => Address.parse('FC99::0123', { profile: 'k8s-field-canonical' })).toThrow(
      'not an IP address: "FC99::0123": must be in canonical form (at position 0): write "fc99::123"',
    )
    expect(() => Address.parse('::ffff:10.0.0.1', { profile: 'k8s-field' })).toThrow('write "10.0.0.1"')
  })
})

describe('options of callers without types', () => {
  const texts = ['10.0.0.1', '::ffff:1.2.3.4', 'fe80::1%eth0', 'x']
  const misspelt = (argument: string) =>
    expect.objectContaining({ code: 'INVALID_ARGUMENT', context: expect.objectContaining({ argument }) })

  test.each(['k8s-field-cannonical', 'K8S-FIELD', '', null, 1])('profile %j does not weaken what is read', (given) => {
    const options = { profile: given } as unknown as TextOptions
    const refusal = misspelt('options.profile')
    for (const text of texts) {
      expect(() => Address.parse(text, options)).toThrow(refusal)
      expect(() => Address.safeParse(text, options)).toThrow(refusal)
      expect(() => Prefix.parse(`${text}/24`, options)).toThrow(refusal)
      expect(() => Prefix.safeParse(`${text}/24`, options)).toThrow(refusal)
      expect(() => Range.parse(`${text}-${text}`, options)).toThrow(refusal)
      expect(() => Range.safeParse(`${text}-${text}`, options)).toThrow(refusal)
      for (const entry of [text, `${text}/24`, `${text}-${text}`]) {
        expect(() => RangeSet.parse([entry], options)).toThrow(refusal)
        expect(() => RangeSet.safeParse([entry], options)).toThrow(refusal)
      }
    }
  })

  test.each(['keep', 'Drop', '', null, true])('zone %j does not drop one', (given) => {
    const options = { zone: given } as unknown as TextOptions
    const refusal = misspelt('options.zone')
    expect(() => Address.parse('fe80::1%eth0', options)).toThrow(refusal)
    expect(() => Address.safeParse('fe80::1%eth0', options)).toThrow(refusal)
    expect(() => Range.parse('fe80::1-fe80::2%eth0', options)).toThrow(refusal)
    expect(() => RangeSet.parse(['fe80::1%eth0'], options)).toThrow(refusal)
  })

  test('the message says which there are', () => {
    expect(() => Address.parse('10.0.0.1', { profile: 'k8s' } as unknown as TextOptions)).toThrow(
      /argument options\.profile: expected one of strict, k8s-field, k8s-field-canonical, k8s-legacy-read, got .*k8s/,
    )
    expect(() => Prefix.parse('10.0.0.1', { profile: 'k8s' } as unknown as TextOptions)).toThrow(
      /one of strict, k8s-field, k8s-field-canonical, k8s-legacy-read, k8s-interface-address, got/,
    )
    expect(() => Address.parse('fe80::1%x', { zone: 'keep' } as unknown as TextOptions)).toThrow(
      /argument options\.zone: expected one of refuse, drop, got/,
    )
  })

  test.each([null, 'k8s-field', 5])('options that are %j', (given) => {
    const options = given as unknown as PrefixTextOptions
    for (const text of ['10.0.0.0/8', '10.0.0.0']) {
      expect(() => Prefix.parse(text, options)).toThrow(misspelt('options'))
      expect(() => Prefix.safeParse(text, options)).toThrow(misspelt('options'))
    }
  })

  test('an option that is undefined is one that is not given', () => {
    const options = { profile: undefined, zone: undefined }
    expect(Address.format(Address.parse('::ffff:1.2.3.4', options))).toBe('::ffff:1.2.3.4')
    expect(Prefix.format(Prefix.parse('10.0.0.5/24', options))).toBe('10.0.0.5/24')
    expect(Address.safeParse('fe80::1%eth0', options).ok).toBe(false)
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
      const problem = 'must not have an IPv4-mapped IPv6 address'
      expect(read('::ffff:1.2.3.4/120', profile)).toMatchObject({ problem, suggestion: '1.2.3.0/24' })
      expect(read('::ffff:1.2.3.4/96', profile)).toMatchObject({ problem, suggestion: '0.0.0.0/0' })
      expect(read('::ffff:1.2.3.4/95', profile)).toMatchObject({ problem, suggestion: '::fffe:0:0/95' })
    }
    // as Kubernetes reads it, with a warning (KEP-4858)
    expect(read('::ffff:1.2.3.4/120', 'k8s-legacy-read')).toBe('1.2.3.4/24')
    expect(read('::FFFF:0102:0304/128', 'k8s-legacy-read')).toBe('1.2.3.4/32')
    expect(read('::ffff:1.2.3.0/96', 'k8s-legacy-read')).toBe('1.2.3.0/0')
    expect(read('::ffff:1.2.3.0/95', 'k8s-legacy-read')).toBe('::ffff:1.2.3.0/95')
    expect(read('::1.2.3.4/128', 'k8s-legacy-read')).toBe('::102:304/128')
    for (const text of ['::ffff:1.2.3.0/120', '::ffff:102:300/120']) {
      expect(Prefix.warningsFor(text).map(({ kind, use }) => [kind, use])).toEqual([['ipv4-mapped', '1.2.3.0/24']])
    }
    const range = Range.parse('::ffff:1.2.3.4-::ffff:1.2.3.9', { profile: 'k8s-legacy-read' })
    expect(Range.format(range)).toBe('1.2.3.4-1.2.3.9')
    const set = RangeSet.parse(['::ffff:10.0.0.0/126', '::ffff:10.0.0.9'], { profile: 'k8s-legacy-read' })
    expect(RangeSet.format(set)).toEqual(['10.0.0.0-10.0.0.3', '10.0.0.9-10.0.0.9'])
  })

  test('canonical form', () => {
    expect(read('FD00::/64', 'k8s-field')).toBe('fd00::/64')
    expect(read('FD00::/64', 'k8s-field-canonical')).toMatchObject({ position: 0, suggestion: 'fd00::/64' })
  })

  test('what to write instead of leading zeros', () => {
    for (const profile of K8S) {
      expect(read('010.0.0.5/24', profile)).toMatchObject({ position: 0, suggestion: '10.0.0.0/24' })
      expect(read('10.0.0.0/08', profile)).toMatchObject({ position: 9, suggestion: '10.0.0.0/8' })
      expect(read('::ffff:010.0.0.0/0104', profile)).toMatchObject({ suggestion: '10.0.0.0/8' })
      expect(read('10.0.0.0/033', profile)).not.toHaveProperty('suggestion')
      expect(read('10.0.0.0/x', profile)).not.toHaveProperty('suggestion')
    }
    expect(read('10.0.0.0/08', 'strict')).not.toHaveProperty('suggestion')
    expect(read('10.0.0.0/08 ', 'k8s-legacy-read')).not.toHaveProperty('suggestion')
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

// IsValidInterfaceAddress of the same
describe('an address with the length of its subnet: k8s-interface-address', () => {
  const read = (text: string) => {
    const prefix = Prefix.safeParse(text, { profile: 'k8s-interface-address' })
    return prefix.ok ? Prefix.format(prefix.value) : prefix.failure.context
  }

  test.each(['10.0.0.5/24', '10.0.0.0/24', '10.0.0.5/32', '255.255.255.255/0', 'fd00::5/64', '::/0', '::1/128'])(
    '%s',
    (text) => {
      expect(read(text)).toBe(text)
      expect(Prefix.format(Prefix.parse(text, { profile: 'k8s-interface-address' }))).toBe(text)
    },
  )

  const canonical = 'must be in canonical form'
  test.each([
    ['FD00::5/64', 0, canonical, 'fd00::5/64'],
    ['fd00:0::5/64', 5, canonical, 'fd00::5/64'],
    ['fd00::0005/64', 6, canonical, 'fd00::5/64'],
    ['::ffff:10.0.0.5/120', 0, canonical, '10.0.0.5/24'],
    ['::ffff:10.0.0.5/96', 0, canonical, '10.0.0.5/0'],
    ['010.0.0.5/24', 0, 'IPv4 field has octet with leading zero', '10.0.0.5/24'],
    ['10.0.0.5/024', 9, 'bad bits after slash', '10.0.0.5/24'],
    ['::ffff:010.0.0.5/120', 7, 'IPv4 field has octet with leading zero', '10.0.0.5/24'],
  ])('%s is refused, with what to write instead', (text, position, problem, suggestion) => {
    expect(read(text)).toEqual({ text, position, problem, suggestion })
    expect(read(suggestion)).toBe(suggestion)
  })

  // upstream, that writes 10.0.0.5/-32 for the first
  test.each([
    ['::ffff:10.0.0.5/64', 0, canonical],
    ['::ffff:10.0.0.5/24', 0, canonical],
    ['::ffff:010.0.0.5/64', 7, 'IPv4 field has octet with leading zero'],
    ['10.0.0.5', 8, "no '/'"],
    ['10.0.0.5/33', 9, 'prefix length out of range'],
  ])('%s is refused, and there is nothing to write instead', (text, position, problem) => {
    expect(read(text)).toEqual({ text, position, problem })
  })

  test('is for CIDRs alone', () => {
    const options = { profile: 'k8s-interface-address' } as unknown as TextOptions
    const refusal = expect.objectContaining({ code: 'INVALID_ARGUMENT' })
    expect(() => Address.parse('10.0.0.5', options)).toThrow(refusal)
    expect(() => Range.parse('10.0.0.5-10.0.0.6', options)).toThrow(refusal)
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
        'CIDR value "::ffff:1.2.3.4/120" is ambiguous in this context (should be "1.2.3.0/24" or "1.2.3.4/128"?)',
        'non-standard CIDR value "::ffff:1.2.3.4/120" is invalid: use "1.2.3.0/24"',
      ],
    ],
    [
      '::ffff:46.92.98.199/8',
      [
        'CIDR value "::ffff:46.92.98.199/8" is ambiguous in this context (should be "::/8" or "46.92.98.199/128"?)',
        'non-standard CIDR value "::ffff:46.92.98.199/8" is invalid: use "::/8"',
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

describe('a zone that no parser would read is not written', () => {
  const v4 = Address.parse('1.2.3.4')
  const v6 = Address.parse('fe80::1')
  test.each([
    ['beside IPv4', v4, 'eth0'],
    ['undefined', v6, undefined],
    ['null', v6, null],
    ['a number', v6, 2],
  ])('%s', (_, address, zone) => {
    expect(() => Address.formatZoned({ address, zone: zone as string })).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', context: expect.objectContaining({ argument: 'zone' }) }),
    )
  })

  test.each(['fe80::1%eth0', undefined, { family: 5 }])('nor what is no address: %j', (address) => {
    const zoned = { address: address as unknown as Address, zone: '' }
    expect(() => Address.formatZoned(zoned)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
  })

  test('nor nothing at all', () => {
    expect(() => Address.formatZoned(undefined as unknown as ReturnType<typeof Address.parseZoned>)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    )
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
