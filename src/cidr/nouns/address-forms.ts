import { MALFORMED_BYTES } from '../../errors/definitions.js'
import { ipamError } from '../../errors/failure.js'
import { assertAddress, assertBytes, assertIPv4 } from '../text/checks.js'
import { withoutMapping } from '../text/profile.js'
import type { Address, Address4, Address6 } from './types.js'

/**
 * The bytes of an address in network order: 4 for IPv4, 16 for IPv6. O(1).
 *
 * @example
 * Array.from(Address.toBytes(Address.parse('10.0.0.1'))) // [10, 0, 0, 1]
 */
export function toBytes(address: Address): Uint8Array {
  assertAddress('Address.toBytes', 'address', address)
  const bytes = new Uint8Array(address.family === 4 ? 4 : 16)
  writeBytes(address, bytes, 0)
  return bytes
}

/**
 * The address of 4 or 16 bytes in network order. O(1).
 *
 * @throws IpamError `MALFORMED_BYTES` for any other number of bytes; `INVALID_ARGUMENT` for what is
 * no Uint8Array
 * @example
 * Address.format(Address.fromBytes(Uint8Array.of(192, 0, 2, 1))) // '192.0.2.1'
 */
export function fromBytes(bytes: Uint8Array): Address {
  assertBytes('Address.fromBytes', bytes)
  if (bytes.length !== 4 && bytes.length !== 16) {
    throw ipamError(MALFORMED_BYTES, {
      what: 'an address',
      position: Math.min(bytes.length, 16),
      problem: `${bytes.length} bytes, expected 4 or 16`,
    })
  }
  return readBytes(bytes, 0, bytes.length === 4 ? 4 : 6)
}

/**
 * The IPv4-mapped IPv6 address of an IPv4 address (RFC 4291 section 2.5.5.2). O(1).
 *
 * @example
 * Address.format(Address.toMapped({ family: 4, value: 0x01020304 })) // '::ffff:1.2.3.4'
 */
export function toMapped(address: Address4): Address6 {
  assertIPv4('Address.toMapped', 'address', address)
  return { family: 6, w0: 0, w1: 0, w2: 0xffff, w3: address.value }
}

/**
 * The IPv4 address of an IPv4-mapped IPv6 address; any other address is returned as it is. Go's
 * netip calls it the same. O(1).
 *
 * @example
 * Address.format(Address.unmap(Address.parse('::ffff:1.2.3.4'))) // '1.2.3.4'
 */
export function unmap(address: Address): Address {
  assertAddress('Address.unmap', 'address', address)
  return withoutMapping(address)
}

/**
 * The name under which DNS keeps the PTR record of an address, without a final dot: RFC 1035
 * section 3.5, RFC 3596 section 2.5. O(1).
 *
 * @example
 * Address.reverseName(Address.parse('192.0.2.5')) // '5.2.0.192.in-addr.arpa'
 */
export function reverseName(address: Address): string {
  assertAddress('Address.reverseName', 'address', address)
  const labels: string[] = []
  if (address.family === 4) {
    for (let shift = 0; shift < 32; shift += 8) labels.push(String((address.value >>> shift) & 255))
    return `${labels.join('.')}.in-addr.arpa`
  }
  for (const word of [address.w3, address.w2, address.w1, address.w0]) {
    for (let shift = 0; shift < 32; shift += 4) labels.push(((word >>> shift) & 15).toString(16))
  }
  return `${labels.join('.')}.ip6.arpa`
}

/** Writes 4 or 16 bytes at `at`, and answers the position behind them. */
export function writeBytes(address: Address, bytes: Uint8Array, at: number): number {
  if (address.family === 4) return writeWord(address.value, bytes, at)
  let end = writeWord(address.w0, bytes, at)
  end = writeWord(address.w1, bytes, end)
  end = writeWord(address.w2, bytes, end)
  return writeWord(address.w3, bytes, end)
}

/** Reads 4 or 16 bytes at `at`: the caller knows that they are there. */
export function readBytes(bytes: Uint8Array, at: number, family: 4 | 6): Address {
  if (family === 4) return { family: 4, value: readWord(bytes, at) }
  return {
    family: 6,
    w0: readWord(bytes, at),
    w1: readWord(bytes, at + 4),
    w2: readWord(bytes, at + 8),
    w3: readWord(bytes, at + 12),
  }
}

function writeWord(word: number, bytes: Uint8Array, at: number): number {
  bytes[at] = word >>> 24
  bytes[at + 1] = (word >>> 16) & 255
  bytes[at + 2] = (word >>> 8) & 255
  bytes[at + 3] = word & 255
  return at + 4
}

function readWord(bytes: Uint8Array, at: number): number {
  return ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 0
}
