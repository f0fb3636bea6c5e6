import { MALFORMED_BYTES } from '../../errors/definitions.js'
import { ipamError } from '../../errors/failure.js'
import { assertBytes, assertLength, toIndex } from '../text/checks.js'
import * as Address from './address-core.js'
import { readBytes, writeBytes } from './address-forms.js'
import { assertPrefix, contains, first, last, masked, type Prefix, size } from './prefix-core.js'
import type { Range } from './range-core.js'

/**
 * Orders prefixes as a routing table: by network address, a shorter prefix before the longer ones
 * inside it; all IPv4 before all IPv6. Prefixes of the same network and length are ordered by their
 * host bits. O(1).
 *
 * @example
 * Prefix.compare(Prefix.parse('10.0.0.0/8'), Prefix.parse('10.0.0.0/16')) < 0 // true
 */
export function compare(left: Prefix, right: Prefix): number {
  assertPrefix('Prefix.compare', 'left', left)
  assertPrefix('Prefix.compare', 'right', right)
  return (
    Address.compare(first(left), first(right)) ||
    left.length - right.length ||
    Address.compare(left.address, right.address)
  )
}

/**
 * Whether two prefixes are the same address with the same length: `10.0.0.1/8` and `10.0.0.0/8` are
 * not. O(1).
 *
 * @example
 * Prefix.equals(Prefix.masked(Prefix.parse('10.0.0.1/8')), Prefix.parse('10.0.0.0/8')) // true
 */
export function equals(left: Prefix, right: Prefix): boolean {
  assertPrefix('Prefix.equals', 'left', left)
  assertPrefix('Prefix.equals', 'right', right)
  return left.length === right.length && Address.equals(left.address, right.address)
}

/**
 * Whether two prefixes have an address in common: then one covers all of the other. O(1).
 *
 * @example
 * Prefix.overlaps(Prefix.parse('10.0.0.0/16'), Prefix.parse('10.0.0.0/8')) // true
 */
export function overlaps(left: Prefix, right: Prefix): boolean {
  assertPrefix('Prefix.overlaps', 'left', left)
  assertPrefix('Prefix.overlaps', 'right', right)
  return left.length <= right.length ? contains(left, right) : contains(right, left)
}

/**
 * The address at an index: 0 is the lowest of the prefix, -1 is no index. O(1).
 *
 * @throws IpamError `INDEX_OUT_OF_RANGE` unless 0 <= `index` < `Prefix.size(prefix)`
 * @example
 * Address.format(Prefix.addressAt(Prefix.parse('10.0.0.0/24'), 10)) // '10.0.0.10'
 */
export function addressAt(prefix: Prefix, index: bigint | number): Address.Address {
  assertPrefix('Prefix.addressAt', 'prefix', prefix)
  return Address.add(first(prefix), toIndex('Prefix.addressAt', index, size(prefix)))
}

/**
 * How many subnets of a length a prefix has: 1 to 2^128. O(1).
 *
 * @throws IpamError `INVALID_PREFIX_LENGTH` for a length shorter than that of the prefix, or longer
 * than an address
 * @example
 * Prefix.subnetCount(Prefix.parse('10.0.0.0/8'), 24) // 65536n
 */
export function subnetCount(prefix: Prefix, length: number): bigint {
  assertPrefix('Prefix.subnetCount', 'prefix', prefix)
  assertLength('Prefix.subnetCount', prefix.address.family, length, prefix.length)
  return 1n << BigInt(length - prefix.length)
}

/**
 * The subnet of a length at an index; 0 is the lowest. O(1).
 *
 * @throws IpamError `INVALID_PREFIX_LENGTH` as {@link subnetCount}, `INDEX_OUT_OF_RANGE`
 * @example
 * Prefix.format(Prefix.subnetAt(Prefix.parse('10.0.0.0/8'), 24, 7)) // '10.0.7.0/24'
 */
export function subnetAt(prefix: Prefix, length: number, index: bigint | number): Prefix {
  assertPrefix('Prefix.subnetAt', 'prefix', prefix)
  assertLength('Prefix.subnetAt', prefix.address.family, length, prefix.length)
  const at = toIndex('Prefix.subnetAt', index, subnetCount(prefix, length))
  const hostBits = BigInt(Address.bitsOf(prefix.address.family) - length)
  return { address: Address.add(first(prefix), at << hostBits), length }
}

/**
 * An iterator over all subnets of a length, in order. O(1) for each.
 *
 * @throws IpamError `INVALID_PREFIX_LENGTH` as {@link subnetCount}, at the call and not at the
 * first step
 * @example
 * Array.from(Prefix.split(Prefix.parse('10.0.0.0/30'), 31), Prefix.format) // ['10.0.0.0/31', '10.0.0.2/31']
 */
