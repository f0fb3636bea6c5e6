import { ReverseName, UrlHost } from 'ipam-kit/cidr/forms'
import { describe as describeFailure, type Result } from 'ipam-kit/errors'
import { describe, expect, test } from 'vitest'

const MEGABYTES = 10 * 2 ** 20

const parsers: [name: string, parse: (text: string) => Result<unknown>][] = [
  ['ReverseName', ReverseName.safeParse],
  ['UrlHost', UrlHost.safeParse],
]

const units = ['1', '0', 'a', '.', '1.', 'a.', ':', '::', '[', '%', '%25', '@', '-', '/', ' ', 'é', '"']
const heads = [
  'http:/',
  'http://',
  'http://[',
  'http://[::1%25',
  'http://[::1]:',
  '[::1',
  '[fe80::1%25%41',
  '10.0.0.1:',
  '10.0.0.1:1',
]
const texts = [
  ...units.map((unit) => ['', unit] as const),
  ...heads.flatMap((head) => [[head, '1'] as const, [head, '%25'] as const]),
]

describe.each(texts)('megabytes: %j, and then %j over and over', (head, unit) => {
  const huge = flat(head, unit, '', MEGABYTES)

  test('are refused in few words', () => {
    for (const [name, parse] of parsers) {
      const parsed = parse(huge)
      expect(parsed.ok, name).toBe(false)
      if (!parsed.ok) expect(describeFailure(parsed.failure).length, name).toBeLessThan(350)
    }
  })

  test('cost no more than a few hundred characters do', () => {
    const short = flat(head, unit, '', 400)
    for (const [name, parse] of parsers) {
      expect(
        bestMs(() => parse(huge)),
        name,
      ).toBeLessThan(20 * bestMs(() => parse(short)) + 50)
    }
  })
})

test('the domain behind megabytes of labels is not looked for', () => {
  const huge = flat('', '1.', 'ip6.arpa', MEGABYTES)
  const parsed = ReverseName.safeParse(huge)
  expect(parsed.ok || parsed.failure.context.position).toBe(73)
  expect(bestMs(() => ReverseName.safeParse(huge))).toBeLessThan(50)
})

test('a path costs nothing, however long it is', () => {
  const huge = flat('https://[fd00::1]:6443/', 'x', '', MEGABYTES)
  expect(UrlHost.parse(huge)).toEqual(UrlHost.parse('[fd00::1]:6443'))
  expect(bestMs(() => UrlHost.parse(huge))).toBeLessThan(20 * bestMs(() => UrlHost.parse('[fd00::1]:6443')) + 50)
})

test.each(parsers)('%s lets no control character into its message', (_, parse) => {
  const refused = parse('10.0.0.1\x1b[31m\nlog: forged\r\0\x7f\u2028\u202e\ud800')
  if (refused.ok) throw new Error('accepted')
  expect(describeFailure(refused.failure)).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u)
})

/** `head`, then `unit` over and over, then `tail`: `length` characters as one piece of memory. */
function flat(head: string, unit: string, tail: string, length: number): string {
  const rest = Buffer.alloc(length - head.length - tail.length, unit, 'latin1').toString('latin1')
  return Buffer.from(head + rest + tail, 'latin1').toString('latin1')
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
