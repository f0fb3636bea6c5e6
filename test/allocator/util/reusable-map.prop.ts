import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ReusableMap } from '../../../src/allocator/util/reusable-map.js'

const step = fc.record({
  do: fc.constantFrom('set', 'delete', 'get'),
  key: fc.nat(60),
  value: fc.nat(5).map((n) => n + 1),
})

test('a reusable map is a map', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
      const map = new ReusableMap<number, number>()
      const model = new Map<number, number>()
      for (const { do: what, key, value } of steps) {
        if (what === 'set') {
          if (model.has(key)) map.replace(key, value)
          else map.add(key, value)
          model.set(key, value)
        } else if (what === 'delete' && model.has(key)) {
          map.remove(key)
          model.delete(key)
        }
        expect(map.get(key)).toBe(model.get(key))
        expect(map.size).toBe(model.size)
      }
      expect([...map.values()].toSorted()).toEqual([...model.values()].toSorted())
    }),
  )
})

test('what is left of many keys is all there', () => {
  const map = new ReusableMap<number, number>()
  for (let key = 0; key < 300; key++) map.add(key, key + 1)
  for (let key = 0; key < 300; key++) if (key % 10 !== 0) map.remove(key)
  expect(map.size).toBe(30)
  const left = Array.from({ length: 30 }, (_, i) => 10 * i)
  expect(left.map((key) => map.get(key))).toEqual(left.map((key) => key + 1))
  expect([...map.values()].toSorted((a, b) => a - b)).toEqual(left.map((key) => key + 1))
  expect(map.get(1)).toBeUndefined()
})
