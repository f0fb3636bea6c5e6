import { Address, Prefix, Range, RangeSet } from 'ipam-kit/cidr'
import { describe as describeFailure, type Result } from 'ipam-kit/errors'
import { describe, expect, test } from 'vitest'

const MEGABYTES = 10 * 2 ** 20

type Parse = (text: string) => Result<unknown>

const parsers: [name: string, parse: Parse][] = [
  ['Address', Address.safeParse],
  ['Address with a zone to drop', (text) => Address.safeParse(text, { zone: 'drop' })],
  ['Address of a new field', (text) => Address.safeParse(text, { profile: 'k8s-field-canonical' })],
  ['Address of an old object', (text) => Address.safeParse(text, { profile: 'k8s-legacy-read' })],
  ['Address with a zone to keep', Address.safeParseZoned],
  ['Prefix', Prefix.safeParse],
  ['Prefix of a field', (text) => Prefix.safeParse(text, { profile: 'k8s-field' })],
  ['Prefix of an old object', (text) => Prefix.safeParse(text, { profile: 'k8s-legacy-read' })],
  ['Range', Range.safeParse],
  ['Range with zones to drop', (text) => Range.safeParse(text, { zone: 'drop' })],
  ['Range with blanks', (text) => Range.safeParse(text, { blanks: 'around-hyphen' })],
  ['Range in a subnet', Range.safeParseInSubnet],
  ['RangeSet', (text) => RangeSet.safeParse(['10.0.0.1', text])],
]

const units = [
  '1',
  '0',
  'f',
  '.',
  ':',
  '::',
  '1.',
  '1:',
  '0:',
  '255.',
  'ffff:',
  '%',
  '/',
  '-',
  'a%',
  '"',
  '\\',
  'é',
  ' ',
]
const heads = ['1.2.3.4/', '1.2.3.4-', '1.2.3.4', '::/', '::-', '1:2:3:4:5:6:7:8']
const texts = [...units.map((unit) => ['', unit] as const), ...heads.map((head) => [head, 'x'] as const)]

describe.each(texts)('megabytes: %j, and then %j over and over', (head, unit) => {
  test('are refused by every parser in few words', () => {
    const huge = flat(head, unit, MEGABYTES)
    for (const [name, parse] of parsers) {
      const parsed = parse(huge)
      expect(parsed.ok, name).toBe(false)
      if (!parsed.ok) expect(describeFailure(parsed.failure).length, name).toBeLessThan(300)
    }
  })

  test('cost no parser more than a hundred characters do', () => {
    const huge = flat(head, unit, MEGABYTES)
    const short = flat(head, unit, 100)
    for (const [name, parse] of parsers) {
      expect(
        bestMs(() => parse(huge)),
        name,
      ).toBeLessThan(20 * bestMs(() => parse(short)) + 50)
    }
  })
})

test('a zone to drop costs nothing, however long it is', () => {
  const huge = flat('fe80::1%', 'x', MEGABYTES)
  const read = () => Address.safeParse(huge, { zone: 'drop' })
  expect(read()).toEqual(Address.safeParse('fe80::1'))
  expect(bestMs(read)).toBeLessThan(20 * bestMs(() => Address.safeParse('fe80::1')) + 50)
})

test.each(parsers)('%s lets no control character into its message', (_, parse) => {
  const forged = '1.2.3.4\x1b[31m\nlog: forged\r\0\x7f\u0085\u2028\u2029\u202e\ufeff\ud800'
  const refused = parse(forged)
  if (refused.ok) throw new Error('accepted')
  const message = describeFailure(refused.failure)
  expect(message).toContain('"1.2.3.4\\u001b[31m\\u000alog: forged\\u000d\\u0000\\u007f\\u0085')
  expect(message).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u)
})

test('a text with an empty zone is refused wherever the zone stands', () => {
  for (let groups = 1; groups < 20; groups++) {
    const text = `${'ffff:'.repeat(groups)}:%`
    expect(Address.safeParse(text, { zone: 'drop' }).ok).toBe(false)
  }
})

test('the longest legal texts are read', () => {
  const longest = 'ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255'
  const all = 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'
  const zone = '%'.padEnd(16, 'x')
  expect(Address.format(Address.parse(longest))).toBe(all)
  expect(Address.format(Address.parse(`${longest}${'%'.padEnd(1000, 'x')}`, { zone: 'drop' }))).toBe(all)
  expect(Prefix.format(Prefix.parse(`${longest}/128`))).toBe(`${all}/128`)
  expect(Range.format(Range.parse(`${longest}-${longest}`))).toBe(`${all}-${all}`)
  const zoned = `${longest}${zone}-${longest}${zone}`
  expect(Range.format(Range.parse(zoned, { zone: 'drop' }))).toBe(`${all}-${all}`)
  expect(RangeSet.format(RangeSet.parse([zoned, `${longest}/128`, longest], { zone: 'drop' }))).toEqual([
    `${all}-${all}`,
  ])
})

/** `head`, then `unit` up to `length` characters, as one piece of memory: a rope would be put together at the first look at it. */
function flat(head: string, unit: string, length: number): string {
  const rest = Buffer.alloc(length - head.length, unit, 'latin1').toString('latin1')
  return Buffer.from(head + rest, 'latin1').toString('latin1')
}

/** Three hundred calls. Even a search of 10 MB at memory speed takes half a millisecond: as many of them are far beyond any bound above. */
function bestMs(action: () => unknown): number {
  let best = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < 3; attempt++) {
    const start = performance.now()
    for (let i = 0; i < 300; i++) action()
    best = Math.min(best, performance.now() - start)
  }
  return best
}
