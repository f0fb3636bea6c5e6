import { Address, Prefix, Range, RangeSet } from 'ipam-kit/cidr'
import { describe, expect, test } from 'vitest'

const set = (...entries: string[]) => RangeSet.parse(entries)

const TOP4 = '255.255.255.255'
const TOP6 = 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'

describe('parse makes one set of addresses, ranges and CIDRs', () => {
  test.each<[about: string, entries: string[], ranges: string[]]>([
    ['nothing', [], []],
    ['an address', ['10.0.0.1'], ['10.0.0.1-10.0.0.1']],
    ['a CIDR, host bits cleared', ['10.0.0.77/26'], ['10.0.0.64-10.0.0.127']],
    ['both families, IPv4 first', ['fd00::1', '10.0.0.1'], ['10.0.0.1-10.0.0.1', 'fd00::1-fd00::1']],
    ['the same twice', ['10.0.0.1', '10.0.0.1'], ['10.0.0.1-10.0.0.1']],
    ['overlapping', ['10.0.0.5-10.0.0.9', '10.0.0.1-10.0.0.5'], ['10.0.0.1-10.0.0.9']],
    ['adjacent', ['10.0.0.3', '10.0.0.2', '10.0.0.1'], ['10.0.0.1-10.0.0.3']],
    ['one apart', ['10.0.0.3', '10.0.0.1'], ['10.0.0.1-10.0.0.1', '10.0.0.3-10.0.0.3']],
    ['one inside another', ['10.0.0.4', '10.0.0.0/24', '10.0.0.250-10.0.0.252'], ['10.0.0.0-10.0.0.255']],
    ['a long one, then one inside, then one behind', ['10.0.0.0/24', '10.0.0.3', '10.0.1.0'], ['10.0.0.0-10.0.1.0']],
    ['the top of IPv4', [TOP4, '255.255.255.254'], [`255.255.255.254-${TOP4}`]],
    ['the top of IPv4 twice', [TOP4, TOP4], [`${TOP4}-${TOP4}`]],
    ['all of IPv4 and its top', ['0.0.0.0/0', TOP4], [`0.0.0.0-${TOP4}`]],
    ['the top of IPv6', [TOP6, `${TOP6.slice(0, -1)}e`], [`${TOP6.slice(0, -1)}e-${TOP6}`]],
    ['the top of IPv6 twice', [TOP6, TOP6], [`${TOP6}-${TOP6}`]],
    ['all of IPv6 and its top', ['::/0', TOP6, '::1'], [`::-${TOP6}`]],
    ['adjacent over a word border', ['::1:0:0', '::ffff:ffff'], ['::ffff:ffff-::1:0:0']],
    ['adjacent over two word borders', ['0:0:0:1::', '::ffff:ffff:ffff:ffff'], ['::ffff:ffff:ffff:ffff-0:0:0:1::']],
    [
      'adjacent over three word borders',
      ['0:1::', '::ffff:ffff:ffff:ffff:ffff:ffff'],
      ['::ffff:ffff:ffff:ffff:ffff:ffff-0:1::'],
    ],
    [
      'equal in the lower words',
      ['fd00:0:0:1::5', 'fd00:0:0:0::5'],
      ['fd00::5-fd00::5', 'fd00:0:0:1::5-fd00:0:0:1::5'],
    ],
  ])('%s', (_, entries, ranges) => {
    expect(RangeSet.format(RangeSet.parse(entries))).toEqual(ranges)
  })

  test('zones are dropped on demand from addresses and ranges', () => {
    const options = { zone: 'drop' } as const
    expect(RangeSet.format(RangeSet.parse(['fe80::1%a', 'fe80::3%a-fe80::4%b'], options))).toEqual([
      'fe80::1-fe80::1',
      'fe80::3-fe80::4',
    ])
    expect(RangeSet.safeParse(['fe80::1%a']).ok).toBe(false)
    expect(RangeSet.safeParse(['fe80::%a/64'], options).ok).toBe(false)
  })
})

