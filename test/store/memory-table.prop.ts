import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Table } from '../../src/store/memory/table.js'
import type { StoredObject } from '../../src/store/rules/draft.js'
import { comparePlaces } from '../../src/store/rules/pages.js'

const namespace = fc.constantFrom('', 'a', 'a-b', 'a.b', 'ab', 'b')
// enough of them that removed ones are swept out
const name = fc.integer({ min: 0, max: 60 }).map((n) => `n${n}`)
const place = fc.record({ namespace, name })

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constantFrom('set', 'delete'), place }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('list'), place, hasAfter: fc.boolean(), within: namespace }) },
)

function objectAt({ namespace, name }: { namespace: string; name: string }, version: number): StoredObject {
  return {
    apiVersion: 'v1',
    kind: 'Any',
    metadata: { ...(namespace === '' ? {} : { namespace }), name, resourceVersion: String(version) },
  } as StoredObject
}

describe('the objects of a kind in memory', () => {
  it('are those of a sorted list, wherever it begins', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300, size: 'max' }), (steps) => {
        const table = new Table()
        const model = new Map<string, { place: { namespace: string; name: string }; object: StoredObject }>()
        for (const [version, step] of steps.entries()) {
          const { place } = step
          const key = `${place.namespace}/${place.name}`
          if ('within' in step) {
            const after = step.hasAfter ? place : undefined
            const expected = [...model.values()]
              .filter((each) => step.within === '' || each.place.namespace === step.within)
              .filter((each) => after === undefined || comparePlaces(each.place, after) > 0)
              .sort((left, right) => comparePlaces(left.place, right.place))
            expect([...table.values(step.within, after)]).toEqual(expected.map(({ object }) => object))
          } else if (step.kind === 'set') {
            const object = objectAt(place, version)
            table.set(object)
            model.set(key, { place, object })
          } else {
            table.delete(place.namespace || undefined, place.name)
            model.delete(key)
          }
          expect(table.get(place.namespace || undefined, place.name)).toBe(model.get(key)?.object)
        }
      }),
    )
  })
})
