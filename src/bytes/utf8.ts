// UTF-8 (RFC 3629), without what a platform may or may not bring.

import { textOf } from './codes.js'

/** What stands for half a surrogate pair, which UTF-8 can not write. */
const REPLACEMENT = 0xfffd

/** The bytes of a text in UTF-8; half a surrogate pair counts as the replacement character. */
export function utf8Length(text: string): number {
  let bytes = text.length
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit < 0x80) continue
    bytes += unit < 0x800 ? 1 : 2
    // the low half of a pair: both halves together are four bytes
    if (isHighSurrogate(unit) && isLowSurrogate(text.charCodeAt(index + 1))) index++
  }
  return bytes
}

/** A text in UTF-8; half a surrogate pair becomes the replacement character. */
export function toUtf8(text: string): Uint8Array {
  const bytes = new Uint8Array(utf8Length(text))
  let at = 0
  for (let i = 0; i < text.length; i++) {
    let code = text.charCodeAt(i)
    if (code < 0x80) {
      bytes[at++] = code
      continue
    }
    if (code < 0x800) {
      bytes[at++] = 0xc0 | (code >>> 6)
      bytes[at++] = 0x80 | (code & 63)
      continue
    }
    const next = text.charCodeAt(i + 1)
    if (isHighSurrogate(code) && isLowSurrogate(next)) {
      i++
      code = 0x10000 + ((code & 0x3ff) << 10) + (next & 0x3ff)
      bytes[at++] = 0xf0 | (code >>> 18)
      bytes[at++] = 0x80 | ((code >>> 12) & 63)
    } else {
      if (isHighSurrogate(code) || isLowSurrogate(code)) code = REPLACEMENT
      bytes[at++] = 0xe0 | (code >>> 12)
    }
    bytes[at++] = 0x80 | ((code >>> 6) & 63)
    bytes[at++] = 0x80 | (code & 63)
  }
  return bytes
}

/** The text of bytes, all of it: a byte order mark is a character. `undefined` if they are not UTF-8. */
export function fromUtf8(bytes: Uint8Array): string | undefined {
  let i = 0
  while (i < bytes.length && bytes[i]! < 0x80) i++
  if (i === bytes.length) return textOf(bytes)
  const units = new Uint16Array(bytes.length)
  units.set(bytes.subarray(0, i))
  let at = i
  while (i < bytes.length) {
    const first = bytes[i++]!
    if (first < 0x80) {
      units[at++] = first
      continue
    }
    const more = first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3
    if (first < 0xc0 || first > 0xf7 || i + more > bytes.length) return undefined
    let code = first & (0x3f >> more)
    for (const end = i + more; i < end; i++) {
      const byte = bytes[i]!
      if (byte >>> 6 !== 2) return undefined
      code = (code << 6) | (byte & 63)
    }
    // as short as it can be, no half of a pair, no more than Unicode has
    if (code < SMALLEST[more]! || code > 0x10ffff || isHighSurrogate(code) || isLowSurrogate(code)) return undefined
    if (code > 0xffff) {
      units[at++] = 0xd800 | ((code - 0x10000) >>> 10)
      units[at++] = 0xdc00 | (code & 0x3ff)
    } else units[at++] = code
  }
  return textOf(units.subarray(0, at))
}

/** The first code that needs so many bytes behind the first. */
const SMALLEST = [0, 0x80, 0x800, 0x10000] as const

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff
}
