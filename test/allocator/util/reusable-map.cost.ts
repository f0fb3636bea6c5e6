import { expect, test } from 'vitest'
import { ReusableMap } from '../../../src/allocator/util/reusable-map.js'
import { msOf } from '../../setup/cost.js'

test('one key that comes and goes among many costs what it costs among few', () => {
  const churn = (others: number) => {
    const map = new ReusableMap<number, object>()
    for (let key = 0; key < others; key++) map.add(key, {})
    return msOf(() => {
      for (let i = 0; i < 20_000; i++) {
        map.add(-1, {})
        map.remove(-1)
      }
    })
  }
  churn(10)
  // a plain Map takes hundreds of times as long for the second
  expect(churn(50_000)).toBeLessThan(50 + 20 * churn(10))
})
