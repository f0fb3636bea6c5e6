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

  test('remarks are dropped, at any depth', () => {
    const given = { ...whole, note: 'blue', claims: [{ name: 'c', finalizers: null, comment: 'red' }] }
    expect(readInput(schema, given).data).toEqual(whole)
  })

  test.each<readonly [string, object]>([
    ['at the top', { ...whole, colour: 'blue' }],
    ['deeper', { ...whole, claims: [{ name: 'c', colour: 'red' }] }],
    ['beside a remark', { ...whole, note: 'n', colour: 'blue' }],
  ])('a member that the schema does not have is no input: %s', (_, given) => {
    const read = readInput(schema, given)
    expect(read.success).toBe(false)
    expect(read.error?.message).toContain('colour')
  })

  test('a list as text is the list, and a list of texts is the text', () => {
    const lists = z.strictObject({ steps: z.array(z.string()), cidr: z.string() })
    const read = readInput(lists, { steps: 'next, release 1 then next', cidr: ['10.0.0.0/8', 'fd00::/64'] })
    expect(read.data).toEqual({ steps: ['next', 'release 1', 'next'], cidr: '10.0.0.0/8,fd00::/64' })
  })

  test('of several forms the nearest is meant', () => {
    const union = z.union([z.strictObject({ machine: z.string(), label: z.string().optional() }), claim])
    expect(readInput(union, { machine: 'a', label: null }).data).toEqual({ machine: 'a' })
    expect(readInput(union, { finalizers: ['a'] }).data).toEqual({ name: '', finalizers: ['a'] })
  })

  test('the nearest form that can be completed is taken, however deep its members are', () => {
    const pool = z.union([
      z.array(z.string()),
      z.strictObject({ cidrs: z.array(z.string()), avoid: z.boolean().optional() }),
    ])
    const pools = z.record(z.string(), pool)
    const forms = z.union([z.strictObject({ pools }), z.strictObject({ pools, steps: z.array(z.string()) })])
    expect(readInput(pool, { cidrs: null }).data).toEqual({ cidrs: [] })
    // a form that has too few members for the input is not nearer than one with a member that is
    // null
    expect(readInput(forms, { pools: {}, steps: null }).data).toEqual({ pools: {}, steps: [] })
    expect(readInput(pool, [null, 'a']).data).toEqual(['a'])
    const given = {
      pools: { a: { cidrs: ['x', null], avoid: null }, b: [null, 'y'], c: {} },
      steps: [],
    }
    expect(readInput(forms, given).data).toEqual({
      pools: { a: { cidrs: ['x'] }, b: ['y'], c: { cidrs: [] } },
      steps: [],
    })
  })

  test('a number as text is the number', () => {
    expect(readInput(schema, { ...whole, count: '17' }).data).toEqual({ ...whole, count: 17 })
    expect(readInput(schema, { ...whole, count: 'seventeen' }).success).toBe(false)
    expect(readInput(schema, { ...whole, count: '9007199254740993' }).success).toBe(false)
  })

  test('another type, or no object, is no input', () => {
    for (const given of [{ ...whole, vm: 7 }, null, [], 'x']) expect(readInput(schema, given).success).toBe(false)
  })
})
