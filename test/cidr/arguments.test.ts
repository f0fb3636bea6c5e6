import { Address, Prefix, Range, RangeSet } from 'ipam-kit/cidr'
import { describe, expect, test } from 'vitest'

// What a caller without types can give. A set that silently becomes empty, or all of IPv4, is an
// address handed out twice.

/** Anything, as what the types ask for. */
const as = <T>(value: unknown) => value as T
const invalid = (argument?: string) =>
  expect.objectContaining({
    code: 'INVALID_ARGUMENT',
    ...(argument === undefined ? {} : { context: expect.objectContaining({ argument }) }),
  })

const address = Address.parse('10.0.0.1')
const addresses = {
  nothing: undefined,
  null: null,
  'a text': '10.0.0.1',
  'a number': 167_772_161,
  'a prefix': Prefix.parse('10.0.0.0/8'),
  'a family of text': { family: '4', value: 1 },
  'another family': { family: 5, value: 1 },
  'IPv4 without a value': { family: 4 },
  'a value that is no number': { family: 4, value: Number.NaN },
  'a value of text': { family: 4, value: '1' },
  'a value of bigint': { family: 4, value: 1n },
  'a value of symbol': { family: 4, value: Symbol('1') },
  'a value beyond IPv4': { family: 4, value: 2 ** 32 },
  'a value below it': { family: 4, value: -1 },
  'a value between': { family: 4, value: 0.5 },
  'IPv6 without words': { family: 6, value: 1 },
  'IPv6 with a word too large': { family: 6, w0: 0, w1: 0, w2: 2 ** 32, w3: 0 },
}

describe.each(Object.entries(addresses))('%s is no address', (_, given) => {
  const wrong = as<Address>(given)
  test.each<[string, () => unknown]>([
    ['Address.format', () => Address.format(wrong)],
    ['Address.kind', () => Address.kind(wrong)],
    ['Address.isGloballyReachable', () => Address.isGloballyReachable(wrong)],
    ['Address.specialPurposeOf', () => Address.specialPurposeOf(wrong)],
    ['Range.of', () => Range.of(wrong, wrong)],
    ['Range.of, last', () => Range.of(address, wrong)],
    ['Range.prefixes', () => Range.prefixes({ first: address, last: wrong })],
    ['RangeSet.fromAddresses', () => RangeSet.fromAddresses([address, wrong])],
    ['RangeSet.fromRanges', () => RangeSet.fromRanges([{ first: wrong, last: address }])],
    ['RangeSet.fromPrefixes', () => RangeSet.fromPrefixes([{ address: wrong, length: 24 }])],
    ['RangeSet.rank', () => RangeSet.rank(RangeSet.empty, wrong)],
    ['RangeSet.overlaps', () => RangeSet.overlaps(RangeSet.empty, { address: wrong, length: 24 })],
    ['RangeSet.complement', () => RangeSet.complement(RangeSet.empty, { address: wrong, length: 24 })],
  ])('for %s', (_, call) => {
    expect(call).toThrow(invalid())
  })
})

describe('lengths', () => {
  test.each([-1, 33, 0.5, Number.NaN])('%s is no length of a prefix that becomes a set', (length) => {
    const refused = expect.objectContaining({ code: 'INVALID_PREFIX_LENGTH' })
    expect(() => RangeSet.fromPrefixes([{ address, length }])).toThrow(refused)
    expect(() => RangeSet.contains(RangeSet.empty, { address, length })).toThrow(refused)
    expect(() => RangeSet.builder().add({ address, length })).toThrow(refused)
    expect(() => Prefix.of(address, length)).toThrow(refused)
  })

  test.each(['8', '8\n2026 ERROR forged \u202e', '1'.repeat(10_000_000), undefined, null, 8n, Symbol('8'), [8], {}])(
    'what is no number is an argument, and does not get into the message whole',
    (given) => {
      const length = as<number>(given)
      const prefix = Prefix.parse('10.0.0.0/8')
      for (const call of [
        () => Prefix.of(address, length),
        () => Prefix.split(prefix, length),
        () => Prefix.subnetAt(prefix, length, 0),
        () => Prefix.subnetCount(prefix, length),
        () => Prefix.supernet(prefix, length),
        () => RangeSet.fromPrefixes([{ address, length }]),
      ]) {
        expect(call).toThrow(invalid('length'))
        expect(call).toThrow(/^[\x20-\x7e…]{1,300}$/)
      }
    },
  )
})

