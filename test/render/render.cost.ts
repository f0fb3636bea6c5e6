import { Range, RangeSet } from 'ipam-kit/cidr'
import { svgMap } from 'ipam-kit/render'
import { expect, test } from 'vitest'
import { oneLine } from '../../src/render/xml.js'
import { msOf } from '../setup/cost.js'

test('labels of a map cost what they are, not what they could be', () => {
  const addresses = Array.from({ length: 65_536 }, (_, i) => `10.0.${i >> 8}.${i & 255}`)
  const labels = addresses.map((address, i) => ({ range: Range.parse(`${address}-${address}`), text: `pod-${i}` }))
  const all = RangeSet.parse(['10.0.0.0/16'])
  const inUse = RangeSet.parse(addresses)
  expect(msOf(() => svgMap({ addresses: all, available: all, inUse }, { labels }))).toBeLessThan(5_000)
})

test('oneLine reads no more of a text than it needs', () => {
  const text = 'x'.repeat(50_000_000)
  text.charCodeAt(0) // so that the engine has written it out before the clock starts
  expect(msOf(() => expect(oneLine(text, 5)).toBe('xxxx…'))).toBeLessThan(250)
})
