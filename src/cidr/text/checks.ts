import { ipamError } from '../../errors/failure.js'
import { refuse } from '../../errors/refuse.js'
import type { Address } from '../nouns/types.js'

/**
 * Guards the text parameters of the module against callers without types: `undefined` is a mistake
 * in the calling code, not a malformed address.
 */
export function assertText(text: unknown): asserts text is string {
  if (typeof text !== 'string') refuse('text', 'a string', kindOf(text))
}

/**
 * What a caller without types has given, in a few words. Never the whole of it: it may be long, or
 * not to be written at all.
 */
export function shown(given: unknown): string {
  if (typeof given === 'number' || typeof given === 'boolean') return String(given)
  if (typeof given === 'bigint') return shownBigInt(given)
  return typeof given === 'string' ? `the text ${JSON.stringify(given.slice(0, 32))}` : kindOf(given)
}

function kindOf(given: unknown): string {
  return given === null ? 'null' : Array.isArray(given) ? 'array' : typeof given
}

/**
 * Numbers with millions of digits take seconds to write: beyond all that addresses need, the size
 * has to do.
 */
function shownBigInt(value: bigint): string {
  if (value >= -HUGE && value <= HUGE) return String(value)
  return value < 0n ? 'less than -2^192' : 'more than 2^192'
}

const HUGE = 1n << 192n

/**
 * For a number that may also be a bigint.
 *
 * @throws IpamError `INVALID_ARGUMENT` for anything else, and for a number that is not whole or
 * beyond 2^53
 */
export function assertWhole(argument: string, value: unknown): asserts value is number | bigint {
  if (typeof value === 'bigint' || Number.isSafeInteger(value)) return
  refuse(argument, 'a whole number within 2^53, or a bigint', shown(value))
}

/** An unsigned 32-bit number. */
export function isWord(value: unknown): value is number {
  return typeof value === 'number' && value >>> 0 === value
}

/**
 * Guards what is made of addresses against values that are none: in plain JavaScript nothing else
 * does.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function assertAddress(argument: string, address: Address): void {
  if (address?.family === 4) {
    if (isWord(address.value)) return
  } else if (address?.family === 6) {
    if (isWord(address.w0) && isWord(address.w1) && isWord(address.w2) && isWord(address.w3)) return
  }
  throw notAnAddress(argument, address)
}

export function notAnAddress(argument: string, given: unknown) {
  const expected = 'an address: family 4 with its value, or family 6 with four words'
  return ipamError('INVALID_ARGUMENT', { argument, expected, got: shown(given) })
}

/**
 * Bytes, from whatever realm they come.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function assertBytes(bytes: unknown): void {
  // the name of the class of a typed array, which no object can pretend to have
  const name = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag)
  if (name?.get?.call(bytes) === 'Uint8Array') return
  refuse('bytes', 'a Uint8Array', shown(bytes))
}

/** The name of the class of a built-in value, which is the same in all realms. */
export function tagOf(value: unknown): string {
  return Object.prototype.toString.call(value)
}

/**
 * @throws IpamError `INVALID_PREFIX_LENGTH` unless `length` is a whole number from `min` to `max`;
 * `INVALID_ARGUMENT` if it is no number
 */
export function assertLength(family: 4 | 6, length: number, min = 0, max = family === 4 ? 32 : 128): void {
  if (Number.isInteger(length) && length >= min && length <= max) return
  if (typeof length === 'number') throw ipamError('INVALID_PREFIX_LENGTH', { length, ...(min > 0 ? { min } : {}), max })
  refuse('length', `a whole number from ${min} to ${max}`, shown(length))
}

/**
 * A position in something of `size` members, as a bigint.
 *
 * @throws IpamError `INDEX_OUT_OF_RANGE`; `INVALID_ARGUMENT` for what is no whole number
 */
export function toIndex(index: bigint | number, size: bigint): bigint {
  assertWhole('index', index)
  const at = BigInt(index)
  if (at < 0n || at >= size) throw ipamError('INDEX_OUT_OF_RANGE', { index: shown(index), size: String(size) })
  return at
}
