import { Address } from 'ipam-kit/cidr'
import { expect, test } from 'vitest'
import { msOfCalls } from '../../setup/cost.js'
import { flat, MEGABYTES, parsers, texts } from '../megabytes.js'

test.each(texts)(
  'megabytes, %j, and then %j over and over, cost no parser more than a hundred characters do',
  (head, unit) => {
    const huge = flat(head, unit, MEGABYTES)
    const short = flat(head, unit, 100)
    for (const [name, parse] of parsers) {
      expect(
        msOfCalls(() => parse(huge)),
        name,
      ).toBeLessThan(20 * msOfCalls(() => parse(short)) + 50)
    }
  },
)

test('a zone to drop costs nothing, however long it is', () => {
  const huge = flat('fe80::1%', 'x', MEGABYTES)
  const read = () => Address.safeParse(huge, { zone: 'drop' })
  expect(msOfCalls(read)).toBeLessThan(20 * msOfCalls(() => Address.safeParse('fe80::1')) + 50)
})
