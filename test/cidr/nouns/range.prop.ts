import { Address, Range } from 'ipam-kit/cidr'
import { address, range } from 'ipam-kit/testing/arbitraries'
import { describe, expect } from 'vitest'
import { property } from '../property.js'

const value = Address.toBigInt

describe('a range is an interval of numbers', () => {
  property([range()], 10)('its size counts both ends', (any) => {
    expect(Range.size(any)).toBe(value(any.last) - value(any.first) + 1n)
  })

  property([range(), address()], 10)('it contains what lies between its ends', (any, a) => {
    const inside = a.family === any.first.family && value(any.first) <= value(a) && value(a) <= value(any.last)
    expect(Range.contains(any, a)).toBe(inside)
  })

  property([range()], 10)('its borders are sharp', (any) => {
    expect(Range.contains(any, any.first)).toBe(true)
    expect(Range.contains(any, any.last)).toBe(true)
    const [before, after] = [Address.previous(any.first), Address.next(any.last)]
    expect(before !== undefined && Range.contains(any, before)).toBe(false)
    expect(after !== undefined && Range.contains(any, after)).toBe(false)
  })

  property([range()], 10)('parse reads what format writes', (any) => {
    expect(Range.parse(Range.format(any))).toEqual(any)
  })

  property([range(), range()], 5)('of refuses exactly the ends that parse refuses', ({ first }, { last }) => {
    const parsed = Range.safeParse(`${Address.format(first)}-${Address.format(last)}`)
    if (parsed.ok) expect(Range.of(first, last)).toEqual(parsed.value)
    else expect(() => Range.of(first, last)).toThrow(expect.objectContaining({ name: 'IpamError' }))
  })
})