describe('numbers', () => {
  const wrong = [
    '5',
    '0x10',
    '1'.repeat(10_000_000),
    undefined,
    null,
    {},
    [],
    true,
    Symbol('5'),
    1.5,
    Number.NaN,
    2 ** 53,
  ]
  const set = RangeSet.parse(['10.0.0.0/8'])

  test.each(wrong)('an offset or index has to be one', (given) => {
    const number = as<number>(given)
    expect(() => Address.add(address, number)).toThrow(invalid('offset'))
    expect(() => RangeSet.at(set, number)).toThrow(invalid('index'))
    expect(() => Prefix.addressAt(Prefix.parse('10.0.0.0/8'), number)).toThrow(invalid('index'))
    expect(() => RangeSet.random(set, number)).toThrow(invalid('seed'))
  })

  test('a value of an address has to be a bigint, of a family that there is', () => {
    for (const given of [...wrong, 5]) expect(() => Address.fromBigInt(4, as<bigint>(given))).toThrow(invalid('value'))
    for (const family of [5, '4', undefined]) {
      expect(() => Address.fromBigInt(as<4>(family), 5n)).toThrow(invalid('family'))
    }
  })

  test('what has ten million digits is refused', () => {
    const huge = 1n << 33_000_000n
    for (const value of [huge, -huge]) {
      expect(() => Address.add(address, value)).toThrow(/than -?2\^192/)
      expect(() => Address.fromBigInt(6, value)).toThrow(/than -?2\^192/)
      expect(() => RangeSet.at(set, value)).toThrow(/than -?2\^192/)
    }
  })

  test('there is no negative zero', () => {
    expect(Object.is(Address.from4(-0).value, 0)).toBe(true)
  })
})

describe('sets', () => {
  const set = RangeSet.parse(['10.0.0.0/31', '10.0.0.8'])
  const other = RangeSet.parse(['10.0.0.0/30'])
  const lists = {
    'a set': new Set(['10.0.0.0/8']),
    'an object': {},
    'a number': 5,
    'a text': '10.0.0.0/8',
    nothing: undefined,
  }

  test.each(Object.entries(lists))('%s is no list of entries', (_, entries) => {
    expect(() => RangeSet.parse(as<string[]>(entries))).toThrow(invalid('entries'))
    expect(RangeSet.safeParse(as<string[]>(entries))).toMatchObject({ failure: { code: 'MALFORMED_RANGE_SET_ENTRY' } })
  })

  const calls: readonly [string, (copy: RangeSet) => unknown][] = [
    ['contains', (copy) => RangeSet.contains(copy, address)],
    ['contains, as the member', (copy) => RangeSet.contains(other, copy)],
    ['overlaps', (copy) => RangeSet.overlaps(other, copy)],
    ['overlaps a prefix', (copy) => RangeSet.overlaps(copy, Prefix.parse('10.0.0.0/8'))],
    ['union', (copy) => RangeSet.union(other, copy)],
    ['union, on the left', (copy) => RangeSet.union(copy, RangeSet.empty)],
    ['subtract', (copy) => RangeSet.subtract(other, copy)],
    ['subtract, on the left', (copy) => RangeSet.subtract(copy, other)],
    ['intersect', (copy) => RangeSet.intersect(copy, other)],
    ['complement', (copy) => RangeSet.complement(copy, other)],
    ['isEmpty', (copy) => RangeSet.isEmpty(copy)],
    ['equals', (copy) => RangeSet.equals(copy, set)],
    ['size', (copy) => RangeSet.size(copy)],
    ['ranges', (copy) => RangeSet.ranges(copy)],
    ['prefixes', (copy) => RangeSet.prefixes(copy)],
    ['first', (copy) => RangeSet.first(copy)],
    ['last', (copy) => RangeSet.last(copy)],
    ['rank', (copy) => RangeSet.rank(copy, address)],
    ['at', (copy) => RangeSet.at(copy, 0)],
    ['random', (copy) => RangeSet.random(copy, 0)],
    ['addresses', (copy) => Array.from(RangeSet.addresses(copy))],
    ['format', (copy) => RangeSet.format(copy)],
    ['formatPrefixes', (copy) => RangeSet.formatPrefixes(copy)],
    ['encode', (copy) => RangeSet.encode(copy)],
    ['cover', (copy) => RangeSet.cover(copy, { maxPrefixes: 5 })],
    ['builder', (copy) => RangeSet.builder().add(other).remove(copy).build()],
  ]

  test.each(calls)('what went through JSON is no set: %s', (_, call) => {
    expect(() => call(JSON.parse(JSON.stringify(set)))).toThrow(invalid())
    const uneven = { v4: { firsts: Uint32Array.of(1), lasts: Uint32Array.of() }, v6: RangeSet.empty.v6 }
    expect(() => call(as<RangeSet>(uneven))).toThrow(invalid())
  })

  test.each(calls)('a structured clone is one: %s', (_, call) => {
    expect(call(structuredClone(set))).toEqual(call(set))
  })

  test('a structured clone becomes a whole one by a union with nothing', () => {
    const clone = structuredClone(set)
    expect(clone).not.toStrictEqual(set)
    expect(RangeSet.union(clone, RangeSet.empty)).toStrictEqual(set)
  })

  test.each([undefined, null, '10.0.0.1', 5, {}, [], { family: 5 }, { family: 4 }, { family: 6, w0: 'fd00' }])(
    '%j is no member of a set',
    (given) => {
      const member = as<Address>(given)
      expect(() => RangeSet.contains(set, member)).toThrow(invalid('member'))
      expect(() => RangeSet.overlaps(set, as<Range>(given))).toThrow(invalid('other'))
      expect(() => RangeSet.builder().add(member)).toThrow(invalid())
    },
  )

  test('a range that ends before it begins is none', () => {
    const range = { first: Address.parse('10.0.0.9'), last: Address.parse('10.0.0.1') }
    const refused = expect.objectContaining({ code: 'INVALID_RANGE' })
    expect(() => Range.prefixes(range)).toThrow(refused)
    expect(() => RangeSet.contains(set, range)).toThrow(refused)
    expect(() => RangeSet.overlaps(set, range)).toThrow(refused)
    expect(() => RangeSet.fromRanges([range])).toThrow(refused)
  })
})

