import { type LabelSelector, matchesLabels } from 'ipam-kit/crd/meta'
import { expect, test } from 'vitest'

const labels = { zone: 'a', empty: '' }
const asks = (key: string, operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist', values?: string[]): LabelSelector => ({
  matchExpressions: [{ key, operator, values }],
})

test.each<[boolean, LabelSelector]>([
  [true, {}],
  [true, { matchLabels: { zone: 'a' } }],
  [false, { matchLabels: { zone: 'b' } }],
  [false, { matchLabels: { zone: 'a', other: '' } }],
  [true, { matchLabels: { empty: '' } }],
  [false, { matchLabels: { toString: 'x' } }],
  [true, asks('zone', 'In', ['b', 'a'])],
  [false, asks('zone', 'In', ['b'])],
  [false, asks('other', 'In', ['', 'a'])],
  [false, asks('zone', 'NotIn', ['a'])],
  [true, asks('zone', 'NotIn', ['b'])],
  [true, asks('other', 'NotIn', ['a'])],
  [true, asks('empty', 'Exists')],
  [false, asks('toString', 'Exists')],
  [true, asks('other', 'DoesNotExist')],
  [false, asks('zone', 'DoesNotExist')],
  [false, { matchLabels: { zone: 'a' }, ...asks('zone', 'NotIn', ['a']) }],
])('it is %s that the labels are those of %j', (expected, selector) => {
  expect(matchesLabels(selector, labels)).toBe(expected)
})

test('an object without labels has none of them', () => {
  expect(matchesLabels({})).toBe(true)
  expect(matchesLabels(asks('zone', 'Exists'))).toBe(false)
})
