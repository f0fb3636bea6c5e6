import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { readInput } from './read-input.js'

const claim = z.strictObject({ name: z.string(), finalizers: z.array(z.string()).optional() })
const schema = z.strictObject({
  vm: z.string(),
  count: z.number(),
  isDeleting: z.boolean(),
  labels: z.record(z.string(), z.string()),
  claims: z.array(claim),
  address: claim.nullable(),
})
const whole = { vm: 'a', count: 1, isDeleting: true, labels: { a: 'b' }, claims: [{ name: 'c' }], address: null }

describe('an input is read as Go reads it', () => {
  test('what fits stays as it is', () => {
    expect(readInput(schema, whole)).toEqual({ success: true, data: whole })
  })

  test.each([
    ['vm', ''],
    ['count', 0],
    ['isDeleting', false],
    ['labels', {}],
    ['claims', []],
  ])('%s that is null or not there has its zero value', (member, zero) => {
    const { [member]: _, ...rest } = whole as { readonly [key: string]: unknown }
    for (const given of [rest, { ...rest, [member]: null }]) {
      expect(readInput(schema, given).data).toEqual({ ...whole, [member]: zero })
    }
  })

  test('unknown members are dropped, at any depth', () => {
    const given = { ...whole, colour: 'blue', claims: [{ name: 'c', finalizers: null, colour: 'red' }] }
    expect(readInput(schema, given).data).toEqual(whole)
  })

  test('of several forms the nearest is meant', () => {
    const union = z.union([z.strictObject({ machine: z.string(), label: z.string().optional() }), claim])
    expect(readInput(union, { machine: 'a', label: null }).data).toEqual({ machine: 'a' })
    expect(readInput(union, { finalizers: ['a'] }).data).toEqual({ name: '', finalizers: ['a'] })
  })

  test('another type, or no object, is no input', () => {
    for (const given of [{ ...whole, vm: 7 }, null, [], 'x']) expect(readInput(schema, given).success).toBe(false)
  })
})