describe('options', () => {
  const calls: readonly [string, (options: object) => unknown][] = [
    ['Address.parse', (options) => Address.parse('::ffff:1.2.3.4', options)],
    ['Address.safeParse', (options) => Address.safeParse('::ffff:1.2.3.4', options)],
    ['Range.parse', (options) => Range.parse('::1-::2', options)],
    ['Range.parseInSubnet', (options) => Range.parseInSubnet('::1-::2/64', options)],
    ['RangeSet.parse', (options) => RangeSet.parse(['::1'], options)],
    ['RangeSet.parse, of nothing', (options) => RangeSet.parse([], options)],
  ]
  const wrong = [
    null,
    'k8s-field',
    5,
    { profile: 'k8s-field-cannonical' },
    { profile: 'k8s-interface-address' },
    { profile: 1 },
  ]

  test.each(calls)('a misspelt one is not taken for none: %s', (_, call) => {
    for (const options of wrong) expect(() => call(as<object>(options))).toThrow(invalid())
  })

  test('neither is one about zones or blanks', () => {
    const zone = as<'drop'>('keep')
    expect(() => Address.parse('fe80::1%eth0', { zone })).toThrow(invalid('options.zone'))
    expect(() => Range.parse('::1-::2', { zone })).toThrow(invalid('options.zone'))
    expect(() => RangeSet.parse(['::1'], { zone })).toThrow(invalid('options.zone'))
    expect(() => Range.parse('::1-::2', { blanks: as<'refuse'>('allow') })).toThrow(invalid('options.blanks'))
  })
})

test.each([[[10, 0, 0, 1]], ['1234'], [undefined], [new Uint16Array(4)], [new ArrayBuffer(4)]])(
  'bytes are a Uint8Array, and not %j',
  (given) => {
    const bytes = as<Uint8Array>(given)
    for (const call of [Address.fromBytes, Prefix.fromBytes, Range.fromBytes, RangeSet.decode]) {
      expect(() => call(bytes)).toThrow(invalid('bytes'))
    }
    expect(RangeSet.safeDecode(bytes)).toMatchObject({ failure: { code: 'MALFORMED_BYTES' } })
  },
)

describe('the message', () => {
  test.each<[string, () => unknown]>([
    [
      'Address.key: argument address: expected an address: family 4 with its value, or family 6 with four words, got the text "10.0.0.1": call Address.parse first',
      () => Address.key(as<Address>('10.0.0.1')),
    ],
    [
      'Prefix.last: argument prefix: expected an address with a length, got the text "10.0.0.0/8": call Prefix.parse first',
      () => Prefix.last(as<Prefix>('10.0.0.0/8')),
    ],
    [
      'RangeSet.size: argument set: expected a set that RangeSet made, or a structured clone of one; JSON has its ranges as text, got array: call RangeSet.parse first',
      () => RangeSet.size(as<RangeSet>(['10.0.0.0/8'])),
    ],
    ['Address.parse: argument text: expected a string, got undefined', () => Address.parse(as<string>(undefined))],
    [
      'Address.add: argument offset: expected a whole number within 2^53, or a bigint, got the text "5"',
      () => Address.add(address, as<number>('5')),
    ],
  ])('%s', (message, call) => {
    expect(call).toThrow(expect.objectContaining({ message, code: 'INVALID_ARGUMENT' }))
  })

  test.each([undefined, null, 5, ['10.0.0.1']])('safeParse answers a failure to %j', (given) => {
    const text = as<string>(given)
    for (const { safeParse } of [Address, Prefix, Range]) {
      expect(safeParse(text)).toMatchObject({
        ok: false,
        failure: { context: { problem: expect.stringMatching(/^not a text, but /u), position: 0 } },
      })
    }
    expect(Address.safeParseZoned(text)).toMatchObject({ ok: false })
    expect(Range.safeParseInSubnet(text)).toMatchObject({ ok: false })
    expect(RangeSet.safeParseEntry(text)).toMatchObject({ ok: false })
  })
})
