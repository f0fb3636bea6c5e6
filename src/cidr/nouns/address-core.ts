import { ADDRESS_OUT_OF_RANGE, FAMILY_MISMATCH, MALFORMED_ADDRESS } from '../../errors/definitions.js'
import { failWith, ipamError } from '../../errors/failure.js'
import { type Failure, type Result, unwrap } from '../../errors/index.js'
import { refuseIn } from '../../errors/refuse.js'
import { assertAddress, assertFamily, assertText, assertWhole, isWord, notAText, shown } from '../text/checks.js'
import { problems } from '../text/parse-errors.js'
import { addressOf, isStrict, type TextOptions } from '../text/profile.js'
import { readAddress } from '../text/scan.js'
import { format4 } from '../text/text4.js'
import { format6 } from '../text/text6.js'

export type { Address, Address4, Address6, Family } from './types.js'

import type { Address, Address4, Family } from './types.js'

/**
 * Reads an address strictly, with the rules of Go's net/netip: no leading zeros, no short forms, no
 * white space, no zone unless asked for. A profile in `options` changes these rules. Reads at most
 * about a hundred characters. O(1).
 *
 * @throws IpamError `MALFORMED_ADDRESS` with the position, the problem and, if only the form is
 * wrong, a suggestion; `INVALID_ARGUMENT` if `text` is not a string
 * @example
 * Address.format(Address.parse('FD00:0:0:0:0:0:0:1')) // 'fd00::1'
 */
export function parse(text: string, options?: TextOptions): Address {
  if (typeof text === 'string' && isStrict(options)) {
    const address = readAddress(text, 0, text.length)
    if (address !== undefined) return address
  }
  assertText('Address.parse', text)
  return unwrap(addressOf(text, options))
}

/**
 * As {@link parse}, with the failure as a value.
 *
 * @example
 * const result = Address.safeParse('FC00::0123', { profile: 'k8s-field-canonical' })
 * !result.ok && result.failure.context.suggestion // 'fc00::123'
 */
export function safeParse(text: string, options?: TextOptions): Result<Address, 'MALFORMED_ADDRESS'> {
  if (typeof text === 'string' && isStrict(options)) {
    const address = readAddress(text, 0, text.length)
    if (address !== undefined) return { ok: true, value: address }
  }
  return typeof text === 'string' ? addressOf(text, options) : failWith(MALFORMED_ADDRESS, notAText(text))
}

/**
 * A failure of {@link safeParse} with the message of Go's `netip.ParseAddr`, as admission webhooks
 * in Go return it.
 *
 * @example
 * const result = Address.safeParse('1.2.3.4x')
 * result.ok || Address.goMessage(result.failure) // 'ParseAddr("1.2.3.4x"): unexpected character (at "x")'
 */
export function goMessage(
  failure: Failure<'MALFORMED_ADDRESS'>,
  quote: (text: string) => string = JSON.stringify,
): string {
  const { text, position, problem } = failure?.context ?? {}
  if (typeof text !== 'string' || !Number.isInteger(position) || typeof problem !== 'string') {
    refuseIn('Address.goMessage', 'failure', 'a failure of Address.safeParse', failure, 'Address.safeParse')
  }
  if (typeof quote !== 'function') refuseIn('Address.goMessage', 'quote', 'a function', quote)
  const message = `ParseAddr(${quote(text)}): ${problem}`
  if (!problems.some((known) => known.words === problem && known.showsRest)) return message
  const colon = text.indexOf(':')
  const dot = text.indexOf('.')
  const zone = colon >= 0 && (dot < 0 || colon < dot) ? text.indexOf('%') : -1
  return `${message} (at ${quote(text.slice(position, zone < 0 ? undefined : zone))})`
}

/**
 * Canonical text: dotted decimal, or RFC 5952. `parse(format(a))` equals `a`. O(1).
 *
 * @throws IpamError `INVALID_ARGUMENT` for a value that is not an address
 * @example
 * Address.format(Address.parse('2001:DB8:0:0:1:0:0:1')) // '2001:db8::1:0:0:1'
 */
export function format(address: Address): string {
  assertAddress('Address.format', 'address', address)
  return address.family === 4 ? format4(address.value) : format6(address)
}

