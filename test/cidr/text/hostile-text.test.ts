import { Address, Prefix, Range, RangeSet } from 'ipam-kit/cidr'
import { describe, expect, test } from 'vitest'
import { flat, MEGABYTES, parsers, texts } from '../megabytes.js'

describe.each(texts)('megabytes: %j, and then %j over and over', (head, unit) => {
  test('are refused by every parser in few words', () => {
    const huge = flat(head, unit, MEGABYTES)
    for (const [name, parse] of parsers) {
      const parsed = parse(huge)
      expect(parsed.ok, name).toBe(false)
      if (!parsed.ok) expect(parsed.failure.message.length, name).toBeLessThan(300)
    }
  })
})

test('a zone to drop may be long', () => {
  const huge = flat('fe80::1%', 'x', MEGABYTES)
  expect(Address.safeParse(huge, { zone: 'drop' })).toEqual(Address.safeParse('fe80::1'))
})

test.each(parsers)('%s lets no control character into its message', (_, parse) => {
  const forged = '1.2.3.4\x1b[31m\nlog: forged\r\0\x7f\u0085\u2028\u2029\u202e\ufeff\ud800'
  const refused = parse(forged)
  if (refused.ok) throw new Error('accepted')
  const message = refused.failure.message
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
