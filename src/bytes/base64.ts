// Base64 with padding (RFC 4648, section 4), without what a platform may or may not bring.

import { textOf } from './codes.js'

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
/** Stays below 0 wherever it is shifted to among four digits. */
const NO_DIGIT = -1
/** By character code. */
const DIGITS: Int32Array = /* @__PURE__ */ digits()
const PADDING = 0x3d

export function toBase64(bytes: Uint8Array): string {
  const codes = new Uint8Array(Math.ceil(bytes.length / 3) * 4).fill(PADDING)
  let at = 0
  for (let i = 0; i < bytes.length; i += 3) {
    const left = bytes.length - i
    const bits = (bytes[i]! << 16) | ((left > 1 ? bytes[i + 1]! : 0) << 8) | (left > 2 ? bytes[i + 2]! : 0)
    codes[at] = ALPHABET.charCodeAt(bits >>> 18)
    codes[at + 1] = ALPHABET.charCodeAt((bits >>> 12) & 63)
    if (left > 1) codes[at + 2] = ALPHABET.charCodeAt((bits >>> 6) & 63)
    if (left > 2) codes[at + 3] = ALPHABET.charCodeAt(bits & 63)
    at += 4
  }
  return textOf(codes)
}

/** How many bytes a text stands for, if it is Base64. */
export function base64Length(text: string): number {
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
  return Math.max(0, Math.floor(text.length / 4) * 3 - padding)
}

/**
 * The bytes of a text, in `to`, which has to be as long as they are.
 *
 * @returns where the text goes wrong, or -1
 */
export function fromBase64(text: string, to: Uint8Array): number {
  const whole = to.length - (to.length % 3)
  let at = 0
  let i = 0
  for (; i < whole; i += 3, at += 4) {
    const a = text.charCodeAt(at)
    const b = text.charCodeAt(at + 1)
    const c = text.charCodeAt(at + 2)
    const d = text.charCodeAt(at + 3)
    const bits = (DIGITS[a & 127]! << 18) | (DIGITS[b & 127]! << 12) | (DIGITS[c & 127]! << 6) | DIGITS[d & 127]!
    // one look at all four: the sign for what is no digit, and codes that no table has
    if (bits < 0 || (a | b | c | d) > 127) return firstWrong(text, at)
    to[i] = bits >>> 16
    to[i + 1] = bits >>> 8
    to[i + 2] = bits
  }
  return lastGroup(text, at, to, i)
}

/** The last characters: one or two bytes with padding, or none at all. */
function lastGroup(text: string, at: number, to: Uint8Array, i: number): number {
  const left = to.length - i
  if (left === 0) return text.length === at ? -1 : Math.min(at, text.length)
  const bits = (digitAt(text, at) << 18) | (digitAt(text, at + 1) << 12) | (left > 1 ? digitAt(text, at + 2) << 6 : 0)
  for (let k = 0; k < 4; k++) {
    const code = text.charCodeAt(at + k)
    if (k > left ? code !== PADDING : digitAt(text, at + k) === NO_DIGIT) return at + k
  }
  // bits that no byte has
  if ((bits & (left > 1 ? 0xff : 0xffff)) !== 0) return at + left
  to[i] = bits >>> 16
  if (left > 1) to[i + 1] = bits >>> 8
  return text.length === at + 4 ? -1 : at + 4
}

/** The first character from one on that is no digit, of which there is one. */
function firstWrong(text: string, at: number): number {
  let wrong = at
  while (digitAt(text, wrong) !== NO_DIGIT) wrong++
  return wrong
}

function digitAt(text: string, at: number): number {
  const code = text.charCodeAt(at)
  return code < 128 ? DIGITS[code]! : NO_DIGIT
}

function digits(): Int32Array {
  const table = new Int32Array(128).fill(NO_DIGIT)
  for (let i = 0; i < 64; i++) table[ALPHABET.charCodeAt(i)] = i
  return table
}
