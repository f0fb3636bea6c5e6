import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ClaimsByAge } from '../../../src/provider/claims/claims-by-age.js'
import { claim } from '../in-cluster/world.js'

const key = fc.integer({ min: 0, max: 12 }).map((number) => `IPAddressClaim default/c${number}`)
const age = fc.option(
  fc.integer({ min: 0, max: 4 }).map((second) => `2026-01-01T00:00:0${second}Z`),
  { nil: undefined },
)
const step = fc.oneof(
  fc.record({ do: fc.constant('add' as const), key, age }),
  fc.record({ do: fc.constant('delete' as const), key }),
  fc.record({ do: fc.constant('read' as const) }),
)

test('claims come oldest first, whichever were added and removed meanwhile', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const line = new ClaimsByAge()
      const model = new Map<string, string>()
      for (const each of steps) {
        if (each.do === 'add') {
          const { metadata, ...rest } = claim('c')
          line.add(each.key, { ...rest, metadata: { ...metadata, creationTimestamp: each.age } })
          model.set(each.key, each.age ?? '')
        }
        if (each.do === 'delete') {
          line.delete(each.key)
          model.delete(each.key)
        }
        if (each.do !== 'read') continue
        const sorted = [...model].map(([text, born]) => `${born} ${text}`).sort()
        expect([...line].map((text) => `${model.get(text)} ${text}`)).toEqual(sorted)
      }
    }),
  )
})
