/** What ipam-kit/cidr exports. */
export type Entry = typeof import('ipam-kit/cidr')

/** An argument, and its name for reports. */
export interface Sample<T = unknown> {
  readonly name: string
  readonly value: T
}

export type Samples = ReturnType<typeof samplesOf>
export type Kind = keyof Samples

/**
 * Arguments by kind. Values are made of texts by the library that is being tested, and anew for
 * every call of this function.
 */
export function samplesOf({ Address, Prefix, Range, RangeSet }: Entry) {
  const address = addresses.map((text) => ({ name: text, value: Address.parse(text) }))
  const prefix = prefixes.map((text) => ({ name: text, value: Prefix.parse(text) }))
  const range = ranges.map((text) => ({ name: text, value: Range.parse(text) }))
  const set = sets.map(({ name, entries }) => ({ name, value: RangeSet.parse(entries) }))
  return {
    text: [...texts.map(literal), ...longTexts, ...notTexts.map(literal)],
    texts: [...sets.map(({ name, entries }) => ({ name, value: entries })), ...badLists.map(literal)],
    textOptions: textOptions.map(literal),
    address,
    address4: address.filter(({ value }) => value.family === 4),
    address6: address.filter(({ value }) => value.family === 6),
    zoned: ['fe80::1%eth0', 'fe80::1', '10.0.0.1'].map((text) => ({ name: text, value: Address.parseZoned(text) })),
    malformed: texts.flatMap((text) => {
      const result = Address.safeParse(text)
      return result.ok ? [] : [{ name: JSON.stringify(text), value: result.failure }]
    }),
    prefix,
    range,
    set,
    member: [...address.slice(0, 8), ...prefix.slice(0, 6), ...range.slice(0, 6)],
    block: [...prefix.slice(0, 6), ...range.slice(0, 6), ...set.slice(0, 5)],
    addressList: [address.map(({ value }) => value), []].map((value) => ({ name: `${value.length} addresses`, value })),
    prefixList: [prefix.map(({ value }) => value), []].map((value) => ({ name: `${value.length} prefixes`, value })),
    rangeList: [range.map(({ value }) => value), []].map((value) => ({ name: `${value.length} ranges`, value })),
    family: [4, 6].map(literal),
    length: [0, 8, 9, 24, 25, 31, 32, 33, 64, 96, 127, 128, 129, -1, 1.5, NaN].map(literal),
    index: [0, 1, 5, 255, 256, -1, 1.5, 0n, 3n, -1n, 2n ** 32n, 2n ** 64n, 2n ** 127n, 2n ** 128n].map(literal),
    value: [0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, -1, -0, 1.5, NaN, Infinity].map(literal),
    big: [0n, 1n, 2n ** 31n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 64n, 2n ** 127n, 2n ** 128n - 1n, 2n ** 128n, -1n].map(
      literal,
    ),
    bytes: bytes.map((list) => ({ name: `[${list}]`, value: Uint8Array.from(list) })),
    seed: [0, 1, 42, -7, 2 ** 53 - 1, 2 ** 53, 0.5].map(literal),
    coverOptions: [0, 1, 2, 3, 8, 100].map((maxPrefixes) => literal({ maxPrefixes })),
  }
}

function literal<T>(value: T): Sample<T> {
  const shown = typeof value === 'bigint' ? `${value}n` : value === undefined ? 'undefined' : JSON.stringify(value)
  return { name: typeof value === 'number' ? String(value) : shown, value }
}

const addresses = words(`
  0.0.0.0 10.0.0.1 10.0.0.255 100.64.0.1 127.255.255.255 128.0.0.0 192.0.2.1 255.255.255.255 :: ::1 ::ffff:10.0.0.1
  64:ff9b::a00:1 2001:db8::1:0:0:1 2002:a00:1:: fe80::ffff:ffff fd00::7fff:ffff ::ffff:ffff:ffff 1:0:0:2:: ff02::1
  ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff`)

const prefixes = words(`
  0.0.0.0/0 10.0.0.0/8 10.0.0.77/26 10.0.0.64/26 192.0.2.0/31 255.255.255.255/32 128.0.0.0/1 ::/0 fd00::/8 2001:db8::ffff/32
  fd00::1/64 fd00:0:0:0:8000::/65 ::ffff:10.0.0.0/104 fd00::/127 ::1/128`)

const ranges = words(`
  10.0.0.5-10.0.0.9 10.0.0.10-10.0.0.10 10.0.0.8-10.0.1.3 0.0.0.0-255.255.255.255 127.255.255.254-128.0.0.1 ::-::
  fd00::1-fd00::ffff fd00::fffe-fd00::1:0 ::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ::ffff:ffff-::1:0:0`)

function words(text: string): string[] {
  return text.trim().split(/\s+/)
}

function numbered<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index))
}

