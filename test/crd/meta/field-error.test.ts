import { expect, test } from 'vitest'
import { formatFieldErrors, invalidField } from '../../../src/crd/meta/field-error.js'

const errorsOf = (count: number) =>
  Array.from({ length: count }, (_, index) => invalidField(`spec.ranges[${index}]`, 'x', 'is no range'))

test('one error stands for itself, several are a list, and each is told once', () => {
  const [first, second] = errorsOf(2)
  expect(formatFieldErrors([first!])).toBe('spec.ranges[0]: Invalid value: "x": is no range')
  expect(formatFieldErrors([first!, first!])).toBe('spec.ranges[0]: Invalid value: "x": is no range')
  expect(formatFieldErrors([first!, second!, first!])).toBe(
    '[spec.ranges[0]: Invalid value: "x": is no range, spec.ranges[1]: Invalid value: "x": is no range]',
  )
})

test('of more than 256 errors the first ones are told, and how many more there are', () => {
  expect(formatFieldErrors(errorsOf(256))).not.toContain('more')
  expect(formatFieldErrors(errorsOf(257))).toMatch(/spec\.ranges\[255\]: Invalid value: "x": is no range, 1 more\]$/)
  const text = formatFieldErrors(errorsOf(65_536))
  expect(text).toMatch(/, 65280 more\]$/)
  expect(text.length).toBeLessThan(20_000)
})