describe('the first wrong entry is named, with its index in a list of several', () => {
  test.each<[entries: string[], index: number, position: number, problem: string]>([
    [[''], 0, 0, 'unable to parse IP'],
    [['10.0.0.1', '10.0.0.256', '::'], 1, 7, 'IPv4 field has value >255'],
    [['10.0.0.0/33'], 0, 9, 'prefix length out of range'],
    [['10.0.0.1', 'fd00::/64', '10.0.0.5-10.0.0.1'], 2, 9, 'the range ends before it begins'],
    [['10.0.0.0/24-10.0.1.0/24'], 0, 8, 'unexpected character'],
    [['10.0.0.1,10.0.0.2'], 0, 8, 'unexpected character'],
  ])('%j', (entries, index, position, problem) => {
    const context = { text: entries[index], ...(entries.length > 1 && { index }), position, problem }
    const failure = { code: 'MALFORMED_RANGE_SET_ENTRY', context }
    expect(RangeSet.safeParse(entries)).toEqual({ ok: false, failure })
    expect(() => RangeSet.parse(entries)).toThrow(expect.objectContaining(failure))
  })

  test.each([
    [5, '5'],
    [undefined, 'undefined'],
    [['10.0.0.2'], 'array'],
    [10n ** 1000n, 'more than 2^192'],
  ])('an entry that is no text is one of them: %s', (entry, text) => {
    const context = { text, index: 1, position: 0, problem: expect.stringMatching(/^not a text, but /u) }
    expect(RangeSet.safeParse(['10.0.0.1', entry as unknown as string])).toEqual({
      ok: false,
      failure: { code: 'MALFORMED_RANGE_SET_ENTRY', context },
    })
  })

  test('one entry by itself fails with the code of what it looks like', () => {
    const codeOf = (text: string) => {
      const entry = RangeSet.safeParseEntry(text)
      return entry.ok ? Range.format(entry.value) : entry.failure.code
    }
    expect(codeOf('10.0.0.1')).toBe('10.0.0.1-10.0.0.1')
    expect(codeOf('10.0.0.1/31')).toBe('10.0.0.0-10.0.0.1')
    expect(codeOf('10.0.0.1-10.0.0.2')).toBe('10.0.0.1-10.0.0.2')
    expect(codeOf('10.0.0')).toBe('MALFORMED_ADDRESS')
    expect(codeOf('10.0.0/24')).toBe('MALFORMED_PREFIX')
    expect(codeOf('10.0.0-10.0.0.1')).toBe('MALFORMED_RANGE')
    expect(codeOf('10.0.0.0/24-10.0.1.0/24')).toBe('MALFORMED_RANGE')
  })
})

describe('a set from values', () => {
  const address = Address.parse

  test('addresses in any order, more than once', () => {
    const addresses = ['::2', '10.0.0.2', '::1', '10.0.0.1', '::1'].map((text) => address(text))
    expect(RangeSet.format(RangeSet.fromAddresses(addresses))).toEqual(['10.0.0.1-10.0.0.2', '::1-::2'])
    expect(RangeSet.fromAddresses([])).toEqual(RangeSet.empty)
  })

  test('a range that ends before it begins is refused', () => {
    expect(() => RangeSet.fromRanges([{ first: address('10.0.0.2'), last: address('10.0.0.1') }])).toThrow(
      expect.objectContaining({ code: 'INVALID_RANGE', context: { first: '10.0.0.2', last: '10.0.0.1' } }),
    )
    expect(() => RangeSet.fromRanges([{ first: address('0:0:0:1::'), last: address('::1') }])).toThrow(
      expect.objectContaining({ code: 'INVALID_RANGE' }),
    )
  })

  test.each([
    ['10.0.0.1', '::1'],
    ['::1', '10.0.0.1'],
  ])('a range of two families is refused: %s-%s', (first, last) => {
    expect(() => RangeSet.fromRanges([{ first: address(first), last: address(last) }])).toThrow(
      expect.objectContaining({ code: 'FAMILY_MISMATCH', context: { left: first, right: last } }),
    )
  })
})