const sets = [
  { name: 'empty', entries: [] },
  { name: 'one address', entries: ['10.0.0.1'] },
  {
    name: 'overlapping',
    entries: ['10.0.0.0/24', '10.0.0.200-10.0.1.7', '10.0.1.8', 'fd00::/64', 'fd00:0:0:1::-fd00:0:0:1::9'],
  },
  { name: 'everything', entries: ['0.0.0.0/0', '::/0'] },
  { name: 'both ends', entries: ['255.255.255.255', '0.0.0.0', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '::'] },
  {
    name: 'over the words',
    entries: ['::ffff:fff0/124', '::1:0:0-::1:0:5', '0:0:1::/48', '127.255.255.250-128.0.0.5'],
  },
  {
    name: 'many of IPv4',
    entries: numbered(200, (i) => `10.${i % 7}.${(i * 37) % 256}.${i % 3}-10.${i % 7}.${(i * 37) % 256}.200`),
  },
  {
    name: 'many of IPv6',
    entries: numbered(100, (i) => `fd00:${((i * 97) % 64).toString(16)}::${i.toString(16)}/${100 + (i % 29)}`),
  },
]

const badLists = [
  ['10.0.0.1', 'x'],
  ['10.0.0.0/33'],
  ['10.0.0.9-10.0.0.1'],
  ['fe80::1%eth0'],
  ['', '10.0.0.1'],
  ['010.0.0.0/8'],
  [null],
  [5],
]

const texts = [
  ...addresses,
  ...prefixes,
  ...ranges,
  // nearly an address
  ...words(`. : ::: % / - 0 1 256 1.2.3 1.2.3. .1.2.3 1.2.3.4.5 1..2.3 1.2.3.256 01.2.3.4 010.0.0.1 1.2.3.04 0x7f.1 127.1 2130706433
    +1.2.3.4 1.2.3.-4 1.2.3.4e0 1::2::3 :1:: 1: :1 1:2:3:4:5:6:7 1:2:3:4:5:6:7:8:9 ::1:2:3:4:5:6:7:8 1:2:3:4:5:6:7:: 12345:: ::g
    ::00001 ::1.2.3.4 ::1.2.3.256 ::01.2.3.4 1.2.3.4:: ::ffff:1.2.3 1:2:3:4:5:6:7:1.2.3.4 FD00::ABCD [::1] ::1]
    fe80::1%eth0 fe80::1% fe80::1%% 10.0.0.1%eth0 fe80::1%eth0/64 fe80::%é __proto__ constructor null NaN`),
  // nearly a prefix or a range
  ...words(`10.0.0.0/ 10.0.0.0/-1 10.0.0.0/+8 10.0.0.0/08 10.0.0.0/33 10.0.0.0/8/8 10.0.0.0/1e1 ::/129 /8 10.0.0.0/255.0.0.0
    10.0.0.0/999999999999999999999 10.0.0.1- -10.0.0.1 10.0.0.9-10.0.0.1 10.0.0.1-::1 10.0.0.1--10.0.0.2
    10.0.0.10-10.0.0.20/24 10.0.0.10-10.0.1.20/24 fd00::10-fd00::20/64`),
  ...['', ' ', '1.2.3.4 ', ' 1.2.3.4', '1.2.3.4\n', '1.2.3.4\0', 'fe80::1%\0', '10.0.0.0/ 8', '10.0.0.1 - 10.0.0.2'],
  ...['１.2.3.4', '1。2。3。4', '١.٢.٣.٤', '1.2.3.4\u200b', '\ufeff1.2.3.4', '\ud8001.2.3.4', '\u{1d7cf}.2.3.4'],
]

const longTexts = [
  ...['1', ':', '.', '0', '/', '-', '%', '1.', '1:', '::', '\0', '\u{1f600}'].map((piece) => repeated('', piece)),
  ...['10.0.0.1', 'fd00::1', '10.0.0.0/8', '10.0.0.1-10.0.0.2', 'fe80::1%'].map((start) => repeated(start, ' ')),
]

function repeated(start: string, piece: string): Sample<string> {
  return {
    name: `${JSON.stringify(start)} and 100000 times ${JSON.stringify(piece)}`,
    value: start + piece.repeat(100_000),
  }
}

const notTexts = [undefined, null, 0, 5n, true, [], ['10.0.0.1'], {}]

const textOptions = [
  ...[{}, { zone: 'drop' }, { zone: 'refuse' }],
  ...['strict', 'k8s-field', 'k8s-field-canonical', 'k8s-legacy-read'].map((profile) => ({ profile })),
]

const bytes = [
  ...[[], [10], [10, 0, 0, 1], [10, 0, 0, 1, 2], [10, 0, 0, 0, 8], [10, 0, 0, 0, 33], [10, 0, 0, 1, 10, 0, 0, 9]],
  ...[
    numbered(16, () => 255),
    [...numbered(16, () => 253), 64],
    numbered(17, () => 255),
    numbered(32, (index) => index),
  ],
  // a set, the same one with a flipped bit, and bytes that are not a set
  ...[[2, 1, 10, 2, 0, 158, 62, 30, 209], [2, 1, 11, 2, 0, 158, 62, 30, 209], [1, 1, 10, 2, 0], [2], [2, 0, 0]],
]