export function split(prefix: Prefix, length: number): IterableIterator<Prefix> {
  assertPrefix('Prefix.split', 'prefix', prefix)
  assertLength('Prefix.split', prefix.address.family, length, prefix.length)
  return subnets(first(prefix), last(prefix), length)
}

function* subnets(from: Address.Address, to: Address.Address, length: number): IterableIterator<Prefix> {
  let address: Address.Address | undefined = from
  while (address !== undefined && Address.compare(address, to) <= 0) {
    const subnet: Prefix = { address, length }
    yield subnet
    address = Address.next(last(subnet))
  }
}

/**
 * The prefix of a shorter length that covers this one, with its host bits cleared. O(1).
 *
 * @throws IpamError `INVALID_PREFIX_LENGTH` unless 0 <= `length` <= the length of the prefix
 * @example
 * Prefix.format(Prefix.supernet(Prefix.parse('10.0.7.0/24'), 16)) // '10.0.0.0/16'
 */
export function supernet(prefix: Prefix, length: number): Prefix {
  assertPrefix('Prefix.supernet', 'prefix', prefix)
  assertLength('Prefix.supernet', prefix.address.family, length, 0, prefix.length)
  return masked({ address: prefix.address, length })
}

/**
 * The prefix that is one bit shorter, with its host bits cleared; `undefined` for a /0. O(1).
 *
 * @example
 * const parent = Prefix.parent(Prefix.parse('10.0.1.0/24'))
 * parent && Prefix.format(parent) // '10.0.0.0/23'
 */
export function parent(prefix: Prefix): Prefix | undefined {
  assertPrefix('Prefix.parent', 'prefix', prefix)
  return prefix.length === 0 ? undefined : supernet(prefix, prefix.length - 1)
}

/**
 * The other half of the parent, with its host bits cleared; `undefined` for a /0. O(1).
 *
 * @example
 * const sibling = Prefix.sibling(Prefix.parse('10.0.1.0/24'))
 * sibling && Prefix.format(sibling) // '10.0.0.0/24'
 */
export function sibling(prefix: Prefix): Prefix | undefined {
  assertPrefix('Prefix.sibling', 'prefix', prefix)
  const above = parent(prefix)
  if (above === undefined) return undefined
  const { length } = prefix
  const lower: Prefix = { address: above.address, length }
  return contains(lower, prefix.address) ? upperHalf(lower) : lower
}

/** The prefix right behind `lower`, which is the lower half of something. */
function upperHalf(lower: Prefix): Prefix {
  return { address: Address.next(last(lower)) as Address.Address, length: lower.length }
}

/**
 * The addresses between the first and the last one, as CNI's host-local and whereabouts use a
 * subnet of either family: what is left without network and broadcast address. `undefined` for a
 * prefix of one or two addresses. O(1).
 *
 * @example
 * const range = Prefix.interior(Prefix.parse('10.0.0.77/26'))
 * range && Range.format(range) // '10.0.0.65-10.0.0.126'
 */
export function interior(prefix: Prefix): Range | undefined {
  assertPrefix('Prefix.interior', 'prefix', prefix)
  if (Address.bitsOf(prefix.address.family) - prefix.length < 2) return undefined
  return {
    first: Address.next(first(prefix)) as Address.Address,
    last: Address.previous(last(prefix)) as Address.Address,
  }
}

/**
 * A prefix as bytes: its length, then the 4 or 16 bytes of its address with the host bits that it
 * has. O(1).
 *
 * @example
 * Array.from(Prefix.toBytes(Prefix.parse('10.0.0.0/8'))) // [8, 10, 0, 0, 0]
 */
export function toBytes(prefix: Prefix): Uint8Array {
  assertPrefix('Prefix.toBytes', 'prefix', prefix)
  const bytes = new Uint8Array(prefix.address.family === 4 ? 5 : 17)
  bytes[0] = prefix.length
  writeBytes(prefix.address, bytes, 1)
  return bytes
}

/**
 * The prefix of 5 or 17 bytes that {@link toBytes} made. O(1).
 *
 * @throws IpamError `MALFORMED_BYTES` for another number of bytes, or a length that the family does
 * not have
 * @example
 * Prefix.format(Prefix.fromBytes(Uint8Array.of(8, 10, 0, 0, 0))) // '10.0.0.0/8'
 */
export function fromBytes(bytes: Uint8Array): Prefix {
  assertBytes('Prefix.fromBytes', bytes)
  const what = 'a prefix'
  if (bytes.length !== 5 && bytes.length !== 17) {
    const problem = `${bytes.length} bytes, expected 5 or 17`
    throw ipamError(MALFORMED_BYTES, { what, position: Math.min(bytes.length, 17), problem })
  }
  const family = bytes.length === 5 ? 4 : 6
  const length = bytes[0]!
  if (length > Address.bitsOf(family)) {
    throw ipamError(MALFORMED_BYTES, { what, position: 0, problem: `a length of ${length}` })
  }
  return { address: readBytes(bytes, 1, family), length }
}
