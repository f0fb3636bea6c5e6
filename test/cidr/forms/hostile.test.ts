import { ReverseName, UrlHost } from 'ipam-kit/cidr/forms'
import { describe, expect, test } from 'vitest'
import { flat, MEGABYTES, parsers, texts } from './megabytes.js'

describe.each(texts)('megabytes: %j, and then %j over and over', (head, unit) => {
  const huge = flat(head, unit, '', MEGABYTES)

  test('are refused in few words', () => {
    for (const [name, parse] of parsers) {
      const parsed = parse(huge)
      expect(parsed.ok, name).toBe(false)
      if (!parsed.ok) expect(parsed.failure.message.length, name).toBeLessThan(350)
    }
  })
})

test('the domain behind megabytes of labels is not looked for', () => {
  const huge = flat('', '1.', 'ip6.arpa', MEGABYTES)
  const parsed = ReverseName.safeParse(huge)
  expect(parsed.ok || parsed.failure.context.position).toBe(73)
})

test('a path may be long', () => {
  const huge = flat('https://[fd00::1]:6443/', 'x', '', MEGABYTES)
  expect(UrlHost.parse(huge)).toEqual(UrlHost.parse('[fd00::1]:6443'))
})

test.each(parsers)('%s lets no control character into its message', (_, parse) => {
  const refused = parse('10.0.0.1\x1b[31m\nlog: forged\r\0\x7f\u2028\u202e\ud800')
  if (refused.ok) throw new Error('accepted')
  expect(refused.failure.message).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u)
})
