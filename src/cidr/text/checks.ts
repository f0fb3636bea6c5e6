import { INDEX_OUT_OF_RANGE, INVALID_ARGUMENT, INVALID_PREFIX_LENGTH } from '../../errors/definitions.js'
import { ipamError } from '../../errors/failure.js'
import { kindOf, refuseIn, shown, wrongArgument } from '../../errors/refuse.js'
import type { Address, Address4 } from '../nouns/types.js'

export { shown } from '../../errors/refuse.js'

/**
 * Guards the text parameters of the module against callers without types: `undefined` is a mistake
 * in the calling code, not a malformed address.
 *
 * @param of the function as callers write it, in this and all other checks: `Address.parse`
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function assertText(of: string, text: unknown): asserts text is string {
  if (typeof text !== 'string') refuseIn(of, 'text', 'a string', text)
}

/** The context of the failure that `safeParse` answers for a value that is not a text. */
export function notAText(given: unknown) {
  return { text: shown(given), position: 0, problem: `not a text, but ${kindOf(given)}` }
}

/** @throws IpamError `INVALID_ARGUMENT` */
export function assertFamily(of: string, family: unknown): asserts family is 4 | 6 {
  if (family !== 4 && family !== 6) refuseIn(of, 'family', '4 or 6', family)
}

/**
 * For a number that may also be a bigint.
 *
 * @throws IpamError `INVALID_ARGUMENT` for anything else, and for a number that is not whole or
 * beyond 2^53
 */
export function assertWhole(of: string, argument: string, value: unknown): asserts value is number | bigint {
  if (typeof value === 'bigint' || Number.isSafeInteger(value)) return
  refuseIn(of, argument, 'a whole number within 2^53, or a bigint', value)
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
export function assertAddress(of: string, argument: string, address: unknown): asserts address is Address {
  if (!isAddress(address as Address)) throw notAnAddress(of, argument, address)
}

export function isAddress(address: Address): boolean {
  if (address?.family === 4) return isWord(address.value)
  return address?.family === 6 && isWord(address.w0) && isWord(address.w1) && isWord(address.w2) && isWord(address.w3)
}

/** The kind of an argument that is an address. */
export function whyNotAddress(given: unknown): string | undefined {
  return isAddress(given as Address) ? undefined : AN_ADDRESS
}

const AN_ADDRESS = 'an address: family 4 with its value, or family 6 with four words'

/** @throws IpamError `INVALID_ARGUMENT` */
export function assertIPv4(of: string, argument: string, address: unknown): asserts address is Address4 {
  assertAddress(of, argument, address)
  if (address.family === 4) return
  const context = { function: of, argument, expected: 'an IPv4 address', got: 'an IPv6 address' }
  throw ipamError(INVALID_ARGUMENT, context)
}

export function notAnAddress(of: string, argument: string, given: unknown) {
  return wrongArgument(of, argument, AN_ADDRESS, given, typeof given === 'string' ? 'Address.parse' : undefined)
}

/**
 * Bytes, from whatever realm they come.
 *
 * @throws IpamError `INVALID_ARGUMENT`
 */
export function assertBytes(of: string, bytes: unknown): asserts bytes is Uint8Array {
  if (!isBytes(bytes)) refuseIn(of, 'bytes', 'a Uint8Array', bytes)
}

export function isBytes(given: unknown): given is Uint8Array {
  // the name of the class of a typed array, which no object can pretend to have
  const name = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag)
  return name?.get?.call(given) === 'Uint8Array'
}

/** The context of the failure that `safeDecode` answers for a value that is not a Uint8Array. */
export function notBytes(what: string, given: unknown) {
  return { what, position: 0, problem: `${shown(given)}, expected a Uint8Array` }
}

/** The name of the class of a built-in value, which is the same in all realms. */
export function tagOf(value: unknown): string {
  return Object.prototype.toString.call(value)
}

/**
 * @throws IpamError `INVALID_PREFIX_LENGTH` unless `length` is a whole number from `min` to `max`;
 * `INVALID_ARGUMENT` if it is no number
 */
export function assertLength(of: string, family: 4 | 6, length: number, min = 0, max = family === 4 ? 32 : 128): void {
  if (Number.isInteger(length) && length >= min && length <= max) return
  if (typeof length === 'number') throw ipamError(INVALID_PREFIX_LENGTH, { length, ...(min > 0 ? { min } : {}), max })
  refuseIn(of, 'length', `a whole number from ${min} to ${max}`, length)
}

/**
 * A position in something of `size` members, as a bigint.
 *
 * @throws IpamError `INDEX_OUT_OF_RANGE`; `INVALID_ARGUMENT` for a value that is not a whole number
 */
export function toIndex(of: string, index: bigint | number, size: bigint): bigint {
  assertWhole(of, 'index', index)
  const at = BigInt(index)
  if (at < 0n || at >= size) throw ipamError(INDEX_OUT_OF_RANGE, { index: shown(index), size: String(size) })
  return at
}
