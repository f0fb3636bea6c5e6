import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SlotMap } from '../../../src/allocator/pool/slot-map.js'

const key = fc.oneof(
  { weight: 6, arbitrary: fc.nat(6) },
  { weight: 2, arbitrary: fc.integer({ min: 1000, max: 20_000_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: -3, max: -1 }) },
  { weight: 1, arbitrary: fc.constantFrom('!a', 'b', 'length', '0') },
)

test('a map of places answers as a Map does', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(key, fc.boolean()), { maxLength: 200 }), (steps) => {
      const model = new Map<number | string, object>()
      const map = new SlotMap<number | string, object>()
      for (const [place, isRemoved] of steps) {
        const value = {}
        if (isRemoved && model.has(place)) {
          model.delete(place)
          map.remove(place)
        } else if (model.has(place)) {
          model.set(place, value)
          map.replace(place, value)
        } else {
          model.set(place, value)
          map.add(place, value)
        }
        expect(map.get(place)).toBe(model.get(place))
      }
      for (const [place] of steps) expect(map.get(place)).toBe(model.get(place))
      expect(new Set(map.values())).toEqual(new Set(model.values()))
      expect([...map.values()]).toHaveLength(model.size)
    }),
  )
})

test('a map finds the few entries that remain of many, and frees the room of the removed ones', () => {
  const map = new SlotMap<number, object>()
  const values = Array.from({ length: 50_000 }, () => ({}))
  values.forEach((value, place) => void map.add(place * 300, value))
  for (let place = 0; place < 50_000; place++) if (place % 1000 !== 7) map.remove(place * 300)
  expect([...map.values()]).toEqual(values.filter((_, place) => place % 1000 === 7))
  for (let place = 7; place < 50_000; place += 1000) expect(map.get(place * 300)).toBe(values[place])
  // one slot over and over
  for (let round = 0; round < 100_000; round++) {
    map.add(0, values[0]!)
    map.remove(0)
  }
  expect(map.get(0)).toBeUndefined()
})
