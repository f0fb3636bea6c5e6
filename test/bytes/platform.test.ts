import { fc, test as property } from '@fast-check/vitest'
import { expect, test } from 'vitest'
import { fromBase64, fromUtf8, toBase64, toUtf8 } from '../../src/bytes/platform.js'
import { utf8Length } from '../../src/bytes/utf8.js'

/** Any code units: halves of pairs too. */
const texts = fc
  .array(fc.oneof(fc.nat(0x7ff), fc.integer({ min: 0xd7f0, max: 0xe010 }), fc.constantFrom(0xfeff, 0xffff)))
  .map((codes) => String.fromCharCode(...codes))

property.prop([texts])('the length of a text in UTF-8 is that of its bytes', (text) => {
  expect(utf8Length(text)).toBe(toUtf8(text).length)
})

property.prop([fc.string({ unit: 'binary' })])('a text is read from UTF-8 as it was', (text) => {
  expect(fromUtf8(toUtf8(text))).toBe(text)
})

test.each([[[0xff]], [[0xc0, 0x80]], [[0xe2, 0x82]], [[0xed, 0xa0, 0x80]], [[0xf5, 0x80, 0x80, 0x80]]])(
  '%j is not UTF-8',
  (bytes) => {
    expect(fromUtf8(Uint8Array.from(bytes))).toBeUndefined()
  },
)

test('a byte order mark is a character', () => {
  expect(fromUtf8(Uint8Array.of(0xef, 0xbb, 0xbf, 0x61))).toBe('\ufeffa')
})

property.prop([fc.uint8Array({ maxLength: 10_000 })])('bytes are read from Base64 as they were', (bytes) => {
  const text = toBase64(bytes)
  expect(text).toBe(Buffer.from(bytes).toString('base64'))
  expect(fromBase64(text)).toEqual(bytes)
})

property.prop([
  fc.oneof(
    fc.string({ maxLength: 12 }),
    fc.base64String({ maxLength: 12 }).map((text) => ` ${text}`),
  ),
])('a text that is not what Base64 writes is refused', (text) => {
  const isFine = Buffer.from(text, 'base64').toString('base64') === text
  expect(fromBase64(text) !== undefined).toBe(isFine)
})
