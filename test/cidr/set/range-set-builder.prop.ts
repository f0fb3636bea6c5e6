import fc from 'fast-check'
import { Address, type Prefix, type Range, RangeSet } from 'ipam-kit/cidr'
import { prefix, range, rangeSetIn } from 'ipam-kit/testing/arbitraries'
import { describe, expect, test } from 'vitest'
import { property } from '../property.js'
import { windows } from '../windows.js'

type Member = Address | Prefix | Range | RangeSet

const toSet = (member: Member): RangeSet => {
  if ('family' in member) return RangeSet.fromAddresses([member])
  if ('length' in member) return RangeSet.fromPrefixes([member])
  return 'first' in member ? RangeSet.fromRanges([member]) : member
}

const member: fc.Arbitrary<Member> = fc.oneof(
  ...windows.map(({ base, size }) => fc.nat(size - 1).map((offset) => Address.add(base, offset))),
  ...windows.map(({ base, size }) => rangeSetIn(base, size)),
  prefix(),
  range(),
)

property([fc.array(fc.tuple(fc.boolean(), member), { maxLength: 30 })], 3)(
  'is what union and subtract make of the same steps',
  (steps) => {
    const builder = RangeSet.builder()
    let model = RangeSet.empty
    for (const [adds, some] of steps) {
      if (adds) builder.add(some)
      else builder.remove(some)
      model = adds ? RangeSet.union(model, toSet(some)) : RangeSet.subtract(model, toSet(some))
    }
    expect(builder.build()).toEqual(model)
  },
)

// what was noted is taken over as it lies: it must not be written over by what is noted next
test.each([1, 2, 3, 4, 8, 16, 64])('%i of each, added and removed again and again', (count) => {
  const addresses = (base: string, from: number) =>
    Array.from({ length: count }, (_, index) => Address.add(Address.parse(base), (from + index) * 2))
  const builder = RangeSet.builder()
  let model = RangeSet.empty
  for (const base of ['10.0.0.0', 'fd00::']) {
    for (const round of [0, 1, 2, 3]) {
      const [more, less] = [addresses(base, round * count), addresses(base, round * count + (round % 2) - 1)]
      for (const each of more) builder.add(each)
      for (const each of less) builder.remove(each)
      const added = RangeSet.union(model, RangeSet.fromAddresses(more))
      model = RangeSet.subtract(added, RangeSet.fromAddresses(less))
    }
  }
  expect(builder.build()).toEqual(model)
})

describe('a builder that has built', () => {
  test.each([
    ['add', () => closed().add(Address.parse('10.0.0.1'))],
    ['remove', () => closed().remove(Address.parse('10.0.0.1'))],
    ['build', () => closed().build()],
  ])('refuses %s', (_, act) => {
    expect(act).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }))
  })
})

test('a range upside down leaves the builder as it was', () => {
  const builder = RangeSet.builder().add(Address.parse('10.0.0.1'))
  const [first, last] = [Address.parse('10.0.0.9'), Address.parse('10.0.0.8')]
  expect(() => builder.add({ first, last })).toThrow(expect.objectContaining({ code: 'INVALID_RANGE' }))
  expect(() => builder.add({ first, last: Address.parse('::') })).toThrow(
    expect.objectContaining({ code: 'FAMILY_MISMATCH' }),
  )
  expect(RangeSet.format(builder.build())).toEqual(['10.0.0.1-10.0.0.1'])
})

function closed() {
  const builder = RangeSet.builder()
  builder.build()
  return builder
}