/**
 * The IPv4 address of an unsigned 32-bit number.
 *
 * @throws IpamError `INVALID_ARGUMENT` if `value` is not a whole number from 0 to 2^32 - 1
 * @example
 * Address.format(Address.from4(0x0a000001)) // '10.0.0.1'
 */
export function from4(value: number): Address4 {
  if (!isWord(value)) refuseIn('Address.from4', 'value', 'a whole number from 0 to 2^32 - 1', value)
  return { family: 4, value: value >>> 0 }
}

/**
 * The address of a family with the given numeric value.
 *
 * @throws IpamError `INVALID_ARGUMENT` if `value` is not a bigint, is below 0 or above the last
 *   address of the family, or for a family that is neither 4 nor 6
 * @example
 * Address.format(Address.fromBigInt(6, 1n)) // '::1'
 */
export function fromBigInt(family: Family, value: bigint): Address {
  assertFamily('Address.fromBigInt', family)
  if (typeof value !== 'bigint' || value < 0n || value > (family === 4 ? MAX4 : MAX6)) {
    refuseIn('Address.fromBigInt', 'value', `a bigint from 0 to 2^${bitsOf(family)} - 1`, value)
  }
  if (family === 4) return { family: 4, value: Number(value) }
  return {
    family: 6,
    w0: Number(value >> 96n),
    w1: Number((value >> 64n) & WORD),
    w2: Number((value >> 32n) & WORD),
    w3: Number(value & WORD),
  }
}

/**
 * The numeric value of an address: 0 to 2^32 - 1, or 0 to 2^128 - 1.
 *
 * @example
 * Address.toBigInt(Address.parse('::1:0')) // 65536n
 */
export function toBigInt(address: Address): bigint {
  assertAddress('Address.toBigInt', 'address', address)
  if (address.family === 4) return BigInt(address.value)
  return (BigInt(address.w0) << 96n) | (BigInt(address.w1) << 64n) | (BigInt(address.w2) << 32n) | BigInt(address.w3)
}

/**
 * Orders addresses: all IPv4 before all IPv6, then by value. A negative number, 0 or a positive
 * number, for `sort`.
 *
 * @example
 * Address.compare(Address.parse('10.0.0.2'), Address.parse('10.0.0.10')) < 0 // true
 */
export function compare(left: Address, right: Address): number {
  assertAddress('Address.compare', 'left', left)
  assertAddress('Address.compare', 'right', right)
  if (left.family === 4) return right.family === 4 ? left.value - right.value : -1
  if (right.family === 4) return 1
  return left.w0 - right.w0 || left.w1 - right.w1 || left.w2 - right.w2 || left.w3 - right.w3
}

/**
 * Whether two addresses are the same value of the same family. O(1).
 *
 * @example
 * Address.equals(Address.parse('1.2.3.4'), Address.parse('::ffff:1.2.3.4')) // false
 */
export function equals(left: Address, right: Address): boolean {
  assertAddress('Address.equals', 'left', left)
  assertAddress('Address.equals', 'right', right)
  return compare(left, right) === 0
}

/**
 * A key for a `Map` or `Set`: two addresses of any family have the same key if they are equal. Do
 * not parse or store it. O(1).
 *
 * @example
 * Address.key(Address.parse('fd00::1')) === Address.key(Address.parse('fd00:0::1')) // true
 */
export function key(address: Address): number | string {
  assertAddress('Address.key', 'address', address)
  return address.family === 4 ? address.value : format6(address)
}

/**
 * The address after this one, or `undefined` after the last of its family: arithmetic never wraps.
 *
 * @example
 * const next = Address.next(Address.parse('10.0.0.255'))
 * next && Address.format(next) // '10.0.1.0'
 */
export function next(address: Address): Address | undefined {
  assertAddress('Address.next', 'address', address)
  if (address.family === 4) return address.value === 0xffffffff ? undefined : { family: 4, value: address.value + 1 }
  let { w0, w1, w2, w3 } = address
  if (w3 !== 0xffffffff) w3++
  else {
    w3 = 0
    if (w2 !== 0xffffffff) w2++
    else {
      w2 = 0
      if (w1 !== 0xffffffff) w1++
      else {
        w1 = 0
        if (w0 === 0xffffffff) return undefined
        w0++
      }
    }
  }
  return { family: 6, w0, w1, w2, w3 }
}

