import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runs } from '../../setup/depth.js'
import { schemasOf } from './schemas.js'
import { accepts, type Schema } from './validator.js'

// The keywords of a manifest and the checks of `validate` are written down once. Here a validator
// that knows the keywords only judges the same objects: whole ones, and those with something wrong
// in them.

/**
 * Values that a schema takes, often at its limits, and now and then one that it does not: one of so
 * many for each field.
 */
function valuesOf(schema: Schema, odds: number): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: odds, arbitrary: properValuesOf(schema, odds) }, { weight: 1, arbitrary: wrong })
}

/** A schema with many fields is given wrong values more rarely, or no object would be right. */
function oddsOf(schema: Schema): number {
  return Math.max(30, 2 * countFields(schema))
}

function countFields({ properties, items, additionalProperties }: Schema): number {
  const inner = [...Object.values(properties ?? {}), items, additionalProperties].filter((one) => one !== undefined)
  return inner.reduce((sum: number, one) => sum + countFields(one as Schema), 1)
}

const wrong = fc.constantFrom<unknown>(
  null,
  0,
  -1,
  1.5,
  129,
  2 ** 31,
  '',
  'A b',
  'x'.repeat(254),
  '😀'.repeat(253),
  true,
  [],
  [null],
  {},
)

function properValuesOf(schema: Schema, odds: number): fc.Arbitrary<unknown> {
  switch (schema.type) {
    case 'string':
      return textOf(schema, odds)
    case 'boolean':
      return fc.boolean()
    case 'integer':
      return fc.integer({
        min: (schema.minimum as number | undefined) ?? -5,
        max: (schema.maximum as number | undefined) ?? 2 ** 31 - 1,
      })
    case 'array':
      return fc.oneof(
        {
          weight: Math.ceil(odds / 3),
          arbitrary: fc.array(valuesOf(schema.items as Schema, odds), { minLength: leastOf(schema), maxLength: 2 }),
        },
        { weight: 1, arbitrary: fc.constant([]) },
      )
    default:
      return objectOf(schema, odds)
  }
}

function leastOf(schema: Schema): number {
  return (schema.minItems as number | undefined) ?? 0
}

function textOf(schema: Schema, odds: number): fc.Arbitrary<unknown> {
  if (schema.enum !== undefined) return fc.constantFrom(...(schema.enum as string[]))
  if (schema.format === 'date-time') return fc.constantFrom('2026-01-01T00:00:00Z', '2026-01-01T00:00:00.5+02:00')
  const most = Math.min((schema.maxLength as number | undefined) ?? 20, 400)
  const some = [
    '6c90b532-7ba0-418a-a276-5ae55060b5b0',
    'a',
    '0',
    'Ready',
    '10.0.0.1',
    'fd00::1',
    '10.0.0.0/24',
    '02:00:00:00:00:01',
    'a'.repeat(most),
  ]
  const proper = some.filter((value) => accepts(schema, value))
  return fc.oneof(
    { weight: Math.ceil((2 * odds) / 3), arbitrary: fc.constantFrom(...proper) },
    { weight: 1, arbitrary: fc.constantFrom('', 'A', '10.0.0.256', 'a'.repeat(most + 1)) },
  )
}

function objectOf(schema: Schema, odds: number): fc.Arbitrary<unknown> {
  const properties = Object.entries((schema.properties ?? {}) as { readonly [name: string]: Schema })
  const requiredKeys = ((schema.required ?? []) as string[]).filter((name) =>
    properties.some(([known]) => known === name),
  )
  const known = fc.record(Object.fromEntries(properties.map(([name, inner]) => [name, valuesOf(inner, odds)])), {
    requiredKeys,
  })
  const whole =
    schema.additionalProperties === undefined
      ? known
      : fc.dictionary(fc.constantFrom('a', 'b'), valuesOf(schema.additionalProperties as Schema, odds))
  return fc.oneof(
    { weight: 9, arbitrary: whole },
    { weight: 1, arbitrary: whole.map((fields) => ({ ...(fields as object), unknown: 1 })) },
  )
}

describe('what the manifest says is what validate says', () => {
  test.each(schemasOf())('$name', ({ apiVersion, model, schema }) => {
    const { spec, status } = schema.properties as { readonly [name: string]: Schema }
    const odds = oddsOf(schema)
    const fields = fc.record(
      { spec: valuesOf(spec as Schema, odds), ...(status && { status: valuesOf(status, odds) }) },
      { requiredKeys: [] },
    )
    const count = runs(3)
    let taken = 0
    fc.assert(
      fc.property(fields, (parts) => {
        const object = { apiVersion, kind: model.info.kind, metadata: {}, ...parts }
        const expected = accepts(schema, object)
        if (expected) taken++
        expect(model.validate(object).length === 0, JSON.stringify(model.validate(object))).toBe(expected)
      }),
      // of a small kind nearly all random objects are taken
      { numRuns: count, examples: [[{ spec: 1 }]] },
    )
    // a third to nine tenths of them are
    expect(taken).toBeGreaterThan(count / 20)
    expect(taken).toBeLessThan(count)
  })
})

describe('what an API server stores can be read', () => {
  const stored = schemasOf().filter(({ apiVersion, model }) => apiVersion === model.info.apiVersion)

  test.each(stored)('$name', ({ apiVersion, model, schema }) => {
    const { spec, status } = schema.properties as { readonly [name: string]: Schema }
    const odds = oddsOf(schema)
    const parts = { spec: valuesOf(spec as Schema, odds), ...(status && { status: valuesOf(status, odds) }) }
    fc.assert(
      fc.property(fc.record(parts, { requiredKeys: ['spec'] }), (fields) => {
        const object = { apiVersion, kind: model.info.kind, metadata: { name: 'x' }, ...fields }
        fc.pre(fields.spec !== null && model.validate(object).length === 0)
        expect(model.safeParse(object)).toMatchObject({ ok: true })
      }),
    )
  })
})
