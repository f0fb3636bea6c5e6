import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MultiMap } from '../../../src/allocator/util/multi-map.js'

interface Item {
  readonly inner: number
}

const step = fc.record({
  do: fc.constantFrom('add', 'delete', 'deleteAll'),
  key: fc.nat(4),
  inner: fc.nat(4),
})

test('a multi map is a map of maps', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const map = new MultiMap<number, number, Item>((item) => item.inner)
      const model = new Map<number, Map<number, Item>>()
      for (const { do: what, key, inner } of steps) {
        const under = model.get(key) ?? new Map<number, Item>()
        model.set(key, under)
        if (what === 'add' && !under.has(inner)) {
          const item = { inner }
          under.set(inner, item)
          expect(map.add(key, item)).toBe(under.size === 1)
        } else if (what === 'delete') {
          // the value itself, or one that has its key
          const item = key % 2 === 0 ? under.get(inner) : undefined
          under.delete(inner)
          expect(map.delete(key, item ?? { inner })).toBe(under.size === 0)
        } else if (what === 'deleteAll') {
          expect(map.deleteAll(key)).toEqual([...under.values()])
          under.clear()
        }
        expect(map.find(key, inner)).toBe(under.get(inner))
        expect(map.hasAny(key)).toBe(under.size > 0)
        expect(map.get(key)).toEqual([...under.values()])
      }
      const all = [...model.values()].flatMap((under) => [...under.values()])
      const order = (items: readonly Item[]) => items.map((item) => item.inner).toSorted()
      expect(order([...map.values()])).toEqual(order(all))
    }),
  )
})