/**
 * The address before this one, or `undefined` before the first of its family. O(1).
 *
 * @example
 * Address.previous(Address.parse('0.0.0.0')) // undefined
 */
export function previous(address: Address): Address | undefined {
  assertAddress('Address.previous', 'address', address)
  if (address.family === 4) return address.value === 0 ? undefined : { family: 4, value: address.value - 1 }
  let { w0, w1, w2, w3 } = address
  if (w3 !== 0) w3--
  else {
    w3 = 0xffffffff
    if (w2 !== 0) w2--
    else {
      w2 = 0xffffffff
      if (w1 !== 0) w1--
      else {
        w1 = 0xffffffff
        if (w0 === 0) return undefined
        w0--
      }
    }
  }
  return { family: 6, w0, w1, w2, w3 }
}

/**
 * The address `offset` after this one, or before it if negative. A `number` is faster than a
 * bigint. O(1).
 *
 * @throws IpamError `ADDRESS_OUT_OF_RANGE` if the result is outside of the address space of the
 *   family; `INVALID_ARGUMENT` if `offset` is neither a bigint nor a whole number within 2^53,
 *   beyond which numbers are no longer exact
 * @example
 * Address.format(Address.add(Address.parse('10.0.0.1'), 5n)) // '10.0.0.6'
 */
export function add(address: Address, offset: bigint | number): Address {
  assertAddress('Address.add', 'address', address)
  assertWhole('Address.add', 'offset', offset)
  if (typeof offset === 'number') return addNumber(address, offset)
  const sum = toBigInt(address) + offset
  if (sum < 0n || sum > (address.family === 4 ? MAX4 : MAX6)) {
    throw outOfRange(address, offset)
  }
  return fromBigInt(address.family, sum)
}

/**
 * The number of addresses from `from` to `to`; negative if `to` is the lower one.
 *
 * @throws IpamError `FAMILY_MISMATCH`
 * @example
 * Address.distance(Address.parse('10.0.0.1'), Address.parse('10.0.0.6')) // 5n
 */
export function distance(from: Address, to: Address): bigint {
  assertAddress('Address.distance', 'from', from)
  assertAddress('Address.distance', 'to', to)
  if (from.family !== to.family) throw ipamError(FAMILY_MISMATCH, { left: format(from), right: format(to) })
  return toBigInt(to) - toBigInt(from)
}

/**
 * The number of bits of an address of a family: 32 or 128, and so the longest prefix length.
 *
 * @example
 * Address.bitsOf(6) // 128
 */
export function bitsOf(family: Family): 32 | 128 {
  assertFamily('Address.bitsOf', family)
  return family === 4 ? 32 : 128
}

function addNumber(address: Address, offset: number): Address {
  if (address.family === 4) {
    const value = address.value + offset
    if (value < 0 || value > 0xffffffff) throw outOfRange(address, offset)
    return { family: 4, value }
  }
  // in two parts, since a word and 53 bits make more than a number holds; what a word cannot take
  // is carried on to the next
  const high = Math.floor(offset / WORDS)
  let sum = address.w3 + (offset - high * WORDS)
  const w3 = sum >>> 0
  sum = address.w2 + high + Math.floor(sum / WORDS)
  const w2 = sum >>> 0
  sum = address.w1 + Math.floor(sum / WORDS)
  const w1 = sum >>> 0
  sum = address.w0 + Math.floor(sum / WORDS)
  if (sum < 0 || sum >= WORDS) throw outOfRange(address, offset)
  return { family: 6, w0: sum, w1, w2, w3 }
}

function outOfRange(address: Address, offset: number | bigint) {
  return ipamError(ADDRESS_OUT_OF_RANGE, { address: format(address), offset: shown(offset) })
}

const WORDS = 2 ** 32
const MAX4 = 0xffffffffn
const MAX6 = (1n << 128n) - 1n
const WORD = 0xffffffffn
