import { Address, RangeSet } from 'ipam-kit/cidr'
import { expect, test } from 'vitest'
import { msOf } from '../setup/cost.js'

test('what has ten million digits is refused at once', () => {
  const address = Address.parse('10.0.0.1')
  const set = RangeSet.parse(['10.0.0.0/8'])
  const huge = 1n << 33_000_000n
  const ms = msOf(() => {
    for (const value of [huge, -huge]) {
      expect(() => Address.add(address, value)).toThrow()
      expect(() => Address.fromBigInt(6, value)).toThrow()
      expect(() => RangeSet.at(set, value)).toThrow()
    }
  })
  // the digits alone take ten seconds
  expect(ms).toBeLessThan(2000)
})