describe('subtract', () => {
  test.each<[about: string, left: string[], right: string[], rest: string[]]>([
    ['a middle', ['10.0.0.0/29'], ['10.0.0.3-10.0.0.4'], ['10.0.0.0-10.0.0.2', '10.0.0.5-10.0.0.7']],
    ['a head', ['10.0.0.0/29'], ['9.0.0.0-10.0.0.3'], ['10.0.0.4-10.0.0.7']],
    ['a tail', ['10.0.0.0/29'], ['10.0.0.4-11.0.0.0'], ['10.0.0.0-10.0.0.3']],
    ['both ends', ['10.0.0.0/29'], ['10.0.0.0', '10.0.0.7'], ['10.0.0.1-10.0.0.6']],
    ['all of it', ['10.0.0.0/29'], ['10.0.0.0/24'], []],
    ['exactly it', ['10.0.0.0/29'], ['10.0.0.0/29'], []],
    ['what is not there', ['10.0.0.0/29'], ['10.0.0.8', '9.255.255.255'], ['10.0.0.0-10.0.0.7']],
    [
      'one over two',
      ['10.0.0.0/30', '10.0.0.8/30'],
      ['10.0.0.2-10.0.0.9'],
      ['10.0.0.0-10.0.0.1', '10.0.0.10-10.0.0.11'],
    ],
    ['the other family', ['10.0.0.0/30', '::/126'], ['::/0'], ['10.0.0.0-10.0.0.3']],
    ['the ends of IPv4', ['0.0.0.0/0'], ['0.0.0.0', TOP4], ['0.0.0.1-255.255.255.254']],
    ['the ends of IPv6', ['::/0'], ['::', TOP6], [`::1-${TOP6.slice(0, -1)}e`]],
    ['at word borders', ['::/0'], ['::1:0:0-::ffff:ffff:ffff:ffff'], ['::-::ffff:ffff', `0:0:0:1::-${TOP6}`]],
    [
      'at higher word borders',
      ['::/0'],
      ['0:0:0:1::-0:0:ffff:ffff:ffff:ffff:ffff:ffff'],
      ['::-::ffff:ffff:ffff:ffff', `0:1::-${TOP6}`],
    ],
  ])('%s', (_, left, right, rest) => {
    expect(RangeSet.format(RangeSet.subtract(set(...left), set(...right)))).toEqual(rest)
  })
})

describe('intersect', () => {
  test.each<[about: string, left: string[], right: string[], common: string[]]>([
    ['overlapping', ['10.0.0.0/29'], ['10.0.0.6-10.0.0.9'], ['10.0.0.6-10.0.0.7']],
    ['touching', ['10.0.0.0/29'], ['10.0.0.7-10.0.0.9'], ['10.0.0.7-10.0.0.7']],
    ['adjacent', ['10.0.0.0/29'], ['10.0.0.8/29'], []],
    ['one over two', ['10.0.0.0/30', '10.0.0.8/30'], ['10.0.0.3-10.0.0.8'], ['10.0.0.3-10.0.0.3', '10.0.0.8-10.0.0.8']],
    ['of two families', ['10.0.0.0/30', '::1'], ['::/0'], ['::1-::1']],
  ])('%s', (_, left, right, common) => {
    expect(RangeSet.format(RangeSet.intersect(set(...left), set(...right)))).toEqual(common)
    expect(RangeSet.format(RangeSet.intersect(set(...right), set(...left)))).toEqual(common)
  })
})

describe('questions to a set', () => {
  test('size counts both families exactly', () => {
    expect(RangeSet.size(set())).toBe(0n)
    expect(RangeSet.size(set('0.0.0.0/0'))).toBe(1n << 32n)
    expect(RangeSet.size(set('::/0'))).toBe(1n << 128n)
    expect(RangeSet.size(set('::/0', '0.0.0.0/0'))).toBe((1n << 128n) + (1n << 32n))
    expect(RangeSet.size(set('::/1', 'ffff::'))).toBe((1n << 127n) + 1n)
  })

  test('all of a family is one prefix', () => {
    const all = set('0.0.0.0/1', '128.0.0.0/1', '::/1', '8000::/1')
    expect(RangeSet.formatPrefixes(all)).toEqual(['0.0.0.0/0', '::/0'])
    expect(RangeSet.prefixes(all).map(Prefix.format)).toEqual(['0.0.0.0/0', '::/0'])
  })

  test('first is the lowest address, IPv4 before IPv6', () => {
    expect(RangeSet.first(set())).toBeUndefined()
    expect(RangeSet.first(set('10.0.0.9', '10.0.0.3', '::1'))).toEqual(Address.parse('10.0.0.3'))
    expect(RangeSet.first(set('fd00::9', 'fd00::3'))).toEqual(Address.parse('fd00::3'))
  })

  test('isEmpty asks for both families', () => {
    expect(RangeSet.isEmpty(RangeSet.empty)).toBe(true)
    expect(RangeSet.isEmpty(set('10.0.0.1'))).toBe(false)
    expect(RangeSet.isEmpty(set('::'))).toBe(false)
  })

  test('containsRange asks for all of it', () => {
    const some = set('10.0.0.0/30', '10.0.0.8/30', 'fd00::/126', 'fd00::8/126')
    const has = (text: string) => RangeSet.contains(some, Range.parse(text))
    expect(has('10.0.0.0-10.0.0.3')).toBe(true)
    expect(has('10.0.0.9-10.0.0.9')).toBe(true)
    expect(has('10.0.0.2-10.0.0.4')).toBe(false)
    expect(has('10.0.0.2-10.0.0.9')).toBe(false)
    expect(has('10.0.0.4-10.0.0.5')).toBe(false)
    expect(has('fd00::-fd00::3')).toBe(true)
    expect(has('fd00::2-fd00::4')).toBe(false)
    expect(has('fd00::2-fd00::9')).toBe(false)
    expect(has('fcff::-fd00::1')).toBe(false)
    const mixed = { first: Address.parse('10.0.0.1'), last: Address.parse('fd00::1') }
    expect(() => RangeSet.contains(some, mixed)).toThrow(expect.objectContaining({ code: 'FAMILY_MISMATCH' }))
  })

  test('equals looks at both ends of every range of both families', () => {
    const one = set('10.0.0.2-10.0.0.4', 'fd00::2-fd00::4')
    expect(RangeSet.equals(one, set('fd00::2-fd00::4', '10.0.0.2-10.0.0.4'))).toBe(true)
    for (const other of [
      set('10.0.0.1-10.0.0.4', 'fd00::2-fd00::4'),
      set('10.0.0.2-10.0.0.5', 'fd00::2-fd00::4'),
      set('10.0.0.2-10.0.0.4', 'fd00::1-fd00::4'),
      set('10.0.0.2-10.0.0.4', 'fd00::2-fd00::5'),
      set('10.0.0.2-10.0.0.4', 'fd00::2-fd00::4', 'fd01::'),
      set('10.0.0.2-10.0.0.4'),
      set('fd00::2-fd00::4'),
    ]) {
      expect(RangeSet.equals(one, other)).toBe(false)
      expect(RangeSet.equals(other, one)).toBe(false)
    }
  })
})

