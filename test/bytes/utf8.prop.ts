import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { fromUtf8, toUtf8, utf8Length } from '../../src/bytes/utf8.js'

// the platform's own, which src/ does without
const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

const units = fc.oneof(
  fc.integer({ min: 0, max: 0x7f }),
  fc.integer({ min: 0x80, max: 0x7ff }),
  fc.integer({ min: 0xd7f0, max: 0xe010 }),
  fc.constantFrom(0, 0x7f, 0x80, 0x7ff, 0x800, 0xd800, 0xdbff, 0xdc00, 0xdfff, 0xfeff, 0xffff),
)
/** Any code units: halves of pairs too. */
const texts = fc.array(units).map((codes) => String.fromCharCode(...codes))

describe('UTF-8 is that of the platform', () => {
  property.prop([texts])('to bytes', (text) => {
    const bytes = toUtf8(text)
    expect(bytes).toEqual(new Uint8Array(encoder.encode(text)))
    expect(utf8Length(text)).toBe(bytes.length)
  })

  property.prop([fc.oneof(texts, fc.string({ unit: 'binary' }))])('and back', (text) => {
    const bytes = encoder.encode(text)
    expect(fromUtf8(bytes)).toBe(decoder.decode(bytes))
  })

  const byte = fc.oneof(
    fc.integer({ min: 0, max: 255 }),
    fc.constantFrom(
      0x80,
      0xbf,
      0xc0,
      0xc1,
      0xc2,
      0xe0,
      0xed,
      0xef,
      0xf0,
      0xf4,
      0xf5,
      0xf8,
      0xff,
      0x9f,
      0xa0,
      0x8f,
      0x90,
    ),
  )
  property.prop([fc.uint8Array({ maxLength: 12 }), fc.array(byte, { maxLength: 6 })])(
    'what is none is refused',
    (some, more) => {
      const bytes = Uint8Array.from([...some, ...more])
      expect(fromUtf8(bytes)).toBe(decoded(bytes))
    },
  )

  test('every code point, alone and long', () => {
    for (let code = 0; code <= 0x10ffff; code += code < 0x11000 ? 1 : 251) {
      if (code >= 0xd800 && code <= 0xdfff) continue
      const text = String.fromCodePoint(code)
      if (fromUtf8(toUtf8(text)) !== text) throw new Error(`U+${code.toString(16)}`)
    }
    const long = 'a€😀ß'.repeat(20_000)
    expect(fromUtf8(toUtf8(long))).toBe(long)
    expect(fromUtf8(encoder.encode('x'.repeat(100_000)))).toBe('x'.repeat(100_000))
  })
})

function decoded(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}
