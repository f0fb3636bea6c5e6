import { fc, test } from '@fast-check/vitest'
import { byAge } from 'ipam-kit/plan'
import { expect } from 'vitest'
import { PIECE, sortedByAge } from '../../src/plan/sorted-by-age.js'

const object = fc.record({
  apiVersion: fc.constant('v1'),
  kind: fc.constant('Node'),
  metadata: fc.record({
    name: fc.string({ minLength: 1, maxLength: 2 }),
    creationTimestamp: fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z', '2025-01-01T00:00:00Z'),
  }),
})

test.prop([fc.array(object, { maxLength: 40 }), fc.integer({ min: 0, max: 60 })])(
  'objects are sorted as byAge sorts them, of the same age and name in their order',
  (some, times) => {
    // more than one piece, and objects that are equal
    const objects = Array.from({ length: times }, () => some).flat()
    const steps = sortedByAge(objects)
    let pieces = 0
    for (let step = steps.next(); ; step = steps.next()) {
      if (step.done === true) {
        expect(step.value).toHaveLength(objects.length)
        const sorted = [...objects].sort(byAge)
        expect(step.value.every((each, nth) => each === sorted[nth])).toBe(true)
        break
      }
      pieces++
    }
    expect(pieces).toBeGreaterThanOrEqual(Math.floor(objects.length / PIECE))
  },
)