test('JSON.stringify of a set, and of what has one, shows ranges as texts', () => {
  const set = RangeSet.parse(['10.0.0.0/24', '10.0.1.7', 'fd00::/64', 'fd01::5'])
  const shown = {
    v4: ['10.0.0.0-10.0.0.255', '10.0.1.7-10.0.1.7'],
    v6: ['fd00::-fd00::ffff:ffff:ffff:ffff', 'fd01::5-fd01::5'],
  }
  expect(JSON.parse(JSON.stringify({ set, none: RangeSet.empty }))).toEqual({ set: shown, none: { v4: [], v6: [] } })
  expect([...shown.v4, ...shown.v6]).toEqual(RangeSet.format(set))
})

describe('a text of which only the form is wrong', () => {
  const suggestionOf = (text: string, profile: 'k8s-field' | 'k8s-field-canonical' = 'k8s-field') => {
    const result = RangeSet.safeParse(['10.0.0.1', text], { profile })
    if (result.ok) throw new Error(`${text} is accepted`)
    const { index, suggestion } = result.failure.context
    expect([index, result.failure.context.text]).toEqual([1, text])
    if (suggestion !== undefined) expect(RangeSet.safeParse([suggestion], { profile }).ok).toBe(true)
    return suggestion
  }

  test.each([
    ['010.0.0.1', '10.0.0.1'],
    ['10.0.0.77/26', '10.0.0.64/26'],
    ['010.0.0.1-10.0.0.9', '10.0.0.1-10.0.0.9'],
    ['10.0.0.1-10.0.0.09', '10.0.0.1-10.0.0.9'],
    ['010.0.0.1-10.0.0.09', '10.0.0.1-10.0.0.9'],
    ['010.0.0.9-10.0.0.1', undefined],
    ['010.0.0.1-banana', undefined],
    ['banana', undefined],
  ])('%s has the suggestion %s', (text, suggestion) => {
    expect(suggestionOf(text)).toBe(suggestion)
  })

  test('is named with its suggestion by parse', () => {
    expect(() => RangeSet.parse(['FD00::/64'], { profile: 'k8s-field-canonical' })).toThrow('write "fd00::/64"')
    expect(suggestionOf('FD00::1-fd00:0::9', 'k8s-field-canonical')).toBe('fd00::1-fd00::9')
  })

  test('as a range in a subnet has the suggestion with its length', () => {
    const read = Range.safeParseInSubnet('010.0.0.1-10.0.0.9/24', { profile: 'k8s-field' })
    expect(!read.ok && read.failure.context.suggestion).toBe('10.0.0.1-10.0.0.9/24')
  })
})
