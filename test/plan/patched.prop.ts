import fc from 'fast-check'
import type { Json, JsonPatch, KubeObject, MergePatch } from 'ipam-kit/plan'
import { describe, expect, it } from 'vitest'
import { patched } from '../../src/plan/patched.js'
import { runs } from '../setup/depth.js'
import { createIn, newStore, ref } from '../store/memory-fixture.js'

// few keys and values, so that paths lead somewhere
const key = fc.constantFrom('a', 'b', 'a', 'b', '0', '', 'c/d', 'e~f', '__proto__')
const { json, list } = fc.letrec<{ json: Json; list: Json[] }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom<Json>(null, 0, 'x', true),
    tie('list'),
    fc.dictionary(key, tie('json'), { maxKeys: 4, noNullPrototype: true }),
  ),
  list: fc.array(tie('json'), { maxLength: 3 }),
}))
const spec = fc.record({ a: json, b: list })

const step = fc.oneof(
  { weight: 6, arbitrary: key },
  { weight: 3, arbitrary: fc.constantFrom('0', '1', '2', '-', '-1', '-2', '+1', '01') },
)
const pointer = fc
  .tuple(fc.constantFrom('a', 'b'), fc.array(step, { maxLength: 2 }))
  .map((keys) => `/spec/${keys.flat().map(escaped).join('/')}`)
const value = fc.oneof(json, fc.constant({ a: undefined, b: [undefined] } as unknown as Json))
const jsonPatch: fc.Arbitrary<JsonPatch> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ op: fc.constantFrom('add' as const, 'replace' as const), path: pointer, value }),
    },
    { weight: 2, arbitrary: fc.record({ op: fc.constant('remove' as const), path: pointer }) },
    {
      weight: 4,
      arbitrary: fc.record({ op: fc.constantFrom('move' as const, 'copy' as const), from: pointer, path: pointer }),
    },
    { weight: 1, arbitrary: fc.record({ op: fc.constant('test' as const), path: pointer, value: fc.constant(null) }) },
  ),
  { minLength: 1, maxLength: 3 },
)
const mergePatch: fc.Arbitrary<MergePatch> = fc.record({
  spec: fc.dictionary(key, fc.oneof(value, fc.constant(undefined as unknown as Json)), { noNullPrototype: true }),
})

describe('patched', () => {
  it.each<[string, fc.Arbitrary<JsonPatch | MergePatch>, number]>([
    ['a JSON patch', jsonPatch, 0.1],
    ['a merge patch', mergePatch, 0.9],
  ])('gives what a store makes of %s that it accepts', async (_, patches, share) => {
    const numRuns = runs(20)
    let accepted = 0
    await fc.assert(
      fc.asyncProperty(spec, patches, async (before, patch) => {
        const store = newStore()
        const object = await createIn(store, 'a', { spec: before })
        const text = JSON.stringify(object)
        const stored = await store.patch(ref('a'), patch)
        if (!stored.ok) return
        accepted++
        expect(specText(patched(object, patch))).toBe(specText(stored.value))
        expect(JSON.stringify(object), 'the object before').toBe(text)
      }),
      { numRuns },
    )
    expect(accepted / numRuns).toBeGreaterThan(share)
  })

  it.each<[string, JsonPatch[number]]>([
    ['adds', { op: 'add', path: '/spec/gone/x', value: 1 }],
    ['removes', { op: 'remove', path: '/spec/gone' }],
    ['adds to a list', { op: 'add', path: '/spec/kept/7', value: 1 }],
    ['moves', { op: 'move', from: '/spec/gone', path: '/spec/kept' }],
    ['copies', { op: 'copy', from: '/spec/gone/x', path: '/spec/kept' }],
    ['replaces', { op: 'replace', path: '/spec/gone/x', value: 1 }],
  ])('leaves out what does not fit a selection: one that %s', (_, operation) => {
    const object = { metadata: { name: 'a' }, spec: { kept: [0] } } as unknown as KubeObject
    const last = { op: 'add', path: '/spec/kept/-', value: 2 } as const
    expect(patched(object, [operation, last])).toEqual({ ...object, spec: { kept: [0, 2] } })
  })
})

/** The spec as a text, its keys in order: also a key named `__proto__`. */
function specText({ spec }: KubeObject): string {
  return JSON.stringify(spec, (_, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1))
      : value,
  )
}

function escaped(text: string): string {
  return text.replaceAll('~', '~0').replaceAll('/', '~1')
}
