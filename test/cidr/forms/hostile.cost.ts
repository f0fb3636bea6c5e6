import { ReverseName, UrlHost } from 'ipam-kit/cidr/forms'
import { expect, test } from 'vitest'
import { msOfCalls } from '../../setup/cost.js'
import { flat, MEGABYTES, parsers, texts } from './megabytes.js'

test.each(texts)(
  'megabytes, %j, and then %j over and over, cost no more than a few hundred characters do',
  (head, unit) => {
    const huge = flat(head, unit, '', MEGABYTES)
    const short = flat(head, unit, '', 400)
    for (const [name, parse] of parsers) {
      expect(
        msOfCalls(() => parse(huge)),
        name,
      ).toBeLessThan(20 * msOfCalls(() => parse(short)) + 50)
    }
  },
)

test('the domain behind megabytes of labels is not looked for', () => {
  const huge = flat('', '1.', 'ip6.arpa', MEGABYTES)
  expect(msOfCalls(() => ReverseName.safeParse(huge))).toBeLessThan(50)
})

test('a path costs nothing, however long it is', () => {
  const huge = flat('https://[fd00::1]:6443/', 'x', '', MEGABYTES)
  expect(msOfCalls(() => UrlHost.parse(huge))).toBeLessThan(20 * msOfCalls(() => UrlHost.parse('[fd00::1]:6443')) + 50)
})
