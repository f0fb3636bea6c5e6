import { fc, test } from '@fast-check/vitest'
import { describe, expect } from 'vitest'
import { base64Length, fromBase64, toBase64 } from '../../src/bytes/base64.js'

describe('Base64 is that of Node', () => {
  test.prop([fc.uint8Array({ maxLength: 200 })])('there and back', (bytes) => {
    const text = toBase64(bytes)
    expect(text).toBe(Buffer.from(bytes).toString('base64'))
    expect(base64Length(text)).toBe(bytes.length)
    const back = new Uint8Array(base64Length(text))
    expect(fromBase64(text, back)).toBe(-1)
    expect(back).toEqual(bytes)
  })

  test.prop([fc.string({ maxLength: 12 })])('what is none is refused, whatever its length', (text) => {
    const to = new Uint8Array(base64Length(text))
    const isFine = Buffer.from(text, 'base64').toString('base64') === text
    expect(fromBase64(text, to) === -1).toBe(isFine)
  })
})
