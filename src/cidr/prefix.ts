import { fail, ipamError, type Result, unwrap } from '../errors/index.js'
import * as Address from './address.js'
import { assertText } from './checks.js'
import { positionOf, problemOf } from './problems.js'
import { scanAddress } from './scan.js'

/**
 * An address with a prefix length, such as `10.0.0.5/24`. Host bits may be set: {@link masked} clears them.
 */
export interface Prefix {
  readonly address: Address.Address
  /** 0 to 32, or 0 to 128. */
  readonly length: number
}

/** The longest CIDR text is 49 characters long; a slash further on than this can not be part of one. */
const SLASH_WITHIN = 64

/**
 * A prefix from its parts.
 *
 * @throws IpamError `INVALID_PREFIX_LENGTH`
 */
export function of(address: Address.Address, length: number): Prefix {
  const max = Address.bitsOf(address.family)
  if (!Number.isInteger(length) || length < 0 || length > max) throw ipamError('INVALID_PREFIX_LENGTH', { length, max })
  return { address, length }
}

/**
 * Reads a CIDR strictly, with the rules of Go's net/netip: exactly one slash, a length in digits without sign or leading zero, no
 * zone. Host bits are kept. O(1).
 *
 * @throws IpamError `MALFORMED_PREFIX` with the position and the reason
 * @example
 * Prefix.format(Prefix.masked(Prefix.parse('10.0.0.77/26'))) // '10.0.0.64/26'
 */
export function parse(text: string): Prefix {
  return unwrap(safeParse(text))
}

/** As {@link parse}, with the failure as a value. */
export function safeParse(text: string): Result<Prefix, 'MALFORMED_PREFIX'> {
  assertText(text)
  const stop = Math.min(text.length, SLASH_WITHIN)
  let slash = 0
  while (slash < stop && text.charCodeAt(slash) !== 47) slash++
  if (slash === stop) return malformed(text, stop, "no '/'")

  const address = scanAddress(text, 0, slash, 'refuse')
  if (typeof address !== 'object') return malformed(text, positionOf(address), problemOf(address).words)
  const length = scanLength(text, slash + 1)
  if (length < 0) return malformed(text, slash + 1, 'bad bits after slash')
  if (length > Address.bitsOf(address.family)) return malformed(text, slash + 1, 'prefix length out of range')
  return { ok: true, value: { address, length } }
}

/** `address/length`, with the host bits that the prefix has. */
export function format(prefix: Prefix): string {
  return `${Address.format(prefix.address)}/${prefix.length}`
}

/**
 * The same prefix with its host bits cleared. Returns the argument itself if there were none. O(1).
 *
 * @example
 * Prefix.format(Prefix.masked(Prefix.parse('fd00::ffff/120'))) // 'fd00::ff00/120'
 */
export function masked(prefix: Prefix): Prefix {
  const address = first(prefix)
  return Address.equals(address, prefix.address) ? prefix : { address, length: prefix.length }
}

/** The lowest address of the prefix: its network address, for IPv4. O(1). */
export function first(prefix: Prefix): Address.Address {
  const { address, length } = prefix
  if (address.family === 4) return { family: 4, value: (address.value & maskWord(length)) >>> 0 }
  return {
    family: 6,
    w0: (address.w0 & maskWord(length)) >>> 0,
    w1: (address.w1 & maskWord(length - 32)) >>> 0,
    w2: (address.w2 & maskWord(length - 64)) >>> 0,
    w3: (address.w3 & maskWord(length - 96)) >>> 0,
  }
}

/** The highest address of the prefix: its broadcast address, for IPv4 up to /30. O(1). */
export function last(prefix: Prefix): Address.Address {
  const { address, length } = prefix
  if (address.family === 4) return { family: 4, value: (address.value | ~maskWord(length)) >>> 0 }
  return {
    family: 6,
    w0: (address.w0 | ~maskWord(length)) >>> 0,
    w1: (address.w1 | ~maskWord(length - 32)) >>> 0,
    w2: (address.w2 | ~maskWord(length - 64)) >>> 0,
    w3: (address.w3 | ~maskWord(length - 96)) >>> 0,
  }
}

/** How many addresses the prefix covers: 1 to 2^128. */
export function size(prefix: Prefix): bigint {
  return 1n << BigInt(Address.bitsOf(prefix.address.family) - prefix.length)
}

/**
 * Whether `outer` covers an address, or all of another prefix. An IPv4 prefix never covers an IPv6 address, mapped or not. O(1).
 *
 * @example
 * Prefix.contains(Prefix.parse('10.0.0.0/8'), Address.parse('10.1.2.3')) // true
 */
export function contains(outer: Prefix, inner: Address.Address | Prefix): boolean {
  const address = 'family' in inner ? inner : inner.address
  if (address.family !== outer.address.family) return false
  if (!('family' in inner) && inner.length < outer.length) return false
  return Address.equals(first({ address, length: outer.length }), first(outer))
}

/** The mask bits of one 32-bit word: all for 32 and above, none for 0 and below. */
function maskWord(length: number): number {
  if (length <= 0) return 0
  return length >= 32 ? -1 : -1 << (32 - length)
}

/** A whole number of at most three digits from `start` to the end of `text`, or -1. */
function scanLength(text: string, start: number): number {
  const digits = text.length - start
  if (digits < 1 || digits > 3) return -1
  let length = 0
  for (let i = start; i < text.length; i++) {
    const digit = text.charCodeAt(i) - 48
    if (digit < 0 || digit > 9 || (digit === 0 && i === start && digits > 1)) return -1
    length = length * 10 + digit
  }
  return length
}

function malformed(text: string, position: number, problem: string) {
  return fail('MALFORMED_PREFIX', { text, position, problem })
}
