import { AddressPool } from 'ipam-kit/allocator'
import { Address, RangeSet } from 'ipam-kit/cidr'
import { describe, expect, test } from 'vitest'
import { msOf } from '../../setup/cost.js'

describe('the cost', () => {
  test('of one more interface of an owner does not grow with those that it has', () => {
    const pool = new AddressPool({ ranges: RangeSet.parse(['10.0.0.0/16']) })
    const add = (from: number) => () => {
      for (let i = from; i < from + 2000; i++) pool.allocate({ owner: { uid: 'node', interface: `if${i}` } })
    }
    const first = msOf(add(0))
    for (let from = 2000; from < 8000; from += 2000) add(from)()
    expect(msOf(add(8000))).toBeLessThan(3 * first + 50)
  })
})

test('one owner may hold very many addresses', () => {
  const pool = new AddressPool({ ranges: RangeSet.parse(['10.0.0.0/15']) })
  const ms = msOf(() => {
    for (let i = 0; i < 100_000; i++) pool.occupy(Address.from4(0x0a000000 + i), { uid: 'unknown' })
    expect(pool.releaseOwner('unknown').holds).toHaveLength(100_000)
  })
  // copying its list at every step would take minutes
  expect(ms).toBeLessThan(5000)
})

test('owners with long uids do not take more memory than they are long, many times over', () => {
  const pool = new AddressPool({ ranges: RangeSet.parse(['10.0.0.0/16']) })
  const uid = 'x'.repeat(1024)
  for (let i = 0; i < 20_000; i++) pool.occupy(Address.from4(0x0a000000 + i), { uid })
  const bytes = AddressPool.encode(pool)
  const before = process.memoryUsage().rss
  expect(AddressPool.safeDecode(bytes).ok).toBe(true)
  expect((process.memoryUsage().rss - before) / 2 ** 20).toBeLessThan(200)
})
