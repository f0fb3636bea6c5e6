import { test as property } from '@fast-check/vitest'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { quote } from '../../src/errors/quote.js'

describe('quote', () => {
  test.each([
    ['10.0.0.1', '"10.0.0.1"'],
    ['', '""'],
    ['say "hi"\\', '"say \\"hi\\"\\\\"'],
    ['a\nb\r\tc', '"a\\u000ab\\u000d\\u0009c"'],
    ['\0\x1b[31m\x7f\u0085', '"\\u0000\\u001b[31m\\u007f\\u0085"'],
    ['\u00ad\u200b\u202e\u2028\u2029\ufeff', '"\\u00ad\\u200b\\u202e\\u2028\\u2029\\ufeff"'],
    ['\ud800', '"\\ud800"'],
    ['\u{e0001}', '"\\u{e0001}"'],
    ['é 日本 😀', '"é 日本 😀"'],
  ])('of %j is %s', (text, quoted) => {
    expect(quote(text)).toBe(quoted)
  })

  test('shows 64 characters, and says how many there are', () => {
    expect(quote('x'.repeat(64))).toBe(`"${'x'.repeat(64)}"`)
    expect(quote('x'.repeat(65))).toBe(`"${'x'.repeat(64)}…" (65 characters)`)
  })

  test('shows fewer where escapes would make it long', () => {
    expect(quote('\0'.repeat(1000))).toBe(`"${'\\u0000'.repeat(21)}…" (1000 characters)`)
    expect(quote('\0'.repeat(21))).toBe(`"${'\\u0000'.repeat(21)}"`)
    expect(quote('\0'.repeat(22))).toBe(`"${'\\u0000'.repeat(21)}…" (22 characters)`)
  })

  test('that cuts through a character shows the half of it as an escape', () => {
    expect(quote(`${'x'.repeat(63)}😀`)).toBe(`"${'x'.repeat(63)}\\ud83d…" (65 characters)`)
  })

  property.prop([fc.string({ unit: 'binary', maxLength: 80 })])('has no invisible character but spaces', (text) => {
    expect(quote(text)).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u)
  })

  property.prop([fc.string({ unit: 'binary', maxLength: 10 }), fc.string({ unit: 'binary', maxLength: 10 })])(
    'is different for different short texts',
    (left, right) => {
      fc.pre(left !== right)
      expect(quote(left)).not.toBe(quote(right))
    },
  )
})
